"""Pose and Jacobian of the frame of a chain in the robot's own coordinates, for joints of every type."""

from __future__ import annotations

import numpy as np

from ..mechanism import Joint, Mechanism
from ..robot_functions import RobotFunctions
from .ik_problem import IkProblem


def pose_and_jacobian(
    robot: RobotFunctions, q: np.ndarray, frame: str, reference: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return poses (s, 4, 4) of a frame at q (s, n_q) and Jacobians (s, 6, n_v) of its twist at its origin.

    Both are seen from the reference frame, and in its axes; from the world if it is None.
    """
    F, J = robot.forward_kinematics(q, frame=frame), robot.jacobian(q, frame=frame)
    if reference is None:
        return F, J
    R, other = robot.forward_kinematics(q, frame=reference), robot.jacobian(q, frame=reference)
    arm = (F[:, :3, 3] - R[:, :3, 3])[:, None]
    v = J[:, :3] - other[:, :3] - np.swapaxes(np.cross(np.swapaxes(other[:, 3:], 1, 2), arm), 1, 2)
    Rt = np.swapaxes(R[:, :3, :3], 1, 2)
    return np.linalg.inv(R) @ F, np.concatenate([Rt @ v, Rt @ (J[:, 3:] - other[:, 3:])], axis=1)


def moving_joints(mechanism: Mechanism, chain: IkProblem) -> list[str]:
    """Return the joints whose velocities move a chain, in its order: leaders for mimic joints."""
    mimics = [mechanism.joint(step.joint).mimic for step in chain.steps]
    names = (step.joint if mimic is None else mimic.joint for step, mimic in zip(chain.steps, mimics, strict=True))
    return list(dict.fromkeys(names))


def moving_velocities(mechanism: Mechanism, chain: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return places in v of the joints of a chain, and their units in solvers."""
    names = moving_joints(mechanism, chain)
    places = np.concatenate([np.arange(mechanism.n_v)[mechanism.v_slices[name]] for name in names])
    units = [unit for name in names for unit in _velocity_units(mechanism.joint(name))]
    return places, np.array([chain.length if unit == "m" else 1.0 for unit in units])


def _velocity_units(joint: Joint) -> list[str]:
    kind = joint.type.kind
    if kind == "spherical":
        return ["rad"] * 3
    return ["m"] * 3 + ["rad"] * 3 if kind == "free" else list(joint.type.units)
