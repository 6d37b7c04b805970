"""The bounds that were held the last time, tried by one factorisation before the dual method begins.

From one step of a motion to the next they mostly stay, and then this is all there is to do: n³/6 products instead
of the n³ of a tableau. More rounds of this kind (block pivoting, Júdice and Pires 1994) do not pay: where bounds
change, the programs of a stretched leg cycle in four of five cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.linear import factor, solve_factored
from ...kernels.math import abs, equal, greater, less, logical_and, logical_not, logical_or, maximum, select
from .steps import FEASIBLE, SIGNED

UNROLLED = 48
"""The factorisation is straight-line code; programs of more unknowns begin with the dual method."""


def first_try(n: int, H: Any, g: Any, scales: Any, low: Any, high: Any, side: Any) -> Any:
    """(x, multipliers, sides, whether to go on) with the bounds of `side` held, all in scaled units.

    If it is not the optimum, or the system is not solved to rounding, the dual method goes on from the bounds whose
    multipliers have the right sign (for a stretched leg this halves its steps), with x zero elsewhere.
    """
    h = [[H[i * n + j] * (scales[i] * scales[j]) for j in range(i)] for i in range(n)]
    free = equal(side, 0.0)
    bound = select(less(side, 0.0), low, high)
    start = select(free, 0.0, bound)
    share = select(free, 1.0, 0.0)
    factors = factor([[h[i][j] * (share[i] * share[j]) for j in range(i)] + [1.0] for i in range(n)])
    x = start - solve_factored(factors, share * _gradient(h, g, start))
    w = _gradient(h, g, x)
    slack = FEASIBLE * (1.0 + abs(x))
    missed = logical_or(less(x, low - slack), greater(x, high + slack))
    size: Any = 1.0
    for part in select(free, 0.0, w):
        size = maximum(size, abs(part))
    wrong = logical_and(greater(side * w, SIGNED * size), less(low, high))
    unsolved = greater(abs(w), SIGNED * size)
    failed = select(free, logical_or(missed, unsolved), wrong).sum()
    again = logical_not(equal(failed, 0.0))  # NaN goes on
    let_go = logical_and(again, logical_and(logical_not(free), wrong))
    x = select(again, select(let_go, 0.0, start), x)
    u = select(again, 0.0, select(free, 0.0, w))
    return x, u, select(let_go, 0.0, side), np.array([select(again, 1.0, 0.0)])


def _gradient(h: Any, g: Any, x: Any) -> Any:
    """g + H x from the entries of H below a diagonal of ones."""
    w = list(g + x)
    for i, row in enumerate(h):
        for j, entry in enumerate(row):
            w[i] = w[i] + entry * x[j]
            w[j] = w[j] + entry * x[i]
    return np.array(w)
