"""Constrained accelerations of trees with hundreds of bodies, from functions that run as loops over the bodies.

One kernel of all rows would be as long as the tree. Here poses, motions, forward dynamics and M⁻¹ Jᵀ come from
loops; the rows of the constraints, which depend on a few links only, are computed with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import programs
from ..algorithms import constraints as algebra
from ..algorithms.motion import Motion
from ..algorithms.springs import has_springs, spring_torque
from ..robot_functions import RobotFunctions
from .constraints import Constraint
from .redundancy import CONTRADICTION, DEPENDENT, least_squares


class Solved(NamedTuple):
    """Accelerations and reactions of a batch, with minimum-norm reactions where rows are dependent."""

    a: np.ndarray
    """(..., n_v)"""
    reactions: np.ndarray
    """(..., m)"""
    value: np.ndarray
    """φ, (..., m)"""
    rate: np.ndarray
    """φ̇, (..., m)"""
    redundant: np.ndarray
    """mask of dependent rows, (..., m)"""
    contradicting: np.ndarray
    """mask of rows that contradict others, (..., m)"""
    gap: np.ndarray
    """see `redundancy.LeastSquares`, (...,)"""


def rows_at(
    robot: RobotFunctions, q: ArrayLike, v: ArrayLike, constraints: Sequence[Constraint], t: float
) -> algebra.Rows:
    """Return the rows of all constraints at one state (n_q,), (n_v,), from compiled poses and motions."""
    mechanism = robot.mechanism
    q, v = mechanism.checked_q(q), mechanism.checked_v(v)
    twists = robot.kernel("link_velocities")(q, v)
    accelerations = robot.kernel("link_accelerations")(q, v, np.zeros(mechanism.n_v))
    poses = np.asarray(robot.link_poses(q))
    R = poses[:, :3, :3]
    v_w, w_w, a_w, e_w = (
        (R @ part[..., None])[..., 0]
        for part in (twists[:, :3], twists[:, 3:], accelerations[:, :3], accelerations[:, 3:])
    )
    motions = [Motion(*parts) for parts in zip(v_w, w_w, a_w, e_w, strict=True)]
    state = algebra.Kinematics(mechanism, q, v, list(poses), motions)
    parts = [constraint.rows(state, t, constraint.anchor(mechanism, q)) for constraint in constraints]
    return algebra.stacked(parts, mechanism.n_v)


def solve(
    robot: RobotFunctions,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    t: float,
    stabilization: float,
    joint_friction: bool,
) -> Solved:
    """Solve the equations of `constrained_dynamics` for a batch of states."""
    mechanism = robot.mechanism
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    q, v, tau = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, v, tau))
    rows = [rows_at(robot, q[at], v[at], constraints, t) for at in np.ndindex(*shape)]
    m = len(rows[0].value) if rows else 0
    value, J, rate, bias = (
        np.array([part[k] for part in rows]).reshape(*shape, m, *(() if k != 1 else (mechanism.n_v,)))
        for k in range(4)
    )
    if has_springs(mechanism):
        tau = tau + np.apply_along_axis(lambda state: spring_torque(mechanism, state), -1, q)
    free = np.asarray(robot.forward_dynamics(q, v, tau, joint_friction=joint_friction))
    W = programs.mass_solver(mechanism)(q, np.swapaxes(J, -1, -2))
    speed = _times(J, v) + rate
    short = -(bias + _times(J, free))
    wanted = short - 2.0 * stabilization * speed - stabilization**2 * value
    A = J @ W
    solved = least_squares(0.5 * (A + np.swapaxes(A, -1, -2)), wanted)
    residual = least_squares(A, short).residual if not np.isinf(solved.gap).all() else np.zeros_like(short)
    limit = CONTRADICTION * (1.0 + abs(short).max(axis=-1, keepdims=True, initial=0.0))
    a = free + _times(W, solved.reactions)
    return Solved(a, solved.reactions, value, speed, solved.null > DEPENDENT, abs(residual) > limit, solved.gap)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]
