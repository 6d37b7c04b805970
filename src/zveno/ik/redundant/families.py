"""Continua of solutions: recognised, followed along their curve, and sampled in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checks.distinct import near
from ..checks.judgement import SINGULAR
from ..checks.multiplicity import Singular, classified
from ..ik_problem import IkProblem
from ..newton import Lanes, newton

STEP = 0.1
"""Distance of neighbours while a curve is followed, radians or lengths over `length`."""
PROBE = 0.05
SAMPLE = 16
"""Points kept of a curve."""
_MOST_STEPS = 400
_ACCEPTED = 1e-19


class Curve(NamedTuple):
    """A sampled curve of solutions, in the chain's units."""

    x: np.ndarray
    closed: bool
    dimension: int


def families_of(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, least: np.ndarray
) -> tuple[list[Curve], np.ndarray, list[Singular]]:
    """The continua among the solutions x (s, n) of one pose, which solutions (s,) belong to one, and the others.

    The others are isolated solutions at which the Jacobian is singular. Where the second order does not tell, a
    solution is moved along the Jacobian's kernel and corrected: on a continuum it stays where it was moved to.
    """
    curves: list[Curve] = []
    isolated: list[Singular] = []
    member = np.zeros(len(x), bool)
    for i in np.flatnonzero(least < SINGULAR):
        if member[i]:
            continue
        root = classified(problem, lanes, pose, x[i])
        direction, dimension = None, 0
        if root.kind not in ("double", "isolated"):
            direction, dimension = _free_direction(problem, lanes, pose, x[i], root.kernel)
        if direction is None:
            isolated.append(root)
            continue
        path, closed = _followed(problem, lanes, pose, x[i], direction)
        member |= _on(problem, path, x)
        member[i] = True
        curves.append(Curve(_resampled(path, closed), closed, dimension))
    return curves, member, isolated


def _free_direction(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, kernel: np.ndarray):
    """A direction of the kernel (d, n) in which the solution can really move, and in how many it can."""
    probes = np.concatenate([x + PROBE * kernel, x - PROBE * kernel])
    back, squared = _corrected(problem, lanes, pose, probes)
    away = np.linalg.norm(back - x, axis=1)
    free = (squared < _ACCEPTED) & (away > 0.5 * PROBE) & (away < 2.0 * PROBE)
    count = len(kernel)
    both = free[:count] | free[count:]
    if not both.any():
        return None, 0
    k = int(np.argmax(both))
    return (kernel[k] if free[k] else -kernel[k]), int(both.sum())


def _corrected(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    targets = np.broadcast_to(lanes.targets[pose], (len(x), 3, 4))
    return newton(problem, x, targets, lanes.tool, 24)


def _followed(problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray):
    """Points along the curve through `start`, `STEP` apart, and whether it closed."""
    halves = []
    for sign in (1.0, -1.0):
        points, closed = _one_way(problem, lanes, pose, start, sign * direction)
        if closed:
            return points, True
        halves.append(points)
    return np.concatenate([halves[1][:0:-1], halves[0]]), False


def _one_way(problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray):
    points, heading = [start], direction / np.linalg.norm(direction)
    lower, upper = problem.lower / problem.units, problem.upper / problem.units
    for _ in range(_MOST_STEPS):
        x, squared = _corrected(problem, lanes, pose, (points[-1] + STEP * heading)[None])
        x = x[0]
        advance = x - points[-1]
        inside = np.all((x >= lower - 1e-9) & (x <= upper + 1e-9) | problem.turning & np.isinf(upper - lower))
        if squared[0] > _ACCEPTED or not inside or advance @ heading < 0.2 * STEP:
            return np.array(points), False
        if len(points) > 2 and near(problem, x, start, STEP):
            return np.array([*points, x]), True
        heading = advance / np.linalg.norm(advance)
        points.append(x)
    return np.array(points), False


def _on(problem: IkProblem, path: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Which points lie on a path, to within its spacing."""
    return np.array([bool(near(problem, path, one, 0.75 * STEP).any()) for one in x], dtype=bool)


def _resampled(path: np.ndarray, closed: bool) -> np.ndarray:
    """At most `SAMPLE` points of a path, spread evenly; they are points of the path itself, so still solutions."""
    if closed:
        path = path[:-1]
    picks = np.unique(np.round(np.linspace(0, len(path) - 1, min(SAMPLE, len(path)))).astype(int))
    return path[picks]
