"""Translation of a program to LLVM assembly: `run(ws, data)` computes `lanes` states in the workspace.

Every value is a vector that holds the same quantity of `lanes` states. Additions and multiplications may be fused,
which makes them more exact. No other transformation is made, so NaN and infinity propagate.

The code contains nothing specific to one instance. Array offsets, numbers of rows, table addresses and trip counts
are words of `data`, see `_instance`. An output is direct if one statement writes all of it and nothing else
accesses it. The elements of a direct output are written to the rows of the caller's array as soon as they are
known. Elements that are the same for all states are written once, by `constants(ws, data)`.

The trips of a loop are independent if the arrays that it writes are of two types:

- Arrays written at a row that depends on the trip (by the counter, a table or a lane). One statement writes them,
  and the loop does not read them. They are shared by all lanes: every lane writes its number to all of them.
- Scratch arrays that nothing outside the loop reads, and of which a trip reads only values it has written before.
  Every lane has its own values there.

In a batch every lane holds another state. In a single call, and at the end of a batch, all lanes hold the same
state, which is then computed only once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import BuildError
from . import _rows
from ._assembly import Function, Module, Types
from ._instance import ROWS, Words
from ._plan import Block, Plan, computed_nodes, make_plan
from ._rows import spread
from ._vector_code import VectorCode
from .program import (
    Array,
    Entry,
    For,
    Graph,
    Kind,
    Lane,
    Op,
    Program,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Switch,
    Variable,
    While,
    walk,
)

CHUNK_SIZE = 500
"""Operations per chunk. LLVM's compile time grows faster than linearly with the length of a block, so a long graph
is split into several functions. A graph that writes no direct output stays inline up to twice this size."""

Counters = dict[Variable, list[str]]
"""Names of loop counters in the code: one name for all lanes, or one per lane."""
Reader = Callable[[Function, Sequence[str], int], str]
"""(function, addresses, element) → the vector of one element that a graph reads."""


class Lowered(NamedTuple):
    """Text of a program in LLVM assembly."""

    text: str
    n_slots: int
    """number of vectors that outlive their chunk"""
    direct: tuple[int, ...]
    """numbers of the outputs whose rows the code writes itself"""


def lower(
    program: Program,
    dtype: np.dtype,
    lanes: int,
    triple: str,
    fma: bool = True,
    state_by_state: bool = False,
) -> Lowered:
    """Write a module with the function `run` and, if parts of direct outputs are constant, `constants`.

    Args:
        program: the program to translate.
        dtype: float64 or float32.
        lanes: states per vector, a power of two.
        triple: LLVM's name of the target.
        fma: True if the target fuses multiplications and additions. If not, the C library computes trigonometric
            functions, because the range reduction is exact only when fused.
        state_by_state: True to distribute independent trips of loops over the lanes, which then hold the same
            state.
    """
    if lanes < 2 or lanes & (lanes - 1):
        raise BuildError(f"{lanes} lanes are not a power of two from 2", element=f"program {program.name}")
    module, words = Module(Types(np.dtype(dtype), lanes)), Words(program)
    if state_by_state:
        writer = _Writer(module, program, fma, laid_across(program), (), "one_state")
    else:
        writer = _Writer(module, program, fma, frozenset(), _direct(program), "run")
    writer.write()
    if state_by_state:
        inputs, outputs = (
            [(words.place(array), words.rows(array), array.width) for array in program.of_kind(kind)]
            for kind in (Kind.INPUT, Kind.OUTPUT)
        )
        write_state_by_state(module, "one_state", inputs, outputs, words.kept)
    return Lowered(module.text(triple), writer.n_slots, tuple(sorted(writer.direct.values())))


def _direct(program: Program) -> Collection[Array]:
    """Return the outputs that one statement outside loops writes completely and nothing else accesses."""
    touched: Counter[Array] = Counter()
    for statement, _ in walk(program.body):
        if isinstance(statement, Run):
            touched.update(ref.array for ref in (*statement.reads, *statement.writes))
            touched.update(
                ref.row.array for ref in (*statement.reads, *statement.writes) if isinstance(ref.row, Lane)
            )
        elif isinstance(statement, While):
            touched[statement.flag] += 1
    written = [ref for statement in program.body if isinstance(statement, Run) for ref in statement.writes]
    return [
        ref.array
        for ref in written
        if ref.array.kind is Kind.OUTPUT
        and not ref.array.zero
        and (ref.row, ref.length, ref.add, touched[ref.array]) == (0, ref.array.size, None, 1)
    ]


class _Writer:
    def __init__(
        self,
        module: Module,
        program: Program,
        fma: bool,
        across: frozenset[Variable],
        direct: Collection[Array],
        name: str,
    ):
        self.program, self.words, self.types, self.fma = program, Words(program), module.types, fma
        self.module, self.n_slots, self._n_chunked = module, 0, 0
        self.across, self._laid = across, False
        self.direct: dict[Array, int] = {
            array: number for number, array in enumerate(program.of_kind(Kind.OUTPUT)) if array in direct
        }
        """Direct outputs, with their numbers among the outputs."""
        self._constants: list[tuple[Array, Graph, list[Block]]] = []
        linkage = "" if name == "run" else "internal "
        self.f = Function(module, f"{linkage}void @{name}(ptr noalias %ws, ptr noalias %data)")

    def write(self) -> None:
        for array in self.program.of_kind(Kind.OUTPUT, Kind.SCRATCH):
            if array.zero:
                self._clear(array)
        self._statements(self.program.body, {}, None)
        self.f.finish()
        if self._constants:
            self._write_constants()

    def _write_constants(self) -> None:
        """Write `constants(ws, data)`, for the parts of direct outputs that are the same for all states."""
        f = Function(self.module, "void @constants(ptr noalias %ws, ptr noalias %data)")
        for array, graph, blocks in self._constants:
            places = _lane_places(f, self._pointers(f, array))
            for block, count in _repeated(blocks, graph.value):
                _rows.fill(f, places, block.first, count, graph.value[list(block.nodes)].tolist())
        f.finish()

    def _pointers(self, f: Function, array: Array) -> str:
        """Return the address of the row addresses of a direct output, one per lane."""
        number = self.words.output(self.direct[array]) + ROWS
        return f.at("%ws", f.load("i64", f.at("%data", 8 * number), 8))

    def _statements(self, body: tuple[Statement, ...], counters: Counters, mask: str | None) -> None:
        for statement in body:
            match statement:
                case Run():
                    self._run(statement, counters, mask)
                case For():
                    self._for(statement, counters, mask)
                case While():
                    self._while(statement, counters, mask)
                case Switch():
                    self._switch(statement, counters, mask)

    # --- memory

    def _word(self, number: int, kind: str = "i64") -> str:
        return self.f.load(kind, self.f.at("%data", 8 * number), 8)

    def _begin(self, array: Array) -> str:
        """Return the address of an array."""
        if array.in_lanes:
            return self.f.at("%ws", self._word(self.words.place(array)))
        return self._word(self.words.place(array), "ptr")

    def _row_bytes(self, array: Array) -> int:
        return array.width * (self.types.stride if array.in_lanes else self.types.itemsize)

    def _rows(self, row: Row, counters: Counters) -> list[str]:
        """Return the number of a row: one for all lanes, or one per lane in a loop distributed over the lanes."""
        f = self.f
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return [f.let(f"add i64 {number}, {row.offset}") for number in self._rows(row.row, counters)]
            case Entry():
                begin = self._begin(row.table)
                offsets = [f.let(f"mul i64 {number}, 8") for number in self._rows(row.row, counters)]
                return [f.load("i64", f.at(begin, offset), 8) for offset in offsets]
            case _:
                return [str(row)]

    def _addresses(self, ref: Ref, counters: Counters, step: int) -> list[str]:
        """Return the address of a row: one for all lanes, or one per lane, `step` bytes apart."""
        array = ref.array
        if isinstance(ref.row, Lane):
            chosen = self.f.load(self.types.vector, self._begin(ref.row.array), self.types.stride)
            rows = _rows.cut(self.f, chosen, self._word(self.words.rows(array)))
        else:
            rows = self._rows(ref.row, counters)
        return _rows.addresses(self.f, self._begin(array), rows, self._row_bytes(array), step)

    def _clear(self, array: Array) -> None:
        f, t = self.f, self.types
        count = f.let(f"mul i64 {self._word(self.words.rows(array))}, {array.width}")
        begin = self._begin(array)

        def clear(j: str) -> None:
            f.store(t.vector, t.splat(0.0), f.at(begin, f.let(f"mul i64 {j}, {t.stride}")), t.stride)

        f.repeat(count, clear)

    # --- statements

    def _run(self, run: Run, counters: Counters, mask: str | None) -> None:
        addresses = [self._read_addresses(ref, counters) for ref in run.reads]
        readers = [_reader(ref, len(group) > 1) for ref, group in zip(run.reads, addresses, strict=True)]
        inline = _Inline(run.graph, self.fma, readers, addresses)
        inline.begin(self.f)
        if any(ref.array in self.direct for ref in run.writes) or run.graph.n_nodes > 2 * CHUNK_SIZE:
            read = self._chunked(run, readers, addresses, inline.read)
        else:
            inline.compute(computed_nodes(run.graph))
            read = inline.read
        written = zip(run.writes, run.graph.results, strict=True)
        # Read all results before the first write, because a node may be the value of a row.
        results = [
            (ref, [read(node) for node in nodes.tolist()]) for ref, nodes in written if ref.array not in self.direct
        ]
        for ref, values in results:
            self._put(ref, values, counters, mask)

    def _chunked(
        self, run: Run, readers: list[Reader], addresses: list[list[str]], fetch: Callable[[int], str]
    ) -> Callable[[int], str]:
        """Compute a graph in functions of its own, and return a reader of results, which is `fetch` for inputs."""
        graph, t = run.graph, self.types
        direct = {k: ref.array for k, ref in enumerate(run.writes) if ref.array in self.direct}
        plan = make_plan(graph, CHUNK_SIZE, t.lanes, direct)
        for k, array in direct.items():
            blocks = [block for block in plan.constants if block.output == k]
            if blocks:
                self._constants.append((array, graph, blocks))
        names = [[f"%x{k}_{lane}" for lane in range(len(group))] for k, group in enumerate(addresses)]
        rows_of = {k: f"%y{k}" for k in direct}
        parameters = "".join(
            f", ptr {name}" for name in (*(x for group in names for x in group), *rows_of.values())
        )
        slots = self.f.at("%ws", self._word(self.words.slots))
        given = [*(address for group in addresses for address in group)]
        given += [self._pointers(self.f, array) for array in direct.values()]
        arguments = "".join(f", ptr {address}" for address in given)
        for number in range(len(plan.chunks)):
            name = f"@chunk{self._n_chunked}_{number}"
            code = _Chunk(graph, self.fma, readers, names, plan, rows_of)
            code.write(Function(self.module, f"internal void {name}(ptr noalias %slots{parameters})"), number)
            self.f.do(f"call void {name}(ptr {slots}{arguments})")
        self._n_chunked, self.n_slots = self._n_chunked + 1, max(self.n_slots, plan.n_slots)

        def read(node: int) -> str:
            if plan.slot[node] < 0:
                return fetch(node)
            return self.f.load(t.vector, self.f.at(slots, plan.slot[node] * t.stride), t.stride)

        return read

    def _read_addresses(self, ref: Ref, counters: Counters) -> list[str]:
        """Return the addresses of the rows to read, one per lane if the lanes choose them."""
        if not ref.length:
            return []
        return self._addresses(ref, counters, self.types.itemsize if ref.array.in_lanes else 0)

    def _put(self, ref: Ref, values: list[str], counters: Counters, mask: str | None) -> None:
        f, t = self.f, self.types
        if self._laid and varies(ref.row, self.across):
            places = self._addresses(ref, counters, 0)
            for element, value in enumerate(values):
                _rows.spread_each(f, [f.at(place, element * t.stride) for place in places], value)
            return
        if isinstance(ref.row, Lane):
            places = self._addresses(ref, counters, t.itemsize)
            for element, value in enumerate(values):
                at = [f.at(place, element * t.stride) for place in places]
                if mask is not None:
                    value = self._chosen(mask, value, _rows.gather(f, at))
                _rows.scatter(f, at, value)
            return
        (begin,) = self._addresses(ref, counters, 0)

        def store(add: bool) -> None:
            for element, value in enumerate(values):
                at = f.at(begin, element * t.stride)
                if add:
                    value = f.let(f"fadd {t.vector} {f.load(t.vector, at, t.stride)}, {value}")
                if mask is not None:
                    value = self._chosen(mask, value, f.load(t.vector, at, t.stride))
                f.store(t.vector, value, at, t.stride)

        if ref.add is None:
            store(add=False)
            return
        adding, replacing, done = f.name("adding"), f.name("replacing"), f.name("put")
        (flag,) = self._rows(ref.add, counters)
        adds = f.let(f"icmp ne i64 {flag}, 0")
        f.do(f"br i1 {adds}, label %{adding}, label %{replacing}")
        f.start(adding)
        store(add=True)
        f.do(f"br label %{done}")
        f.start(replacing)
        store(add=False)
        f.do(f"br label %{done}")
        f.start(done)

    def _chosen(self, mask: str, value: str, otherwise: str) -> str:
        t = self.types
        return self.f.let(f"select {t.mask} {mask}, {t.vector} {value}, {t.vector} {otherwise}")

    def _for(self, loop: For, counters: Counters, mask: str | None) -> None:
        f = self.f
        count = self._word(self.words.trips(loop.variable))
        if loop.variable in self.across:
            self._for_across(loop, count, counters, mask)
            return

        def body(j: str) -> None:
            if loop.reverse:
                j = f.let(f"sub i64 {f.let(f'sub i64 {count}, 1')}, {j}")
            self._statements(loop.body, counters | {loop.variable: [j]}, mask)

        f.repeat(count, body)

    def _for_across(self, loop: For, count: str, counters: Counters, mask: str | None) -> None:
        """Write a loop that runs one trip per lane; lanes beyond the last trip repeat it."""
        f, lanes = self.f, self.types.lanes
        last = f.let(f"sub i64 {count}, 1")
        smaller = self.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])

        def body(group: str) -> None:
            first = f.let(f"mul i64 {group}, {lanes}")
            trips = [f.let(f"add i64 {first}, {lane}") for lane in range(lanes)]
            trips = [f.let(f"call i64 {smaller}(i64 {trip}, i64 {last})") for trip in trips]
            self._laid = True
            self._statements(loop.body, counters | {loop.variable: trips}, mask)
            self._laid = False

        f.repeat(f.let(f"udiv i64 {f.let(f'add i64 {count}, {lanes - 1}')}, {lanes}"), body)

    def _while(self, loop: While, counters: Counters, mask: str | None) -> None:
        f, t = self.f, self.types
        head, work, out, before = f.name("while"), f.name("work"), f.name("out"), f.block
        bound = self._word(self.words.trips(loop.counter))
        f.do(f"br label %{head}")
        f.start(head)
        f.do(f"%j{head} = phi i64 [ 0, %{before} ], [ %n{head}, %again{head} ]")
        flag = f.load(t.vector, self._begin(loop.flag), t.stride)
        active = f.let(f"fcmp une {t.vector} {flag}, {t.splat(0.0)}")
        if mask is not None:
            active = f.let(f"and {t.mask} {active}, {mask}")
        some = f.let(f"icmp ne i{t.lanes} {f.let(f'bitcast {t.mask} {active} to i{t.lanes}')}, 0")
        within = f.let(f"icmp slt i64 %j{head}, {bound}")
        f.do(f"br i1 {f.let(f'and i1 {some}, {within}')}, label %{work}, label %{out}")
        f.start(work)
        self._statements(loop.body, counters | {loop.counter: [f"%j{head}"]}, active)
        f.do(f"br label %again{head}")
        f.start(f"again{head}")
        f.do(f"%n{head} = add i64 %j{head}, 1")
        f.do(f"br label %{head}")
        f.start(out)

    def _switch(self, switch: Switch, counters: Counters, mask: str | None) -> None:
        f = self.f
        (chosen,) = self._rows(switch.row, counters)
        labels, out = [f.name("case") for _ in switch.cases], f.name("chosen")
        targets = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(labels))
        f.do(f"switch i64 {chosen}, label %{labels[0]} [ {targets} ]")
        for label, case in zip(labels, switch.cases, strict=True):
            f.start(label)
            self._statements(case, counters, mask)
            f.do(f"br label %{out}")
        f.start(out)


def _reader(ref: Ref, gathered: bool) -> Reader:
    """Return the function that reads an element, given the addresses of its rows (one, or one per lane)."""
    in_lanes = ref.array.in_lanes

    def read(f: Function, addresses: Sequence[str], element: int) -> str:
        t = f.types
        offset = element * (t.stride if in_lanes else t.itemsize)
        if gathered:
            return _rows.gather(f, [f.at(address, offset) for address in addresses])
        at = f.at(addresses[0], offset)
        return f.load(t.vector, at, t.stride) if in_lanes else _rows.spread(f, f.load(t.scalar, at, t.itemsize))

    return read


class _Inline(VectorCode):
    """A graph in the current block; its inputs are read from rows of arrays."""

    def __init__(self, graph: Graph, fma: bool, readers: Sequence[Reader], addresses: Sequence[Sequence[str]]):
        super().__init__(graph, fma)
        self._readers, self._addresses = readers, addresses

    def fetch(self, node: int) -> str:
        assert self.op[node] == Op.INPUT
        argument, element, _ = self.args[node].tolist()
        return self._readers[argument](self.f, self._addresses[argument], element)

    def computed(self, node: int) -> None:
        pass


class _Chunk(_Inline):
    """A chunk of a graph as a function of the slots, input addresses, and rows of direct outputs."""

    def __init__(
        self,
        graph: Graph,
        fma: bool,
        readers: Sequence[Reader],
        addresses: Sequence[Sequence[str]],
        plan: Plan,
        rows_of: dict[int, str],
    ):
        super().__init__(graph, fma, readers, addresses)
        self.plan, self.rows_of = plan, rows_of
        self.places: dict[int, list[str]] = {}
        self.completes: dict[int, list[Block]] = {}

    def write(self, f: Function, number: int) -> None:
        """Write the operations of the chunk, and store the values that later chunks or the outputs need."""
        chunk = self.plan.chunks[number]
        position = {node: at for at, node in enumerate(chunk)}
        for block in self.plan.blocks[number]:
            last = max(block.nodes, key=lambda node: position.get(node, -1))
            self.completes.setdefault(last, []).append(block)
        self.begin(f)
        self.compute(chunk)
        for node in list(self.completes):
            self._complete(node)  # blocks of inputs and constants only
        f.finish()

    def fetch(self, node: int) -> str:
        """Return an input, or the value that another chunk left in the node's slot."""
        return super().fetch(node) if self.op[node] == Op.INPUT else self.f.load(*self._slot(node))

    def computed(self, node: int) -> None:
        """Store a value that later chunks read, and write the blocks that this node completes."""
        if self.plan.slot[node] >= 0:
            kind, at, size = self._slot(node)
            self.f.store(kind, self.read(node), at, size)
        self._complete(node)

    def _slot(self, node: int) -> tuple[str, str, int]:
        t = self.types
        return t.vector, self.f.at("%slots", self.plan.slot[node] * t.stride), t.stride

    def _complete(self, node: int) -> None:
        for block in self.completes.pop(node, ()):
            if block.output not in self.places:
                self.places[block.output] = _lane_places(self.f, self.rows_of[block.output])
            _rows.store(self.f, self.places[block.output], block.first, [self.read(k) for k in block.nodes])


