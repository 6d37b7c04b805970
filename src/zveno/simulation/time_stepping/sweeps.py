"""Projected Gauss–Seidel on the contacts of a step: one sweep over all rows, traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import abs as magnitude
from ...kernels.ops import greater, less, logical_and, maximum, minimum, sqrt, where
from .blocks import TINY, entry
from .step import Problem
from .stepping import Group


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
