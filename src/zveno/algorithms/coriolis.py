"""The Coriolis matrix, by composite bodies (the factorisation of Echeandia and Wensing 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.inertia import moved
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross
from .drives import independent_velocities, rotor_torque, turned_momentum
from .flow import FLOW, bracket, drift_of, flow_at_parent, own_flow
from .mass_matrix import momentum
from .tree import INERTIA, MOTION, PLACEMENT, VELOCITIES, Tree, numbers, tree_of
from .velocities import carried_motion


def coriolis_matrix(mechanism: Mechanism | Tree, q: Any, v: Any) -> Any:
    """Return C (n_v, n_v) with C v = bias − gravity torque and Ṁ − 2C skew-symmetric, rotors included.

    A unit velocity s of a joint changes by ψ̇ = V × s + Ṡ as the body moves, and rotates the mass flow that the
    joint carries. With the composite body's momentum p(·), half its Coriolis wrench (twirl) for the angular
    velocity of s and half its sweep of s, C_ji = s_j · (p(ψ̇_i) + twirl) and C_ij = ψ̇_j · p(s_i) + w_j · sweep for
    every j that carries i.
    """
    tree = tree_of(mechanism)
    C, at, rate = tree.result("C", VELOCITIES, VELOCITIES), tree.positions(q), tree.velocities(v)
    T, drift, motion = tree.column(PLACEMENT), tree.column(numbers(3)), tree.column(MOTION)
    composite = tree.column(INERTIA, start=lambda i: i.inertia)
    flow = tree.column(FLOW, start=lambda i: own_flow(i.inertia, motion[i]))
    axes, changes = (tree.column(numbers(6), per_velocity=True) for _ in range(2))
    shares = tree.column(numbers(15), per_velocity=True)
    for i in tree.outward():
        T[i], S = i.joint.transform(at[i]), i.joint.subspace(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], np.zeros(i.joint.type.n_v), motion[i.parent])
        drift[i] = drift_of(T[i], motion[i.parent], S @ rate[i])
        V, S_rate = np.concatenate([np.zeros(3), motion[i].w]), i.joint.subspace_rate(at[i], rate[i])
        axes[i], changes[i] = S.T, [bracket(V, s) + s_rate for s, s_rate in zip(S.T, S_rate.T, strict=True)]
    for i in tree.inward():
        parts = [_share(composite[i], flow[i], *pair) for pair in zip(axes[i], changes[i], strict=True)]
        shares[i] = [np.concatenate(share) for share in parts]
        outer = np.array([[s @ share[0] for share in parts] for s in axes[i]]).reshape(len(parts), len(parts))
        C[i, i] = outer + _rotor_part(i, rate[i])
        composite[i.parent] = composite[i.parent] + moved(composite[i], T[i])
        flow[i.parent] = flow[i.parent].plus(flow_at_parent(flow[i], composite[i], T[i], drift[i]))
    for i, j, below in tree.to_root(per_velocity=True):
        share, along = move_wrench(T[below], shares[i][:6]), move_wrench(T[below], shares[i][6:12])
        sweep = T[below][:3, :3] @ shares[i][12:] + 0.5 * cross(drift[below], along[:3])
        shares[i] = np.concatenate([share, along, sweep])
        C[j, i] = [s @ share for s in axes[j]]
        C[i, j] = [change @ along + s[3:] @ sweep for s, change in zip(axes[j], changes[j], strict=True)]
    return C.whole() if tree.transmission is None else C.whole() + _coupled_rotors(tree.mechanism, v)


def _share(p: Any, flow: Any, axis: Any, change: Any) -> tuple[Any, Any, Any]:
    """Return p(ψ̇) + twirl, p(s) and sweep of a unit velocity."""
    return momentum(p, change) + 0.5 * flow.twirl(axis[3:]), momentum(p, axis), 0.5 * flow.sweep(axis)


def _rotor_part(i: Any, v: Any) -> Any:
    """Return the part of rotors on ball and free joints, whose momentum turns with the body, (n_v, n_v)."""
    units = np.eye(len(v))
    return np.array([turned_momentum(i.joint.type, unit, i.rotor * v) for unit in units]).reshape(units.shape).T


def _coupled_rotors(mechanism: Mechanism, v: Any) -> Any:
    """Return the part of rotors that a transmission couples, (n_v, n_v)."""
    momentum, units = rotor_torque(mechanism, v), np.eye(mechanism.n_v)
    joints = independent_velocities(mechanism)
    columns = [
        np.concatenate([turned_momentum(kind, units[k, at], momentum[at]) for kind, at in joints])
        for k in range(mechanism.n_v)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))
