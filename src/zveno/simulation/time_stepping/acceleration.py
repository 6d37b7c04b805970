"""Acceleration of slowly converging sweeps: heavy bodies on light ones, robots that rest on their limits.

Anderson's method (1965) on the map of one sweep, x → G(x): from the last iterates it takes the combination with the
smallest changes G(x) − x, in least squares. It always returns the result of a sweep, within the bounds. If a change
is twice the smallest one so far, the history is cleared and half a change follows, which ends cycles of sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...kernels.ops import greater, less, minimum, where
from .step import Problem
from .stepping import Group
from .sweeps import sweep

MEMORY = 4
"""Number of combined differences of iterates. Two suffice for a biped, not for a heavy box on light ones."""
DAMPING = 1e-10
"""Share of the trace that is added to the diagonal of the normal equations."""
HALF = 0.5
"""Share of a change that is taken without a history."""
WORSE = 2.0
"""Factor over the smallest change so far beyond which the history is cleared."""
TINY = 1e-300


class History(NamedTuple):
    """State carried from one accelerated sweep to the next."""

    point: Any
    """x, from which the next sweep starts, (m,)"""
    best: Any
    """result of the sweep with the smallest change, (m,)"""
    least: Any
    """the smallest change, (1,)"""
    known: Any
    """number of differences that are known, (1,); less than zero before the first sweep"""
    result: Any
    """G(x) of the last sweep, (m,)"""
    change: Any
    """G(x) − x of the last sweep, (m,)"""
    results: Any
    """earlier differences of results, newest first, ((MEMORY − 1) · m,)"""
    changes: Any
    """earlier differences of changes, newest first, ((MEMORY − 1) · m,)"""
    stale: Any
    """sweeps since the smallest change, (1,)"""


def begun(before: Any, after: Any, size: Any) -> History:
    """Return the history of one sweep, with the largest change `size` (1,)."""
    nothing, zero = np.zeros((MEMORY - 1) * len(after)), np.zeros(1)
    return History(after, after, size, zero, after, after - before, nothing, nothing, zero)


def anew(point: Any) -> History:
    """Return an empty history."""
    return begun(point, point, np.array([np.inf]))._replace(known=np.array([-1.0]))


def accelerated(groups: tuple[Group, ...], problem: Problem, last: History, smooth: bool) -> History:
    """Do one sweep from the point, and find the point for the next one.

    Differences say little about a discontinuous map: sweeps that stick at once converge sooner or cycle, `smooth`
    ones do not cycle.
    """
    m = len(last.point)
    result, size = sweep(groups, problem, last.point, smooth)
    change = result - last.point
    better = less(size, last.least[0])
    best = _chosen(better, result, last.best)
    least = minimum(size, last.least[0])
    stale = where(better, 0.0, last.stale[0] + 1.0)
    forgets = greater(size, WORSE * least)
    known = where(forgets, -1.0, minimum(last.known[0] + 1.0, float(MEMORY)))
    results = np.concatenate([result - last.result, last.results])
    changes = np.concatenate([change - last.change, last.changes])
    shares = _least_squares(changes.reshape(MEMORY, m), change, known)
    combined = result - sum(share * results[k * m : (k + 1) * m] for k, share in enumerate(shares))
    point = _chosen(greater(known, 0.5), combined, last.point + HALF * change)
    kept = (MEMORY - 1) * m
    numbers = np.array([least]), np.array([known])
    return History(point, best, *numbers, result, change, results[:kept], changes[:kept], np.array([stale]))


def _least_squares(rows: Any, change: Any, known: Any) -> Any:
    """Return shares of the first `known` rows that add up to the change, (MEMORY,); zero for the others."""
    taken = [where(greater(known, k + 0.5), 1.0, 0.0) for k in range(MEMORY)]
    G = [[taken[i] * (rows[i] @ rows[j]) for j in range(i + 1)] for i in range(MEMORY)]  # later ones are taken less
    damping = DAMPING * sum(G[i][i] for i in range(MEMORY)) + TINY
    for i in range(MEMORY):
        G[i][i] = where(greater(G[i][i], 0.0), G[i][i] + damping, 1.0)
    return linear.solve_factored(
        linear.factor(G), [take * (row @ change) for take, row in zip(taken, rows, strict=True)]
    )


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    return np.array([where(condition, x, y) for x, y in zip(a, b, strict=True)])
