"""Errors of tasks and their Jacobians: one function of q and targets, traced for one robot and one set of tasks.

In the frame's own axes, e = [Rᵀ(p_d − p), log(RᵀR_d)] and J is the frame's Jacobian in the same axes, so that
moving by δ with J δ = e takes the frame to its target to first order. Rows of the centre of mass are in world axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...algorithms.center_of_mass import center_of_mass, center_of_mass_jacobian
from ...algorithms.forward_kinematics import link_poses
from ...algorithms.jacobian import twist_columns
from ...algorithms.mass_matrix import centroidal_matrix
from ...kernels.ops import abs, atan2, greater, logical_or, sqrt, where
from ...mechanism import Mechanism
from ...spatial.rotations import quaternion_log
from ...spatial.transforms import inverse
from ...spatial.vectors import cross

if TYPE_CHECKING:
    from .tasks import Task

NO_TURN = 1e-12
"""Nearer to one line than this, in radians, the direction in which to turn an axis is lost in rounding."""


class TaskRows(NamedTuple):
    """Equations J δ = e of one task."""

    e: Any
    J: Any


class BodyState:
    """Kinematics of a mechanism at q, traced or in numbers: what the errors of tasks are made of.

    Each quantity is computed once, when a task asks for it first.

    Attributes:
        mechanism: the mechanism.
        q: (n_q,).
        dt: time of the step, s.
    """

    def __init__(self, mechanism: Mechanism, q: Any, dt: Any = 1.0):
        self.mechanism: Mechanism = mechanism
        self.q: Any = q
        self.dt: Any = dt

    @cached_property
    def link_poses(self) -> Any:
        """(4, 4) of each link in the world."""
        return link_poses(self.mechanism, self.q)

    @cached_property
    def center_of_mass(self) -> Any:
        """(3,) in the world."""
        return center_of_mass(self.mechanism, self.q)

    @cached_property
    def center_of_mass_jacobian(self) -> Any:
        """(3, n_v)."""
        return center_of_mass_jacobian(self.mechanism, self.q)

    @cached_property
    def centroidal_matrix(self) -> Any:
        """(6, n_v), from v to momentum and angular momentum about the centre of mass, in world axes."""
        return centroidal_matrix(self.mechanism, self.q)

    def frame_pose(self, frame: str) -> Any:
        """Return the pose (4, 4) of a frame in the world."""
        target = self.mechanism.frame(frame)
        return self.link_poses[self.mechanism.link_number(target.link)] @ target.T_link_frame

    def frame_jacobian(self, frame: str, point: Any = None) -> Any:
        """Return the Jacobian (6, n_v) of a frame's twist [v, w] in world axes, at its origin or a point (3,)."""
        link = self.mechanism.link_number(self.mechanism.frame(frame).link)
        at = self.frame_pose(frame)[:3, 3] if point is None else point
        return twist_columns(self.mechanism, self.q, self.link_poses, link, at)


def all_rows(mechanism: Mechanism, tasks: Sequence[Task], q: Any, targets: Any, dt: Any = 1.0) -> list[TaskRows]:
    """Return equations of all tasks, in order; `targets` are their numbers one after the other."""
    state, rows, first = BodyState(mechanism, q, dt), [], 0
    for task in tasks:
        size = task.target_size(mechanism)
        rows.append(task.rows(state, targets[first : first + size]))
        first += size
    return rows


def frame_rows(state: BodyState, frame: str, relative_to: str | None, kind: str, target: Any) -> TaskRows:
    """Return equations of a frame for a target (3, 4)."""
    T_world_frame, J = state.frame_pose(frame), state.frame_jacobian(frame)
    R, p = T_world_frame[:3, :3], T_world_frame[:3, 3]
    T_reference_frame = T_world_frame
    if relative_to is not None:
        T_reference_frame = inverse(state.frame_pose(relative_to)) @ T_world_frame
        J = J - state.frame_jacobian(relative_to, p)
    R_reference = T_reference_frame[:3, :3]
    J = np.concatenate([R.T @ J[:3], R.T @ J[3:]])
    place = R_reference.T @ (target[:, 3] - T_reference_frame[:3, 3])
    if kind == "position":
        return TaskRows(place, J[:3])
    turn = R_reference.T @ target[:, :3]
    if kind == "position+axis":
        return TaskRows(np.concatenate([place, axis_turn(turn[:, 2])]), J[:5])
    rotation = rotation_vector(turn)
    if kind == "rotation":
        return TaskRows(rotation, J[3:])
    return TaskRows(np.concatenate([place, rotation]), J)


def rotation_vector(R: Any) -> Any:
    """Return the rotation vector (3,) of angle at most π, traced."""
    return quaternion_log(quaternion_of(R))


def rigid_error(R: Any) -> Any:
    """Return the deviation of a matrix (3, 3) from a rotation, traced."""
    return abs(R.T @ R - np.eye(3)).sum() + abs(cross(R[:, 0], R[:, 1]) @ R[:, 2] - 1.0)


def quaternion_of(R: Any) -> Any:
    """Return the quaternion (4,) of a rotation, traced: from its largest component (Shepperd)."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    best = trace
    q = np.array([1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        candidate: list[Any] = [R[k, j] - R[j, k], None, None, None]
        candidate[1 + i] = 1.0 + R[i, i] - R[j, j] - R[k, k]
        candidate[1 + j], candidate[1 + k] = R[j, i] + R[i, j], R[k, i] + R[i, k]
        larger = greater(R[i, i], best)
        best = where(larger, R[i, i], best)
        q = where(larger, np.array(candidate), q)
    return q / sqrt((q * q).sum())


def axis_turn(axis: Any) -> Any:
    """Return the turn about x and y (2,) that takes the z axis to another; half a turn, about x, to its opposite.

    The direction of the turn is lost within rounding of the opposite, its angle never is.
    """
    across = cross(np.array([0.0, 0.0, 1.0]), axis)[:2]
    sine = sqrt((across * across).sum())
    turned = greater(sine, NO_TURN)
    turn = across * where(turned, atan2(sine, axis[2]) / where(turned, sine, 1.0), 1.0)
    return where(logical_or(turned, greater(axis[2], 0.0)), turn, np.array([np.pi, 0.0]))
