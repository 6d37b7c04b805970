"""Tree whose loops are recorded as loops of a program, so that the code does not grow with the tree.

An algorithm runs once. A loop over bodies takes one turn per kind of joint. Values that a turn reads from columns
become the inputs of a step, and values it writes become the outputs. The next turn closes the step. The resulting
`Recording` contains loops, steps, and columns with the numbers that are read. It depends only on the kinds of
joints. `write` then makes the program for one tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from ..errors import TraceError
from ..kernels.builder import Builder, IndexTable, Rows
from ..kernels.program import Argument, Entry, Graph, Op, Row, Variable
from ..kernels.tape import Scalar, Tape
from ..kernels.trace import listed, node_values
from ..spatial.inertia import N_PARAMETERS
from .bodies import Bodies, Frames, Kind
from .pairs import Pairs
from .tree import FRAMES, LINKS, NUMBER, PARAMETERS, POSE, VELOCITIES, Axis, Packing

_ADD, _SUB, _INPUT = int(Op.ADD), int(Op.SUB), int(Op.INPUT)
REMEDY = "Keep values that one turn of a loop leaves for another in a column or a cell of the tree"


# --- interface for algorithms


class Index:
    """A row, named by its role in a loop.

    Args:
        word: "own" and "parent" in a loop over bodies; "start", "above" and "below" on a path to the root; "frame"
            and "carrier" in a loop over frames; "base" and "one" anywhere.
    """

    def __init__(self, word: str):
        self.word = word


class LoopBody(Index):
    """A body of one kind; see `tree.Body`."""

    def __init__(self, tree: Looped, word: str, kind: Kind):
        super().__init__(word)
        self.tree: Looped = tree
        self.kind: Kind = kind
        self.parent: Index = Index("parent")

    @cached_property
    def _row(self):
        return self.tree.read(self.tree.store("constants", "constants", self.tree.structure.width), self.word)

    @cached_property
    def joint(self) -> Any:
        """Joint of a known kind, with constants from the table."""
        return self.kind.joint(self._row)

    @property
    def place(self) -> Any:
        """Position of the joint on the parent, (3,)."""
        return self.kind.constants(self._row).p

    @property
    def inertia(self) -> Any:
        """Inertial parameters, (10,)."""
        return self.kind.constants(self._row).inertia

    @property
    def rotor(self) -> Any:
        """Rotor inertia reflected to the joint, (n_v,)."""
        return self.kind.constants(self._row).rotor

    @property
    def T_body_link(self) -> Any:
        """Link frame on the body."""
        return POSE.value(self.tree.read(self.tree.store("T_body_link", "constants", 12), self.word), None)

    @property
    def friction(self) -> Any:
        """Viscous friction, Coulomb friction and offset, (n_v,) each."""
        n_v = self.kind.n_v
        numbers = self.tree.read(self.tree.store("friction", "velocities", 3), self.word, n_v)
        return numbers.reshape(n_v, 3).T


class Passed(Index):
    """A body of any kind."""

    def __init__(self, tree: Looped):
        super().__init__("below")
        self.tree: Looped = tree

    @property
    def place(self) -> Any:
        """Position of the joint on the parent, (3,)."""
        return self.tree.read(self.tree.store("place", "constants", 3), self.word)


class LoopFrame(Index):
    """A frame; see `tree.FrameOn`."""

    def __init__(self, tree: Looped):
        super().__init__("frame")
        self.tree: Looped = tree
        self.body: Index = Index("carrier")

    @property
    def T_body_frame(self) -> Any:
        """Frame on its body."""
        return POSE.value(self.tree.read(self.tree.store("on_body", "frames", 12), self.word), None)


class Looped:
    """The tree while an algorithm is recorded on it; see `tree.Unrolled`."""

    base: Index = Index("base")
    transmission = None

    def __init__(self, structure: Structure):
        self.structure = structure
        self.statements: list[Step | Loop] = []
        self._stores: dict[str, Store] = {}
        self._loop: Loop | None = None
        self._step: Step | None = None

    @property
    def gravity(self) -> Any:
        """Acceleration of free fall, (3,)."""
        acts = list(self.structure.acts)
        g = np.array([0.0] * 3, dtype=object)
        g[acts] = self.read(self.store("gravity", "one", len(acts) + 1), "one")[: len(acts)]
        return g

    @property
    def base_inertia(self) -> Any:
        """Inertial parameters of the links that do not move, (10,)."""
        return self.read(self.store("base_inertia", "one", N_PARAMETERS), "one")

    def positions(self, q: str) -> Given:
        """Return the coordinates of every joint."""
        return Given(self, self.store(q, "coordinates", 1), "n_q")

    def velocities(self, v: str | None) -> Given:
        """Return the velocities of every joint, zero for None."""
        return Given(self, None if v is None else self.store(v, "velocities", 1), "n_v")

    def by_link(self, values: str) -> Given:
        """Return the six numbers that a user gives per link."""
        return Given(self, self.store(values, "frames", 6), None)

    def column(
        self, packing: Packing, per_velocity: bool = False, start: Callable[[Any], Any] | None = None
    ) -> Column:
        """Return a column with a value per body, or a row per velocity."""
        store = self.store(f"column{len(self._stores)}", "velocities" if per_velocity else "bodies", packing.size)
        store.start = packing.numbers(packing.zero, np.zeros(3))
        return Column(self, store, packing, start)

    def cell(self, packing: Packing) -> Cell:
        """Return a cell for one value."""
        return Cell(self, self.store(f"cell{len(self._stores)}", "one", packing.size), packing)

    def result(self, name: str, *axes: Axis | int) -> Result | Cell:
        """Return an output of the program."""
        if not any(isinstance(axis, Axis) for axis in axes):
            shape = tuple(axis for axis in axes if isinstance(axis, int))
            size = int(np.prod(shape))
            packing = Packing(size, lambda x, _: np.asarray(x).ravel(), lambda x, _: x.reshape(shape), None)
            store = self.store(name, "one", size)
            store.axes = axes
            return Cell(self, store, packing if shape else NUMBER)
        rest = [axis for axis in axes[_leading(axes) :] if isinstance(axis, int)]
        width = int(np.prod(rest)) * (N_PARAMETERS if axes[-1] is PARAMETERS else 1)
        store = self.store(name, "result", width)
        store.axes, store.zero = axes, _leading(axes) > 1  # not all pairs are on a path to the root
        return Result(self, store, axes)

    def outward(self) -> Iterator[LoopBody]:
        """Loop over bodies, parents first."""
        return self._turns("bodies", "own", False)

    def inward(self) -> Iterator[LoopBody]:
        """Loop over bodies, children first."""
        return self._turns("bodies", "own", True)

    def to_root(self, per_velocity: bool = False) -> Iterator[tuple[Index, LoopBody, Passed]]:
        """Loop over all pairs of a body (or a velocity of its joint) and a body that carries it."""
        for j in self._turns("velocity pairs" if per_velocity else "pairs", "above", False):
            yield Index("start"), j, Passed(self)

    def frames(self) -> Iterator[LoopFrame]:
        """Loop over frames."""
        for _ in self._turns("frames", "frame", False):
            yield LoopFrame(self)

    links = frames

    def carrying(self, *names: str | None) -> Looped:
        """Return the tree itself: the program is written for the bodies that carry the frames."""
        return self

    # --- recording

    def store(self, name: str, layout: str, size: int) -> Store:
        """Return an array of the program by name."""
        return self._stores.setdefault(name, Store(name, layout, size))

    def read(self, store: Store, word: str, count: int = 1) -> Any:
        """Read numbers from rows, traced."""
        if self._step is None:
            self._step = Step()
        return self._step.read((store, (word,), (), count)) if count else np.zeros(0)

    def write(
        self, store: Store, words: tuple[str, ...], offset: tuple[int, ...], count: int, numbers: Any
    ) -> None:
        """Write numbers to rows."""
        if self._step is None:
            self._step = Step()
        if count:
            self._step.write((store, words, offset, count), numbers)

    def stores(self) -> list[Store]:
        """Return all arrays, in the order of their first use."""
        return list(self._stores.values())

    def close(self) -> None:
        """End the step outside loops."""
        if self._step is not None:
            self.statements.append(self._step.closed())
            self._step = None

    def _turns(self, domain: str, word: str, reverse: bool) -> Iterator[LoopBody]:
        self.close()
        if self._loop is not None:
            raise TraceError("a loop over the tree stands inside another", remedy="Write the loops in sequence")
        self._loop = Loop(domain, reverse)
        kinds = self.structure.kinds if domain != "frames" else self.structure.kinds[:1]
        for kind in (*kinds, kinds[0]):  # the first kind again, to detect turns that depend on others
            self._step = Step()
            yield LoopBody(self, word, kind)
            self._loop.steps.append(self._step.closed())
        first, again = self._loop.steps[0].program(), self._loop.steps.pop().program()
        if any(
            getattr(first, part).tobytes() != getattr(again, part).tobytes() for part in ("op", "args", "value")
        ):
            raise TraceError("a turn of a loop over the tree depends on earlier turns", remedy=REMEDY)
        self.statements.append(self._loop)
        self._loop = self._step = None


class Given:
    """Input per body, link or frame."""

    def __init__(self, tree: Looped, store: Store | None, count: str | None):
        self._tree, self._store, self._count = tree, store, count

    def __getitem__(self, i: Any) -> Any:
        if self._store is None:
            return np.zeros(i.kind.n_v)
        return self._tree.read(self._store, i.word, 1 if self._count is None else getattr(i.kind, self._count))


class Column:
    """A value per body, or a row per velocity."""

    def __init__(self, tree: Looped, store: Store, packing: Packing, start: Callable[[Any], Any] | None):
        self._tree, self._store, self._packing, self._start = tree, store, packing, start

    def _count(self, i: Any) -> int | None:
        return None if self._store.layout == "bodies" or i.word == "start" else i.kind.n_v

    def __getitem__(self, i: Any) -> Any:
        count = self._count(i)
        numbers = self._tree.read(self._store, i.word, 1 if count is None else count)
        if count is not None:
            return numbers.reshape(count, self._packing.size)
        if self._start is not None and i.word == "own":  # memory holds the sum that its children added
            numbers = self._packing.numbers(self._start(i), None) + numbers
        return self._packing.value(numbers, getattr(i, "place", None) if self._packing.placed else None)

    def __setitem__(self, i: Any, value: Any) -> None:
        count = self._count(i)
        if self._start is not None and i.word == "own":
            raise TraceError("a column with a start can only be added to", remedy="Write to another column")
        if count is None:
            count, place = 1, i.place if self._packing.placed else None
            numbers = self._packing.numbers(value, place)
        else:
            numbers = np.asarray(value, object).ravel()
        self._tree.write(self._store, (i.word,), (), count, numbers)


class Cell:
    """One value."""

    def __init__(self, tree: Looped, store: Store, packing: Packing):
        self._tree, self._store, self._packing = tree, store, packing

    @property
    def value(self) -> Any:
        """Content of the cell."""
        return self._packing.value(self._tree.read(self._store, "one"), None)

    @value.setter
    def value(self, value: Any) -> None:
        self._tree.write(self._store, ("one",), (), 1, self._packing.numbers(value, None))

    def whole(self) -> None:
        """Do nothing: the value is already in the program's output."""


