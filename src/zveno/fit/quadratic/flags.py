"""Flags, counters and small steps of the dual active-set method, see `program`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import abs, equal, greater, less, logical_and, logical_not, logical_or, not_equal, where
from . import steps
from .steps import Sizes

CHECKED = 4
"""Maximum number of recomputations of values, beside those after a factorisation."""


def started() -> Any:
    """Return initial flags: (work to do, nothing factored)."""
    return np.ones(1), np.ones(1)


def begun() -> Any:
    """Return the initial (status, running, changed)."""
    return np.array([steps.RUNNING]), np.ones(1), np.zeros(1)


def nothing_swept(sizes: Sizes, side: Any) -> Any:
    """Return the initial (rows to sweep, flag: no rows, sweeps, room for sweeps, flag: an exchange is due)."""
    is_row = np.arange(sizes.order) >= sizes.n
    held = where(logical_and(is_row, not_equal(side, 0.0)), 1.0, 0.0)
    return held, flag(equal(held.sum(), 0.0)), np.zeros(1), np.array([float(sizes.sweeps)]), np.zeros(1)


def looked_at(status: Any, changed: Any, checks: Any, complete: Any, room: Any) -> Any:
    """Return (flag to go on, flag to factor, flag that all rows are swept, checks) after a run of the method.

    It goes on if rows were swept again, if no room is left, or if something changed since values were recomputed.
    """
    runs = equal(status[0], steps.RUNNING)
    unsure = logical_and(equal(status[0], steps.SOLVED), greater(changed[0], 0.5))
    checks = checks + where(unsure, 1.0, 0.0)
    again = logical_or(runs, logical_and(unsure, less(checks[0], CHECKED + 0.5)))
    stale = logical_or(logical_and(runs, greater(complete[0], 0.5)), logical_and(unsure, less(room[0], 0.5)))
    return flag(again), flag(stale), np.ones(1), checks


def target(index: Any, exchanged: Any, due: Any) -> Any:
    """Return the index of the column needed next, and a flag: 1 for the step's column, 0 for a due exchange."""
    blocked = greater(due[0], 0.5)
    return np.array([where(blocked, exchanged[0], index[0])]), flag(logical_not(blocked))


def stepped(sizes: Sizes, *given: Any) -> Any:
    """Return the results of `steps.stepped`, and a flag that the index itself is exchanged."""
    column, p, u, side, low, high, *at_index, size, index, mode, pending, kept, status = given
    at = [x[0] for x in at_index]
    results = steps.stepped(sizes, column, p, u, side, low, high, at, size, index, mode, pending, kept, status)
    due, goes_on = results[5], results[9]
    return *results, flag(logical_and(less(due[0], 0.5), greater(goes_on[0], 0.5)))


def trusted(sizes: Sizes, pivot: Any, size: Any, mode: Any, room: Any) -> Any:
    """Return (flag to go on, room): a small pivot is trusted only in a tableau without exchanges.

    Division by a small pivot loses as many digits.
    """
    small = less(abs(pivot[0]), steps.SMALL * size[0])
    exchanged = logical_and(less(room[0], sizes.sweeps - 0.5), not_equal(mode[0], steps.SWEEP_AGAIN))
    stops = logical_and(small, exchanged)
    return flag(logical_not(stops)), np.array([where(stops, 0.0, room[0])])


def due_now(due: Any, fine: Any) -> Any:
    """Return a flag that a due exchange may be done."""
    return flag(logical_and(greater(due[0], 0.5), greater(fine[0], 0.5)))


def one_more(count: Any, room: Any, done: Any, mode: Any, pivot: Any, size: Any) -> Any:
    """Return (sweeps, room, steps, flag of a change); rows that are swept again count as sweeps only.

    A small pivot leaves no room, because division by it loses as many digits.
    """
    new = where(equal(mode[0], steps.SWEEP_AGAIN), 0.0, 1.0)
    small = less(abs(pivot[0]), steps.SMALL * size[0] * new)
    return count + 1.0, where(small, 0.0, room - new), done + new, np.ones(1)


def meets(at: Any, target: Any) -> Any:
    """Return the index of a sweep, and a flag: it equals the index of the column."""
    return at, flag(equal(at[0], target[0]))


def share(y: Any, own_share: Any, meets: Any) -> Any:
    """Return the share of a column in a sweep: its own number if the column is that of the sweep's index."""
    return where(greater(meets[0], 0.5), own_share, y)


def last(count: Any) -> Any:
    """Return the last sweep, and a flag: it exists."""
    return count - 1.0, flag(greater(count[0], 0.5))


def one_before(place: Any) -> Any:
    """Return the previous sweep, and a flag: it exists."""
    return place - 1.0, flag(greater(place[0], 0.5))


def first(count: Any) -> Any:
    """Return the first sweep, and a flag: it exists."""
    return np.zeros(1), flag(greater(count[0], 0.5))


def one_behind(place: Any, count: Any) -> Any:
    """Return the next sweep, and a flag: it exists."""
    return place + 1.0, flag(less(place[0] + 1.5, count[0]))


def flag(condition: Any) -> Any:
    """Return 1 if a condition holds, else 0, (1,)."""
    return np.array([where(condition, 1.0, 0.0)])


def same(x: Any) -> Any:
    """Return the argument."""
    return x


def unscaled(p: Any, scales: Any) -> Any:
    """Return x from its scaled values."""
    return p * scales


def divided(u: Any, divisor: Any) -> Any:
    """Return the multipliers of rows from the multipliers of scaled rows."""
    return u / divisor
