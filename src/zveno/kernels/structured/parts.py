"""Rows of arrays and results of steps while a program is written, see `build`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..program import Argument, Program
from .statements import Array, Entry, Lane, Ref, Row, Run


class Writes(Protocol):
    """What rows need of the builder they belong to."""

    def pattern(self, name: str) -> list[int]:
        """Entries of a row of a scratch array that are not always zero."""
        ...

    def put(self, part: Part, value: Value) -> None:
        """`array[row] = value`."""
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
        """Entries of a row that are not always zero, as far as it is known by now."""
        return self._builder.pattern(self.array.name) if self._fixed is None else self._fixed

    def __getitem__(self, key: Any) -> Part:
        row, count = key if isinstance(key, tuple) else (key, 1)
        return Part(self, row, count)

    def __setitem__(self, key: Any, value: Value) -> None:
        self._builder.put(self[key], value)

    def lane(self) -> Lane:
        """A row of another array: the number that every lane has here."""
        return Lane(self.array)


class IndexTable:
    """Whole numbers that say rows: `array[table[i]]`."""

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
        """Positions, among the elements of full rows, of those that are stored."""
        width = self.rows.full_width
        return [k * width + entry for k in range(self.count) for entry in self.rows.pattern]

    def ref(self) -> Ref:
        """These rows, as many numbers of them as are stored."""
        return Ref(self.rows.array, self.row, self.count, len(self.stored))

    def full(self, stored: np.ndarray) -> np.ndarray:
        """The numbers of full rows from those that are stored."""
        positions = self.stored
        size = self.count * self.rows.full_width
        if len(positions) == size:
            return stored
        out = np.array([0.0] * size, dtype=object)
        out[positions] = stored
        return out


@dataclass(frozen=True)
class Value:
    """What a step returns, until it is written to a row."""

    step: Step
    number: int
    add: Entry | None = None

    def added_if(self, flag: Entry) -> Value:
        """Added to what the row holds where an index table says 1, instead of replacing it where it says 0."""
        return replace(self, add=flag)


class Step:
    """A straight-line program on rows, while it is not known yet where its results go."""

    program: Program
    reads: tuple[Ref, ...]

    def __init__(self, program: Program, reads: tuple[Ref, ...]):
        self.program, self.reads = program, reads
        self.writes: list[tuple[int, list[int], Ref]] = []

    def statement(self) -> Run:
        """The statement, with those results that are written somewhere."""
        outputs, results, refs = [], [], []
        for number, positions, ref in self.writes:
            outputs.append(Argument(f"{self.program.outputs[number].name}_{len(outputs)}", (len(positions),)))
            results.append(self.program.results[number][positions])
            refs.append(ref)
        program = replace(self.program, outputs=tuple(outputs), results=tuple(results))
        return Run(program, self.reads, tuple(refs))