class Result:
    """Output per body, link or frame."""

    def __init__(self, tree: Looped, store: Store, axes: Sequence[Axis | int]):
        self._tree, self._store, self._axes = tree, store, axes

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = list(key) if type(key) is tuple else [key]
        words, spans = [], []
        for axis in self._axes[: _leading(self._axes)]:
            if isinstance(axis, int):
                spans.append(axis)
                continue
            i = keys.pop(0)
            words.append(i.word)
            spans.append(i.kind.n_v if axis is VELOCITIES and i.word != "start" else 1)
        if not all(spans):
            return
        blocks = np.asarray(value, object).reshape(*spans[:-1], -1)
        together = spans[-1] if self._axes[len(spans) - 1] is VELOCITIES else 1
        for offset in product(*map(range, spans[:-1])):
            self._tree.write(self._store, tuple(words), offset, together, blocks[offset])

    def whole(self) -> None:
        """Do nothing: the value is already in the program's output."""


def _leading(axes: Sequence[Axis | int]) -> int:
    """Return the number of axes that select rows: all up to the last that is not a number."""
    return max(k for k, axis in enumerate(axes) if isinstance(axis, Axis)) + 1


# --- recorded data


@dataclass(eq=False)
class Store:
    """An array of the program.

    Attributes:
        layout: meaning of the rows: "bodies" (with the base), "constants" (bodies), "velocities", "coordinates",
            "frames", "one", or "result".
        size: numbers per row.
        axes: axes of an output.
        live: the numbers of a row that are read.
        memory: "full", "rows" or "slots" if rows are reused, or "none".
        zero: True if it is read before it is written.
        start: default of the base's row.
        begins: True if this default is needed.
    """

    name: str
    layout: str
    size: int
    axes: Sequence[Axis | int] | None = None
    live: set[int] = field(default_factory=set)
    memory: str = "full"
    zero: bool = False
    start: Any = None
    begins: bool = False

    @property
    def is_memory(self) -> bool:
        """True if it is neither an input, nor an output, nor a table."""
        return self.axes is None and self.name.startswith(("column", "cell"))


