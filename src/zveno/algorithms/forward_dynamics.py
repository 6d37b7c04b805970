"""Forward dynamics by articulated bodies, O(n) (document 002; Vereshchagin 1974; Featherstone 2008, 7.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from . import linear
from .articulated import ARTICULATED, carried_acceleration, rigid, separated
from .drives import couples_joints, friction_torque, joint_torque
from .factors import BodyFactors, MassFactors
from .inverse_dynamics import needed_wrenches
from .motion import AT_REST, Motion
from .tree import NUMBER, VELOCITIES, WRENCH, Tree, tree_of


def forward_dynamics(
    mechanism: Mechanism | Tree,
    q: Any,
    v: Any,
    tau: Any,
    external: Any = None,
    base: Motion = AT_REST,
    joint_friction: bool = False,
    smoothing: float = 0.0,
) -> Any:
    """Return the accelerations, (n_v,), under joint torques tau (n_v,) at the state (q, v).

    The first outward pass gives the wrench Q* that every body needs at zero joint acceleration. The inward pass
    gives M* and Q* of every articulated body. The last outward pass gives the accelerations. If rotors or mimic
    relations couple joints, M itself is factored instead.

    Args:
        mechanism: the mechanism, rotors included.
        q, v, tau: (n_q,), (n_v,), (n_v,).
        external: wrenches `[f, n]` on the links as in `inverse_dynamics`, (n_links, 6).
        base: the motion of link 0, at rest unless given.
        joint_friction: True to subtract friction from the torques, its sign smoothed over the velocity `smoothing`.
    """
    if isinstance(mechanism, Mechanism) and (couples_joints(mechanism) or mechanism.transmission is not None):
        tau = tau - friction_torque(mechanism, v, smoothing) if joint_friction else tau
        factors = (MassFactors if couples_joints(mechanism) else BodyFactors)(mechanism, q)
        return factors.whole(factors.r * factors.force(v, tau, external, base))
    tree = tree_of(mechanism)
    a, at, rate, drive = tree.result("a", VELOCITIES), tree.positions(q), tree.velocities(v), tree.velocities(tau)
    M, gained = tree.column(ARTICULATED, start=lambda i: rigid(i.inertia)), tree.column(WRENCH)
    alone, scaled = tree.column(NUMBER, per_velocity=True), tree.column(WRENCH, per_velocity=True)
    T, Q = needed_wrenches(tree, q, v, None, external, base)
    for i in tree.inward():
        S, at_rest = i.joint.subspace(at[i]), np.zeros(i.joint.type.n_v)
        U, D, UD = separated(M[i], S, i.rotor)
        left = drive[i] - joint_torque(i, rate[i], at_rest, joint_friction, smoothing) - S.T @ Q[i]
        scaled[i], alone[i] = UD.T, linear.solve_factored(D, left)[:, None]
        M[i.parent] = M[i.parent].plus(M[i].without(U, UD).moved(T[i]))
        Q[i.parent] = Q[i.parent] + move_wrench(T[i], Q[i] + UD @ left)
    for i in tree.outward():
        carried = carried_acceleration(T[i], gained[i.parent])
        a[i] = joint_acceleration = alone[i][:, 0] - scaled[i] @ carried
        gained[i] = carried + i.joint.subspace(at[i]) @ joint_acceleration
    return a.whole()
