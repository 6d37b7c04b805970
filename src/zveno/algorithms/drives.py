"""Motors, gears and friction of the joints."""

from __future__ import annotations

import numpy as np

from ..kernels.math import sign, tanh
from ..mechanism import Mechanism


def rotor_torque(mechanism: Mechanism, a: np.ndarray) -> np.ndarray:
    """Torque that accelerates the rotors, (n_v,): Nᵀ diag(J) N a with motor velocities N q̇."""
    if mechanism.transmission is None:
        own = mechanism.joint_velocities(a)
        turned = [
            np.zeros(len(own[i])) if joint.drive is None else _reflected(joint.drive) * own[i]
            for i, _, joint in mechanism.outward()
        ]
        return mechanism.gather_velocities([np.zeros(0), *turned])
    N = mechanism.transmission
    return N.T @ (rotor_inertias(mechanism) * (N @ a))


def rotor_matrix(mechanism: Mechanism) -> np.ndarray:
    """Nᵀ diag(J) N, (n_v, n_v): what the rotors add to the mass matrix."""
    if mechanism.transmission is None:
        return np.diag(rotor_torque(mechanism, np.ones(mechanism.n_v)))
    N = mechanism.transmission
    return N.T @ (rotor_inertias(mechanism)[:, None] * N)


def rotor_inertias(mechanism: Mechanism) -> np.ndarray:
    """Rotor inertia of the motor that belongs to every velocity, on the motor's side, (n_v,)."""
    J = [
        np.zeros(joint.type.n_v) if joint.drive is None else joint.drive.rotor_inertia
        for joint in mechanism.joints
        if joint.mimic is None
    ]
    return np.concatenate([np.zeros(0), *J])


def friction_torque(mechanism: Mechanism, v: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Torque the drives spend on friction, (n_v,): viscous · v + coulomb · sign(v) + offset.

    Args:
        mechanism: the mechanism.
        v: velocities, (n_v,).
        smoothing: velocity over which sign(v) is smoothed to tanh(v/smoothing); 0 keeps the jump, sign(0) = 0.
    """
    own = mechanism.joint_velocities(v)
    spent = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        if drive is None:
            spent.append(np.zeros(len(own[i])))
        else:
            direction = tanh(own[i] / smoothing) if smoothing else sign(own[i])
            spent.append(drive.viscous * own[i] + drive.coulomb * direction + drive.offset)
    return mechanism.gather_velocities([np.zeros(0), *spent])


def friction_slope(mechanism: Mechanism, v: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """The derivative of every entry of `friction_torque` by its own velocity, (n_v,); the jump of sign has none."""
    own, follows = mechanism.joint_velocities(v), mechanism.joint_velocities(np.ones(mechanism.n_v))
    slopes = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        slope = np.zeros(len(own[i]))
        if drive is not None:
            slope = slope + drive.viscous
            if smoothing:
                bend = tanh(own[i] / smoothing)
                slope = slope + drive.coulomb * (1.0 - bend * bend) / smoothing
        slopes.append(slope * follows[i])
    return mechanism.gather_velocities([np.zeros(0), *slopes])


def couples_joints(mechanism: Mechanism) -> bool:
    """Whether rotors or mimic relations tie joints together, so that the tree no longer separates the bodies."""
    if any(joint.mimic is not None for joint in mechanism.joints):
        return True
    N = mechanism.transmission
    return N is not None and bool(np.any(rotor_matrix(mechanism) * (1 - np.eye(mechanism.n_v))))


def _reflected(drive):
    return drive.gear_ratio * drive.gear_ratio * drive.rotor_inertia