def _lane_places(f: Function, pointers: str) -> list[str]:
    """Return the row addresses of all lanes, read from memory at `pointers`."""
    return [f.load("ptr", f.at(pointers, 8 * lane), 8) for lane in range(f.types.lanes)]


def _repeated(blocks: list[Block], value: np.ndarray) -> list[tuple[Block, int]]:
    """Return blocks of constants; neighbours with the same numbers are counted as one."""
    runs: list[tuple[Block, int]] = []
    for block in blocks:
        if runs:
            start, count = runs[-1]
            follows = (block.output, block.first) == (start.output, start.first + count * len(start.nodes))
            # compared as bytes: −0 differs from 0, and NaN equals itself
            if follows and value[list(block.nodes)].tobytes() == value[list(start.nodes)].tobytes():
                runs[-1] = start, count + 1
                continue
        runs.append((block, 1))
    return runs


LEAST_WORK = 64
"""Operations per trip above which distributing a loop over the lanes outweighs gathering and scattering rows."""

Cells = frozenset[tuple[Array, int]]
"""Rows of arrays that a trip is certain to have written."""


class _Carried(Exception):
    """Raised if a value may be carried from one trip to the next."""


def laid_across(program: Program) -> frozenset[Variable]:
    """Return the counters of loops that can be distributed over the lanes; none of them is inside another."""
    return frozenset(_chosen(program.body, program))


