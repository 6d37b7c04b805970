"""Pairs of solutions that nearly meet: separated as far as double precision can, else reported as one.

Near a double root the task's error along the last singular vectors u, v of J is σ t + Q t², so that a solution at
t = 0 has a twin at t = −σ/Q. Solvers take points so near for one. Here the twin is looked for, and both are kept
where Newton's method certainly has a root of its own at each: by Kantorovich's condition 2 |Q| ε / σ² ≤ ½, with ε
the rounding error of a pose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..clock import time_is_over
from ..ik_problem import IkProblem
from ..newton import Lanes
from .distinct import SAME, near
from .judgement import errors, jacobians

CLOSE = 1e-4
"""Least singular value (lengths over `length`) below which a solution may have a twin nearer than `SAME`."""
WIDE = 1e-3
"""Distance up to which a twin is looked for."""
EPSILON = 4e-16
"""Rounding error of a pose, lengths over `length` and radians; at most 4.3e-16 over 11 arms and 2200 poses."""
INDISTINCT = 10.0 * EPSILON
"""Pose error that is rounding, for arms whose base and tool are at most their length away."""
MARGIN = 2.0
"""Factor by which Kantorovich's condition must hold for a root to count as separate."""
MISS = 1e-14
"""Pose error, lengths over `length` and radians, above which a polished point is not a solution."""
ALONE = 10.0 * SAME
"""Curvature |Q| above which two solutions that meet are not part of a triple root."""
ITERATIONS = 12
SHORT, ROUNDING = 1e-9, 4e-15
"""Steps and errors (lengths over `length`, radians) at which polishing ends."""
_STEP = 1e-4


def indistinct(problem: IkProblem) -> float:
    """Return the pose error, lengths over `length` and radians, that is rounding of a pose of this size."""
    ends = np.linalg.norm(problem.steps[0].T_before[:3, 3]) + np.linalg.norm(problem.T_last_frame[:3, 3])
    return INDISTINCT * float(max(1.0, ends / problem.length))


class Pair(NamedTuple):
    """Two solutions of one pose that nearly meet.

    Attributes:
        pose: index of the pose they solve.
        start: (n,) the solution they were looked for from: one of them, or a point for both.
        twins: (2, n) in the chain's units.
        distance: between them, in the coordinate that differs most, as the second order predicts it.
        apart: True if double precision separates them.
        blurred: True if it cannot. If neither is true, a predicted twin was not found.
        curvature: |Q|; a third solution is not nearer than that over a third order of about 1.
    """

    pose: int
    start: np.ndarray
    twins: np.ndarray
    distance: float
    apart: bool
    blurred: bool
    curvature: float

    @property
    def double(self) -> bool:
        """Return True if both are one to the last digit, and no third solution is near."""
        return self.blurred and not self.apart and self.curvature > ALONE

    @property
    def merged(self) -> bool:
        """Return True if solvers may have listed one solution for both."""
        return not self.apart and self.distance < 2.0 * SAME

    def holds(self, problem: IkProblem, x: np.ndarray) -> np.ndarray:
        """Return True for points x (..., n), in the chain's units, that stand for one of the twins or both."""
        reach = 0.25 * self.distance
        twin = near(problem, x, self.twins[0], reach) | near(problem, x, self.twins[1], reach)
        return twin | near(problem, x, self.start, 1e-12)


