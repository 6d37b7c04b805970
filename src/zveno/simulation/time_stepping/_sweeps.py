"""Projected Gauss–Seidel on the contacts of a step: one sweep over all rows, traced.

Heavy bodies on light ones and robots that rest on their limits converge slowly and are accelerated by Anderson's
method (1965) on the map of one sweep, x → G(x): from the last iterates it takes the combination with the smallest
changes G(x) − x, in least squares. It always returns the result of a sweep, within the bounds. If a change is
twice the smallest one so far, the history is cleared and half a change follows, which ends cycles of sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...kernels.ops import abs as magnitude
from ...kernels.ops import greater, less, logical_and, maximum, minimum, sqrt, where
from ._step import TINY, Problem, entry
from .stepping import Group

# --- sweeps


def sweep(groups: tuple[Group, ...], problem: Problem, impulses: Any, smooth: bool = False) -> tuple[Any, Any]:
    """Return (impulses after a sweep (m,), largest change of one of them).

    The normal and the two tangents of a contact go first; then moments, each in an interval or disc of its own.
    A contact that can stick does so at once, which is fast but discontinuous; with `smooth` it converges by
    projections.
    """
    x, change, inverses = list(impulses), 0.0, iter(problem.inverse.reshape(-1, 6))
    for group in groups:
        row = group.row
        if group.friction:
            change = maximum(change, _in_cone(problem, x, row, None if smooth else next(inverses)))
            row += 3
        else:
            step = x[row] - problem.scale[row] * _velocity(problem, x, row)
            if group.both:
                step = minimum(maximum(step, -problem.bound[row]), problem.bound[row])
            else:
                step = maximum(step, 0.0)
            change = maximum(change, magnitude(step - x[row]))
            x[row] = step
            row += 1
        normal = x[group.row]
        if group.torsional:
            most = problem.bound[row] * normal
            step = x[row] - problem.scale[row] * _velocity(problem, x, row)
            step = minimum(maximum(step, -most), most)
            change = maximum(change, magnitude(step - x[row]))
            x[row] = step
            row += 1
        if group.rolling:
            change = maximum(change, _on_disc(problem, x, row, problem.bound[row] * normal))
    return np.array(x), change


def _in_cone(problem: Problem, x: list[Any], n: int, inverse: Any | None) -> Any:
    """Update the three rows of a contact from n on; return the largest change.

    The normal is updated first, then the tangents, projected onto Coulomb's disc of the new normal impulse. If the
    inverse of the contact's block shows that it can stick, it sticks. A fixed point solves the contact either way.
    """
    rows = (n, n + 1, n + 2)
    last = [x[i] for i in rows]
    u = [_velocity(problem, x, i) for i in rows]
    normal = maximum(last[0] - problem.scale[n] * u[0], 0.0)
    change = normal - last[0]
    slid = [last[k] - problem.scale[n + k] * (u[k] + entry(problem.W, n + k, n) * change) for k in (1, 2)]
    new = [normal, *_shortened(slid[0], slid[1], problem.bound[n + 1] * normal)]
    if inverse is not None:
        a, b, c, d, e, f = inverse
        pushes = a * u[0] + b * u[1] + d * u[2], b * u[0] + c * u[1] + e * u[2], d * u[0] + e * u[1] + f * u[2]
        stuck = [before - push for before, push in zip(last, pushes, strict=True)]
        most = problem.bound[n + 1] * stuck[0]
        inside = less(stuck[1] * stuck[1] + stuck[2] * stuck[2], most * most)
        sticks = logical_and(greater(stuck[0], 0.0), inside)
        new = [where(sticks, whole, part) for whole, part in zip(stuck, new, strict=True)]
    largest: Any = 0.0
    for i, before, after in zip(rows, last, new, strict=True):
        x[i] = after
        largest = maximum(largest, magnitude(after - before))
    return largest


def _shortened(first: Any, second: Any, most: Any) -> tuple[Any, Any]:
    """Scale two numbers into the disc of the radius `most`."""
    share = minimum(1.0, most / sqrt(first * first + second * second + TINY))
    return first * share, second * share


def _on_disc(problem: Problem, x: list[Any], row: int, most: Any) -> Any:
    """Update two rows that share a disc of the radius `most`; return the largest change."""
    first, second = (x[i] - problem.scale[i] * _velocity(problem, x, i) for i in (row, row + 1))
    first, second = _shortened(first, second, most)
    change = maximum(magnitude(first - x[row]), magnitude(second - x[row + 1]))
    x[row], x[row + 1] = first, second
    return change


def _velocity(problem: Problem, x: list[Any], i: int) -> Any:
    """Return (W λ + b)_i.

    Impulses that the sweep has not reached yet come first, the newest last: sums of several rows then run in
    parallel, and a row waits for one product only.
    """
    total = problem.b[i]
    for j in (*range(i, len(x)), *range(i)):
        total = total + entry(problem.W, max(i, j), min(i, j)) * x[j]
    return total


# --- acceleration

MEMORY = 4
"""Number of combined differences of iterates. Two suffice for a biped, not for a heavy box on light ones."""
DAMPING = 1e-10
"""Share of the trace that is added to the diagonal of the normal equations."""
HALF = 0.5
"""Share of a change that is taken without a history."""
WORSE = 2.0
"""Factor over the smallest change so far beyond which the history is cleared."""


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
