"""Document 004's own way to inverse kinematics: pose vectors, objectives, percentages, and its tricks by name.

`solve_ik` is what to use; this is the method as written, corrected where it has to be, for study and comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import unknown_name
from ...ik.ik_problem import IkProblem
from ...ik.newton import lanes_of, newton
from ...ik.numbers import Dichotomy, dichotomy
from ...ik.numbers.operators import Bounds, Function
from ...ik.numbers.unimodal import System
from ...ik.objectives import OBJECTIVES
from ...ik.pose_error import walk
from ...robot_functions import RobotFunctions

ALONG = np.full(3, 1.0 / np.sqrt(3.0))
"""The document's characteristic vector s, fixed in the output link's frame."""


def pose_vector(T: np.ndarray, s: ArrayLike = ALONG, unit: float = 1.0) -> np.ndarray:
    """u = [P | S] (..., 6) of poses (..., 4, 4), formulas (8) to (10): S = P + R s, lengths in metres over `unit`.

    It does not determine the pose: turning about s leaves it as it is (rank 5 of 6).
    """
    p = T[..., :3, 3] / unit
    return np.concatenate([p, p + T[..., :3, :3] @ np.asarray(s)], axis=-1)


def objective(
    problem: IkProblem, T: np.ndarray, kind: str = "norm", s: ArrayLike = ALONG, unit: float = 1.0
) -> Function:
    """Φ(q) of chain coordinates (k, n): what the document minimises over numbers, for one target (4, 4)."""
    if kind not in OBJECTIVES:
        raise unknown_name("objective", kind, OBJECTIVES)
    system, goal = pose_system(problem, s, unit), pose_vector(T, s, unit)
    return lambda x: OBJECTIVES[kind](system(x) - goal)


def _forward(problem: IkProblem, x, tool):
    moved = walk(problem, x, tool)
    return np.concatenate([moved.R, moved.p[:, None]], axis=1)


def pose_system(problem: IkProblem, s: ArrayLike = ALONG, unit: float = 1.0) -> System:
    """u(q) of chain coordinates (k, n) → (k, 6), compiled."""
    from ...kernels.door import compiled

    kernel = compiled(_forward, {"x": (problem.n,), "tool": (3, 4)}, constants=(problem,), name="ik_forward")
    tool, base = lanes_of(problem, np.eye(4)[None]).tool, problem.steps[0].T_before

    def system(x: np.ndarray) -> np.ndarray:
        rows = kernel(np.asarray(x) / problem.units, tool)
        T = np.zeros((*rows.shape[:-2], 4, 4))
        T[..., :3, :], T[..., 3, 3] = rows, 1.0
        T[..., :3, 3] *= problem.length
        return pose_vector(base @ T, s, unit)

    return system


def percentages(u: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """δP and δS (...): what the document calls the relative error, in percent of |P_0| and of |S_0|."""
    d = u - goal
    parts = (slice(0, 3), slice(3, 6))
    first, second = (
        100.0 * np.linalg.norm(d[..., part], axis=-1) / np.linalg.norm(goal[..., part], axis=-1) for part in parts
    )
    return first, second


def around(robot: RobotFunctions, q: ArrayLike, width: float) -> dict[str, tuple[float, float]]:
    """Limits for `solve_ik` about a taught configuration: trick 1, teach coarsely and search narrowly."""
    return {
        name: (float(np.min(value)) - width, float(np.max(value)) + width)
        for name, value in robot.unpack(q).items()
    }


def rotation_constraints(problem: IkProblem, T: np.ndarray, tolerance: float) -> list[Bounds]:
    """Trick 3: −tolerance ≤ T_0[s, k] − T(q)[s, k] ≤ tolerance for all nine entries, to compress with."""
    system = {}

    def rotation(x: np.ndarray) -> np.ndarray:
        key = (x.shape, x.tobytes())
        if key not in system:
            system.clear()
            units = [pose_system(problem, np.eye(3)[k])(x) for k in range(3)]
            system[key] = np.stack([u[:, 3:] - u[:, :3] for u in units], axis=2)
        return system[key]

    return [
        (lambda x, r=r, c=c: rotation(x)[:, r, c] - T[r, c], -tolerance, tolerance)
        for r in range(3)
        for c in range(3)
    ]


def refined(
    problem: IkProblem, T: np.ndarray, lower: ArrayLike, upper: ArrayLike, percent: float = 1e-3, **options: Any
) -> tuple[Dichotomy, np.ndarray | None]:
    """The document's stage 2: dichotomy (П8) on the box, for the pose vector; then, for whole poses, Newton.

    Returns:
        The dichotomy's own end, and the solution x (n,) that damped Newton reaches from there, or None.
    """
    goal = pose_vector(T, **options)
    end: Dichotomy = dichotomy(
        pose_system(problem, **options), goal, lower, upper, percent, groups=(slice(0, 3), slice(3, 6))
    )
    lanes = lanes_of(problem, T[None])
    x, squared = newton(problem, end.alpha[None] / problem.units, lanes.targets, lanes.tool, 48)
    return end, (x[0] * problem.units if squared[0] < 1e-19 else None)
