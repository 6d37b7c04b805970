"""Sweeps that converge slowly, accelerated: heavy bodies on light ones, machines that lie on their limits.

Anderson's method (1965) on the map of one sweep, x → G(x): from the last iterates it takes the combination whose
changes G(x) − x are least, in least squares. What it returns is always the result of a sweep, within the bounds.
Where a change is twice as large as the least one so far, the history is forgotten and half a change follows, which
ends cycles of sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...kernels.math import greater, less, minimum, select
from .step import Problem
from .stepping import Group
from .sweeps import sweep

MEMORY = 4
"""Differences of iterates that are combined."""
DAMPING = 1e-10
"""Share of the trace that is added to the diagonal of the normal equations."""
HALF = 0.5
"""Share of a change that is taken without a history."""
WORSE = 2.0
"""A change larger than the least one so far by this factor forgets the history."""
TINY = 1e-300


class History(NamedTuple):
    """What is carried from one accelerated sweep to the next."""

    point: Any
    """x, from which the next sweep starts, (m,)"""
    best: Any
    """result of the sweep with the least change, (m,)"""
    least: Any
    """that change, (1,)"""
    known: Any
    """number of differences that are known, (1,)"""
    result: Any
    """G(x) of the last sweep, (m,)"""
    change: Any
    """G(x) − x of the last sweep, (m,)"""
    results: Any
    """differences of results, newest first, (MEMORY · m,)"""
    changes: Any
    """differences of changes, newest first, (MEMORY · m,)"""
    stale: Any
    """sweeps since the least change, (1,)"""


def accelerated(groups: tuple[Group, ...], problem: Problem, last: History, smooth: bool) -> History:
    """One sweep from the point, and the point for the next one.

    Differences say little of a map that jumps: sweeps that stick at once end sooner or go round, `smooth` ones do
    not go round.
    """
    m = len(last.point)
    result, size = sweep(groups, problem, last.point, smooth)
    change = result - last.point
    better = less(size, last.least[0])
    best = _chosen(better, result, last.best)
    least = minimum(size, last.least[0])
    stale = select(better, 0.0, last.stale[0] + 1.0)
    forgets = greater(size, WORSE * least)
    first = less(last.known[0], 0.0)  # before the first sweep there is no difference
    results = np.concatenate([result - last.result, last.results[: (MEMORY - 1) * m]])
    changes = np.concatenate([change - last.change, last.changes[: (MEMORY - 1) * m]])
    known = select(first, 0.0, minimum(last.known[0] + 1.0, float(MEMORY)))
    known = select(forgets, -1.0, known)
    rows = [changes[k * m : (k + 1) * m] * select(greater(known, k + 0.5), 1.0, 0.0) for k in range(MEMORY)]
    shares = _least_squares(rows, change)
    combined = result - sum(share * results[k * m : (k + 1) * m] for k, share in enumerate(shares))
    point = _chosen(greater(known, 0.5), combined, last.point + HALF * change)
    numbers = np.array([least]), np.array([known])
    return History(point, best, *numbers, result, change, results, changes, np.array([stale]))


def _least_squares(rows: list[Any], change: Any) -> Any:
    """Shares of the rows that add up to the change, (MEMORY,); rows of zeros have none."""
    G = [[a @ b for b in rows[: i + 1]] for i, a in enumerate(rows)]
    damping = DAMPING * sum(G[i][i] for i in range(MEMORY)) + TINY
    for i in range(MEMORY):
        G[i][i] = select(greater(G[i][i], 0.0), G[i][i] + damping, 1.0)
    return linear.solve_factored(linear.factor(G), [row @ change for row in rows])


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    return np.array([select(condition, x, y) for x, y in zip(a, b, strict=True)])