Place = tuple[Store, tuple[str, ...], tuple[int, ...], int]
"""Array, words that name the row, offsets on the first axes of a result, and number of rows."""


class Step:
    """One turn of a loop, or the statements between loops."""

    def __init__(self) -> None:
        self._tape = Tape()
        self.reads: dict[Place, Any] = {}
        self.writes: dict[Place, list[Any]] = {}
        self.sums: dict[Place, list[Any]] = {}
        """Added values of writes that add to the old value."""
        self.n_scalars: int = 0

    def read(self, place: Place) -> Any:
        """Return the numbers of a place: those written before in this turn, or inputs."""
        if place in self.writes:
            return np.array(self.writes[place], dtype=object)
        if place not in self.reads:
            size, number = place[0].size * place[3], len(self.reads)
            numbers = np.empty(size, object)
            numbers[:] = [self._tape.input(number, k) for k in range(size)]
            self.reads[place] = numbers
        return self.reads[place]

    def write(self, place: Place, numbers: Any) -> None:
        """Write numbers to a place."""
        entries = [x if type(x) is Scalar else float(x) for x in np.asarray(numbers, object).ravel().tolist()]
        if any(type(x) is Scalar and x.tape is not self._tape for x in entries):
            raise TraceError("a value of one turn of a loop over the tree is used in another", remedy=REMEDY)
        before = self.reads.get(place)
        added = None if before is None else [_added(x, y) for x, y in zip(entries, before, strict=True)]
        if place in self.writes or added is None or any(x is None for x in added):
            self.sums.pop(place, None)
        else:
            self.sums[place] = added
        self.writes[place] = entries

    def closed(self) -> Step:
        """Close the step and return it."""
        self.n_scalars = len(self._tape.table)
        self._tape.close()
        return self

    def program(self) -> Graph:
        """Return the graph of everything that is written."""
        return self.listed(list(self.writes.values()))

    def used(self, writes: dict[Place, list[Any]]) -> dict[Place, set[int]]:
        """Return the numbers read, by place, that the live numbers of writes depend on."""
        places, used, seen = list(self.reads), {}, set()
        waiting = [
            x
            for (store, *_), entries in writes.items()
            for k, x in enumerate(entries)
            if type(x) is Scalar and (not store.is_memory or k % store.size in store.live)
        ]
        while waiting:
            x = waiting.pop()
            if x.number in seen:
                continue
            seen.add(x.number)
            if x.op == _INPUT:
                used.setdefault(places[x.a], set()).add(x.b)
            else:
                waiting += [y for y in (x.a, x.b, x.c) if type(y) is Scalar]
        return used

    def listed(self, outputs: list[list[Any]]) -> Graph:
        """Return the graph of some outputs."""
        inputs = [Argument(f"x{k}", (len(numbers),)) for k, numbers in enumerate(self.reads.values())]
        named = [(Argument(f"y{k}", (len(entries),)), entries) for k, entries in enumerate(outputs)]
        return listed("step", inputs, named, self.n_scalars)


