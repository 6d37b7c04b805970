"""Straight-line steps of the dual active-set method, see `program`.

Unknowns are scaled so that the Hessian has a diagonal of ones. Index j is an unknown (j < n) or a row (j ≥ n); it
has a primal value p (x_j, or the row's value), bounds on it, a multiplier u, and a side. The side is −1 if the
lower bound is active (u ≥ 0), +1 if the upper bound is (u ≤ 0), and 0 if none is (u = 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.ops import (
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
    sqrt,
    where,
)

FEASIBLE = 1e-11
"""Feasibility tolerance during the iteration, relative to the bound and to the range due to the unknowns."""
KEPT = 1e-9
"""Feasibility tolerance of a solution. A contradiction must exceed it."""
SIGNED = 1e-11
"""Tolerance for the sign of a multiplier, relative to 1 + the largest one."""
NO_CURVATURE = 1e-10
"""Curvature, relative to the terms that cancel, below which a row counts as dependent on the active ones."""
SMALL = 1e-5
"""Relative pivot below which H is factored again after an exchange."""
LARGE = 1e300
"""Stands for an unlimited step."""
RUNNING, SOLVED, INFEASIBLE = -1.0, 0.0, 1.0
"""Status. A program that still runs when the loop ends has reached its maximum number of steps."""
TAKE_UP, LET_GO, SWEEP_AGAIN = 1.0, -1.0, 2.0
"""Treatment of an index: add it to the active set, remove it, or put an active row back into the tableau."""


@dataclass(frozen=True)
class Sizes:
    """n unknowns, m rows, and the number of exchanges before H is factored again."""

    n: int
    m: int = 0
    sweeps: int = 24

    @property
    def order(self) -> int:
        """Number of unknowns and rows."""
        return self.n + self.m

    @property
    def most_sweeps(self) -> int:
        """Maximum number of sweeps: exchanges, rows active at a factorisation, and the end of a step in
        progress."""
        return self.sweeps + self.m + self.order

    @property
    def fingerprint(self) -> str:
        """Text that determines the code."""
        return f"{self.n} {self.m} {self.sweeps}"


# --- scaling and start


def scales(n: int, H: Any) -> Any:
    """Return 1/√H_jj, (n,)."""
    return np.array([1.0 / sqrt(H[j * n + j]) for j in range(n)])


def started(g: Any, lower: Any, upper: Any, warm: Any, scales: Any) -> Any:
    """Return scaled g, bounds, sides and x. Sides without a bound are dropped, and fixed unknowns are active."""
    low, high = lower / scales, upper / scales
    at_low = logical_or(equal(low, high), logical_and(less(warm, 0.0), greater(low, -LARGE)))
    at_high = logical_and(greater(warm, 0.0), less(high, LARGE))
    side = where(at_low, -1.0, where(at_high, 1.0, 0.0))
    x = where(less(side, 0.0), low, where(greater(side, 0.0), high, 0.0))
    return g * scales, low, high, side, x


def scaled_constraint(C: Any, lower: Any, upper: Any, scales: Any) -> Any:
    """Return a row in scaled unknowns, of length one, its bounds, and its divisor."""
    row = C * scales
    length = sqrt((row * row).sum())
    divisor = where(greater(length, 0.0), length, 1.0)
    return row / divisor, lower / divisor, upper / divisor, divisor


# --- values


def gradient(Hx: Any, g: Any, pull: Any) -> Any:
    """Return w = g + H x − Cᵀμ, in scaled units; `pull` is Cᵀμ."""
    return g + Hx - pull


def weighted(weight: Any, row: Any, total: Any) -> Any:
    """Return total + weight · row."""
    return total + weight[0] * row


def errors(sizes: Sizes, w: Any, u: Any, p: Any, side: Any, low: Any, high: Any) -> Any:
    """Return the errors of basic quantities: gradients of free unknowns, and values of active rows.

    Of the inactive indices, only a pending one has a multiplier.
    """
    n = sizes.n
    bound = where(less(side, 0.0), low, high)
    of_unknowns = where(equal(side[:n], 0.0), u[:n] - w[:n], 0.0)
    of_rows = where(not_equal(side[n:], 0.0), bound[n:] - p[n:], 0.0)
    return np.concatenate([of_unknowns, of_rows])


def corrected(sizes: Sizes, change: Any, w: Any, p: Any, u: Any, side: Any, low: Any, high: Any) -> Any:
    """Return primal values and multipliers after one refinement; `change` is the tableau times the errors."""
    n = sizes.n
    held = not_equal(side, 0.0)
    bound = where(less(side, 0.0), low, high)
    moved = np.concatenate([p[:n] - change[:n], p[n:] + change[n:]])
    multiplier = np.concatenate([w, u[n:]]) + change
    return where(held, bound, moved), where(held, multiplier, u)


# --- one step of the method


def chosen(
    sizes: Sizes, p: Any, u: Any, side: Any, low: Any, high: Any, terms: Any, unswept: Any, kept: Any,
    pending: Any, status: Any, room: Any, complete: Any,
) -> Any:  # fmt: skip
    """Choose the next step: (index, mode, status, flag to go on).

    `terms` are scales for violations. A `pending` index `kept`, whose multiplier went part of the way, continues.
    Otherwise an index with a multiplier of the wrong sign is removed, or the one with the largest violation is
    added. Nothing is begun if there is no `room` for another exchange. As long as the tableau is not `complete`,
    active rows outside it are put into it.
    """
    worst, missing = largest(where(equal(side, 0.0), beyond(p, low, high, terms, FEASIBLE), -LARGE))
    most_wrong, wrong = largest(where(not_equal(low, high), side * u, 0.0))
    goes_on = greater(pending[0], 0.5)
    let_go = logical_and(greater(most_wrong, SIGNED * (1.0 + largest(abs(u))[0])), logical_not(goes_on))
    index = where(let_go, wrong, where(goes_on, kept[0], missing))
    mode = where(let_go, LET_GO, TAKE_UP)
    ends = logical_and(logical_not(logical_or(let_go, goes_on)), less_equal(worst, 0.0))
    waits: Any = less(room[0], 0.5)
    if sizes.m:
        left_over, row = largest(unswept)
        sweeps = less(complete[0], 0.5)
        index, mode = where(sweeps, row, index), where(sweeps, SWEEP_AGAIN, mode)
        ends = logical_and(ends, logical_not(sweeps))
        waits = logical_or(logical_and(waits, logical_not(sweeps)), logical_and(sweeps, less(left_over, 0.5)))
    status = where(ends, SOLVED, status[0])
    running = logical_and(equal(status, RUNNING), logical_not(waits))
    return tuple(np.array([x]) for x in (index, mode, status, where(running, 1.0, 0.0)))


def extents(p: Any, low: Any, high: Any) -> Any:
    """Return the sizes of unknowns: the larger finite bound, or the value itself if it is larger."""
    below, above = abs(low), abs(high)
    below, above = where(less(below, LARGE), below, 0.0), where(less(above, LARGE), above, 0.0)
    return maximum(abs(p), maximum(below, above))


def beyond(p: Any, low: Any, high: Any, terms: Any, share: float) -> Any:
    """Return the violation of bounds, less a share of the bound and of `terms`."""
    side = greater(low - p, p - high)
    bound = abs(where(side, low, high))
    return where(side, low - p, p - high) - share * (terms + where(less(bound, LARGE), bound, 0.0))


def stepped(
    sizes: Sizes, column: Any, p: Any, u: Any, side: Any, low: Any, high: Any, at_index: Any, size: Any, index: Any,
    mode: Any, pending: Any, kept: Any, status: Any,
) -> Any:  # fmt: skip
    """Return the values after the longest step that keeps the multipliers' signs, and the index to exchange.

    `at_index` is (column, p, u, low, high) at the index. `size` is the size of the terms that cancel in the column
    there. The result is (p, u, side, index to exchange, flag that it is basic, flag that the exchange is due, flag
    that an index is pending, that index, status, flag to go on).
    """
    numbers = np.arange(float(sizes.order))
    kind = np.where(numbers >= sizes.n, -1.0, 1.0)
    t_kk, p_k, u_k, low_k, high_k = at_index
    kind_k = where(less(index[0], sizes.n - 0.5), 1.0, -1.0)
    at = equal(numbers, index[0])
    taking_up, letting_go = equal(mode[0], TAKE_UP), equal(mode[0], LET_GO)
    below = greater(low_k - p_k, p_k - high_k)
    sense = where(below, 1.0, -1.0)
    missing = maximum(where(below, low_k - p_k, p_k - high_k), 0.0)
    curvature = abs(t_kk)
    whole = where(greater(curvature, NO_CURVATURE * size[0]), missing / curvature, LARGE)
    held = not_equal(side, 0.0)
    # v = −side · u ≥ 0 are the multipliers of the textbook; none may become negative.
    rate = -side * kind_k * sense * column
    falls = logical_and(logical_and(held, less(rate, 0.0)), not_equal(low, high))
    room = where(falls, maximum(-side * u, 0.0) / where(falls, -rate, 1.0), LARGE)
    smallest, blocking = largest(-room)
    blocked = logical_and(taking_up, less(-smallest, whole))
    length = minimum(whole, -smallest)
    stuck = logical_and(taking_up, greater(length, 0.5 * LARGE))
    tau = where(stuck, 0.0, sense * length)
    gone = where(letting_go, -u_k / where(letting_go, t_kk, 1.0), 0.0)
    along = where(taking_up, kind_k * tau, gone)
    new_u = u + where(held, column * along, 0.0) + where(logical_and(at, taking_up), tau, 0.0)
    move = where(held, where(logical_and(at, letting_go), along, 0.0), -kind * column * along)
    new_p = p + move
    exchanged = where(blocked, blocking, index[0])
    at_exchanged = equal(numbers, exchanged)
    arrives = logical_and(taking_up, logical_not(blocked))
    leaves = logical_or(blocked, letting_go)
    new_side = where(at_exchanged, where(arrives, -sense, where(leaves, 0.0, side)), side)
    bound = where(less(new_side, 0.0), low, high)
    new_p = where(logical_and(at_exchanged, arrives), bound, new_p)
    new_u = where(logical_and(at_exchanged, leaves), 0.0, new_u)
    # Free unknowns and active rows are basic.
    of_row = greater(exchanged, sizes.n - 0.5)
    basic = logical_or(logical_and(of_row, leaves), logical_and(logical_not(of_row), arrives))
    ended = where(stuck, INFEASIBLE, status[0])
    again = equal(mode[0], SWEEP_AGAIN)
    waiting = where(again, pending[0], where(blocked, 1.0, 0.0)), where(again, kept[0], index[0])
    flags = (where(flag, 1.0, 0.0) for flag in (basic, blocked))
    goes_on = where(equal(ended, RUNNING), 1.0, 0.0)
    return new_p, new_u, new_side, *(np.array([x]) for x in (exchanged, *flags, *waiting, ended, goes_on))


# --- status


def excess(p: Any, low: Any, high: Any, terms: Any) -> Any:
    """Return the largest violation of bounds, (1,); at most 0 if all are satisfied."""
    return np.array([largest(beyond(p, low, high, terms, KEPT))[0]])


def weights_of_contradiction(
    sizes: Sizes, column: Any, side: Any, p_k: Any, low_k: Any, high_k: Any, index: Any
) -> Any:
    """Return weights (m,) of rows whose sum is infeasible in the box, if the method got stuck; see `contradiction`.

    They are the direction in which multipliers may grow without limit. `column` and `side` are those of the rows,
    the others at the index.
    """
    sense = where(greater(low_k[0] - p_k[0], p_k[0] - high_k[0]), 1.0, -1.0)
    kind_k = where(less(index[0], sizes.n - 0.5), 1.0, -1.0)
    held = where(not_equal(side, 0.0), kind_k * sense * column, 0.0)
    return where(equal(np.arange(float(sizes.n), float(sizes.order)), index[0]), sense, held)


def added_row(weight: Any, row: Any, low: Any, high: Any, total: Any, terms: Any, bound: Any) -> Any:
    """Add a weighted row: its sum, the sizes of its terms, and (sum of required values, sizes of its terms)."""
    y = weight[0]
    reached = where(greater(y, 0.0), y * low[0], where(less(y, 0.0), y * high[0], 0.0))
    size = where(equal(y, 0.0), 0.0, abs(reached))
    return total + y * row, terms + abs(y * row), bound + np.array([reached, size])


def row_contradiction(row: Any, low: Any, high: Any, lower: Any, upper: Any, worst: Any) -> Any:
    """Return the larger of `worst` and the contradiction between a row and the box, (1,)."""
    below = contradiction(row, 0.0, np.array([low[0], abs(low[0])]), lower, upper)
    above = contradiction(-row, 0.0, np.array([-high[0], abs(high[0])]), lower, upper)
    return maximum(worst, maximum(below, above))


def sum_contradiction(total: Any, terms: Any, bound: Any, lower: Any, upper: Any, worst: Any) -> Any:
    """Return the larger of `worst` and the contradiction between a sum of weighted rows and the box, (1,)."""
    return maximum(worst, contradiction(total, terms, bound, lower, upper))


def contradiction(total: Any, terms: Any, bound: Any, lower: Any, upper: Any) -> Any:
    """Return a number above 0 if no point of the box lets a summed row reach its bound (Farkas), (1,)."""
    zero = less_equal(abs(total), 1e-3 * KEPT * terms)
    at = where(greater(total, 0.0), upper, lower)
    most = where(zero, 0.0, total * where(zero, 0.0, at))
    gap = bound[0] - most.sum() - KEPT * (bound[1] + abs(most).sum())
    return np.array([where(less(bound[1], LARGE), gap, -1.0)])


def crossed(lower: Any, upper: Any) -> Any:
    """Return a number above 0 if a lower bound is above the upper one, (1,)."""
    return np.array([largest(lower - upper)[0]])


def claimed(status: Any, outside: Any, gap: Any) -> Any:
    """Return the proven status: infeasible only with a contradiction, solved only inside the bounds."""
    solved = logical_and(equal(status[0], SOLVED), less_equal(outside[0], 0.0))
    return np.array([where(greater(gap[0], 0.0), INFEASIBLE, where(solved, SOLVED, RUNNING))])


# --- numbers


def largest(values: Any) -> tuple[Any, Any]:
    """Return the largest number and its index, the first of equal ones; compared in pairs to shorten the chain."""
    rest = [(value, float(k)) for k, value in enumerate(values)]
    while len(rest) > 1:
        pairs = [
            (where(greater(b, a), b, a), where(greater(b, a), j, i))
            for (a, i), (b, j) in zip(rest[::2], rest[1::2], strict=False)
        ]
        rest = pairs + rest[2 * len(pairs) :]
    return rest[0]
