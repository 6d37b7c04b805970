"""Flags, counts and small steps of the dual active-set method, see `program`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.math import equal, greater, less, logical_and, logical_not, logical_or, not_equal, select
from . import steps
from .steps import Sizes

CHECKED = 4
"""Times that values are computed anew at most, beside those after a factorisation."""


def started() -> Any:
    """There is something to do, and nothing is factored."""
    return np.ones(1), np.ones(1)


def begun() -> Any:
    """Status, running, changed."""
    return np.array([steps.RUNNING]), np.ones(1), np.zeros(1)


def nothing_swept(sizes: Sizes, side: Any) -> Any:
    """(Rows to be swept again, whether there are none, sweeps, room for others) after a factorisation."""
    is_row = np.arange(sizes.order) >= sizes.n
    held = select(logical_and(is_row, not_equal(side, 0.0)), 1.0, 0.0)
    return held, flag(equal(held.sum(), 0.0)), np.zeros(1), np.array([float(sizes.sweeps)])


def looked_at(status: Any, changed: Any, checks: Any, complete: Any) -> Any:
    """(Whether to go on, whether to factor, that all rows are swept, checks) after a run of the method.

    It goes on where rows were swept again, where no room is left, and where something changed since values were
    computed anew.
    """
    runs = equal(status[0], steps.RUNNING)
    unsure = logical_and(equal(status[0], steps.SOLVED), greater(changed[0], 0.5))
    checks = checks + select(unsure, 1.0, 0.0)
    again = logical_or(runs, logical_and(unsure, less(checks[0], CHECKED + 0.5)))
    return flag(again), flag(logical_and(runs, greater(complete[0], 0.5))), np.ones(1), checks


def target(index: Any, exchanged: Any, pending: Any) -> Any:
    """The index whose column is wanted, and whether it is a new one."""
    blocked = greater(pending[0], 0.5)
    return np.array([select(blocked, exchanged[0], index[0])]), flag(logical_not(blocked))


def stepped(sizes: Sizes, *given: Any) -> Any:
    """`steps.stepped`, and whether the index itself is exchanged."""
    column, p, u, side, low, high, *own, index, mode, status = given
    found = steps.stepped(sizes, column, p, u, side, low, high, [x[0] for x in own], index, mode, status)
    blocked, goes_on = found[5], found[7]
    return *found, flag(logical_and(less(blocked[0], 0.5), greater(goes_on[0], 0.5)))


def one_more(count: Any, room: Any, done: Any, mode: Any) -> Any:
    """(Sweeps, room, steps, that something changed); rows that are swept again count as sweeps only."""
    new = select(equal(mode[0], steps.SWEEP_AGAIN), 0.0, 1.0)
    return count + 1.0, room - new, done + new, np.ones(1)


def meets(at: Any, target: Any) -> Any:
    """The index of a sweep, and whether it is that of the column."""
    return at, flag(equal(at[0], target[0]))


def share(y: Any, own: Any, meets: Any) -> Any:
    """What a sweep takes of a column: its own number where the column is that of its index."""
    return select(greater(meets[0], 0.5), own, y)


def last(count: Any) -> Any:
    """The last sweep, and whether there is one."""
    return count - 1.0, flag(greater(count[0], 0.5))


def one_before(place: Any) -> Any:
    """The sweep before, and whether there is one."""
    return place - 1.0, flag(greater(place[0], 0.5))


def first(count: Any) -> Any:
    """The first sweep, and whether there is one."""
    return np.zeros(1), flag(greater(count[0], 0.5))


def one_behind(place: Any, count: Any) -> Any:
    """The next sweep, and whether there is one."""
    return place + 1.0, flag(less(place[0] + 1.5, count[0]))


def flag(condition: Any) -> Any:
    """1 where a condition holds, else 0, (1,)."""
    return np.array([select(condition, 1.0, 0.0)])


def same(x: Any) -> Any:
    """What it is given."""
    return x


def unscaled(p: Any, scales: Any) -> Any:
    """x from its scaled values."""
    return p * scales


def divided(u: Any, divisor: Any) -> Any:
    """Multipliers of rows from those of scaled rows."""
    return u / divisor
