"""Motors, gears and friction of joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.ops import sign, tanh
from ..mechanism import Mechanism
from ..mechanism.joints import JointType
from ..spatial.vectors import cross

FRICTION_SMOOTHING = 1e-3
"""Velocity, rad/s or m/s, over which forward dynamics smooths sign(v), so that integrators can follow it."""


def joint_torque(i: Any, v: Any, a: Any, friction: bool = False, smoothing: float = 0.0) -> Any:
    """Return the drive torque of a body's own rotors and friction, (n_v,), beside the torque that moves the body.

    Args:
        i: a body of the tree.
        v, a: velocities and accelerations of its joint, (n_v,).
        friction: True to include friction.
        smoothing: as in `friction_torque`.
    """
    needed = i.rotor * a + turned_momentum(i.joint.type, v, i.rotor * v)
    return needed + _friction(i.friction, v, smoothing) if friction else needed


def with_transmission(tree: Any, tau: Any, v: Any, a: Any) -> Any:
    """Add the torques of rotors that a transmission couples; rates that are None are zero."""
    if tree.transmission is None:
        return tau
    v, a = (np.zeros(len(tau)) if rate is None else rate for rate in (v, a))
    return tau + rotor_torque(tree.mechanism, a) + rotor_bias(tree.mechanism, v)


def rotor_torque(mechanism: Mechanism, a: np.ndarray) -> np.ndarray:
    """Return the torque that accelerates the rotors, (n_v,): Nᵀ diag(J) N a with motor velocities N q̇."""
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
    """Return the torque that turns the rotors' momentum with the velocity axes, (n_v,); see `turned_momentum`."""
    momentum = rotor_torque(mechanism, v)
    return np.concatenate(
        [
            np.zeros(0),
            *(turned_momentum(kind, v[at], momentum[at]) for kind, at in independent_velocities(mechanism)),
        ]
    )


def rotor_slope(i: Any, v: Any) -> Any:
    """Return the derivative of `turned_momentum` of a body's own rotors by its joint velocities, (n_v, n_v)."""
    return _turned_slope(i.joint.type, v, i.rotor * v, np.diag(i.rotor))


def with_coupled_slopes(tree: Any, v: Any, by_q: Any, by_v: Any, M: Any) -> tuple[Any, Any, Any]:
    """Add the derivatives for rotors that a transmission couples to those of the torques."""
    if tree.transmission is None:
        return by_q, by_v, M
    mechanism = tree.mechanism
    momentum, rotors = rotor_torque(mechanism, v), rotor_matrix(mechanism)
    slopes = [
        _turned_slope(kind, v[at], momentum[at], rotors[at], at) for kind, at in independent_velocities(mechanism)
    ]
    return by_q, by_v + np.concatenate([np.zeros((0, len(v))), *slopes]), M + rotors


