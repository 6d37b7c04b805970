"""Writing a structured program so that a loop looks like one.

    def running_sums(program: Builder, n: int) -> None:
        x, y = program.input("x", (n,)), program.output("y", (n,))
        total = program.scratch("total", 1, 1, zero=True)
        with program.each(n) as i:
            total[0], y[i] = program.step(added, total[0], x[i])

`added` is a function of NumPy vectors. A program is written several times: numbers that are zero in every row of a
scratch array are found by taking all of them for zero first, and then those that no step has written anything else
to, until nothing new appears. They are neither stored nor computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeVar

import numpy as np

from ...errors import BuildError, ShapeError, TraceError
from ..program import Argument, Op, Program
from ..trace import trace
from .parts import IndexTable, Part, Rows, Step, Value
from .statements import Array, For, Kind, Ref, Row, Statement, Structured, Switch, Variable, While

Case = TypeVar("Case")
Traces = dict[int, tuple[list[list[int]], Program]]
"""For every step, what is stored of the rows it reads, and its program."""
_MOST_ROUNDS = 100
_CONSTANT = int(Op.CONST)


def structured_program(
    write: Callable[..., None], *arguments: Any, name: str | None = None, known: Outline | None = None
) -> tuple[Structured, Outline]:
    """The program that `write(builder, *arguments)` writes, and its outline.

    Args:
        write: called several times; it must write the same statements every time.
        arguments: what it is given after the builder.
        name: of the program, the function's own if not given.
        known: the outline of a program of the same structure. Then nothing is traced: the statements have the right
            sizes and tables, and programs without operations.
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
    """What tracing found out about a program: enough to make another instance of its structure.

    Attributes:
        patterns: by scratch array, the entries of a row that are not always zero.
        steps: for every step, the lengths of what it returns.
    """

    patterns: Mapping[str, tuple[int, ...]]
    steps: tuple[tuple[int, ...], ...]


