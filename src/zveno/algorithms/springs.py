"""Springs of the joints: torques, stiffness and energy, in the joints' own coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism


def has_springs(mechanism: Mechanism) -> bool:
    """Whether any joint has one."""
    return any(joint.spring is not None for joint in mechanism.joints)


def spring_torque(mechanism: Mechanism, q: Any) -> Any:
    """What the springs exert at the joints, (n_v,).

    The rotation vector φ of a ball joint's turn is an eigenvector of the map from φ̇ to the angular velocity, so
    −k φ is what the energy k φ²/2 exerts.
    """
    return mechanism.gather_velocities(
        [np.zeros(0), *(-part * stretch for part, stretch in _stretches(mechanism, q))]
    )


def spring_energy(mechanism: Mechanism, q: Any) -> Any:
    """Energy in the springs, J."""
    return sum((0.5 * (part * stretch) @ stretch for part, stretch in _stretches(mechanism, q)), start=0.0)


def spring_stiffness(mechanism: Mechanism) -> np.ndarray:
    """Stiffness of the springs at every velocity, (n_v,); those of mimic joints act at their leader."""
    own = mechanism.joint_velocities(np.ones(mechanism.n_v))
    parts = [
        np.zeros(joint.type.n_v) if joint.spring is None else joint.spring.stiffness * own[i]
        for i, joint in enumerate(mechanism.joints, start=1)
    ]
    return mechanism.gather_velocities([np.zeros(0), *parts])


def _stretches(mechanism: Mechanism, q: Any) -> list[tuple[Any, Any]]:
    """(stiffness, displacement from the rest), (n_v,) each, of every joint in the order of links."""
    positions, parts = mechanism.joint_positions(q), []
    for i, joint in enumerate(mechanism.joints, start=1):
        if joint.spring is None:
            nothing = np.zeros(joint.type.n_v)
            parts.append((nothing, nothing))
        else:
            parts.append((joint.spring.stiffness, joint.type.difference(joint.spring.rest, positions[i])))
    return parts