def close_pairs(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray, least: np.ndarray) -> list[Pair]:
    """Find the pairs nearer than `WIDE` that solutions x (s, n) of poses (s,) belong to, each pair once.

    Only chains with as many coordinates as equations have twins in this sense.
    """
    rows = (least < CLOSE).nonzero()[0]
    if not len(rows) or problem.n != problem.task.n_rows:
        return []
    pose, x = pose[rows], x[rows]
    v, curvature, middle, half = _second_order(problem, lanes, pose, x)
    paired = (np.abs(middle) + half < WIDE).nonzero()[0]
    if not len(paired):
        return []
    pose, x, v, middle, half = (part[paired] for part in (pose, x, v, middle, half))
    shifts = middle[:, None] + np.array([-1.0, 1.0]) * half[:, None]
    points = (x[:, None] + shifts[..., None] * v[:, None]).reshape(-1, problem.n)
    which, Q = np.repeat(pose, 2), np.abs(curvature[paired])
    points = polished(problem, lanes, which, points, ITERATIONS)
    J = jacobians(problem, points, lanes, which)
    sigma = np.linalg.svd(J, compute_uv=False)[:, -1].reshape(-1, 2).min(axis=1)
    miss = np.abs(errors(problem, points, lanes, which)).max(axis=1).reshape(-1, 2).max(axis=1)
    opposite = np.linalg.slogdet(J)[0].reshape(-1, 2).prod(axis=1) < 0
    twins = points.reshape(-1, 2, problem.n)
    distance, expected = np.abs(twins[:, 0] - twins[:, 1]).max(axis=1), 2.0 * half * np.abs(v).max(axis=1)
    simple = sigma**2 >= 4.0 * MARGIN * Q * EPSILON
    apart = simple & opposite & (miss <= MISS) & (distance > 0.5 * expected) & (distance < 2.0 * expected)
    blurred = Q * half**2 < 4.0 * MARGIN * EPSILON
    pairs: list[Pair] = []
    for k in np.argsort(~apart, kind="stable"):
        if not any(pair.pose == pose[k] and pair.holds(problem, x[k]) for pair in pairs):
            told = (float(expected[k]), bool(apart[k]), bool(blurred[k]), float(Q[k]))
            pairs.append(Pair(int(pose[k]), x[k], twins[k], *told))
    return pairs


def _second_order(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray):
    """Return kernel vectors v (s, n) at x (s, n), Q = u · D²e[v, v] / 2, and zeros of u · e + σ t + Q t² along v.

    The zeros are given by their middle and half their distance, which is 0 where they are not real.
    """
    U, singular, Vt = np.linalg.svd(jacobians(problem, x, lanes, pose))
    v, u, sigma = Vt[:, -1], U[:, :, -1], singular[:, -1]
    change = jacobians(problem, x + _STEP * v, lanes, pose) - jacobians(problem, x - _STEP * v, lanes, pose)
    Q = (u[:, None] @ change @ v[..., None])[:, 0, 0] / (4.0 * _STEP)
    error = np.sum(u * errors(problem, x, lanes, pose), axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = -sigma / (2.0 * Q)
        half = np.sqrt(np.maximum(middle**2 - error / Q, 0.0))
    unknown = ~(np.isfinite(middle) & np.isfinite(half))
    return v, Q, np.where(unknown, np.inf, middle), np.where(unknown, np.inf, half)


def polished(
    problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray, iterations: int, longest: float = np.inf
) -> np.ndarray:
    """Return the best points of Gauss–Newton sequences on J itself, started at x (s, n).

    Kernels factor JᵀJ, which knows singular values to 1e-8 only. Errors may grow at first, where the Jacobian's
    kernel is curved; `longest` bounds the steps. A converged point stays, whatever others do.
    """
    e = errors(problem, x, lanes, pose)
    best, least = x, np.sum(e**2, axis=1)
    going = np.ones(len(x), dtype=bool)
    for _ in range(iterations):
        step = (np.linalg.pinv(jacobians(problem, x, lanes, pose), rcond=1e-12) @ e[..., None])[..., 0]
        size = np.max(np.abs(step), axis=1)
        shortened = step * np.minimum(1.0, longest / np.maximum(size, 1e-300))[:, None]
        x = np.where(going[:, None], x - shortened, x)
        e = errors(problem, x, lanes, pose)
        squared = np.sum(e**2, axis=1)
        better = going & (squared < least)
        best, least = np.where(better[:, None], x, best), np.where(better, squared, least)
        going &= (size >= SHORT) | (least >= ROUNDING**2)
        if not going.any() or time_is_over():
            break
    return best
