"""Pose and Jacobian of the frame of a chain in the robot's own coordinates, for joints of every type."""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from ..spatial.vectors import skews
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


def task_errors(chain: IkProblem, F: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return errors (s, m) of frames F (s, 4, 4) from targets T, and their rates (s, m, 6) for the frames' twists.

    Lengths are over the chain's. Rotations are 2 sin(θ/2) · axis. Where the z axis alone counts, its turn is the
    error, whose rates are those near the target.
    """
    task, turn = chain.task, np.swapaxes(T[:, :3, :3], 1, 2)
    rows, e = np.zeros((len(T), 6, 6)), np.zeros((len(T), 6))
    rows[:, :3, :3] = turn / chain.length
    e[:, :3] = (turn @ (F[:, :3, 3] - T[:, :3, 3])[..., None])[..., 0] / chain.length
    E = turn @ F[:, :3, :3]
    if task.axis:
        x, y, z = E[:, :, 2].T
        sine = np.hypot(x, y)
        share = np.where(sine > 0.0, np.arctan2(sine, z) / np.where(sine > 0.0, sine, 1.0), 1.0)
        e[:, 3], e[:, 4] = np.where((sine == 0.0) & (z < 0.0), np.pi, -y * share), x * share
        rates = np.broadcast_to(np.eye(3), E.shape[:1] + (3, 3))
    else:
        w = 0.5 * np.sqrt(np.maximum(1.0 + np.trace(E, axis1=1, axis2=2), 1e-6))
        sines = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
        u = sines / (4.0 * w[:, None])
        e[:, 3:], rates = 2.0 * u, w[:, None, None] * np.eye(3) - skews(u)
    rows[:, 3:, 3:] = rates @ turn
    kept = [*task.position, *(3 + i for i in ((0, 1) if task.axis else task.rotation))]
    return e[:, kept], rows[:, kept]


def moving_joints(mechanism: Mechanism, chain: IkProblem) -> list[str]:
    """Return the joints whose velocities move a chain, in its order: leaders for mimic joints."""
    mimics = [mechanism.joint(step.joint).mimic for step in chain.steps]
    names = (step.joint if mimic is None else mimic.joint for step, mimic in zip(chain.steps, mimics, strict=True))
    return list(dict.fromkeys(names))


def moving_velocities(mechanism: Mechanism, chain: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return places in v of the joints of a chain, and their units in solvers."""
    names = moving_joints(mechanism, chain)
    places = np.concatenate([np.arange(mechanism.n_v)[mechanism.v_slices[name]] for name in names])
    units = [unit for name in names for unit in mechanism.joint(name).type.units]
    return places, np.array([chain.length if unit == "m" else 1.0 for unit in units])
