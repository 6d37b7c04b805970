"""The regressor: joint torques are linear in the inertial and drive parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.ops import sign
from ..mechanism import Mechanism
from ..spatial.inertia import N_PARAMETERS, PARAMETER_NAMES
from ..spatial.transforms import move_wrench
from .drives import independent_velocities, turned_momentum
from .inverse_dynamics import falling, link_wrench
from .motion import AT_REST
from .tree import MOTION, PARAMETERS, PLACEMENT, VELOCITIES, Tree, numbers, tree_of
from .velocities import carried_motion, seen_from

DRIVE_PARAMETER_NAMES = ("rotor", "viscous", "coulomb", "offset")


def regressor(mechanism: Mechanism | Tree, q: Any, v: Any, a: Any) -> Any:
    """Return W (n_v, 10 N) with τ = W p, where p holds the ten parameters of each of the links 1 … N.

    This is inverse dynamics on unit parameters. The wrench for each parameter alone is passed down to the root, and
    each joint on the path takes its share.
    """
    tree = tree_of(mechanism)
    W, T, motion = tree.result("W", VELOCITIES, PARAMETERS), tree.column(PLACEMENT), tree.column(MOTION)
    F = tree.column(numbers(N_PARAMETERS, 6))
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    motion[tree.base] = falling(AT_REST, tree.gravity)
    for i in tree.outward():
        T[i] = i.joint.transform(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
        link = seen_from(motion[i], i.T_body_link)
        F[i] = wrenches = [move_wrench(i.T_body_link, link_wrench(unit, link)) for unit in np.eye(N_PARAMETERS)]
        W[i, i] = _shares(i.joint.subspace(at[i]), wrenches)
    for i, j, below in tree.to_root():
        F[i] = wrenches = [move_wrench(T[below], wrench) for wrench in F[i]]
        W[j, i] = _shares(j.joint.subspace(at[j]), wrenches)
    return W.whole()


def _shares(S: Any, wrenches: Any) -> Any:
    """Return a joint's share of ten wrenches, (n_v, 10)."""
    return np.stack([S.T @ wrench for wrench in wrenches], axis=1)


def drive_regressor(mechanism: Mechanism, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return W (n_v, 4 n_v) of rotor inertia, viscous and Coulomb friction and offset, in four blocks.

    Rotor inertias are on the motor's side and act through the gears and the transmission matrix N: column m is
    Nᵀ e_m (N a)_m plus the torque that turns its momentum (`drives.turned_momentum`). Friction acts at the joint.
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
    """Return the names of the columns of `regressor`: link name and parameter."""
    return tuple(f"{link.name}.{name}" for link in mechanism.links[1:] for name in PARAMETER_NAMES)
