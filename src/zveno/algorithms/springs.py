"""Joint springs: torques, stiffness and energy, in joint coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism


def has_springs(mechanism: Mechanism) -> bool:
    """Return True if any joint has a spring."""
    return any(joint.spring is not None for joint in mechanism.joints)


def spring_torque(mechanism: Mechanism, q: Any) -> Any:
    """Return the torques of the springs at the joints, (n_v,).

    For a ball joint the rotation vector φ is an eigenvector of the map from φ̇ to the angular velocity, so the
    energy k φ²/2 gives the torque −k φ.
    """
    return mechanism.gather_velocities(
        [np.zeros(0), *(-part * stretch for part, stretch in _stretches(mechanism, q))]
    )


def spring_energy(mechanism: Mechanism, q: Any) -> Any:
    """Return the energy of the springs, J."""
    return sum((0.5 * (part * stretch) @ stretch for part, stretch in _stretches(mechanism, q)), start=0.0)


def spring_stiffness(mechanism: Mechanism) -> np.ndarray:
    """Return the spring stiffness per velocity, (n_v,); springs of mimic joints act at their leader."""
    rates = mechanism.joint_velocities(np.ones(mechanism.n_v))
    parts = [
        np.zeros(joint.type.n_v) if joint.spring is None else joint.spring.stiffness * rates[i]
        for i, joint in enumerate(mechanism.joints, start=1)
    ]
    return mechanism.gather_velocities([np.zeros(0), *parts])


def _stretches(mechanism: Mechanism, q: Any) -> list[tuple[Any, Any]]:
    """Return (stiffness, displacement from rest), (n_v,) each, of every joint in the order of links."""
    positions, parts = mechanism.joint_positions(q), []
    for i, joint in enumerate(mechanism.joints, start=1):
        if joint.spring is None:
            nothing = np.zeros(joint.type.n_v)
            parts.append((nothing, nothing))
        else:
            parts.append((joint.spring.stiffness, joint.type.difference(joint.spring.rest, positions[i])))
    return parts