def varies(row: Row, counters: Collection[Variable]) -> bool:
    """Return True if lanes refer to different rows when they share the loops of these counters."""
    match row:
        case Lane():
            return True
        case Variable():
            return row in counters
        case Shifted() | Entry():
            return varies(row.row, counters)
        case _:
            return False


def _chosen(body: tuple[Statement, ...], program: Program) -> Iterator[Variable]:
    for statement in body:
        if isinstance(statement, For):
            if _work(statement.body) >= LEAST_WORK and is_independent(statement, program):
                yield statement.variable
            else:
                yield from _chosen(statement.body, program)
        elif isinstance(statement, Switch):
            for case in statement.cases:
                yield from _chosen(case, program)


def _work(body: tuple[Statement, ...]) -> int:
    return sum(len(computed_nodes(statement.graph)) for statement, _ in walk(body) if isinstance(statement, Run))


def is_independent(loop: For, program: Program) -> bool:
    """Return True if the trips of a loop can run simultaneously; writes to the same row keep their order."""
    try:
        _Trip(loop, _used_outside(program.body, loop)).follow(loop.body, frozenset())
    except _Carried:
        return False
    return not loop.reverse


def _used_outside(body: tuple[Statement, ...], loop: For) -> set[Array]:
    """Return the arrays that a statement outside a loop reads or writes."""
    used: set[Array] = set()
    for statement in body:
        if statement is loop:
            continue
        if isinstance(statement, Run):
            used |= {array for ref in (*statement.reads, *statement.writes) for array in _arrays(ref)}
        elif isinstance(statement, While):
            used |= {statement.flag} | _used_outside(statement.body, loop)
        else:
            bodies = (statement.body,) if isinstance(statement, For) else statement.cases
            used |= {array for inner in bodies for array in _used_outside(inner, loop)}
    return used


