"""How good a configuration is: errors of its pose, whether limits allow it, and how well conditioned it is."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...algorithms import linear
from ...kernels.door import compiled
from ...kernels.math import asin, cos, floor, less, logical_and, maximum, minimum, select, sin, sqrt
from ..ik_problem import TURN, IkProblem
from ..newton import Lanes, _dot
from ..pose_error import error

SINGULAR = 1e-5
"""Below this least singular value (lengths over `length`) a configuration is treated as singular."""
EXACT = 1e-9
"""Metres (for arms of up to some metres) and radians that a solution may miss its pose by."""
SLACK = 1e-9
"""Beyond a limit by no more than this, in radians or lengths over `length`, counts as at the limit."""
FLOOR = 1e-17
"""Added to the diagonal of JᵀJ."""
_GREATEST = 1e300
N_KNOWN = 9
AT_ONCE = 2048
"""Configurations judged at once: their poses stay in memory that need not be fetched from the system anew."""


def _column(k: int) -> property:
    return property(lambda self: self.table[:, self.n + k])


class Judgement:
    """A table with one row a configuration: x (n), and what is known of it.

    Attributes:
        x: (s, n) in the chain's units, turning coordinates moved by whole turns to where limits may allow them.
        over: how far the worst coordinate is outside its limits, in the chain's units; negative inside.
        metres, radians: errors of the pose.
        residual: the greater of them.
        miss: the same, metres in parts of the arm's length where that is above 1.
        condition: ‖J‖ ‖J⁺‖ / min(m, n) in the Frobenius norm, at least 1; lengths over `length`.
        least: 1/‖J⁻¹‖ in the Frobenius norm: between σ_min/√m and σ_min; not below 3e-9.
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
        """Some rows, or all in another order."""
        return Judgement(self.table.take(which, axis=0), self.n)


def judged(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> Judgement:
    """Judgement of configurations x (s, n), in the chain's units, for the targets `pose` (s,)."""
    kernel, rest = _kernel(problem), (lanes.tool, *problem.judging)
    with np.errstate(all="ignore"):  # an exactly singular configuration has an infinite condition number
        if len(x) <= AT_ONCE:
            return Judgement(kernel(x, lanes.targets.take(pose, axis=0), *rest), problem.n)
        table = np.empty((len(x), problem.n + N_KNOWN))
        for start in range(0, len(x), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            kernel(x[rows], lanes.targets.take(pose[rows], axis=0), *rest, out=table[rows])
    return Judgement(table, problem.n)


def jacobians(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """J (s, m, n) of the task's error at x (s, n), in the chain's units."""
    return _jacobian_kernel(problem)(x, lanes.targets[pose], lanes.tool)


@lru_cache(maxsize=64)
def _jacobian_kernel(problem: IkProblem):
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return compiled(_jacobian, inputs, constants=(problem,), name="ik_jacobian")


def _jacobian(problem: IkProblem, x, target, tool):
    return np.stack(error(problem, x, target, tool, exact=True).J, axis=1)


def errors(problem: IkProblem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """The task's error e (s, m) at x (s, n), in the chain's units; `jacobians` are its derivatives."""
    return _error_kernel(problem)(x, lanes.targets[pose], lanes.tool)


@lru_cache(maxsize=64)
def _error_kernel(problem: IkProblem):
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return compiled(_error, inputs, constants=(problem,), name="ik_error")


def _error(problem: IkProblem, x, target, tool):
    return error(problem, x, target, tool, exact=True).e


def mark(problem: IkProblem, x: Any) -> Any:
    """A smooth number, blind to whole turns, that tells most configurations apart.

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
    """What the difference of two marks of n coordinates is at most, for a greatest difference of 1."""
    return sum(_weights(n))


def _weights(n: int) -> list[float]:
    return [1.0 + (k + 2.0) ** 0.5 for k in range(n)]


@lru_cache(maxsize=64)
def orientable(problem: IkProblem) -> bool:
    """Whether all coordinates turn without limits, as many as there are equations, some of positions.

    Then signs of det J over all solutions of a regular pose cancel: see `zveno.ik.checks.orientation`.
    """
    endless = np.isinf(problem.lower) & np.isinf(problem.upper) & problem.turning
    return bool(endless.all() and problem.n == problem.task.n_rows and problem.task.position)


def determinant(columns: list[Any]) -> Any:
    """Of a square matrix given by columns, by minors of its first rows: no divisions, entries may be traced."""
    n = len(columns)
    minors: dict[tuple[int, ...], Any] = {(): 1.0}
    for row in range(n):
        wider: dict[tuple[int, ...], Any] = {}
        for chosen, minor in minors.items():
            for k in range(n):
                if k not in chosen:
                    with_k = tuple(sorted((*chosen, k)))
                    term = (-1.0) ** (row - with_k.index(k)) * columns[k][row] * minor
                    wider[with_k] = wider[with_k] + term if with_k in wider else term
        minors = wider
    return minors[tuple(range(n))]


@lru_cache(maxsize=64)
def _kernel(problem: IkProblem):
    n = (problem.n,)
    inputs = {"x": n, "target": (3, 4), "tool": (3, 4), "lower": n, "upper": n, "middle": n, "length": ()}
    return compiled(judge, inputs, constants=(problem, orientable(problem)), name="ik_judge")


def judge(
    problem: Any, oriented: bool, x: Any, target: Any, tool: Any, lower: Any, upper: Any, middle: Any, length: Any
) -> Any:
    """The row (n + `N_KNOWN`,) of one configuration; of the problem its steps, task and turning coordinates."""
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
    A = [[_dot(vectors[i], vectors[j]) + (FLOOR if i == j else 0.0) for j in range(i + 1)] for i in range(m)]
    inverse = linear.trace_of_inverse(linear.factor(A))
    known = logical_and(less(0.0, inverse), less(inverse, _GREATEST))
    inverse = select(known, inverse, 1.0 / FLOOR)
    position = e[:rows] @ e[:rows] if rows else 0.0
    rotation = sqrt(e[rows:] @ e[rows:]) if rows < len(e) else 0.0
    if axis:
        angle = asin(minimum(1.0, rotation))
        angle = select(less(0.5, task_error.squared - e @ e), np.pi - angle, angle)
    else:
        angle = 2.0 * asin(minimum(1.0, 0.5 * rotation))
    condition = sqrt(sum(A[i][i] for i in range(m)) * inverse) * (1.0 / m)
    metres = sqrt(position) * length
    residual, miss = maximum(metres, angle), maximum(metres / maximum(1.0, length), angle)
    known = [over, metres, angle, residual, miss, condition, 1.0 / sqrt(inverse), mark(problem, x)]
    return np.array([*x, *known, determinant(task_error.J) if oriented else 0.0])
