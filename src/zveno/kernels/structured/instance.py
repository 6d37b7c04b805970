"""The data of one instance of a structured program: sizes, trips and tables as the words that its code reads."""

from __future__ import annotations

import ctypes

import numpy as np

from .. import threads
from ..batch_data import RUN, TEAM, WORKSPACE, BatchData, parallel_threshold
from ..operations import Operations, count_operations
from .statements import Entry, For, Kind, Run, Statement, Structured, Switch, Variable, While
from .words import Words


def first_word(structured: Structured) -> int:
    """Where the words of the instance begin: behind those of the batch, whose number the structure decides."""
    return BatchData(structured.inputs, structured.outputs, 1, 1, 1, False).n_words


class Instance:
    """Words and tables in memory, at addresses that stay.

    Args:
        structured: a program whose structure is that of the code.
        run: address of the compiled `run`.
        dtype, lanes: of the code.
        work: operations for one state.
        n_slots: vectors of the workspace that long steps need.
        state_by_state: whether the code takes the states of the lanes one after the other.
    """

    def __init__(
        self,
        structured: Structured,
        run: int,
        dtype: np.dtype,
        lanes: int,
        work: int,
        n_slots: int,
        state_by_state: bool = False,
    ):
        threshold = parallel_threshold(work, structured.inputs, structured.outputs, lanes)
        batch = BatchData(
            structured.inputs, structured.outputs, lanes, dtype.itemsize, threshold, structured.has_masks
        )
        words = Words(structured, batch.n_words)
        numbers = [*batch.words, *[0] * words.count]
        n_dummies = 0 if structured.inputs else 1  # a function of nothing has an input without elements
        slots = iter(batch.slots[n_dummies:])
        self._tables: list[np.ndarray] = []
        for array in (*structured.of_kind(Kind.INPUT), *structured.of_kind(Kind.OUTPUT)):
            numbers[words.place(array)] = next(slots)
        for array in structured.arrays:
            numbers[words.rows(array)] = array.rows
            if array.kind is Kind.SCRATCH:
                numbers[words.place(array)] = batch.take(array.size * lanes * dtype.itemsize)
            elif not array.in_lanes:
                kind = np.int64 if array.kind is Kind.INDEX else dtype
                self._tables.append(np.ascontiguousarray(array.values, kind))
                numbers[words.place(array)] = self._tables[-1].ctypes.data
        for counter in counters(structured.body):
            numbers[words.trips(counter)] = counter.count
        numbers[words.slots] = batch.take(n_slots * lanes * dtype.itemsize)
        arguments = structured.of_kind(Kind.INPUT, Kind.OUTPUT) if state_by_state else ()
        numbers[words.kept] = batch.take(sum(array.size for array in arguments) * lanes * dtype.itemsize)
        numbers[TEAM], numbers[RUN], numbers[WORKSPACE] = threads.team_address(), run, batch.workspace
        self._words = (ctypes.c_int64 * len(numbers))(*numbers)
        self.workspace: int = batch.workspace
        """Bytes a call needs beside its arrays, for every thread."""

    @property
    def address(self) -> int:
        """Where the words are."""
        return ctypes.addressof(self._words)


def counters(body: tuple[Statement, ...]) -> list[Variable]:
    """The counters of all loops."""
    variables: list[Variable] = []
    for statement in body:
        if isinstance(statement, For):
            variables += [statement.variable, *counters(statement.body)]
        elif isinstance(statement, While):
            variables += [statement.counter, *counters(statement.body)]
        elif isinstance(statement, Switch):
            variables += [counter for case in statement.cases for counter in counters(case)]
    return variables


def runs(body: tuple[Statement, ...], trips: float = 1) -> list[tuple[Run, float]]:
    """Every `Run` and how often it runs at most; cases are counted as often as their table chooses them."""
    runs_and_trips: list[tuple[Run, float]] = []
    for statement in body:
        if isinstance(statement, Run):
            runs_and_trips.append((statement, trips))
        elif isinstance(statement, For):
            runs_and_trips += runs(statement.body, trips * statement.variable.count)
        elif isinstance(statement, While):
            runs_and_trips += runs(statement.body, trips * statement.counter.count)
        else:
            for number, case in enumerate(statement.cases):
                runs_and_trips += runs(case, trips * _share(statement, number))
    return runs_and_trips


def _share(switch: Switch, number: int) -> float:
    if isinstance(switch.row, Entry) and isinstance(switch.row.row, Variable):
        chosen = switch.row.table.values
        assert chosen is not None
        used = chosen[: switch.row.row.count]
        return float(np.mean(used == number)) if len(used) else 0.0
    return 1.0


def total_operations(structured: Structured, each: list[Operations]) -> Operations:
    """Operations for one state, from those of every `Run` in order."""
    total = dict.fromkeys(vars(Operations(0, 0, 0, 0, 0, 0)), 0.0)
    for (_, trips), operations in zip(runs(structured.body), each, strict=True):
        for name, count in vars(operations).items():
            total[name] += trips * count
    return Operations(**{name: round(count) for name, count in total.items()})


def counted_operations(structured: Structured) -> Operations:
    """Operations for one state of a program that was traced."""
    return total_operations(structured, [count_operations(run.program) for run, _ in runs(structured.body)])