def _turned_slope(kind: JointType, v: Any, momentum: Any, rotors: Any, at: slice = slice(None)) -> Any:
    """Return the derivative of `turned_momentum` by all velocities.

    The joint's velocities v are at `at` among all; its momentum is `rotors` (n_v, …) times all velocities.
    """
    units = np.eye(rotors.shape[1])
    columns = [
        turned_momentum(kind, units[k, at], momentum) + turned_momentum(kind, v, rotors[:, k])
        for k in range(rotors.shape[1])
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((kind.n_v, 0))


def turned_momentum(kind: JointType, v: Any, momentum: Any) -> Any:
    """Return the force (n_v,) that keeps a momentum (n_v,) along the axes of a joint's velocities v.

    Velocities along axes fixed on the child are not coordinate rates. The energy ½ vᵀ J v therefore gives J v̇ +
    ad*(v) J v (Euler–Poincaré): with v = [v, w], the force w × p and the moment w × l + v × p.
    """
    if kind.n_v < 2 or kind.in_sequence:
        return np.zeros(kind.n_v)
    S = kind.subspace(kind.neutral())
    twist, carried = S @ v, S @ momentum
    force = cross(twist[3:], carried[:3])
    return S.T @ np.concatenate([force, cross(twist[3:], carried[3:]) + cross(twist[:3], carried[:3])])


def independent_velocities(mechanism: Mechanism) -> list[tuple[JointType, slice]]:
    """Return type and velocities of the joints that are not mimic joints, in the order of the velocities."""
    return [(joint.type, mechanism.v_slices[joint.name]) for joint in mechanism.joints if joint.mimic is None]


def rotor_matrix(mechanism: Mechanism) -> np.ndarray:
    """Return Nᵀ diag(J) N, (n_v, n_v): the rotors' part of the mass matrix."""
    if mechanism.transmission is None:
        return np.diag(rotor_torque(mechanism, np.ones(mechanism.n_v)))
    N = mechanism.transmission
    return N.T @ (rotor_inertias(mechanism)[:, None] * N)


def rotor_inertias(mechanism: Mechanism) -> np.ndarray:
    """Return the rotor inertia per velocity on the motor's side, (n_v,)."""
    J = [
        np.zeros(joint.type.n_v) if joint.drive is None else joint.drive.rotor_inertia
        for joint in mechanism.joints
        if joint.mimic is None
    ]
    return np.concatenate([np.zeros(0), *J])


def friction_torque(mechanism: Mechanism, v: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Return the friction torque of the drives, (n_v,): viscous · v + coulomb · sign(v) + offset.

    Args:
        mechanism: the mechanism.
        v: velocities, (n_v,).
        smoothing: velocity over which sign(v) is smoothed to tanh(v/smoothing); 0 keeps the discontinuity, with
            sign(0) = 0.
    """
    velocities = mechanism.joint_velocities(v)
    spent = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        if drive is None:
            spent.append(np.zeros(len(velocities[i])))
        else:
            spent.append(_friction((drive.viscous, drive.coulomb, drive.offset), velocities[i], smoothing))
    return mechanism.gather_velocities([np.zeros(0), *spent])


def _friction(constants: Any, v: Any, smoothing: float) -> Any:
    viscous, coulomb, offset = constants
    direction = tanh(v / smoothing) if smoothing else sign(v)
    return viscous * v + coulomb * direction + offset


def friction_slopes(i: Any, v: Any, friction: bool, smoothing: float) -> Any:
    """Return the derivative of a body's friction torques by the velocities of its joint, (n_v, n_v)."""
    return np.diag(_friction_slope(i.friction, v, smoothing)) if friction else np.zeros((len(v), len(v)))


def friction_slope(mechanism: Mechanism, v: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Return the derivative of `friction_torque` by velocity, (n_v,), per entry; the jump of sign is ignored."""
    velocities, follows = mechanism.joint_velocities(v), mechanism.joint_velocities(np.ones(mechanism.n_v))
    slopes = []
    for i, _, joint in mechanism.outward():
        drive = joint.drive
        slope = np.zeros(len(velocities[i]))
        if drive is not None:
            slope = _friction_slope((drive.viscous, drive.coulomb, drive.offset), velocities[i], smoothing)
        slopes.append(slope * follows[i])
    return mechanism.gather_velocities([np.zeros(0), *slopes])


def _friction_slope(constants: Any, v: Any, smoothing: float) -> Any:
    viscous, coulomb, _ = constants
    if not smoothing:
        return viscous
    bend = tanh(v / smoothing)
    return viscous + coulomb * (1.0 - bend * bend) / smoothing


def couples_joints(mechanism: Mechanism) -> bool:
    """Return True if rotors or mimic relations couple joints, so that bodies cannot be separated by the tree."""
    if any(joint.mimic is not None for joint in mechanism.joints):
        return True
    N = mechanism.transmission
    return N is not None and bool(np.any(rotor_matrix(mechanism) * (1 - np.eye(mechanism.n_v))))


def _reflected(drive):
    return drive.gear_ratio * drive.gear_ratio * drive.rotor_inertia
