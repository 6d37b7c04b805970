"""Straight-line steps of the dual active-set method, see `program`.

Unknowns are scaled so that the Hessian has a diagonal of ones. Index j of a tableau is an unknown (j < n) or a slot
for an active row (j ≥ n); it has a primal value p (x_j, or the row's value), bounds on it, a multiplier u, and a
side: −1 where it is held at its lower bound (u ≥ 0), +1 at its upper (u ≤ 0), 0 where it is not held (u = 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.math import (
    abs,
    equal,
    greater,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    select,
    sqrt,
)

FEASIBLE = 1e-11
"""A bound counts as kept where it is missed by less, relative to 1 + |value|, in scaled units."""
SIGNED = 1e-11
"""A multiplier counts as rightly signed where it is wrong by less, relative to 1 + the largest one."""
NO_CURVATURE = 1e-10
"""A row that moves by less per unit of its multiplier depends on the rows that are held."""
LARGE = 1e300
"""Stands for no bound on a step."""
RUNNING, SOLVED, INFEASIBLE, FULL = -1.0, 0.0, 1.0, 2.0
"""Status: one that still runs when the loop ends has reached its bound of steps; full: more rows than slots."""


@dataclass(frozen=True)
class Sizes:
    """n unknowns, m rows, and slots for those that may be active at once."""

    n: int
    m: int = 0
    slots: int = 0

    @property
    def order(self) -> int:
        """Rows of the tableau."""
        return self.n + self.slots

    @property
    def fingerprint(self) -> str:
        """Of what determines the code."""
        return f"{self.n} {self.m} {self.slots}"


# --- scaling and start


def scales(n: int, H: Any) -> Any:
    """1/√H_jj, (n,)."""
    return np.array([1.0 / sqrt(H[j * n + j]) for j in range(n)])


def scaled_row(sizes: Sizes, H: Any, scale: Any, scales: Any) -> Any:
    """A row of the scaled Hessian, with zeros for the slots."""
    return np.concatenate([scale[0] * H * scales, np.zeros(sizes.slots)])


def started(n: int, g: Any, lower: Any, upper: Any, warm: Any, scales: Any) -> Any:
    """Scaled g, bounds, sides and x; a side without a bound is left, and what cannot move is held."""
    low, high = lower / scales, upper / scales
    at_low = logical_or(equal(low, high), logical_and(less(warm, 0.0), greater(low, -LARGE)))
    at_high = logical_and(greater(warm, 0.0), less(high, LARGE))
    side = select(at_low, -1.0, select(at_high, 1.0, 0.0))
    x = select(less(side, 0.0), low, select(greater(side, 0.0), high, 0.0))
    return g * scales, low, high, side, x


def scaled_constraint(C: Any, lower: Any, upper: Any, scales: Any) -> Any:
    """A row in scaled unknowns, of length one, its bounds, and what it was divided by."""
    row = C * scales
    length = sqrt((row * row).sum())
    divisor = select(greater(length, 0.0), length, 1.0)
    return row / divisor, lower / divisor, upper / divisor, divisor


# --- the tableau


def sweep_of(is_basic: Any, chosen: Any, column: Any) -> Any:
    """What changes a tableau when an index is exchanged: (û, û/t, 1 beside the pivot and 0 on it).

    The new tableau is T·keep − f ûᵀ with the row of the pivot at zero before (a sweep, or one taken back).
    """
    sense = select(is_basic, -1.0, 1.0)
    u = select(chosen, -sense, column)
    return u, u / _picked(chosen, column), select(chosen, 0.0, 1.0)


def first_sweep(eye: Any, side: Any, column: Any) -> Any:
    """The sweep of an unknown that is free at the start, and nothing for one that is held; (û, f, keep, row)."""
    free = equal(side[0], 0.0)
    chosen = greater(eye, 0.5)
    t = (eye * column).sum()
    u = select(free, select(chosen, -1.0, column), 0.0)
    return u, u / t, select(logical_and(chosen, free), 0.0, 1.0), select(free, 0.0, column)


def updated(T: Any, f: Any, u: Any, keep: Any) -> Any:
    """A row of the tableau after a sweep."""
    return T * keep - f[0] * u


# --- values from the tableau


def gradient(H: Any, g: Any, scale: Any, scales: Any, x: Any, pull: Any) -> Any:
    """w = g + H x − Cᵀμ of one unknown, in scaled units; `pull` is Cᵀμ."""
    return g + scale * (H * scales * x).sum() - pull


def row_value(row: Any, x: Any) -> Any:
    """Value of a row."""
    return np.array([(row * x).sum()])


def errors(sizes: Sizes, w: Any, p: Any, side: Any, low: Any, high: Any) -> Any:
    """By how much basic quantities miss: gradients of free unknowns, and values of rows that are held."""
    n = sizes.n
    bound = select(less(side, 0.0), low, high)
    of_unknowns = select(equal(side[:n], 0.0), -w[:n], 0.0)
    of_rows = select(not_equal(side[n:], 0.0), bound[n:] - p[n:], 0.0)
    return np.concatenate([of_unknowns, of_rows])


def corrected(is_row: Any, T: Any, errors: Any, w: Any, p: Any, u: Any, side: Any) -> Any:
    """Primal value and multiplier of one index after one step of refinement."""
    change = (T * errors).sum()
    held = not_equal(side[0], 0.0)
    unknown = less(is_row[0], 0.5)
    free = logical_and(unknown, logical_not(held))
    value = p[0] - select(free, change, 0.0)
    multiplier = select(unknown, w[0] + change, u[0] + change)
    return np.array([value]), np.array([select(held, multiplier, 0.0)])


# --- one step of the method


def chosen(
    sizes: Sizes, p: Any, u: Any, side: Any, low: Any, high: Any, worst_row: Any, pending: Any, status: Any
) -> Any:
    """What to do next: (index, mode, whether a row must be put into a slot, status, whether to go on).

    Mode 1: the bound of the index is missed and it is taken up; mode −1: its multiplier is of the wrong sign and
    it is let go. `worst_row` is (violation, row); `pending` the index whose multiplier went part of the way.
    """
    n = sizes.n
    slack = FEASIBLE * (1.0 + abs(p[:n]))
    missed = maximum(low[:n] - p[:n], p[:n] - high[:n]) - slack
    missed = select(equal(side[:n], 0.0), missed, -LARGE)
    worst, index = largest(missed)
    wrong = select(not_equal(low, high), side * u, 0.0)
    most_wrong, wrong_index = largest(wrong)
    limit = SIGNED * (1.0 + largest(abs(u))[0])
    let_go = greater(most_wrong, limit)
    is_pending = less_equal(0.0, pending[0])
    from_rows: Any = False
    full: Any = False
    mode = select(let_go, -1.0, 1.0)
    index = select(let_go, wrong_index, index)
    idle = logical_and(logical_not(let_go), less_equal(worst, 0.0))
    if sizes.m:
        row_first = logical_and(greater(worst_row[0], worst), greater(worst_row[0], 0.0))
        from_rows = logical_and(row_first, logical_and(logical_not(let_go), logical_not(is_pending)))
        slot = first_free(side[n:])
        index = select(from_rows, n + slot, index)
        idle = logical_and(idle, logical_not(row_first))
        full = logical_and(from_rows, not_equal(_at(side[n:], slot), 0.0))
    index = select(is_pending, pending[0], index)
    mode = select(is_pending, 1.0, mode)
    ends = logical_and(idle, logical_not(is_pending))
    status = select(ends, SOLVED, select(full, FULL, status[0]))
    goes_on = equal(status, RUNNING)
    fill = select(logical_and(from_rows, goes_on), 1.0, 0.0)
    return tuple(np.array([x]) for x in (index, mode, fill, status, select(goes_on, 1.0, 0.0)))


def stepped(
    sizes: Sizes, column: Any, p: Any, u: Any, side: Any, low: Any, high: Any, index: Any, mode: Any, status: Any
) -> Any:
    """Values after the longest step that keeps the multipliers' signs, and the index to be exchanged.

    Returns (p, u, side, index to exchange, whether it is basic, pending index, status, whether to go on).
    """
    numbers = np.arange(float(sizes.order))
    is_row = numbers >= sizes.n
    kind = np.where(is_row, -1.0, 1.0)
    at = equal(numbers, index[0])
    t_kk, p_k, u_k, kind_k = (_picked(at, values) for values in (column, p, u, kind))
    low_k, high_k = _picked(at, low), _picked(at, high)
    taking_up = greater(mode[0], 0.0)
    below = greater(low_k - p_k, p_k - high_k)
    sense = select(below, 1.0, -1.0)
    missing = maximum(select(below, low_k - p_k, p_k - high_k), 0.0)
    curvature = abs(t_kk)
    whole = select(greater(curvature, NO_CURVATURE), missing / curvature, LARGE)
    held = not_equal(side, 0.0)
    # v = −side · u ≥ 0 are the multipliers as the book has them; each may fall to zero and no further.
    rate = -side * kind_k * sense * column
    falls = logical_and(logical_and(held, less(rate, 0.0)), not_equal(low, high))
    room = select(falls, maximum(-side * u, 0.0) / select(falls, -rate, 1.0), LARGE)
    smallest, blocking = largest(-room)
    blocked = logical_and(taking_up, less(-smallest, whole))
    length = minimum(whole, -smallest)
    stuck = logical_and(taking_up, greater(length, 0.5 * LARGE))
    tau = select(stuck, 0.0, sense * length)
    along = select(taking_up, kind_k * tau, -u_k / select(taking_up, 1.0, t_kk))
    new_u = u + select(held, column * along, 0.0) + select(logical_and(at, taking_up), tau, 0.0)
    move = select(held, select(logical_and(at, logical_not(taking_up)), along, 0.0), -kind * column * along)
    new_p = p + move
    exchanged = select(blocked, blocking, index[0])
    at_exchanged = equal(numbers, exchanged)
    arrives = logical_and(taking_up, logical_not(blocked))
    was_held = greater(_picked(at_exchanged, abs(side)), 0.5)
    new_side = select(at_exchanged, select(arrives, -sense, 0.0), side)
    bound = select(less(new_side, 0.0), low, high)
    new_p = select(logical_and(at_exchanged, arrives), bound, new_p)
    new_u = select(logical_and(at_exchanged, logical_not(arrives)), 0.0, new_u)
    basic = not_equal(select(was_held, 1.0, 0.0), 1.0 - _picked(at_exchanged, is_row.astype(float)))
    pending = select(blocked, index[0], -1.0)
    ended = select(stuck, INFEASIBLE, status[0])
    goes_on = select(equal(ended, RUNNING), 1.0, 0.0)
    return new_p, new_u, new_side, *(np.array([x]) for x in (exchanged, basic, pending, ended, goes_on))


def exchange(order: int, index: Any, basic: Any, column: Any) -> Any:
    """(û, f, keep) of the exchange of an index."""
    chosen = equal(np.arange(float(order)), index[0])
    return sweep_of(greater(basic[0], 0.5), chosen, column)


# --- rows in slots


def worse(value: Any, low: Any, high: Any, held: Any, number: Any, worst: Any) -> Any:
    """The more violated of a row and the worst before: (violation, row)."""
    missed = maximum(low[0] - value[0], value[0] - high[0]) - FEASIBLE * (1.0 + abs(value[0]))
    missed = select(equal(held[0], 0.0), missed, -LARGE)
    more = greater(missed, worst[0])
    return np.array([select(more, missed, worst[0]), select(more, number[0], worst[1])])


def seen(sizes: Sizes, row: Any, side: Any) -> Any:
    """The entries of a row at free unknowns, with zeros elsewhere, (order,)."""
    return np.concatenate([select(equal(side[: sizes.n], 0.0), row, 0.0), np.zeros(sizes.slots)])


def weighted(weight: Any, row: Any, total: Any) -> Any:
    """total + weight · row."""
    return total + weight[0] * row


def slot_row(sizes: Sizes, row: Any, total: Any, side: Any, index: Any) -> Any:
    """The tableau's row of a constraint that is not held; `total` is its free part times the tableau."""
    n = sizes.n
    free = equal(side[:n], 0.0)
    inside = np.concatenate([select(free, 0.0, row), np.zeros(sizes.slots)])
    own = (select(free, row, 0.0) * total[:n]).sum()
    entries = inside - total
    return select(equal(np.arange(float(sizes.order)), index[0]), own, entries)


def with_column(sizes: Sizes, T: Any, entry: Any, index: Any) -> Any:
    """A row of the tableau with a new entry in the column of an index."""
    return select(equal(np.arange(float(sizes.order)), index[0]), entry[0], T)


# --- numbers


def largest(values: Any) -> tuple[Any, Any]:
    """The largest of some numbers and its place."""
    best, place = values[0], 0.0
    for k, value in enumerate(values[1:], start=1):
        better = greater(value, best)
        best, place = select(better, value, best), select(better, float(k), place)
    return best, place


def first_free(side: Any) -> Any:
    """The first slot that holds nothing; 0 if all do."""
    place: Any = 0.0
    for k in range(len(side) - 1, -1, -1):
        place = select(equal(side[k], 0.0), float(k), place)
    return place


def _at(values: Any, place: Any) -> Any:
    return _picked(equal(np.arange(float(len(values))), place), values)


def _picked(at: Any, values: Any) -> Any:
    """The one number that is marked; infinite ones are left alone elsewhere."""
    total: Any = 0.0
    for mark, value in zip(at, values, strict=True):
        total = total + select(mark, value, 0.0)
    return total
