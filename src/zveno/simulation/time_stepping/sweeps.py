"""Projected Gauss–Seidel on the contacts of a step: one sweep over all rows, traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.math import abs as magnitude
from ...kernels.math import maximum, minimum, sqrt
from .step import TINY, Problem
from .stepping import Group


def sweep(groups: tuple[Group, ...], problem: Problem, impulses: Any) -> tuple[Any, Any]:
    """(impulses after a sweep (m,), largest change of one of them).

    The normal of a contact goes first; then the two tangents together, held in Coulomb's disc of the new normal
    impulse; then moments, each in an interval or disc of its own.
    """
    x, change = list(impulses), 0.0
    for group in groups:
        row = group.row
        step = x[row] - problem.scale[row] * _velocity(problem, x, row)
        if group.both:
            step = minimum(maximum(step, -problem.bound[row]), problem.bound[row])
        else:
            step = maximum(step, 0.0)
        change = maximum(change, magnitude(step - x[row]))
        x[row] = normal = step
        row += 1
        if group.friction:
            change = maximum(change, _on_disc(problem, x, row, problem.bound[row] * normal))
            row += 2
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


def _on_disc(problem: Problem, x: list[Any], row: int, most: Any) -> Any:
    """Two rows that share a disc of the radius `most`; returns the largest change."""
    first, second = (x[i] - problem.scale[i] * _velocity(problem, x, i) for i in (row, row + 1))
    share = minimum(1.0, most / sqrt(first * first + second * second + TINY))
    first, second = first * share, second * share
    change = maximum(magnitude(first - x[row]), magnitude(second - x[row + 1]))
    x[row], x[row + 1] = first, second
    return change


def _velocity(problem: Problem, x: list[Any], i: int) -> Any:
    """(W λ + b)_i."""
    total = problem.b[i]
    for j, impulse in enumerate(x):
        low, high = min(i, j), max(i, j)
        total = total + problem.W[high * (high + 1) // 2 + low] * impulse
    return total
