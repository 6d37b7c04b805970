"""Loops whose trips do not depend on each other: where all lanes hold the same state, trips can share them.

A loop carries nothing from one trip to the next if, of the arrays that it writes,

- those written at a row of the trip's own (by the counter, a table or a lane) are written by one statement and not
  read in the loop. They are the same for all lanes: every lane writes its number to all of them;
- the others are scratch that nothing outside the loop reads, and a trip reads only what it has written before.
  Every lane has numbers of its own there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..plan import computed_nodes
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
    Switch,
    Variable,
    While,
    walk,
)

LEAST_WORK = 64
"""Operations of a trip from which on sharing the lanes is worth gathering rows and spreading results."""

Cells = frozenset[tuple[Array, int]]
"""Rows of arrays that a trip has written for certain."""


class _Carried(Exception):
    """Something may be carried from one trip to the next."""


def laid_across(structured: Structured) -> frozenset[Variable]:
    """The counters of the loops that lanes can share; there is none of them inside another."""
    return frozenset(_chosen(structured.body, structured))


def varies(row: Row, counters: Collection[Variable]) -> bool:
    """Whether lanes mean different rows, where they share the loops of these counters."""
    match row:
        case Lane():
            return True
        case Variable():
            return row in counters
        case Shifted() | Entry():
            return varies(row.row, counters)
        case _:
            return False


def _chosen(body: tuple[Statement, ...], structured: Structured) -> Iterator[Variable]:
    for statement in body:
        if isinstance(statement, For):
            if _work(statement.body) >= LEAST_WORK and is_independent(statement, structured):
                yield statement.variable
            else:
                yield from _chosen(statement.body, structured)
        elif isinstance(statement, Switch):
            for case in statement.cases:
                yield from _chosen(case, structured)


def _work(body: tuple[Statement, ...]) -> int:
    return sum(len(computed_nodes(statement.program)) for statement, _ in walk(body) if isinstance(statement, Run))


def is_independent(loop: For, structured: Structured) -> bool:
    """Whether the trips of a loop can run at the same time, in their order where they write to the same row."""
    try:
        _Trip(loop, _used_outside(structured.body, loop)).follow(loop.body, frozenset())
    except _Carried:
        return False
    return not loop.reverse


def _used_outside(body: tuple[Statement, ...], loop: For) -> set[Array]:
    """Arrays that some statement outside a loop reads or writes."""
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
    """One trip of a loop, followed from statement to statement."""

    def __init__(self, loop: For, used_outside: set[Array]):
        self.counters = (loop.variable,)
        self.common: set[Array] = set()
        """Arrays that are the same for all lanes and written in the loop."""
        self.own: set[Array] = set()
        """Scratch of every trip."""
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
            # Waiting lanes must not write back what was there before, and inner loops come back to a row.
            if nested or array in self.common:
                raise _Carried
            self.common.add(array)
            return
        if array.kind is not Kind.SCRATCH or array.zero or array in used_outside:
            raise _Carried
        self.own.add(array)

    def follow(self, body: tuple[Statement, ...], written: Cells) -> Cells:
        """The rows that are certainly written after some statements."""
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
                    self.follow(statement.body, written)  # perhaps it never runs
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
    """Every step, and whether it stands in an inner loop or in a case."""
    for statement in body:
        if isinstance(statement, Run):
            yield statement, nested
        else:
            bodies = statement.cases if isinstance(statement, Switch) else (statement.body,)
            for inner in bodies:
                yield from _runs(inner, True)
