"""How far a configuration is from a pose, in one number, and what still counts as reached.

Formulas (11), (12) and (13) of document 004 are measures of a vector of differences. The document's own vector
[P | S] does not see a turn about S − P; here the vector is the task's error: the difference of positions over the
arm's length, and the rotation between the frames as 2 sin(θ/2) · axis, in the axes and rows that the task asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ShapeError, unknown_name
from ..kernels.math import abs as absolute
from ..kernels.math import sqrt
from .ik_problem import IkProblem

OBJECTIVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "squares": lambda d: np.sum(d * d, axis=-1),
    "norm": lambda d: np.linalg.norm(d, axis=-1),
    "absolute": lambda d: np.sum(np.abs(d), axis=-1),
}
"""Φ of formulas (13), (11) and (12), of differences (..., m); (13) is damaged in the text."""
SMOOTHED = 1e-7
"""Differences below this weigh no more than it while a sum of absolute values is made least."""


class Aim(NamedTuple):
    """What is made least where a pose is not reached exactly, and what is near enough."""

    objective: str = "squares"
    metres: float | None = None
    radians: float | None = None
    percent: float | None = None

    @property
    def tolerant(self) -> bool:
        """Whether something else than an exact solution will do."""
        return self.metres is not None or self.percent is not None

    def reached(self, problem: IkProblem, T: np.ndarray, x: np.ndarray, metres: Any, radians: Any) -> np.ndarray:
        """(k,) whether configurations x (k, n) of the chain are near enough to poses T (k, 4, 4)."""
        good = np.full(len(T), self.tolerant)
        if self.metres is not None:
            good &= (metres <= self.metres) & (radians <= self.radians)
        if self.percent is not None:
            reached = np.stack([problem.forward(configuration) for configuration in x]) if len(x) else T
            good &= percentages(problem, reached, T).max(axis=-1, initial=0.0) <= self.percent
        return good


def aim_of(objective: str, tolerance: Any, percent: Any) -> Aim:
    """An aim from the arguments of `solve_ik`, checked."""
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES)
    if tolerance is None and percent is None:
        return Aim(objective)
    metres = radians = None
    if tolerance is not None:
        metres, radians = _numbers(tolerance, 2, "tolerance", "Give (metres, radians)")
    limit = None if percent is None else _numbers((percent,), 1, "percent", "Give one number")[0]
    return Aim(objective, metres, radians, limit)


def percentages(problem: IkProblem, T: np.ndarray, T_goal: np.ndarray) -> np.ndarray:
    """Document 004's relative errors (..., r) of poses (..., 4, 4), in percent: δP, then δS of the axes that count.

    δP = 100 |P − P_0| / |P_0| and δS = 100 |S − S_0| / |S_0| with S = P + R s. With s along one direction alone a
    turn about it would not count, so s is each axis of the frame that the task asks for, one metre long.
    """
    task = problem.task
    axes = [2] if task.axis else [0, 1, 2] if task.rotation else []
    points = [T[..., :3, 3] + T[..., :3, k] for k in axes]
    goals = [T_goal[..., :3, 3] + T_goal[..., :3, k] for k in axes]
    if task.position:
        points, goals = [T[..., :3, 3], *points], [T_goal[..., :3, 3], *goals]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.linalg.norm(point - goal, axis=-1) / np.linalg.norm(goal, axis=-1)
            for point, goal in zip(points, goals, strict=True)
        ]
    return 100.0 * np.nan_to_num(np.stack(parts, axis=-1), nan=0.0, posinf=np.inf)


def weighted(objective: str, e: Any, J: list[Any]) -> tuple[Any, Any, list[Any]]:
    """Φ and the weighted error and columns whose least squares step makes Φ less; entries may be traced."""
    if objective != "absolute":
        value = e @ e
        return (sqrt(value) if objective == "norm" else value), e, J
    weights = np.array([1.0 / sqrt(absolute(part) + SMOOTHED) for part in e])
    return sum(absolute(part) for part in e), weights * e, [weights * column for column in J]


def _numbers(values, n: int, name: str, remedy: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != n or not all(value >= 0 for value in numbers):
        raise ShapeError(f"{values!r} is not {n} number(s) from 0", element=name, remedy=remedy)
    return numbers
