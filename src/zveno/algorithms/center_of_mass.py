"""Centre of mass of the whole mechanism, or of the subtree of one link, and its Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..mechanism import Mechanism
from ..spatial.vectors import cross
from .tree import NUMBER, POSE, VELOCITIES, Tree, numbers, tree_of


def total_mass(mechanism: Mechanism) -> Any:
    """Return the mass of all moving links and of link 0, kg."""
    return sum((link.inertia[0] for link in mechanism.links[1:]), start=mechanism.links[0].inertia[0])


def center_of_mass(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return c = Σ (m_i p_i + R_i h_i)/Σ m_i in world axes, (3,), link 0 included."""
    refuse_massless(mechanism)
    tree = tree_of(mechanism)
    center, T = tree.result("center", 3), tree.column(POSE)
    at, mass, moment = tree.positions(q), tree.cell(NUMBER), tree.cell(numbers(3))
    mass.value, moment.value = tree.base_inertia[0], tree.base_inertia[1:4]
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        mass.value = mass.value + i.inertia[0]
        moment.value = moment.value + first_moment(i.inertia, T[i])
    center.value = moment.value / mass.value
    return center.whole()


def center_of_mass_jacobian(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return J (3, n_v) with ċ = J q̇.

    The column of a joint treats its whole subtree as one body: (m v + w × moment)/Σm, with the first moment of the
    subtree about the joint.
    """
    refuse_massless(mechanism)
    tree = tree_of(mechanism)
    J, at, total, T = tree.result("J", 3, VELOCITIES), tree.positions(q), tree.cell(NUMBER), tree.column(POSE)
    mass = tree.column(NUMBER, start=lambda i: i.inertia[0])
    moment = tree.column(numbers(3), start=lambda i: first_moment(i.inertia, T[i]))
    total.value = tree.base_inertia[0]
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        total.value = total.value + i.inertia[0]
    for i in tree.inward():
        R, p, S = T[i][:3, :3], T[i][:3, 3], i.joint.subspace(at[i])
        about = moment[i] - mass[i] * p
        columns = [mass[i] * (R @ S[:3, k]) + cross(R @ S[3:, k], about) for k in range(S.shape[1])]
        J[i] = np.stack(columns, axis=1) / total.value if columns else S[:3]
        mass[i.parent] = mass[i.parent] + mass[i]
        moment[i.parent] = moment[i.parent] + moment[i]
    return J.whole()


def first_moment(inertia: Any, T: Any) -> Any:
    """Return m p + R h, (3,): the first moment of a body in world axes about the world's origin."""
    return inertia[0] * T[:3, 3] + T[:3, :3] @ inertia[1:4]


def refuse_massless(mechanism: Mechanism | Tree) -> None:
    """Raise an error if the mechanism has no mass, hence no centre of mass."""
    if not isinstance(mechanism, Mechanism):
        return
    masses = np.array([link.inertia[0] for link in mechanism.links])
    if masses.dtype != object and not masses.any():
        raise ModelError(
            "the mechanism has no mass, so no centre of mass",
            element=mechanism.name,
            remedy="Give at least one link a mass",
        )
