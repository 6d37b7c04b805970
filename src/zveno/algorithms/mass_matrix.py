"""Mass matrix by composite bodies, its inverse, and the total momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.inertia import moved, tensor
from ..spatial.transforms import move_wrench, transform
from ..spatial.vectors import cross
from . import linear
from .center_of_mass import first_moment, refuse_massless
from .drives import rotor_matrix
from .tree import INERTIA, NUMBER, PLACEMENT, POSE, VELOCITIES, WRENCH, Tree, numbers, tree_of


def mass_matrix(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return M (n_v, n_v), rotors included: the kinetic energy is ½ vᵀ M v.

    Every body and its subtree form one composite body. The momentum for a unit velocity of its joint is passed down
    to the root, and each joint on the path takes its share (Walker and Orin 1982). Entries that neither D nor Dᵀ of
    document 003 reaches are exactly zero.
    """
    tree = tree_of(mechanism)
    M, at, T = tree.result("M", VELOCITIES, VELOCITIES), tree.positions(q), tree.column(PLACEMENT)
    composite, F = tree.column(INERTIA, start=lambda i: i.inertia), tree.column(WRENCH, per_velocity=True)
    for i in tree.inward():
        T[i], S = i.joint.transform(at[i]), i.joint.subspace(at[i])
        F[i] = momenta = unit_momenta(composite[i], S)
        M[i, i] = linear.symmetric(
            np.array([[s @ p for p in momenta] for s in S.T]).reshape(i.rotor.shape * 2) + np.diag(i.rotor)
        )
        composite[i.parent] = composite[i.parent] + moved(composite[i], T[i])
    for i, j, below in tree.to_root(per_velocity=True):
        F[i] = move_wrench(T[below], F[i])
        M[i, j] = M[j, i] = j.joint.subspace(at[j]).T @ F[i]
    return M.whole() if tree.transmission is None else M.whole() + rotor_matrix(tree.mechanism)


def inverse_mass_matrix(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return M⁻¹ (n_v, n_v)."""
    return linear.inverse(mass_matrix(mechanism, q))


def centroidal_matrix(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return A (6, n_v): linear momentum, and angular momentum about the centre of mass, are A v in world axes."""
    refuse_massless(mechanism)
    tree = tree_of(mechanism)
    A, at, T = tree.result("A", 6, VELOCITIES), tree.positions(q), tree.column(POSE)
    composite, mass, moment = (
        tree.column(INERTIA, start=lambda i: i.inertia),
        tree.cell(NUMBER),
        tree.cell(numbers(3)),
    )
    mass.value, moment.value = tree.base_inertia[0], tree.base_inertia[1:4]
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        mass.value = mass.value + i.inertia[0]
        moment.value = moment.value + first_moment(i.inertia, T[i])
    for i in tree.inward():
        S, center = i.joint.subspace(at[i]), moment.value / mass.value
        T_center_body = transform(T[i][:3, :3], T[i][:3, 3] - center)
        columns = [move_wrench(T_center_body, momentum) for momentum in unit_momenta(composite[i], S)]
        A[i] = np.stack(columns, axis=1) if columns else S
        composite[i.parent] = composite[i.parent] + moved(composite[i], i.joint.transform(at[i]))
    return A.whole()


def unit_momenta(p: Any, S: Any) -> Any:
    """Return the momenta `[p, L]` about a body's origin for unit velocities of its joint, (n_v, 6)."""
    return np.array([momentum(p, S[:, k]) for k in range(S.shape[1])]).reshape(-1, 6)


def momentum(p: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return `[p, L]` about the link's origin for a body with inertial parameters p and twist `[v, w]`."""
    v, w = twist[:3], twist[3:]
    return np.concatenate([p[0] * v + cross(w, p[1:4]), cross(p[1:4], v) + tensor(p) @ w])
