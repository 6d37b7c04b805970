"""Centre of mass of the whole mechanism, or of the subtree of one link, and its Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..mechanism import Mechanism
from ..spatial.vectors import cross
from .forward_kinematics import link_poses


def total_mass(mechanism: Mechanism) -> Any:
    """Mass of all moving links and of link 0, kg."""
    return sum((link.inertia[0] for link in mechanism.links[1:]), start=mechanism.links[0].inertia[0])


def center_of_mass(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """c = Σ (m_i p_i + R_i h_i)/Σ m_i in world axes, (3,), link 0 included."""
    _refuse_massless(mechanism)
    T = link_poses(mechanism, q)
    moment = sum((_moment(link.inertia, T[i]) for i, link in enumerate(mechanism.links)), start=np.zeros(3))
    return moment / total_mass(mechanism)


def center_of_mass_jacobian(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """J (3, n_v) with ċ = J q̇.

    The column of a joint is that of its whole subtree moving as one body: (m v + w × moment)/Σm, where the
    moment of the subtree is taken about the joint.
    """
    _refuse_massless(mechanism)
    T = link_poses(mechanism, q)
    mass = [link.inertia[0] for link in mechanism.links]
    moment = [_moment(link.inertia, T[i]) for i, link in enumerate(mechanism.links)]
    q_own = mechanism.joint_positions(q)
    columns = [np.zeros(3) for _ in range(mechanism.n_v)]
    for i, f, joint in mechanism.inward():
        R, p = T[i][:3, :3], T[i][:3, 3]
        S = joint.subspace(q_own[i])
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        start = mechanism.v_slices[joint.name].start
        for k in range(joint.type.n_v):
            moved = mass[i] * (R @ S[:3, k]) + cross(R @ S[3:, k], moment[i] - mass[i] * p)
            columns[start + k] = columns[start + k] + factor * moved
        mass[f] = mass[f] + mass[i]
        moment[f] = moment[f] + moment[i]
    return np.stack(columns, axis=1) / mass[0] if columns else np.zeros((3, 0))


def _moment(inertia, T):
    return inertia[0] * T[:3, 3] + T[:3, :3] @ inertia[1:4]


def _refuse_massless(mechanism: Mechanism):
    masses = np.array([link.inertia[0] for link in mechanism.links])
    if masses.dtype != object and not masses.any():
        raise ModelError(
            "the mechanism has no mass, so no centre of mass",
            element=mechanism.name,
            remedy="Give at least one link a mass",
        )