def _added(entry: Any, before: Scalar) -> Any:
    """Return the term added to `before` that gives an entry, None if the entry is not such a sum."""
    if entry is before:
        return 0.0
    if type(entry) is Scalar and entry.op == _ADD and entry.a is before:
        return entry.b
    if type(entry) is Scalar and entry.op == _ADD and entry.b is before:
        return entry.a
    if type(entry) is Scalar and entry.op == _SUB and entry.a is before:
        return -entry.b
    return None


@dataclass
class Loop:
    """A loop with one step per kind of joint."""

    domain: str
    reverse: bool
    steps: list[Step] = field(default_factory=list)


class Recording:
    """An algorithm as loops and steps, for all trees with joints of the same kinds."""

    def __init__(self, tree: Looped):
        tree.close()
        self.statements: list[Step | Loop] = tree.statements
        self.stores: tuple[Store, ...] = tuple(tree.stores())
        self._find_live()
        for store in self.stores:
            if store.is_memory and store.layout == "bodies":
                self._choose_memory(store)
        for store in self.stores:
            if store.layout == "one":
                store.zero = self._is_read_first(store)

    def steps(self) -> Iterator[tuple[int, Loop | None, Step]]:
        """Yield every step, with the number of its statement and its loop."""
        for number, statement in enumerate(self.statements):
            if isinstance(statement, Loop):
                yield from ((number, statement, step) for step in statement.steps)
            else:
                yield number, None, statement

    def _find_live(self) -> None:
        """Find the numbers of columns that outputs depend on."""
        grown = True
        while grown:
            grown = False
            for _, _, step in self.steps():
                for (store, *_), used in step.used(step.writes).items():
                    entries = {k % store.size for k in used}
                    grown |= not entries <= store.live
                    store.live |= entries

    def _choose_memory(self, store: Store) -> None:
        """Choose the memory. Rows are reused if bodies read only their parent's row, or only their children's
        sum."""
        reads, writes, sums = set(), set(), set()
        for number, loop, step in self.steps():
            within = (number, loop is not None and loop.reverse)
            summed = {place: added for place, added in step.sums.items() if place[1] == ("parent",)}
            reads |= {(*within, place[1][0]) for place in step.used(step.writes | summed) if place[0] is store}
            sums |= {within for place in summed if place[0] is store}
            replaced = [place for place in step.writes if place[0] is store and place not in summed]
            writes |= {(*within, place[1][0]) for place in replaced}
        loops = {number for number, *_ in reads | sums}
        loops |= {number for number, _, word in writes if word != "base"}
        if not store.live:
            store.memory = "none"
        elif len(loops) == 1 and {word for *_, word in reads} == {"parent"} and not sums:
            store.memory = "rows"
        elif len(loops) == 1 and {word for *_, word in reads} == {"own"} and sums and all(up for _, up in sums):
            store.memory = "slots"
        first = min(number for number, *_ in reads | sums) if reads or sums else 0
        store.zero = not any(word == "own" and number <= first for number, _, word in writes)
        store.begins = not any(word == "base" for *_, word in writes)

    def _is_read_first(self, store: Store) -> bool:
        for _, _, step in self.steps():
            if any(place[0] is store for place in step.used(step.writes)):
                return True
            if any(place[0] is store for place in step.writes):
                return False
        return False


