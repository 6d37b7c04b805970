"""Builder of structured programs, whose loops are written as Python loops.

    def running_sums(program: Builder, n: int) -> None:
        x, y = program.input("x", (n,)), program.output("y", (n,))
        total = program.scratch("total", 1, 1, zero=True)
        with program.each(n) as i:
            total[0], y[i] = program.step(added, total[0], x[i])

`added` is a function of NumPy vectors. A program is written several times to find entries that are zero in every
row of a scratch array. All entries are assumed zero at first. Each pass removes those to which a step writes
something else, until nothing changes. Zero entries are neither stored nor computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import BuildError, ShapeError, TraceError
from .program import (
    Argument,
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
    Statement,
    Switch,
    Variable,
    While,
    untraced,
)
from .trace import traced_graph

Case = TypeVar("Case")
Traces = dict[int, tuple[list[list[int]], Graph]]
"""For every step, the stored positions of the rows it reads, and its graph."""
_MOST_ROUNDS = 100
_CONSTANT = int(Op.CONST)


def structured_program(
    write: Callable[..., None], *arguments: Any, name: str | None = None, known: Outline | None = None
) -> tuple[Program, Outline]:
    """Build the program that `write(builder, *arguments)` writes, and its outline.

    Args:
        write: called several times; it must write the same statements every time.
        arguments: passed to `write` after the builder.
        name: name of the program, that of the function by default.
        known: the outline of a program of the same structure. Nothing is traced then: the statements have the right
            sizes and tables, and graphs without operations.
    """
    patterns: dict[str, set[int]] = {}
    traces: Traces = {}
    for _ in range(_MOST_ROUNDS):
        builder = Builder(name or write.__name__, patterns, traces, known)
        write(builder, *arguments)
        if not builder.grown:
            return builder.finished(), builder.outline()
    raise BuildError("the program differs every time it is written", element=f"program {write.__name__}")


@dataclass(frozen=True)
class Outline:
    """Results of tracing a program that suffice to build another instance of its structure.

    Attributes:
        patterns: for every scratch array, the entries of a row that are not always zero.
        steps: for every step, the lengths of its results.
        outputs: outputs of a traced function.
    """

    patterns: Mapping[str, tuple[int, ...]]
    steps: tuple[tuple[int, ...], ...]
    outputs: tuple[Argument, ...] = ()


class Builder:
    """Collector of arrays and statements."""

    name: str

    grown: bool
    """True if an entry that was assumed zero turned out not to be."""

    def __init__(self, name: str, patterns: dict[str, set[int]], traces: Traces, known: Outline | None = None):
        self.name, self.grown = name, False
        self._patterns, self._traces, self._known = patterns, traces, known
        self._arrays: list[Array] = []
        self._blocks: list[list[Any]] = [[]]
        self._steps: list[tuple[int, ...]] = []
        self._n_loops = 0

    # --- arrays

    def input(self, name: str, shape: Sequence[int], width: int = 1) -> Rows:
        """Add an input of the program, in rows of `width` numbers."""
        return self._argument(name, Kind.INPUT, shape, width)

    def output(self, name: str, shape: Sequence[int], width: int = 1, zero: bool = False) -> Rows:
        """Add an output of the program; `zero` if not all of it is written."""
        return self._argument(name, Kind.OUTPUT, shape, width, zero)

    def scratch(self, name: str, rows: int, width: int, zero: bool = False) -> Rows:
        """Add a scratch array; `zero` if some of it may be read before it is written."""
        self._patterns.setdefault(name, set())
        array = self._array(name, Kind.SCRATCH, rows, max(len(self.pattern(name)), 1), zero=zero)
        return Rows(self, array, width)

    def table(self, name: str, values: Any) -> Rows:
        """Add a table of constants, (rows, width)."""
        numbers = np.array(values, dtype=float)
        array = self._array(name, Kind.TABLE, *numbers.shape, values=numbers)
        return Rows(self, array, array.width, list(range(array.width)))

    def index(self, name: str, values: Any) -> IndexTable:
        """Add a table of row numbers, (rows,)."""
        numbers = np.array(values, dtype=np.int64)
        return IndexTable(self._array(name, Kind.INDEX, len(numbers), 1, values=numbers))

    # --- statements

    def step(self, function: Callable[..., Any], *parts: Part) -> Any:
        """Apply a function of vectors to rows of arrays; the result can be written to rows of others.

        Returns one value, or a tuple of values if the function returns one.
        """
        if self._known is None:
            step = Step(self._traced(function, parts), tuple(part.ref() for part in parts))
        else:
            reads = tuple(part.ref() for part in parts)
            inputs = tuple(Argument(f"x{k}", (ref.length,)) for k, ref in enumerate(reads))
            lengths = self._known.steps[len(self._steps)]
            outputs = tuple(Argument(f"out{k}", (length,)) for k, length in enumerate(lengths))
            step = Step(untraced(getattr(function, "__name__", "step"), inputs, outputs), reads)
        self._steps.append(tuple(argument.size for argument in step.graph.outputs))
        self._blocks[-1].append(step)
        values = tuple(Value(step, number) for number in range(len(step.graph.outputs)))
        return values[0] if len(values) == 1 else values

    @contextmanager
    def each(self, count: int, reverse: bool = False) -> Iterator[Variable]:
        """Loop over 0 … count − 1, or down to 0."""
        variable = self._counter(count)
        yield from self._block(lambda body: For(variable, body, reverse), variable)

    @contextmanager
    def repeat_while(self, flag: Rows, bound: int) -> Iterator[Variable]:
        """Loop in the lanes where the number in `flag` is nonzero, for at most `bound` trips 0, 1, …."""
        counter = self._counter(bound)
        yield from self._block(lambda body: While(flag.array, counter, body), counter)

    def switch(self, row: Row, cases: Sequence[Case]) -> Iterator[Case]:
        """Yield the cases: statements written during `for case in program.switch(row, cases)` belong to `case`."""
        if len(cases) == 1:
            yield cases[0]
            return
        bodies: list[Any] = []
        for case in cases:
            self._blocks.append([])
            yield case
            bodies.append(self._blocks.pop())
        self._blocks[-1].append(_Chosen(row, bodies))

    def put(self, part: Part, value: Value) -> None:
        """Write `array[row] = value`."""
        rows, step = part.rows, value.step
        nodes = step.graph.results[value.number]
        size = part.count * rows.full_width
        if self._known is None and len(nodes) != size:
            raise ShapeError(f"{len(nodes)} numbers for a row of {size}", element=f"array {rows.array.name}")
        if rows.array.kind is Kind.SCRATCH and self._known is None:
            self._grow(rows, step.graph, nodes)
        step.writes.append((value.number, part.stored, replace(part.ref(), add=value.add)))

    def pattern(self, name: str) -> list[int]:
        """Return the entries of a row of a scratch array that are not known to be zero."""
        return list(self._known.patterns[name]) if self._known is not None else sorted(self._patterns[name])

    # --- the result

    def finished(self) -> Program:
        """Return the program."""
        return Program(self.name, tuple(self._arrays), _statements(self._blocks[0]), self._n_loops)

    def outline(self) -> Outline:
        """Return the outline found by tracing."""
        if self._known is not None:
            return self._known
        patterns = {name: tuple(sorted(entries)) for name, entries in self._patterns.items()}
        return Outline(patterns, tuple(self._steps))

    # --- private

    def _argument(self, name: str, kind: Kind, shape: Sequence[int], width: int, zero: bool = False) -> Rows:
        rows = prod(shape) // width
        array = self._array(name, kind, rows, width, zero=zero, shape=tuple(shape))
        return Rows(self, array, width, list(range(width)))

    def _array(self, name: str, kind: Kind, rows: int, width: int, **rest: Any) -> Array:
        self._arrays.append(Array(name, len(self._arrays), kind, rows, width, **rest))
        return self._arrays[-1]

    def _counter(self, count: int) -> Variable:
        self._n_loops += 1
        return Variable(self._n_loops - 1, count)

    def _block(self, make: Callable[[tuple[Statement, ...]], Statement], given: Any) -> Iterator[Any]:
        self._blocks.append([])
        yield given
        body = self._blocks.pop()
        self._blocks[-1].append(_Nested(make, body))

    def _grow(self, rows: Rows, graph: Graph, nodes: np.ndarray) -> None:
        zero = (graph.op[nodes] == _CONSTANT) & (graph.value[nodes] == 0.0)
        self._add(rows, set((np.flatnonzero(~zero) % rows.full_width).tolist()))

    def _add(self, rows: Rows, entries: set[int]) -> None:
        pattern = self._patterns[rows.array.name]
        self.grown |= not entries <= pattern
        pattern |= entries

    def _traced(self, function: Callable[..., Any], parts: Sequence[Part]) -> Graph:
        """Trace a step and return its graph.

        Known zeros are passed as constants, unless the function fails on them, for example by dividing by them. A
        graph is reused if the step was traced with the same zeros before.
        """
        number, zeros = len(self._steps), [part.stored for part in parts]
        before = self._traces.get(number)
        if before is None or before[0] != zeros:
            before = self._traces[number] = zeros, self._traced_now(function, parts)
        return before[1]

    def _traced_now(self, function: Callable[..., Any], parts: Sequence[Part]) -> Graph:
        try:
            return _traced(function, parts)
        except TraceError:
            scratch = [part.rows for part in parts if part.rows.array.kind is Kind.SCRATCH]
            if all(len(rows.pattern) == rows.full_width for rows in scratch):
                raise
            for rows in scratch:
                self._add(rows, set(range(rows.full_width)))
            return _traced(function, parts)


@dataclass(frozen=True)
class _Chosen:
    row: Row
    bodies: list[list[Any]]


@dataclass(frozen=True)
class _Nested:
    make: Callable[[tuple[Statement, ...]], Statement]
    body: list[Any]


def _statements(block: list[Any]) -> tuple[Statement, ...]:
    """Return the statements of a block.

    Steps are finished last, when it is known where all their results are written.
    """
    made: list[Statement] = []
    for item in block:
        if isinstance(item, Step):
            made.append(item.statement())
        elif isinstance(item, _Chosen):
            made.append(Switch(item.row, tuple(_statements(body) for body in item.bodies)))
        else:
            made.append(item.make(_statements(item.body)))
    return tuple(made)


def _traced(function: Callable[..., Any], parts: Sequence[Part]) -> Graph:
    def on_full_rows(*stored: np.ndarray) -> Any:
        returned = function(*(part.full(x) for part, x in zip(parts, stored, strict=True)))
        outputs = returned if isinstance(returned, tuple) else (returned,)
        return tuple(np.asarray(output, object).ravel() for output in outputs)

    lengths = {f"x{k}": (len(part.stored),) for k, part in enumerate(parts)}
    return traced_graph(on_full_rows, lengths, name=getattr(function, "__name__", "step"))


class Writes(Protocol):
    """Interface of the builder that rows belong to."""

    def pattern(self, name: str) -> list[int]:
        """Return the entries of a row of a scratch array that are not known to be zero."""
        ...

    def put(self, part: Part, value: Value) -> None:
        """Write `array[row] = value`."""
        ...


class Rows:
    """An array while a program is written: `array[row]`, or `array[row, 3]` for three rows."""

    array: Array
    full_width: int

    def __init__(self, builder: Writes, array: Array, full_width: int, pattern: list[int] | None = None):
        self.array, self.full_width = array, full_width
        self._builder, self._fixed = builder, pattern

    @property
    def pattern(self) -> list[int]:
        """Entries of a row that are not known to be zero."""
        return self._builder.pattern(self.array.name) if self._fixed is None else self._fixed

    def __getitem__(self, key: Any) -> Part:
        row, count = key if isinstance(key, tuple) else (key, 1)
        return Part(self, row, count)

    def __setitem__(self, key: Any, value: Value) -> None:
        self._builder.put(self[key], value)

    def lane(self) -> Lane:
        """Return a row index of other arrays: the number that every lane has here."""
        return Lane(self.array)


class IndexTable:
    """Table of row numbers: `array[table[i]]`."""

    array: Array

    def __init__(self, array: Array):
        self.array = array

    def __getitem__(self, row: Row) -> Entry:
        return Entry(self.array, row)


@dataclass(frozen=True)
class Part:
    """Some rows of an array, to be read or written."""

    rows: Rows
    row: Row
    count: int

    @property
    def stored(self) -> list[int]:
        """Positions of the stored elements among the elements of full rows."""
        width = self.rows.full_width
        return [k * width + entry for k in range(self.count) for entry in self.rows.pattern]

    def ref(self) -> Ref:
        """Reference to these rows, with as many numbers as are stored."""
        return Ref(self.rows.array, self.row, self.count, len(self.stored))

    def full(self, stored: np.ndarray) -> np.ndarray:
        """Return the numbers of full rows from those that are stored."""
        positions = self.stored
        size = self.count * self.rows.full_width
        if len(positions) == size:
            return stored
        out = np.array([0.0] * size, dtype=object)
        out[positions] = stored
        return out


@dataclass(frozen=True)
class Value:
    """Result of a step, until it is written to a row."""

    step: Step
    number: int
    add: Entry | None = None

    def added_if(self, flag: Entry) -> Value:
        """Return a value that is added to the row if an index table holds 1, and replaces it if that holds 0."""
        return replace(self, add=flag)


class Step:
    """Straight-line code on rows, whose results have not all been assigned yet."""

    graph: Graph
    reads: tuple[Ref, ...]

    def __init__(self, graph: Graph, reads: tuple[Ref, ...]):
        self.graph, self.reads = graph, reads
        self.writes: list[tuple[int, list[int], Ref]] = []

    def statement(self) -> Run:
        """Return the statement with those results that are written somewhere."""
        outputs, results, refs = [], [], []
        for number, positions, ref in self.writes:
            outputs.append(Argument(f"{self.graph.outputs[number].name}_{len(outputs)}", (len(positions),)))
            results.append(self.graph.results[number][positions])
            refs.append(ref)
        graph = replace(self.graph, outputs=tuple(outputs), results=tuple(results))
        return Run(graph, self.reads, tuple(refs))
