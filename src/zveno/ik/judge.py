"""How good a configuration is: errors of its pose, and how well conditioned the task is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algorithms import linear
from .compiled import kernel_of
from .problem import Problem
from .refine import Lanes, _dot
from .residual import error

SINGULAR = 1e-5
"""Below this least singular value (lengths over `length`) a configuration is treated as singular."""
_FLOOR = 1e-17


class Judgement(NamedTuple):
    """One entry a configuration."""

    metres: np.ndarray
    radians: np.ndarray
    condition: np.ndarray
    """‖J‖ ‖J⁺‖ / min(m, n) in the Frobenius norm, at least 1; lengths over `length`."""
    least: np.ndarray
    """1/‖J⁻¹‖ in the Frobenius norm: between σ_min/√m and σ_min; not below 3e-9."""


def judged(problem: Problem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> Judgement:
    """Judgement of configurations x (s, n), in the chain's units, for the targets `pose` (s,)."""
    with np.errstate(all="ignore"):  # an exactly singular configuration has an infinite condition number
        found = _kernel(problem)(x, lanes.targets[pose], lanes.tool)
    position, rotation, wrong, norm, inverse = found
    if problem.task.axis:
        angle = np.arcsin(np.minimum(1.0, np.sqrt(rotation)))
        angle = np.where(wrong > 0, np.pi - angle, angle)
    else:
        angle = 2.0 * np.arcsin(np.minimum(1.0, np.sqrt(rotation) / 2.0))
    inverse = np.where(np.isfinite(inverse) & (inverse > 0), inverse, 1.0 / _FLOOR)
    m = min(problem.n, problem.task.n_rows)
    return Judgement(np.sqrt(position) * problem.length, angle, np.sqrt(norm * inverse) / m, 1.0 / np.sqrt(inverse))


def jacobians(problem: Problem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """J (s, m, n) of the task's error at x (s, n), in the chain's units."""

    def jacobian(x, target, tool):
        return np.stack(error(problem, x, target, tool, exact=True).J, axis=1)

    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return kernel_of(problem, "ik_jacobian", jacobian, inputs)(x, lanes.targets[pose], lanes.tool)


def errors(problem: Problem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    """The task's error e (s, m) at x (s, n), in the chain's units; `jacobians` are its derivatives."""

    def e(x, target, tool):
        return error(problem, x, target, tool, exact=True).e

    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return kernel_of(problem, "ik_error", e, inputs)(x, lanes.targets[pose], lanes.tool)


def _kernel(problem: Problem):
    rows = len(problem.task.position)

    def judge(x, target, tool):
        found = error(problem, x, target, tool, exact=True)
        e, n = found.e, problem.n
        vectors = found.J if n <= len(e) else [[J[i] for J in found.J] for i in range(len(e))]
        m = len(vectors)
        A = [[_dot(vectors[i], vectors[j]) + (_FLOOR if i == j else 0.0) for j in range(m)] for i in range(m)]
        factors = linear.factor(A)
        inverse = sum(linear.solve_factored(factors, np.eye(m)[i])[i] for i in range(m))
        position = e[:rows] @ e[:rows] if rows else 0.0
        rotation = e[rows:] @ e[rows:] if rows < len(e) else 0.0
        return position, rotation, found.squared - e @ e, sum(A[i][i] for i in range(m)), inverse

    return kernel_of(problem, "ik_judge", judge, {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)})