# --- the program


@dataclass(frozen=True)
class Structure:
    """Key of a recording, equal to every other with the same fingerprint."""

    algorithm: Callable[..., Any]
    fingerprint: str
    given: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]
    kinds: tuple[Kind, ...] = field(compare=False)
    width: int = field(compare=False)
    acts: tuple[int, ...] = field(compare=False)


@lru_cache(maxsize=64)
def _recorded(structure: Structure) -> Recording:
    tree = Looped(structure)
    try:
        structure.algorithm(tree, *structure.given, **dict(structure.options))
    except TraceError as error:
        if error.remedy == REMEDY or "trace" not in error.problem:
            raise
        raise TraceError(
            "a value of one turn of a loop over the tree is used in another",
            element=structure.algorithm.__name__,
            remedy=REMEDY,
        ) from error
    return Recording(tree)


def write(
    program: Builder,
    algorithm: Callable[..., Any],
    bodies: Bodies,
    frames: Frames | None,
    given: tuple[str, ...],
    options: tuple[tuple[str, Any], ...],
) -> None:
    """Write an algorithm as loops over bodies into a program.

    Args:
        program: the program to write into.
        algorithm: called with a tree, the names of its inputs, and the options by keyword.
        bodies: the tree.
        frames: frames on the bodies, if the algorithm walks them or has inputs by link.
        given: names of the inputs, in order.
        options: (name, value).
    """
    acts = tuple(np.flatnonzero(bodies.gravity).tolist())
    structure = Structure(algorithm, bodies.fingerprint, given, options, bodies.kinds, bodies.table.shape[1], acts)
    _Writer(program, _recorded(structure), bodies, frames, given).write()


