"""Judgement of a configuration: its pose error, limit excess and conditioning, and the bounds that certify it.

For a symmetric form max |H[v, w]| over unit vectors is max |H[v, v]|, so that one direction is enough. Of positions
∂²p/∂x_i∂x_j, i ≤ j, is ω_i × ∂p/∂x_j where joint i turns, and no longer than the greatest distance d_j of the tip
from axis j (1 for a slide); a slide before leaves none. So ‖D²p‖ ≤ ‖A‖, A_ij = d_max(i,j). Rotations, as twice the
vector of a quaternion, change with at most half the square of the sum of all rates.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..algorithms import linear
from ..kernels.compile import compiled
from ..kernels.ops import asin, cos, floor, less, less_equal, maximum, minimum, sin, sqrt, where
from .ik_problem import TURN, IkProblem
from .newton import Lanes, _dot, lanes_of
from .pose_error import error

SINGULAR = 1e-5
"""Smallest singular value (lengths in units of `length`) below which a configuration is treated as singular."""
EXACT = 1e-9
"""Tolerated pose error of a solution: metres (for arms of up to some metres) and radians."""
SLACK = 1e-9
"""Excess over a limit, in radians or units of `length`, that still counts as at the limit."""
FLOOR = 1e-17
"""Added to the diagonal of JᵀJ in a Newton step."""
MOBILE = 1e-9
"""Least singular value (lengths in units of `length`) above which a random configuration is regular."""
ROUNDING = 4e-16
"""Rounding error in the pose error of a chain no longer than `length`, in units of `length` and radians."""
_GREATEST = 1e60
"""Squared norm of J⁻¹ beyond which it is rounding alone."""
N_KNOWN = 9
AT_ONCE = 2048
"""Configurations judged at once: their poses stay in memory that need not be fetched from the system anew."""


def _column(k: int) -> property:
    return property(lambda self: self.table[:, self.n + k])


class Judgement:
    """Table with one row per configuration: x (n), and its evaluation.

    Attributes:
        x: (s, n) in the chain's units, revolute joints moved by whole turns towards their limits.
        over: largest limit excess of a coordinate, in the chain's units; negative inside.
        metres, radians: errors of the pose.
        residual: the greater of them.
        miss: the same, metres in parts of the arm's length where that is above 1.
        condition: ‖J‖ ‖J⁺‖ / min(m, n) in the Frobenius norm, at least 1; lengths in units of `length`.
        least: 1/‖J⁻¹‖ in the Frobenius norm: between σ_min/√m and σ_min, known to rounding of J.
        mark: a number that tells most configurations apart, see `mark`.
        determinant: of J, where its sign means something, see `orientable`; else 0.
    """

    table: np.ndarray
    n: int

    __slots__ = ("n", "table")

    over: property = _column(0)
    metres: property = _column(1)
    radians: property = _column(2)
    residual: property = _column(3)
    miss: property = _column(4)
    condition: property = _column(5)
    least: property = _column(6)
    mark: property = _column(7)
    determinant: property = _column(8)

    def __init__(self, table: np.ndarray, n: int):
        self.table, self.n = table, n

    @property
    def x(self) -> np.ndarray:
        """(s, n), a view."""
        return self.table[:, : self.n]

    def taken(self, which: Any) -> Judgement:
        """Return some rows, or all in another order."""
        return Judgement(self.table.take(which, axis=0), self.n)


def judged(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> Judgement:
    """Evaluate configurations x (s, n), in the chain's units, for the targets `pose` (s,)."""
    kernel, rest = _kernel(problem.base), (lanes.tool, *problem.judging)
    with np.errstate(all="ignore"):  # an exactly singular configuration has an infinite condition number
        if len(x) <= AT_ONCE:
            return Judgement(kernel(x, lanes.targets.take(pose, axis=0), *rest), problem.n)
        table = np.empty((len(x), problem.n + N_KNOWN))
        for start in range(0, len(x), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            kernel(x[rows], lanes.targets.take(pose[rows], axis=0), *rest, out=table[rows])
    return Judgement(table, problem.n)


def jacobians(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """Return J (s, m, n) of the task's error at x (s, n), in the chain's units."""
    return _jacobian_kernel(problem.base)(x, lanes.targets[pose], lanes.tool)


@lru_cache(maxsize=64)
def _jacobian_kernel(problem: IkProblem):
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return compiled(_jacobian, inputs, constants=(problem,), name="ik_jacobian")


def _jacobian(problem: IkProblem, x, target, tool):
    return np.stack(error(problem, x, target, tool, exact=True).J, axis=1)


def errors(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """Return the task's error e (s, m) at x (s, n), in the chain's units; `jacobians` are its derivatives."""
    return _error_kernel(problem.base)(x, lanes.targets[pose], lanes.tool)


@lru_cache(maxsize=64)
def _error_kernel(problem: IkProblem):
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return compiled(_error, inputs, constants=(problem,), name="ik_error")


def _error(problem: IkProblem, x, target, tool):
    return error(problem, x, target, tool, exact=True).e


def mark(problem: IkProblem, x: Any) -> Any:
    """Return a smooth sort key, invariant modulo 2π, that differs between most configurations.

    Configurations that differ by no more than t in every coordinate have marks that differ by no more than
    t times `spread_of_marks`.
    """
    # The sine of x + 0.9 k², from sines and cosines that the walk along the chain has too.
    phases = [0.9 * k * k for k in range(problem.n)]
    parts = [
        sin(x[k]) * math.cos(phase) + cos(x[k]) * math.sin(phase) if problem.turning[k] else x[k]
        for k, phase in enumerate(phases)
    ]
    return sum(weight * part for weight, part in zip(_weights(problem.n), parts, strict=True))


@cache
def spread_of_marks(n: int) -> float:
    """Return the bound on the difference of two marks of n coordinates, for a greatest difference of 1."""
    return sum(_weights(n))


def _weights(n: int) -> list[float]:
    return [1.0 + (k + 2.0) ** 0.5 for k in range(n)]


@lru_cache(maxsize=64)
def orientable(problem: IkProblem) -> bool:
    """Return True if all joints are revolute, as many as there are equations, some of positions.

    Then signs of det J cancel over all solutions of a regular pose, those outside limits among them: see
    `zveno.ik._rows.unbalanced`.
    """
    return bool(problem.turning.all() and problem.n == problem.task.n_rows and problem.task.position)


@lru_cache(maxsize=64)
def _kernel(problem: IkProblem):
    n = (problem.n,)
    inputs = {"x": n, "target": (3, 4), "tool": (3, 4), "lower": n, "upper": n, "middle": n, "length": ()}
    return compiled(judge, inputs, constants=(problem, orientable(problem)), name="ik_judge")


def judge(
    problem: Any, oriented: bool, x: Any, target: Any, tool: Any, lower: Any, upper: Any, middle: Any, length: Any
) -> Any:
    """Return the row (n + `N_KNOWN`,) of one configuration; of the problem its steps, task and revolute joints."""
    rows, axis = len(problem.task.position), problem.task.axis
    x = np.array(
        [
            # Half a turn off the middle counts as above it, so that −π becomes π where there are no limits.
            x[k] + TURN * floor(0.5 - (x[k] - middle[k]) * (1.0 / TURN)) if problem.turning[k] else x[k]
            for k in range(problem.n)
        ]
    )
    over = maximum(lower[0] - x[0], x[0] - upper[0])
    for k in range(1, problem.n):
        over = maximum(over, maximum(lower[k] - x[k], x[k] - upper[k]))
    task_error = error(problem, x, target, tool, exact=True)
    e, n = task_error.e, problem.n
    vectors = task_error.J if n <= len(e) else [[J[i] for J in task_error.J] for i in range(len(e))]
    m = len(vectors)
    R = linear.triangle(vectors)
    inverse = linear.squared_inverse(R)
    inverse = where(less(inverse, _GREATEST), inverse, _GREATEST)  # also where it is not a number
    position = e[:rows] @ e[:rows] if rows else 0.0
    rotation = sqrt(e[rows:] @ e[rows:]) if rows < len(e) else 0.0
    if axis:
        angle = asin(minimum(1.0, rotation))
        angle = where(less(0.5, task_error.squared - e @ e), np.pi - angle, angle)
    else:
        angle = 2.0 * asin(minimum(1.0, 0.5 * rotation))
    size = sum(_dot(vector, vector) for vector in vectors)
    condition = maximum(1.0, sqrt(size * inverse) * (1.0 / m))
    metres = sqrt(position) * length
    residual, miss = maximum(metres, angle), maximum(metres / maximum(1.0, length), angle)
    known = [over, metres, angle, residual, miss, condition, 1.0 / sqrt(inverse), mark(problem, x)]
    # Each of the reflections that make R changes the sign once.
    return np.array([*x, *known, (-1.0) ** m * math.prod(R[k][k] for k in range(m)) if oriented else 0.0])


def certificate_numbers(problem: IkProblem, length: float) -> np.ndarray:
    """Return K, and the factor of `ROUNDING`, lengths in units of `length`; valid also if some joints are held."""
    links = sum(float(np.linalg.norm(C[:3, 3])) for C in problem.constants)
    strokes = sum(1.0 for step in problem.steps if step.kind != "R")
    return np.array([second_derivative(problem, length), max(1.0, links / length + strokes)])


def is_certified(K: Any, error: Any, least: Any) -> Any:
    """Return True where Kantorovich's condition holds, with h = K error / σ² at most 1/4."""
    least = maximum(0.0, least)
    return less_equal(4.0 * K * error, least * least)


def second_derivative(problem: IkProblem, length: float) -> float:
    """Return K, a bound of |D²e[v, v]| over unit v, for slides within 1 of zero; lengths in units of `length`."""
    steps, n = problem.steps, problem.n
    lengths = [float(np.linalg.norm(step.T_before[:3, 3])) / length for step in steps[1:]]
    lengths.append(float(np.linalg.norm(problem.T_last_frame[:3, 3])) / length)
    A, rates = np.zeros((n, n)), np.zeros(n)
    for j, step in enumerate(steps):
        link = steps[j + 1].T_before if j + 1 < len(steps) else problem.T_last_frame
        # The part of its own link along an axis moves nothing.
        lever = float(np.hypot(*link[:2, 3])) / length
        lever += sum(lengths[j + 1 :]) + sum(1.0 for later in steps[j + 1 :] if later.kind != "R")
        lever = 1.0 if step.kind == "P" else lever + abs(step.pitch) / length
        if step.kind != "P":
            rates[step.coordinate] += abs(step.factor)
        for i, before in enumerate(steps[: j + 1]):
            if before.kind != "P" and (i < j or step.kind != "P"):
                size = abs(before.factor * step.factor) * lever
                A[before.coordinate, step.coordinate] += size
                if i < j:
                    A[step.coordinate, before.coordinate] += size
    squared = float(rates @ rates)
    positions = float(np.linalg.norm(A, 2)) if problem.task.position else 0.0
    rotations = squared if problem.task.axis else 0.5 * squared if problem.task.rotation else 0.0
    return float(np.hypot(positions, rotations))


@lru_cache(maxsize=128)
def has_regular_configuration(problem: IkProblem) -> bool:
    """Return True if J has full rank at one of some random configurations.

    Two joints about one axis leave none. Then solutions are continua, and where none was found one may be lost.
    """
    x = np.random.default_rng(0).uniform(-np.pi, np.pi, (4, problem.n))
    J = jacobians(problem, x, lanes_of(problem, np.eye(4)[None]), np.zeros(len(x), int))
    return bool(np.linalg.svd(J, compute_uv=False)[:, -1].max() > MOBILE)
