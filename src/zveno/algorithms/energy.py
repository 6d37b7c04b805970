"""Energy and momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from .center_of_mass import _moment
from .drives import rotor_torque
from .forward_kinematics import link_poses
from .mass_matrix import momentum
from .velocities import AT_REST, body_motions


def kinetic_energy(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> Any:
    """½ Σ twist · momentum over the links, plus the rotors', J."""
    total = 0.5 * (v @ rotor_torque(mechanism, v)) if mechanism.n_v else 0.0
    for twist, link_momentum in _link_momenta(mechanism, q, v):
        total = total + 0.5 * (twist @ link_momentum)
    return total


def potential_energy(mechanism: Mechanism, q: np.ndarray) -> Any:
    """−g · Σ m_i c_i over all links, J: zero where the centre of mass is at the world's origin."""
    T = link_poses(mechanism, q)
    moment = sum((_moment(link.inertia, T[i]) for i, link in enumerate(mechanism.links)), start=np.zeros(3))
    return -(mechanism.gravity @ moment)


def total_energy(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> Any:
    """Kinetic plus potential energy, J."""
    return kinetic_energy(mechanism, q, v) + potential_energy(mechanism, q)


def total_momentum(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """`[p, L]`: linear momentum and angular momentum about the world's origin, in world axes, (6,)."""
    T = link_poses(mechanism, q)
    momenta = [part for _, part in _link_momenta(mechanism, q, v)]
    return sum((move_wrench(T[i], part) for i, part in enumerate(momenta)), start=np.zeros(6))


def _link_momenta(mechanism: Mechanism, q, v):
    """(twist, momentum) of every link in its own frame."""
    motions = body_motions(mechanism, q, v, np.zeros(mechanism.n_v), AT_REST)
    for link, motion in zip(mechanism.links, motions, strict=True):
        twist = np.concatenate([motion.v, motion.w])
        yield twist, momentum(link.inertia, twist)
