"""Straight-line steps of the dual active-set method, see `program`.

Unknowns are scaled so that the Hessian has a diagonal of ones. Index j is an unknown (j < n) or a row (j ≥ n); it
has a primal value p (x_j, or the row's value), bounds on it, a multiplier u, and a side: −1 where it is held at its
lower bound (u ≥ 0), +1 at its upper (u ≤ 0), 0 where it is not held (u = 0).
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
RUNNING, SOLVED, INFEASIBLE = -1.0, 0.0, 1.0
"""Status: one that still runs when the loop ends has reached its bound of steps."""
TAKE_UP, LET_GO, SWEEP_AGAIN = 1.0, -1.0, 2.0
"""What is done with an index: hold it, free it, or put a row that is held back into the tableau."""


@dataclass(frozen=True)
class Sizes:
    """n unknowns, m rows, and how many exchanges there may be before H is factored again."""

    n: int
    m: int = 0
    sweeps: int = 24

    @property
    def order(self) -> int:
        """Unknowns and rows."""
        return self.n + self.m

    @property
    def most_sweeps(self) -> int:
        """Those, rows that are held when H is factored, and what ends a step that has begun."""
        return self.sweeps + self.m + self.order

    @property
    def fingerprint(self) -> str:
        """Of what determines the code."""
        return f"{self.n} {self.m} {self.sweeps}"


# --- scaling and start


def scales(n: int, H: Any) -> Any:
    """1/√H_jj, (n,)."""
    return np.array([1.0 / sqrt(H[j * n + j]) for j in range(n)])


def started(g: Any, lower: Any, upper: Any, warm: Any, scales: Any) -> Any:
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


# --- values


def gradient(Hx: Any, g: Any, pull: Any) -> Any:
    """w = g + H x − Cᵀμ, in scaled units; `pull` is Cᵀμ."""
    return g + Hx - pull


def weighted(weight: Any, row: Any, total: Any) -> Any:
    """total + weight · row."""
    return total + weight[0] * row


def errors(sizes: Sizes, w: Any, p: Any, side: Any, low: Any, high: Any) -> Any:
    """By how much basic quantities miss: gradients of free unknowns, and values of rows that are held."""
    n = sizes.n
    bound = select(less(side, 0.0), low, high)
    of_unknowns = select(equal(side[:n], 0.0), -w[:n], 0.0)
    of_rows = select(not_equal(side[n:], 0.0), bound[n:] - p[n:], 0.0)
    return np.concatenate([of_unknowns, of_rows])


def corrected(sizes: Sizes, change: Any, w: Any, p: Any, u: Any, side: Any, low: Any, high: Any) -> Any:
    """Primal values and multipliers after one step of refinement; `change` is the tableau times the errors."""
    n = sizes.n
    held = not_equal(side, 0.0)
    bound = select(less(side, 0.0), low, high)
    moved = np.concatenate([p[:n] - change[:n], p[n:] + change[n:]])
    multiplier = np.concatenate([w, u[n:]]) + change
    return select(held, bound, moved), select(held, multiplier, 0.0)


# --- one step of the method


def chosen(
    sizes: Sizes, p: Any, u: Any, side: Any, low: Any, high: Any, unswept: Any, index: Any, mode: Any,
    pending: Any, status: Any, room: Any, complete: Any,
) -> Any:  # fmt: skip
    """What to do next: (index, mode, status, whether to go on).

    What is `pending`, an index whose multiplier went part of the way, goes on. Otherwise an index with a multiplier
    of the wrong sign is let go, or the one that misses its bound most is taken up. Without `room` for another
    exchange, nothing is begun. As long as the tableau is not `complete`, rows that are held and not in it are put
    there.
    """
    worst, missing = largest(
        select(equal(side, 0.0), maximum(low - p, p - high) - FEASIBLE * (1.0 + abs(p)), -LARGE)
    )
    most_wrong, wrong = largest(select(not_equal(low, high), side * u, 0.0))
    let_go = greater(most_wrong, SIGNED * (1.0 + largest(abs(u))[0]))
    new_index = select(let_go, wrong, missing)
    new_mode = select(let_go, LET_GO, TAKE_UP)
    ends = logical_and(logical_not(let_go), less_equal(worst, 0.0))
    waits: Any = less(room[0], 0.5)
    if sizes.m:
        left_over, row = largest(unswept)
        sweeps = less(complete[0], 0.5)
        new_index, new_mode = select(sweeps, row, new_index), select(sweeps, SWEEP_AGAIN, new_mode)
        ends = logical_and(ends, logical_not(sweeps))
        waits = logical_or(logical_and(waits, logical_not(sweeps)), logical_and(sweeps, less(left_over, 0.5)))
    goes_on = greater(pending[0], 0.5)
    status = select(logical_and(ends, logical_not(goes_on)), SOLVED, status[0])
    running = logical_and(equal(status, RUNNING), logical_or(goes_on, logical_not(waits)))
    values = select(goes_on, index[0], new_index), select(goes_on, mode[0], new_mode), status
    return tuple(np.array([x]) for x in (*values, select(running, 1.0, 0.0)))


def stepped(
    sizes: Sizes, column: Any, p: Any, u: Any, side: Any, low: Any, high: Any, own: Any, index: Any, mode: Any,
    status: Any,
) -> Any:  # fmt: skip
    """Values after the longest step that keeps the multipliers' signs, and the index to be exchanged.

    `own` is (column, p, u, low, high) at the index. Returns (p, u, side, index to exchange, whether it is basic,
    whether the index is pending, status, whether to go on).
    """
    numbers = np.arange(float(sizes.order))
    kind = np.where(numbers >= sizes.n, -1.0, 1.0)
    t_kk, p_k, u_k, low_k, high_k = own
    kind_k = select(less(index[0], sizes.n - 0.5), 1.0, -1.0)
    at = equal(numbers, index[0])
    taking_up, letting_go = equal(mode[0], TAKE_UP), equal(mode[0], LET_GO)
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
    gone = select(letting_go, -u_k / select(letting_go, t_kk, 1.0), 0.0)
    along = select(taking_up, kind_k * tau, gone)
    new_u = u + select(held, column * along, 0.0) + select(logical_and(at, taking_up), tau, 0.0)
    move = select(held, select(logical_and(at, letting_go), along, 0.0), -kind * column * along)
    new_p = p + move
    exchanged = select(blocked, blocking, index[0])
    at_exchanged = equal(numbers, exchanged)
    arrives = logical_and(taking_up, logical_not(blocked))
    leaves = logical_or(blocked, letting_go)
    new_side = select(at_exchanged, select(arrives, -sense, select(leaves, 0.0, side)), side)
    bound = select(less(new_side, 0.0), low, high)
    new_p = select(logical_and(at_exchanged, arrives), bound, new_p)
    new_u = select(logical_and(at_exchanged, leaves), 0.0, new_u)
    # Free unknowns and rows that are held are basic.
    of_row = greater(exchanged, sizes.n - 0.5)
    basic = logical_or(logical_and(of_row, leaves), logical_and(logical_not(of_row), arrives))
    ended = select(stuck, INFEASIBLE, status[0])
    flags = (select(flag, 1.0, 0.0) for flag in (basic, blocked))
    goes_on = select(equal(ended, RUNNING), 1.0, 0.0)
    return new_p, new_u, new_side, *(np.array([x]) for x in (exchanged, *flags, ended, goes_on))


# --- numbers


def largest(values: Any) -> tuple[Any, Any]:
    """The largest of some numbers and its place, the first of equal ones; in pairs, so that few wait for others."""
    rest = [(value, float(k)) for k, value in enumerate(values)]
    while len(rest) > 1:
        pairs = [
            (select(greater(b, a), b, a), select(greater(b, a), j, i))
            for (a, i), (b, j) in zip(rest[::2], rest[1::2], strict=False)
        ]
        rest = pairs + rest[2 * len(pairs) :]
    return rest[0]
