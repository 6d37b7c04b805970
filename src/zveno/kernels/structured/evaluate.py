"""Run a structured program with NumPy: the reference that compiled ones are held against, and the fallback."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluate import checked_batch
from ..evaluate import evaluate as evaluate_program
from .statements import (
    Array,
    Entry,
    For,
    Kind,
    Lane,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Structured,
    Variable,
    While,
)


def evaluate(structured: Structured, *arrays: Any) -> Any:
    """The outputs of a program for given inputs, statement by statement.

    Args:
        structured: what to run.
        arrays: one array for each input, in their order, of shape (..., *input shape); batch axes broadcast.

    Returns:
        One array of shape (..., *output shape), or a tuple of them if the program has several outputs. What is read
        before it is written, and is not declared to begin at zero, is NaN.
    """
    batch, leaves, dtype = checked_batch(structured, arrays)
    memory = _Memory(structured, int(np.prod(batch)), leaves, dtype)
    with np.errstate(all="ignore" if structured.has_masks else None):
        memory.execute(structured.body, {}, None)
    outputs = tuple(memory.of(array).reshape(batch + array.shape) for array in structured.of_kind(Kind.OUTPUT))
    return outputs[0] if len(outputs) == 1 else outputs


class _Memory:
    """All arrays, with the states of the batch as first axis: (batch, rows, width)."""

    def __init__(self, structured: Structured, batch: int, leaves: list[np.ndarray], dtype: np.dtype):
        self.batch, self.dtype = batch, dtype
        given = iter(leaves)
        self.numbers: list[np.ndarray] = []
        for array in structured.arrays:
            if array.kind is Kind.INPUT:
                values = next(given).reshape(batch, array.rows, array.width)
            elif array.in_lanes:
                values = np.full((batch, array.rows, array.width), 0.0 if array.zero else np.nan, dtype)
            else:
                assert array.values is not None
                values = array.values.astype(dtype) if array.kind is Kind.TABLE else array.values
            self.numbers.append(values)

    def of(self, array: Array) -> np.ndarray:
        return self.numbers[array.number]

    def execute(self, body: tuple[Statement, ...], counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        for statement in body:
            match statement:
                case Run():
                    self._run(statement, counters, mask)
                case For():
                    trips = range(statement.variable.count)
                    for trip in reversed(trips) if statement.reverse else trips:
                        self.execute(statement.body, counters | {statement.variable: trip}, mask)
                case While():
                    self._while(statement, counters, mask)
                case _:
                    chosen = self._row(statement.row, counters)
                    cases = statement.cases
                    self.execute(cases[chosen if 0 <= chosen < len(cases) else 0], counters, mask)

    def _while(self, loop: While, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        for trip in range(loop.counter.count):
            active = self.of(loop.flag)[:, 0, 0] != 0
            if mask is not None:
                active &= mask
            if not active.any():
                return
            self.execute(loop.body, counters | {loop.counter: trip}, active)

    def _run(self, run: Run, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        inputs = [self._read(ref, counters) for ref in run.reads]
        results = evaluate_program(run.program, *inputs)
        for ref, value in zip(run.writes, results if len(run.writes) > 1 else (results,), strict=True):
            self._write(ref, np.broadcast_to(value, (self.batch, ref.length)), counters, mask)

    def _read(self, ref: Ref, counters: dict[Variable, int]) -> np.ndarray:
        numbers = self.of(ref.array)
        if isinstance(ref.row, Lane):
            rows = self._lane_rows(ref.row, ref.array)
            table = ref.array.kind is Kind.TABLE
            return (numbers[rows] if table else numbers[np.arange(self.batch), rows])[:, : ref.length]
        first = self._row(ref.row, counters)
        rows = numbers[..., first : first + ref.count, :]
        return rows.reshape(*rows.shape[:-2], ref.count * ref.array.width)[..., : ref.length]

    def _write(self, ref: Ref, value: np.ndarray, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        numbers, states = self.of(ref.array), np.arange(self.batch) if mask is None else np.flatnonzero(mask)
        if isinstance(ref.row, Lane):
            rows = self._lane_rows(ref.row, ref.array)[states]
            numbers[states, rows, : ref.length] = value[states]
            return
        first = self._row(ref.row, counters) * ref.array.width
        flat = numbers.reshape(self.batch, ref.array.size)
        place = slice(first, first + ref.length)
        if ref.add is not None and self._row(ref.add, counters):
            value = flat[:, place] + value
        flat[states, place] = value[states]

    def _row(self, row: Row, counters: dict[Variable, int]) -> int:
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return self._row(row.row, counters) + row.offset
            case Entry():
                return int(self.of(row.table)[self._row(row.row, counters)])
            case _:
                assert isinstance(row, int)
                return row

    def _lane_rows(self, lane: Lane, array: Array) -> np.ndarray:
        """NaN and what is negative mean the first row, what is too large the last."""
        chosen = self.of(lane.array)[:, 0, 0]
        return np.where(chosen > 0, np.minimum(chosen, array.rows - 1), 0).astype(np.int64)