def _arrays(ref: Ref) -> tuple[Array, ...]:
    return (ref.array, ref.row.array) if isinstance(ref.row, Lane) else (ref.array,)


class _Trip:
    """Data flow of one trip of a loop, statement by statement."""

    def __init__(self, loop: For, used_outside: set[Array]):
        self.counters = (loop.variable,)
        self.common: set[Array] = set()
        """Arrays written in the loop and shared by all lanes."""
        self.own: set[Array] = set()
        """Scratch arrays, private to every trip."""
        for run, nested in _runs(loop.body):
            for ref in run.writes:
                self._sort(ref, nested, used_outside)
        if self.common & self.own:
            raise _Carried

    def _sort(self, ref: Ref, nested: bool, used_outside: set[Array]) -> None:
        array = ref.array
        if ref.add is not None:
            raise _Carried
        if varies(ref.row, self.counters):
            # Masked lanes must not write back old values, and inner loops revisit a row.
            if nested or array in self.common:
                raise _Carried
            self.common.add(array)
            return
        if array.kind is not Kind.SCRATCH or array.zero or array in used_outside:
            raise _Carried
        self.own.add(array)

    def follow(self, body: tuple[Statement, ...], written: Cells) -> Cells:
        """Return the rows that are certain to be written after some statements."""
        for statement in body:
            match statement:
                case Run():
                    for ref in statement.reads:
                        self._read(ref, written)
                    for ref in statement.writes:
                        if isinstance(ref.row, Lane):
                            self._read_cell(ref.row.array, 0, written)
                        if isinstance(ref.row, int):
                            written |= {(ref.array, ref.row + k) for k in range(ref.count)}
                case While():
                    self._read_cell(statement.flag, 0, written)
                    self.follow(statement.body, written)  # the body may never run
                case For():
                    self.follow(statement.body, written)
                case Switch():
                    if varies(statement.row, self.counters):
                        raise _Carried
                    written = frozenset.intersection(*(self.follow(case, written) for case in statement.cases))
        return written

    def _read(self, ref: Ref, written: Cells) -> None:
        if isinstance(ref.row, Lane):
            self._read_cell(ref.row.array, 0, written)
        if ref.array in self.own and not isinstance(ref.row, int):
            raise _Carried
        for k in range(ref.count):
            self._read_cell(ref.array, ref.row + k if isinstance(ref.row, int) else 0, written)

    def _read_cell(self, array: Array, row: int, written: Cells) -> None:
        if array in self.common or (array in self.own and (array, row) not in written):
            raise _Carried


