"""The regressor: joint torques are linear in the inertial and drive parameters."""

from __future__ import annotations

import numpy as np

from ..kernels.math import sign
from ..mechanism import Mechanism
from ..spatial.inertia import N_PARAMETERS, PARAMETER_NAMES
from ..spatial.transforms import move_wrench
from .drives import independent_velocities, turned_momentum
from .inverse_dynamics import falling, link_wrench
from .velocities import AT_REST, body_motions

DRIVE_PARAMETER_NAMES = ("rotor", "viscous", "coulomb", "offset")


def regressor(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """W (n_v, 10 N) with τ = W p, p the ten parameters of links 1 … N one after another.

    Inverse dynamics on unit parameters: each column is the torque one parameter alone would need.
    """
    motions = body_motions(mechanism, q, v, a, falling(AT_REST, mechanism.gravity))
    q_own = mechanism.joint_positions(q)
    T = [joint.transform(q_own[i]) for i, _, joint in mechanism.outward()]
    S = [joint.subspace(q_own[i]) for i, _, joint in mechanism.outward()]
    W = [[0.0] * (N_PARAMETERS * len(mechanism.joints)) for _ in range(mechanism.n_v)]
    for i, _, _ in mechanism.outward():
        for k, unit in enumerate(np.eye(N_PARAMETERS)):
            wrench, j = link_wrench(unit, motions[i]), i
            while j:
                joint = mechanism.joints[j - 1]
                factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
                row = mechanism.v_slices[joint.name].start
                for offset, share in enumerate(S[j - 1].T @ wrench):
                    column = N_PARAMETERS * (i - 1) + k
                    W[row + offset][column] = W[row + offset][column] + factor * share
                wrench = move_wrench(T[j - 1], wrench)
                j = mechanism.tree.parents[j]
    return np.array(W).reshape(mechanism.n_v, N_PARAMETERS * len(mechanism.joints))


def drive_regressor(mechanism: Mechanism, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """W (n_v, 4 n_v) of rotor inertia, viscous, Coulomb and offset of every motor or joint, in four blocks.

    Rotor inertias are on the motor's side and act through the gears and the transmission matrix N: column m is
    Nᵀ e_m (N a)_m, and what turns its momentum (`drives.turned_momentum`); friction acts at the joint.
    """
    N = mechanism.transmission_matrix
    rotor, momentum = N.T * (N @ a), N.T * (N @ v)
    turned = [
        np.stack([turned_momentum(kind, v[at], column) for column in momentum[at].T], axis=1)
        for kind, at in independent_velocities(mechanism)
    ]
    rotor = rotor + np.concatenate([np.zeros((0, mechanism.n_v)), *turned])
    return np.concatenate([rotor, np.diag(v), np.diag(sign(v)), np.eye(mechanism.n_v)], axis=1)


def parameter_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every column of `regressor`: link name and parameter."""
    return tuple(f"{link.name}.{name}" for link in mechanism.links[1:] for name in PARAMETER_NAMES)


def parameter_vector(mechanism: Mechanism) -> np.ndarray:
    """p (10 N,): the parameters of links 1 … N in the order of the regressor's columns."""
    return np.concatenate([np.zeros(0)] + [link.inertia for link in mechanism.links[1:]])
