"""The mass matrix by composite bodies, its inverse, and the momentum of the whole."""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from ..spatial.inertia import moved, tensor
from ..spatial.transforms import move_wrench, transform
from ..spatial.vectors import cross
from . import linear
from .center_of_mass import center_of_mass
from .drives import rotor_matrix
from .forward_kinematics import link_poses


def mass_matrix(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """M (n_v, n_v), rotors included: kinetic energy is ½ vᵀ M v.

    Every link and what it carries are frozen into one composite body; the momentum that a unit velocity of its
    joint gives it is passed down to the root, and each joint on the way takes its share (Walker and Orin 1982).
    Entries that neither D nor Dᵀ of document 003 reaches are exactly zero.
    """
    q_own = mechanism.joint_positions(q)
    T = [joint.transform(q_own[i]) for i, _, joint in mechanism.outward()]
    S = [joint.subspace(q_own[i]) for i, _, joint in mechanism.outward()]
    M = [[0.0] * mechanism.n_v for _ in range(mechanism.n_v)]
    for i, columns in _momenta(mechanism, T, S):
        first, factor = place(mechanism, i)
        for k, momentum in enumerate(columns):
            j, at, passed = i, first, factor
            while j:
                share = S[j - 1].T @ momentum
                for row, entry in enumerate(share):
                    _add(M, at + row, first + k, passed * factor * entry, diagonal=j == i)
                momentum = move_wrench(T[j - 1], momentum)
                j = mechanism.tree.parents[j]
                at, passed = place(mechanism, j) if j else (0, 1.0)
    return linear.symmetric(np.array(M).reshape(mechanism.n_v, mechanism.n_v) + rotor_matrix(mechanism))


def inverse_mass_matrix(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (n_v, n_v)."""
    return linear.inverse(mass_matrix(mechanism, q))


def centroidal_matrix(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """A (6, n_v): linear momentum and angular momentum about the centre of mass are A v, in world axes."""
    poses = link_poses(mechanism, q)
    q_own = mechanism.joint_positions(q)
    T = [joint.transform(q_own[i]) for i, _, joint in mechanism.outward()]
    S = [joint.subspace(q_own[i]) for i, _, joint in mechanism.outward()]
    center = transform(None, -center_of_mass(mechanism, q))
    columns = [np.zeros(6) for _ in range(mechanism.n_v)]
    for i, momenta in _momenta(mechanism, T, S):
        first, factor = place(mechanism, i)
        for k, momentum in enumerate(momenta):
            columns[first + k] = columns[first + k] + factor * move_wrench(center @ poses[i], momentum)
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def _momenta(mechanism: Mechanism, T: list, S: list):
    """(i, columns): momentum `[p, L]` of link i's composite body for unit joint velocities, last link first."""
    composite = [link.inertia for link in mechanism.links]
    for i, f, _ in mechanism.inward():
        yield i, [momentum(composite[i], S[i - 1][:, k]) for k in range(S[i - 1].shape[1])]
        composite[f] = composite[f] + moved(composite[i], T[i - 1])


def momentum(p: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Momentum `[p, L]` about the link's origin of a body with inertial parameters p and twist `[v, w]`."""
    v, w = twist[:3], twist[3:]
    return np.concatenate([p[0] * v + cross(w, p[1:4]), cross(p[1:4], v) + tensor(p) @ w])


def place(mechanism: Mechanism, i: int) -> tuple[int, float]:
    """Where the velocity of link i's joint begins among all, and its multiple if the joint follows another."""
    joint = mechanism.joints[i - 1]
    factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
    return mechanism.v_slices[joint.name].start, factor


def _add(M: list, row: int, column: int, entry, diagonal: bool):
    """Adds a block's entry and, off the diagonal block, its mirror image."""
    M[row][column] = M[row][column] + entry
    if not diagonal:
        M[column][row] = M[column][row] + entry
