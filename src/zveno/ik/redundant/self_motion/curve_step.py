"""One step along a curve of solutions: ahead along its tangent, back onto it, and the tangent there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....kernels.door import compiled
from ....kernels.math import sqrt
from ...ik_problem import IkProblem
from ...newton import LEAST_DAMPING, Lanes, damped_step
from ...pose_error import error

CORRECTIONS = 3


class Stepped(NamedTuple):
    """Where n steps arrived."""

    x: np.ndarray
    """(n, 7)."""
    tangent: np.ndarray
    """(n, 7), of length 1."""
    squared: np.ndarray
    """(n,) squared error of the pose before the last correction."""
    cosine: np.ndarray
    """(n,) of the angle between the tangents before and after."""
    corrected: np.ndarray
    """(n,) distance from where the tangent pointed."""


def stepped(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: Any, tangent: Any, ahead: Any) -> Stepped:
    """Steps of lengths `ahead` (n,) from points x (n, 7) of the curves of poses (n,)."""
    with np.errstate(all="ignore"):  # a lane that diverges does not concern the others
        row = _kernel(problem)(x, tangent, ahead, lanes.targets[pose], lanes.tool)
    n = problem.n
    return Stepped(row[:, :n], row[:, n : 2 * n], *row[:, 2 * n :].T)


def tangents(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray, coordinate: int) -> np.ndarray:
    """(n, 7) at points x (n, 7) of curves, the way on which a coordinate grows."""
    towards = np.zeros_like(x)
    towards[:, coordinate] = 1.0
    for _ in range(2):  # once more, since the first is inexact where the coordinate hardly grows
        towards = stepped(problem, lanes, pose, x, towards, np.zeros(len(x))).tangent
    return towards


@lru_cache(maxsize=32)
def _kernel(problem: IkProblem) -> Any:
    n = (problem.n,)
    inputs = {"x": n, "tangent": n, "ahead": (), "target": (3, 4), "tool": (3, 4)}
    return compiled(_step, inputs, constants=(problem,), name="ik_curve_step")


def _step(problem: IkProblem, x, tangent, ahead, target, tool):
    predicted = x + ahead * tangent
    x, squared = predicted, 0.0
    for _ in range(CORRECTIONS):
        task_error = error(problem, x, target, tool)
        squared = task_error.squared
        x = x - damped_step(task_error.J, task_error.e, LEAST_DAMPING)
    J = error(problem, x, target, tool).J
    moved = sum(column * rate for column, rate in zip(J, tangent, strict=True))
    along = tangent - damped_step(J, moved, LEAST_DAMPING)
    cosine = sqrt(along @ along)
    off = x - predicted
    return np.array([*x, *(along / cosine), squared, cosine, sqrt(off @ off)])