class _Writer:
    """Writer of the program of one tree."""

    def __init__(
        self, program: Builder, recording: Recording, bodies: Bodies, frames: Frames | None, given: tuple[str, ...]
    ):
        self.program, self.recording, self.bodies, self.frames = program, recording, bodies, frames
        self._tables: dict[str, IndexTable] = {}
        self._arrays: dict[Store, Rows] = {}
        stores = {store.name: store for store in recording.stores}
        for name in given:
            self._array(stores.get(name) or Store(name, "velocities" if name != "q" else "coordinates", 1))
        for store in recording.stores:
            if store.axes is not None:
                self._array(store)
        for store in recording.stores:
            if store.axes is None and store.name not in given and store.memory != "none":
                self._array(store)

    def write(self) -> None:
        for store in self.recording.stores:
            if store.is_memory and store.layout == "bodies" and store.memory in ("full", "rows") and store.begins:
                self._arrays[store][0] = self.program.step(partial(_constant, store.start))
        for statement in self.recording.statements:
            if isinstance(statement, Step):
                self._step(statement, "", None)
                continue
            domain, kinds = statement.domain, self.bodies.kinds
            with self.program.each(self._trips(domain), statement.reverse) as i:
                if domain == "frames":
                    self._step(statement.steps[0], domain, i)
                    continue
                for number in self.program.switch(self._kind(domain, i), range(len(kinds))):
                    self._step(statement.steps[number], domain, i)

    def _step(self, step: Step, domain: str, i: Variable | None) -> None:
        outputs: dict[Place, list[Any]] = {}
        for place, entries in step.writes.items():
            store = place[0]
            if store.is_memory:
                if store.memory == "none" or (store.memory == "slots" and place[1] == ("own",)):
                    continue
                if store.memory == "slots":
                    entries = step.sums[place]
                entries = [x if k % store.size in store.live else 0.0 for k, x in enumerate(entries)]
            outputs[place] = entries
        if not outputs:
            return
        raw = step.listed(list(outputs.values()))
        used = set(raw.args[raw.op == _INPUT, 0].tolist())
        reads = [place for number, place in enumerate(step.reads) if number in used]
        parts = [self._arrays[place[0]][self._row(place, domain, i), place[3]] for place in reads]
        numbers = [number for number in range(len(step.reads)) if number in used]
        values = self.program.step(partial(_again, raw, numbers), *parts)
        for place, value in zip(outputs, values if isinstance(values, tuple) else (values,), strict=True):
            if place[0].memory == "slots":
                assert i is not None
                value = value.added_if(self._index("later", lambda: self.bodies.slots.later)[i])
            self._arrays[place[0]][self._row(place, domain, i), place[3]] = value

    # --- arrays

    def _array(self, store: Store) -> None:
        program, bodies, name = self.program, self.bodies, store.name
        n, n_v = bodies.n, bodies.n_v
        if store.axes is not None:
            shape = self._shape(store.axes)
            width = store.size
            self._arrays[store] = program.output(name, shape, width, zero=store.zero)
            return
        if store.is_memory:
            count = {"bodies": n + 1, "velocities": n_v, "one": 1}[store.layout]
            count = {"rows": bodies.rows.count, "slots": bodies.slots.count}.get(store.memory, count)
            zero = (store.zero and store.memory != "rows") or store.memory == "slots"
            self._arrays[store] = program.scratch(name, count, store.size, zero=zero)
            return
        inputs = {"coordinates": (bodies.n_q,), "velocities": (n_v,)}
        match name:
            case "constants":
                rows = program.table(name, bodies.table)
            case "place":
                rows = program.table(name, bodies.constants[:, 9:12])
            case "T_body_link":
                rows = program.table(name, bodies.T_body_link[1:, :3].reshape(-1, 12))
            case "friction":
                rows = program.table(name, bodies.friction)
            case "gravity":
                rows = program.table(name, np.append(bodies.gravity[bodies.gravity != 0.0], 0.0)[None])
            case "base_inertia":
                rows = program.table(name, bodies.base_inertia[None])
            case "on_body":
                assert self.frames is not None
                rows = program.table(name, self.frames.T_body_frame[:, :3].reshape(-1, 12))
            case _ if store.layout == "frames":
                assert self.frames is not None
                rows = program.input(name, (len(self.frames.carriers), store.size), store.size)
            case _:
                rows = program.input(name, inputs[store.layout])
        self._arrays[store] = rows

    def _length(self, axis: Axis | int) -> int:
        if isinstance(axis, int):
            return axis
        n_links = len(self.bodies.carriers)
        return {
            VELOCITIES: self.bodies.n_v,
            LINKS: n_links,
            PARAMETERS: n_links - 1,
            FRAMES: 0 if self.frames is None else len(self.frames.carriers),
        }[axis]

    def _shape(self, axes: Sequence[Axis | int]) -> tuple[int, ...]:
        return tuple(self._length(axis) * (N_PARAMETERS if axis is PARAMETERS else 1) for axis in axes)

    # --- rows

    def _row(self, place: Place, domain: str, i: Variable | None) -> Row:
        store, words, offset, _ = place
        if store.layout == "result":
            return self._result_row(store, words, offset, domain, i)
        (word,) = words
        if word in ("base", "one"):
            return 0
        assert i is not None
        bodies = self.bodies
        match store.layout, word:
            case "bodies", "own" if store.memory == "rows":
                return self._index("own", lambda: bodies.rows.row)[i]
            case "bodies", "parent" if store.memory == "rows":
                return self._index("parent", lambda: bodies.rows.parent)[i]
            case "bodies", "own" if store.memory == "slots":
                return self._index("taken", lambda: bodies.slots.taken)[i]
            case "bodies", "parent" if store.memory == "slots":
                return self._index("given", lambda: bodies.slots.given)[i]
            case "bodies", "parent":
                return self._index("f", lambda: bodies.parents + 1)[i]
            case "bodies", "carrier":
                assert self.frames is not None
                carriers = self.frames.carriers
                return self._index("carrier", lambda: carriers + 1)[i]
        number = i if word in ("own", "frame") else self._way_index(domain, word)[i]
        match store.layout:
            case "bodies":
                return number + 1
            case "velocities" if word != "start":
                return self._index("first_v", lambda: bodies.first_v)[number]
            case "coordinates":
                return self._index("first_q", lambda: bodies.first_q)[number]
        return number

    def _result_row(
        self, store: Store, words: tuple[str, ...], offset: tuple[int, ...], domain: str, i: Variable | None
    ) -> Row:
        assert store.axes is not None
        axes = store.axes[: _leading(store.axes)]
        if words == ("base",):
            return 0
        assert i is not None
        if len(axes) == 1:
            if axes[0] is VELOCITIES:
                return self._index("first_v", lambda: self.bodies.first_v)[i]
            return i + 1 if words == ("own",) else i

        def places() -> np.ndarray:
            flat, waiting = np.zeros(1, np.int64), list(words)
            for axis, behind in zip(axes, (*offset, 0), strict=True):
                x = behind + (0 if isinstance(axis, int) else self._numbers(axis, waiting.pop(0), domain))
                # A joint with fewer velocities than others does not use the last rows, so any existing row will do.
                flat = flat * self._length(axis) + np.minimum(x, self._length(axis) - 1)
            return flat

        return self._index(f"{store.name}_{'_'.join(map(str, (*words, *offset)))}", places)[i]

    def _numbers(self, axis: Axis, word: str, domain: str) -> np.ndarray:
        """Return the first index on an axis of the bodies, velocities or links of a loop."""
        rows = np.arange(self.bodies.n) if word == "own" else getattr(self._way(domain), word)
        return self.bodies.first_v[rows] if axis is VELOCITIES and word != "start" else rows

    # --- loops

    def _trips(self, domain: str) -> int:
        if domain == "bodies":
            return self.bodies.n
        if domain == "frames":
            assert self.frames is not None
            return len(self.frames.carriers)
        return len(self._way(domain).start)

    def _kind(self, domain: str, i: Variable) -> Entry:
        if domain == "bodies":
            return self._index("kind", lambda: self.bodies.which)[i]
        return self._index(f"kind of {domain}", lambda: self.bodies.which[self._way(domain).above])[i]

    def _way(self, domain: str) -> Pairs:
        return self.bodies.velocity_pairs if domain == "velocity pairs" else self.bodies.pairs

    def _way_index(self, domain: str, word: str) -> IndexTable:
        return self._index(f"{word} of {domain}", lambda: getattr(self._way(domain), word))

    def _index(self, name: str, values: Callable[[], np.ndarray]) -> IndexTable:
        if name not in self._tables:
            self._tables[name] = self.program.index(name, values())
        return self._tables[name]


def _again(raw: Graph, numbers: Sequence[int], *arrays: Any) -> tuple[Any, ...]:
    """Repeat a recorded step on other numbers, such as rows of which some are zero."""
    given = dict(zip(numbers, arrays, strict=True))
    inputs = [given[k] if k in given else np.zeros(argument.shape) for k, argument in enumerate(raw.inputs)]
    values = node_values(raw, inputs)
    return tuple(np.array([values[k] for k in nodes.tolist()], dtype=object) for nodes in raw.results)


def _constant(numbers: Any) -> Any:
    return numbers
