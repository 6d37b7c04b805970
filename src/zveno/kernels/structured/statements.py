"""What a structured program is made of: arrays, rows of them, and four statements.

    Run(program, reads, writes)     a straight-line program on rows of arrays
    For(variable, count, body)      as often in all lanes
    While(flag, bound, body)        in the lanes whose flag is not zero, at most `bound` times
    Switch(row, cases)              one of several bodies, the same in all lanes

There is no allocation, no pointer and no recursion, and every loop is bounded. Code depends on the structure only:
sizes, counts and the contents of tables are data of one instance, so that a chain of ten bodies and one of ten
thousand share their code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..program import Argument, Program


class Kind(Enum):
    """What an array is for. Tables and index tables are the same in all lanes."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"
    TABLE = "table"
    INDEX = "index"


@dataclass(frozen=True, eq=False)
class Array:
    """Rows of `width` numbers in fixed memory.

    Attributes:
        name: for errors, and in C.
        number: its place among all arrays of the program.
        kind: what it is for.
        rows, width: its size.
        zero: whether it begins at zero in every state; else it must be written before it is read.
        values: the numbers of a table, (rows, width), or the whole numbers of an index table, (rows,).
        shape: of an input or output as the caller sees it, of rows × width elements.
    """

    name: str
    number: int
    kind: Kind
    rows: int
    width: int
    zero: bool = False
    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.rows * self.width

    @property
    def in_lanes(self) -> bool:
        """Whether every lane has numbers of its own here."""
        return self.kind in (Kind.INPUT, Kind.OUTPUT, Kind.SCRATCH)


@dataclass(frozen=True, eq=False)
class Variable:
    """The counter of a loop."""

    number: int
    count: int

    def __add__(self, offset: int) -> Shifted:
        return Shifted(self, offset)


@dataclass(frozen=True)
class Shifted:
    """A row `offset` behind another."""

    row: Variable | Entry
    offset: int


@dataclass(frozen=True)
class Entry:
    """The number that an index table holds for another row."""

    table: Array
    row: Row

    def __add__(self, offset: int) -> Shifted:
        return Shifted(self, offset)


@dataclass(frozen=True)
class Lane:
    """A row of its own in every lane: the number in row 0 of an array of width 1, cut to a row that exists."""

    array: Array


Row = int | Variable | Shifted | Entry | Lane
"""Which row is meant: a number, a loop's counter, an entry of an index table, or one for every lane."""


@dataclass(frozen=True)
class Ref:
    """`count` neighbouring rows of an array, read or written at once.

    Attributes:
        array, row, count: which rows.
        length: how many numbers, from the beginning of the first row.
        add: a row of an index table that says whether a write adds to what is there (1) or replaces it (0).
    """

    array: Array
    row: Row
    count: int
    length: int
    add: Entry | None = None


@dataclass(frozen=True)
class Run:
    """A straight-line program; its inputs and outputs are vectors as long as those of `reads` and `writes`."""

    program: Program
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True)
class For:
    """A loop whose counter runs from 0, or down to 0."""

    variable: Variable
    body: tuple[Statement, ...]
    reverse: bool = False


@dataclass(frozen=True)
class While:
    """A loop in the lanes where row 0 of `flag` is not zero; in the others nothing is written.

    It ends when all lanes wait, or after as many trips as `counter` counts.
    """

    flag: Array
    counter: Variable
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Switch:
    """The body whose number the row is; the first for all others."""

    row: Row
    cases: tuple[tuple[Statement, ...], ...]


Statement = Run | For | While | Switch


@dataclass(frozen=True, eq=False)
class Structured:
    """A program with loops: a pure function from named input arrays to named output arrays."""

    name: str
    arrays: tuple[Array, ...]
    body: tuple[Statement, ...]
    n_loops: int
    """Counters of `For` and `While`, which are numbered."""

    def of_kind(self, *kinds: Kind) -> tuple[Array, ...]:
        """The arrays of these kinds, in order."""
        return tuple(array for array in self.arrays if array.kind in kinds)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Inputs as the caller sees them."""
        return tuple(Argument(array.name, array.shape) for array in self.of_kind(Kind.INPUT))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Outputs as the caller sees them."""
        return tuple(Argument(array.name, array.shape) for array in self.of_kind(Kind.OUTPUT))

    @property
    def has_masks(self) -> bool:
        """Whether some lanes may wait for others."""
        return any(isinstance(statement, While) for statement, _ in walk(self.body))


def walk(body: tuple[Statement, ...], trips: int = 1) -> Iterator[tuple[Statement, int]]:
    """Every statement, and how often it runs at most: of a switch, every case as often as the switch itself."""
    for statement in body:
        yield statement, trips
        if isinstance(statement, For):
            yield from walk(statement.body, trips * statement.variable.count)
        elif isinstance(statement, While):
            yield from walk(statement.body, trips * statement.counter.count)
        elif isinstance(statement, Switch):
            for case in statement.cases:
                yield from walk(case, trips)
