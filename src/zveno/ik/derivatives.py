"""Derivatives of solutions, tangents of self-motions, and the nearest points on self-motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ZvenoError
from ..robot_functions import RobotFunctions
from ..spatial.vectors import skews
from ._judge import EXACT, SINGULAR, jacobians
from .frame_motion import moving_velocities, pose_and_jacobian, task_errors
from .ik_problem import IkProblem
from .newton import Lanes, newton

if TYPE_CHECKING:
    from .solutions import SelfMotion, Solutions

ON_POSE = 1e-19
"""Largest squared error of a point of a self-motion, in units of `length` and radians."""
STEPS = 60
"""Steps along a self-motion to its nearest point, at most."""
LONGEST = 0.2
"""Longest of these steps, rad or lengths over the arm's."""
AT_REST = 1e-12
"""Steps below this end the descent."""


def pose_derivatives(solutions: Solutions, chain: IkProblem, rows: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return dq/dT of rows (s,) of poses (s,): (s, n_v, 6), from the twist of the target to joint velocities.

    Raises:
        ZvenoError: a row is a point of a self-motion, singular, or does not reach its pose.
    """
    mechanism = solutions.mechanism
    assert mechanism is not None
    hybrid = None
    if mechanism.loops:
        from .hybrid import hybrid_of  # half a second, for loops only

        hybrid = hybrid_of(mechanism, chain.frame, chain.reference, chain.task)
    tree = RobotFunctions(mechanism) if hybrid is None else hybrid.tree
    hybrid = hybrid if hybrid is not None and hybrid.loops else None
    if chain.redundancy if hybrid is None else hybrid.freedom:
        joints = f"a chain with {chain.n} joints" if hybrid is None else "a mechanism"
        raise ZvenoError(
            f"{joints} with more freedoms than the {chain.task.n_rows} equations can follow a pose in many ways",
            element=f"frame {chain.frame}",
            remedy="Use ik.Tracker or ik.DifferentialIK, or lock joints by limits=",
        )
    q = solutions.q.reshape(-1, mechanism.n_q)[rows]
    T = solutions.target.reshape(-1, 4, 4)[pose]
    F, J = pose_and_jacobian(tree, q, chain.frame, chain.reference)
    _, selected = task_errors(chain, F, T)
    if hybrid is not None:
        columns, units = hybrid.columns, hybrid.units
        _, A = hybrid.equations(q, T)
        selected = np.concatenate([selected, np.zeros((len(q), len(hybrid.rows), 6))], axis=1)
    else:
        columns, units = moving_velocities(mechanism, chain)
        A = selected @ J[:, :, columns] * units
    least = np.linalg.svd(A, compute_uv=False)[:, -1] if A.shape[1] == A.shape[2] else np.zeros(len(q))
    residual = solutions.residual.reshape(-1)[rows]
    bad = np.flatnonzero(~((least >= SINGULAR) & (residual <= EXACT)))
    if len(bad):
        first = bad[0]
        why = "singular" if residual[first] <= EXACT else f"off its pose by {residual[first]:.1e}"
        number = rows[first] - rows[pose == pose[first]].min()
        raise ZvenoError(
            f"solution {number} of pose {pose[first]} is {why}, so that dq/dT does not exist",
            element="solutions",
            remedy="Leave it out: solutions.where(mask)",
        )
    D = np.zeros((len(q), mechanism.n_v, 6))
    at_frame = np.broadcast_to(np.eye(6), (len(q), 6, 6)).copy()  # the target's twist at the frame's origin
    at_frame[:, :3, 3:] = -skews(F[:, :3, 3] - T[:, :3, 3])
    D[:, columns] = units[:, None] * np.linalg.solve(A, selected @ at_frame)
    return D


def self_motion_tangents(chain: IkProblem, lanes: Lanes, curve: SelfMotion) -> np.ndarray:
    """Return unit tangents (s, n_q) at the points of a self-motion of dimension 1, along its order."""
    if chain.has_balls or curve.dimension != 1 or chain.mechanism.loops:
        balls = " with ball joints" * chain.has_balls or " with closed loops" * bool(chain.mechanism.loops)
        raise ZvenoError(
            f"a self-motion of dimension {curve.dimension}{balls} has no tangent vector",
            element=f"frame {chain.frame}",
            remedy="Use the null space of robot.jacobian",
        )
    q = curve.q
    x = chain.in_units(q[:, chain.places])
    J = jacobians(chain, x, lanes, np.zeros(len(x), int))
    along = np.linalg.svd(J)[2][:, -1]
    ahead = chain.difference(chain.from_units(np.roll(x, -1, axis=0)), chain.from_units(np.roll(x, 1, axis=0)))
    if len(x) > 1 and not curve.closed:
        ahead[0] = chain.difference(chain.from_units(x[1]), chain.from_units(x[0]))
        ahead[-1] = chain.difference(chain.from_units(x[-1]), chain.from_units(x[-2]))
    along *= np.where((along * ahead).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
    tangents = np.zeros_like(q)
    tangents[:, chain.places] = chain.from_units(along)
    return tangents / np.linalg.norm(tangents, axis=1)[:, None]


def nearest_on_self_motion(
    chain: IkProblem, lanes: Lanes, starts: np.ndarray, goal: np.ndarray, weights: np.ndarray, dimension: int
) -> np.ndarray:
    """Descend along self-motions from coordinates (s, n) to points nearest to a goal (n,).

    Gauss–Newton in the null space of the task's Jacobian, which has as many dimensions as the self-motions; a step
    is taken only where it comes nearer, and no further beyond the limits.

    Returns:
        The nearest point of each start (s, n), by the weighted sum of squared differences.
    """
    units = chain.units
    x, goal, scale = starts / units, goal / units, np.sqrt(weights) * units
    cost = ((scale * (x - goal)) ** 2).sum(axis=1)
    size, over = np.ones(len(x)), _over(chain, x)
    targets = np.repeat(lanes.targets[:1], len(x), axis=0)
    for _ in range(STEPS):
        J = jacobians(chain, x, lanes, np.zeros(len(x), int))
        N = np.swapaxes(np.linalg.svd(J)[2][:, chain.n - dimension :], 1, 2)
        step = (N @ (np.linalg.pinv(scale[:, None] * N) @ (scale * (goal - x))[..., None]))[..., 0]
        longest = np.abs(step).max(axis=1, initial=0.0)
        step *= (size * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300)))[:, None]
        if np.abs(step).max(initial=0.0) < AT_REST:
            break
        moved, squared = newton(chain, x + step, targets, lanes.tool, 12)
        nearer = ((scale * (moved - goal)) ** 2).sum(axis=1)
        beyond = _over(chain, moved)
        better = (squared < ON_POSE) & (beyond <= over) & (nearer < cost)
        x, cost = np.where(better[:, None], moved, x), np.where(better, nearer, cost)
        over = np.where(better, beyond, over)
        size = np.where(better, np.minimum(1.0, 2.0 * size), 0.5 * size)
    return x * units


def _over(chain: IkProblem, x: np.ndarray) -> np.ndarray:
    """Return the largest excess over a limit (s,) of coordinates in solvers' units, 0 inside."""
    lower, upper = chain.box
    return np.maximum(np.maximum(lower - x, x - upper).max(axis=1), 0.0)
