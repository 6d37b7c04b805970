"""Motors, gears and friction of the joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.math import sign, tanh
from ..mechanism import Mechanism
from ..mechanism.joints import JointType
from ..spatial.vectors import cross

FRICTION_SMOOTHING = 1e-3
"""Forward dynamics smooths sign(v) over this velocity, rad/s or m/s, so that integrators can follow it."""


def rotor_torque(mechanism: Mechanism, a: np.ndarray) -> np.ndarray:
    """Torque that accelerates the rotors, (n_v,): Nᵀ diag(J) N a with motor velocities N q̇."""
    if mechanism.transmission is None:
        accelerations = mechanism.joint_velocities(a)
        turned = [
            np.zeros(len(accelerations[i])) if joint.drive is None else _reflected(joint.drive) * accelerations[i]
            for i, _, joint in mechanism.outward()
        ]
        return mechanism.gather_velocities([np.zeros(0), *turned])
    N = mechanism.transmission
    return N.T @ (rotor_inertias(mechanism) * (N @ a))


def rotor_bias(mechanism: Mechanism, v: np.ndarray) -> np.ndarray:
    """Torque that turns the momentum of rotors along with the velocities' axes, (n_v,); see `turned_momentum`."""
    momentum = rotor_torque(mechanism, v)
    return np.concatenate(
        [
            np.zeros(0),
            *(turned_momentum(kind, v[at], momentum[at]) for kind, at in independent_velocities(mechanism)),
        ]
    )


def rotor_bias_slope(mechanism: Mechanism, v: np.ndarray) -> np.ndarray:
    """The derivative of `rotor_bias` by the velocities, (n_v, n_v)."""
    momentum, M, units = rotor_torque(mechanism, v), rotor_matrix(mechanism), np.eye(mechanism.n_v)
    columns = [
        np.concatenate(
            [
                turned_momentum(kind, units[k, at], momentum[at]) + turned_momentum(kind, v[at], M[at, k])
                for kind, at in independent_velocities(mechanism)
            ]
        )
        for k in range(mechanism.n_v)
    ]
    return np.stack(columns, axis=1) if columns else M


def turned_momentum(kind: JointType, v: Any, momentum: Any) -> Any:
    """Force (n_v,) that keeps a momentum (n_v,) along the axes of a joint's velocities v.

    Velocities along axes that are fixed on the child are no rates of coordinates, so the energy ½ vᵀ J v gives
    J v̇ + ad*(v) J v (Euler–Poincaré): with v = [v, w], the force w × p and the moment w × l + v × p.
    """
    if kind.n_v < 2 or kind.in_sequence:
        return np.zeros(kind.n_v)
    S = kind.subspace(kind.neutral())
    twist, carried = S @ v, S @ momentum
    force = cross(twist[3:], carried[:3])
    return S.T @ np.concatenate([force, cross(twist[3:], carried[3:]) + cross(twist[:3], carried[:3])])


def independent_velocities(mechanism: Mechanism) -> list[tuple[JointType, slice]]:
    """Type and velocities of the joints that follow no other, in the order of the velocities."""
    return [(joint.type, mechanism.v_slices[joint.name]) for joint in mechanism.joints if joint.mimic is None]


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
    velocities = mechanism.joint_velocities(v)
    spent = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        if drive is None:
            spent.append(np.zeros(len(velocities[i])))
        else:
            direction = tanh(velocities[i] / smoothing) if smoothing else sign(velocities[i])
            spent.append(drive.viscous * velocities[i] + drive.coulomb * direction + drive.offset)
    return mechanism.gather_velocities([np.zeros(0), *spent])


def friction_slope(mechanism: Mechanism, v: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """The derivative of every entry of `friction_torque` by its own velocity, (n_v,); the jump of sign has none."""
    velocities, follows = mechanism.joint_velocities(v), mechanism.joint_velocities(np.ones(mechanism.n_v))
    slopes = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        slope = np.zeros(len(velocities[i]))
        if drive is not None:
            slope = slope + drive.viscous
            if smoothing:
                bend = tanh(velocities[i] / smoothing)
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