def _runs(body: tuple[Statement, ...], nested: bool = False) -> Iterator[tuple[Run, bool]]:
    """Return every step, and True if it stands in an inner loop or in a case."""
    for statement in body:
        if isinstance(statement, Run):
            yield statement, nested
        else:
            bodies = statement.cases if isinstance(statement, Switch) else (statement.body,)
            for inner in bodies:
                yield from _runs(inner, True)


Place = tuple[int, int, int]
"""Positions of the words with an array's workspace offset and number of rows, and the array's width."""


def write_state_by_state(
    module: Module, one_state: str, inputs: Sequence[Place], outputs: Sequence[Place], kept: int
) -> None:
    """Write `run(ws, data)`, which calls `one_state(ws, data)` for every state in the lanes.

    Args:
        module: the module to add it to.
        one_state: a function that needs the same inputs in all lanes, and gives the same outputs in all lanes.
        inputs, outputs: positions of the arrays.
        kept: the word with the workspace offset of room for all of them.
    """
    f, t = Function(module, "void @run(ptr noalias %ws, ptr noalias %data)"), module.types
    elements = _Elements(f)
    differ = f.let(f"alloca {t.words}, align {t.stride}")
    f.store(t.words, t.splat_word(0), differ, t.stride)

    def compare(at: str, _: str) -> None:
        numbers = f.load(t.words, at, t.stride)
        first = f.let(f"shufflevector {t.words} {numbers}, {t.words} poison, <{t.lanes} x i32> zeroinitializer")
        bits = f.let(f"xor {t.words} {numbers}, {first}")
        f.store(t.words, f.let(f"or {t.words} {f.load(t.words, differ, t.stride)}, {bits}"), differ, t.stride)

    def compute() -> None:
        f.do(f"call void @{one_state}(ptr %ws, ptr %data)")

    room = f.at("%ws", elements.word(kept))
    behind_inputs = elements.visit(inputs, room, compare)
    some = f.let(f"icmp ne {t.words} {f.load(t.words, differ, t.stride)}, {t.splat_word(0)}")
    several = f.let(f"icmp ne i{t.lanes} {f.let(f'bitcast {t.mask} {some} to i{t.lanes}')}, 0")

    def compute_each() -> None:
        def lane(number: str) -> None:
            offset = f.let(f"mul i64 {number}, {t.itemsize}")

            def give(at: str, place: str) -> None:
                f.store(t.vector, spread(f, f.load(t.scalar, f.at(place, offset), t.itemsize)), at, t.stride)

            def take(at: str, place: str) -> None:
                f.store(t.scalar, f.load(t.scalar, at, t.itemsize), f.at(place, offset), t.itemsize)

            elements.visit(inputs, room, give)
            compute()
            elements.visit(outputs, behind_inputs, take)

        elements.visit(inputs, room, lambda at, place: _copy(f, at, place))
        f.repeat(str(t.lanes), lane)
        elements.visit(outputs, behind_inputs, lambda at, place: _copy(f, place, at))

    f.when(several, compute_each, compute)
    f.finish()


class _Elements:
    """Writer of loops over all elements of arrays in the workspace."""

    def __init__(self, f: Function):
        self.f = f

    def word(self, number: int) -> str:
        return self.f.load("i64", self.f.at("%data", 8 * number), 8)

    def visit(self, arrays: Sequence[Place], place: str, visit: Callable[[str, str], None]) -> str:
        """Write a loop over all elements: `visit(element, copy)` for addresses of elements and copies from `place`
        on.

        Returns the address after the last copy.
        """
        f, stride = self.f, self.f.types.stride
        for begin, rows, width in arrays:
            array, count = f.at("%ws", self.word(begin)), f.let(f"mul i64 {self.word(rows)}, {width}")

            def element(j: str, array: str = array, first: str = place) -> None:
                offset = f.let(f"mul i64 {j}, {stride}")
                visit(f.at(array, offset), f.at(first, offset))

            f.repeat(count, element)
            place = f.at(place, f.let(f"mul i64 {count}, {stride}"))
        return place


def _copy(f: Function, source: str, target: str) -> None:
    t = f.types
    f.store(t.vector, f.load(t.vector, source, t.stride), target, t.stride)