class Builder:
    """Collects arrays and statements."""

    name: str

    grown: bool
    """Whether an entry turned out not to be zero that was taken for zero."""

    def __init__(self, name: str, patterns: dict[str, set[int]], traces: Traces, known: Outline | None = None):
        self.name, self.grown = name, False
        self._patterns, self._traces, self._known = patterns, traces, known
        self._arrays: list[Array] = []
        self._blocks: list[list[Any]] = [[]]
        self._steps: list[tuple[int, ...]] = []
        self._n_loops = 0

    # --- arrays

    def input(self, name: str, shape: Sequence[int], width: int = 1) -> Rows:
        """An input of the program, in rows of `width` numbers."""
        return self._argument(name, Kind.INPUT, shape, width)

    def output(self, name: str, shape: Sequence[int], width: int = 1, zero: bool = False) -> Rows:
        """An output of the program; `zero` if not all of it is written."""
        return self._argument(name, Kind.OUTPUT, shape, width, zero)

    def scratch(self, name: str, rows: int, width: int, zero: bool = False) -> Rows:
        """Memory of the program; `zero` if some of it may be read before it is written."""
        self._patterns.setdefault(name, set())
        array = self._array(name, Kind.SCRATCH, rows, max(len(self.pattern(name)), 1), zero=zero)
        return Rows(self, array, width)

    def table(self, name: str, values: Any) -> Rows:
        """Constants, (rows, width)."""
        numbers = np.array(values, dtype=float)
        array = self._array(name, Kind.TABLE, *numbers.shape, values=numbers)
        return Rows(self, array, array.width, list(range(array.width)))

    def index(self, name: str, values: Any) -> IndexTable:
        """Whole numbers that say rows, (rows,)."""
        numbers = np.array(values, dtype=np.int64)
        return IndexTable(self._array(name, Kind.INDEX, len(numbers), 1, values=numbers))

    # --- statements

    def step(self, function: Callable[..., Any], *parts: Part) -> Any:
        """What a function of vectors gives for rows of arrays, to be written to rows of others.

        Returns one value, or a tuple of values if the function returns one.
        """
        if self._known is None:
            step = Step(self._traced(function, parts), tuple(part.ref() for part in parts))
        else:
            reads = tuple(part.ref() for part in parts)
            step = Step(_untraced(function, reads, self._known.steps[len(self._steps)]), reads)
        self._steps.append(tuple(argument.size for argument in step.program.outputs))
        self._blocks[-1].append(step)
        values = tuple(Value(step, number) for number in range(len(step.program.outputs)))
        return values[0] if len(values) == 1 else values

    @contextmanager
    def each(self, count: int, reverse: bool = False) -> Iterator[Variable]:
        """A loop over 0 … count − 1, or down to 0."""
        variable = self._counter(count)
        yield from self._block(lambda body: For(variable, body, reverse), variable)

    @contextmanager
    def repeat_while(self, flag: Rows, bound: int) -> Iterator[Variable]:
        """Trips 0, 1, … in the lanes where the number in `flag` is not zero, at most `bound` of them."""
        counter = self._counter(bound)
        yield from self._block(lambda body: While(flag.array, counter, body), counter)

    def switch(self, row: Row, cases: Sequence[Case]) -> Iterator[Case]:
        """`for case in program.switch(row, cases)`: what is written in the loop is done where the row says so."""
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
        """`array[row] = value`."""
        rows, step = part.rows, value.step
        nodes = step.program.results[value.number]
        size = part.count * rows.full_width
        if self._known is None and len(nodes) != size:
            raise ShapeError(f"{len(nodes)} numbers for a row of {size}", element=f"array {rows.array.name}")
        if rows.array.kind is Kind.SCRATCH and self._known is None:
            self._grow(rows, step.program, nodes)
        step.writes.append((value.number, part.stored, replace(part.ref(), add=value.add)))

    def pattern(self, name: str) -> list[int]:
        """Entries of a row of a scratch array that are not always zero, as far as it is known by now."""
        return list(self._known.patterns[name]) if self._known is not None else sorted(self._patterns[name])

    # --- the result

    def finished(self) -> Structured:
        """The program."""
        return Structured(self.name, tuple(self._arrays), _statements(self._blocks[0]), self._n_loops)

    def outline(self) -> Outline:
        """What was found out by tracing."""
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

    def _grow(self, rows: Rows, program: Program, nodes: np.ndarray) -> None:
        zero = (program.op[nodes] == _CONSTANT) & (program.value[nodes] == 0.0)
        self._add(rows, set((np.flatnonzero(~zero) % rows.full_width).tolist()))

    def _add(self, rows: Rows, entries: set[int]) -> None:
        pattern = self._patterns[rows.array.name]
        self.grown |= not entries <= pattern
        pattern |= entries

    def _traced(self, function: Callable[..., Any], parts: Sequence[Part]) -> Program:
        """The program of a step. One that fails on zeros, such as a division by them, is not given any.

        What was written the last time with the same zeros is not traced again.
        """
        number, zeros = len(self._steps), [part.stored for part in parts]
        before = self._traces.get(number)
        if before is None or before[0] != zeros:
            before = self._traces[number] = zeros, self._traced_now(function, parts)
        return before[1]

    def _traced_now(self, function: Callable[..., Any], parts: Sequence[Part]) -> Program:
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
    """Steps are finished last, when it is known where all that they return is written."""
    made: list[Statement] = []
    for item in block:
        if isinstance(item, Step):
            made.append(item.statement())
        elif isinstance(item, _Chosen):
            made.append(Switch(item.row, tuple(_statements(body) for body in item.bodies)))
        else:
            made.append(item.make(_statements(item.body)))
    return tuple(made)


def _traced(function: Callable[..., Any], parts: Sequence[Part]) -> Program:
    def on_full_rows(*stored: np.ndarray) -> Any:
        returned = function(*(part.full(x) for part, x in zip(parts, stored, strict=True)))
        outputs = returned if isinstance(returned, tuple) else (returned,)
        return tuple(np.asarray(output, object).ravel() for output in outputs)

    lengths = {f"x{k}": (len(part.stored),) for k, part in enumerate(parts)}
    return trace(on_full_rows, lengths, name=getattr(function, "__name__", "step"))


def _untraced(function: Callable[..., Any], reads: Sequence[Ref], lengths: Sequence[int]) -> Program:
    """A program that says what it takes and returns, and computes zeros."""
    return Program(
        getattr(function, "__name__", "step"),
        tuple(Argument(f"x{k}", (ref.length,)) for k, ref in enumerate(reads)),
        tuple(Argument(f"out{k}", (length,)) for k, length in enumerate(lengths)),
        np.array([_CONSTANT], np.uint8),
        np.full((1, 3), -1, np.int32),
        np.zeros(1),
        tuple(np.zeros(length, np.int32) for length in lengths),
    )
