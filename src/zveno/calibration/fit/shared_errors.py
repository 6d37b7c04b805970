"""Shared errors of the rows of a posture: of joints, or of a robot that stands differently every time.

Several points seen in one posture share an error when the robot, not the measuring system, errs. They then count
less than as many independent rows, and standard deviations that ignore it are too small (the design effect).
"""

from __future__ import annotations

import numpy as np

from ..measurements.fit_problem import FitProblem
from .solve import Solution

SURE = 4.0
"""Number of standard deviations by which sums of a posture must exceed chance."""


def shared_errors(problem: FitProblem, whole: Solution) -> np.ndarray | None:
    """Return the number of rows of each noise per independent row, (noises,); None where all are independent.

    Residuals of the things seen in a posture are added up, component by component: the squares of the sums are as
    large as the sums of the squares if rows are independent, and m times as large if all m are equal.
    """
    factor = np.ones(len(problem.noise_names))
    good = problem.by_row(whole.weight > 0.05, False)
    for number in range(len(factor)):
        rows = np.flatnonzero(good & (problem.noise == number))
        component = problem.component[rows]
        key = problem.posture[rows] * (component.max(initial=0) + 1) + component
        _, place, count = np.unique(key, return_inverse=True, return_counts=True)
        r = whole.residual[rows]
        sums, squares = np.bincount(place, r), np.bincount(place, r**2)
        several = count > 1
        if not several.any():
            continue
        ratio = float(np.sum(sums[several] ** 2) / np.sum(squares[several]))
        chance = np.sqrt(2.0 * np.mean(count[several] - 1.0) / several.sum())
        if ratio > 1.0 + SURE * chance:
            factor[number] = ratio
    return factor if (factor > 1.0).any() else None
