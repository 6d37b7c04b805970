"""Inverse dynamics: the recursive Newton–Euler algorithm in body axes (document 003, corrected)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import inverse, move_wrench
from ..spatial.vectors import cross
from .drives import joint_torque, with_transmission
from .motion import AT_REST, Motion
from .tree import LINKS, MOTION, PLACEMENT, VELOCITIES, WRENCH, Tree, tree_of
from .velocities import carried_motion


def inverse_dynamics(
    mechanism: Mechanism | Tree,
    q: Any,
    v: Any = None,
    a: Any = None,
    external: Any = None,
    base: Motion = AT_REST,
    joint_friction: bool = False,
) -> Any:
    """Return joint torques and forces τ, (n_v,), that give the accelerations a at the state (q, v).

    The outward pass gives the motion of every body and the wrench it needs. The inward pass gives the wrench that
    each joint transmits to its subtree.

    Args:
        mechanism: the mechanism, rotors included.
        q, v, a: (n_q,), (n_v,), (n_v,); missing rates are zero.
        external: wrenches `[f, n]` that act on the links, in link axes about the link frame's origin,
            (n_links, 6) by link number.
        base: the motion of link 0, at rest unless given.
        joint_friction: True if the torques also overcome the friction of the drives.
    """
    tree = tree_of(mechanism)
    tau = tree.result("tau", VELOCITIES)
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    T, f = needed_wrenches(tree, q, v, a, external, base)
    for i in tree.inward():
        S = i.joint.subspace(at[i])
        tau[i] = S.T @ f[i] + joint_torque(i, rate[i], change[i], joint_friction)
        f[i.parent] = f[i.parent] + move_wrench(T[i], f[i])
    return with_transmission(tree, tau.whole(), v, a)


def joint_wrenches(
    mechanism: Mechanism | Tree,
    q: Any,
    v: Any,
    a: Any,
    external: Any = None,
    base: Motion = AT_REST,
) -> Any:
    """Return the wrench `[f, n]` that each link receives through its joint, in link axes about its origin.

    (n_links, 6). The reaction on the parent is its opposite (document 003's f_i and M_i). Row 0 is the wrench from
    the ground on link 0. A link's wrench accelerates its whole subtree, less the external wrenches on the subtree.
    """
    tree = tree_of(mechanism)
    wrenches = tree.result("wrenches", LINKS, 6)
    T, f = needed_wrenches(tree, q, v, a, external, base)
    for i in tree.inward():
        wrenches[i] = move_wrench(inverse(i.T_body_link), f[i])
        f[i.parent] = f[i.parent] + move_wrench(T[i], f[i])
    wrenches[tree.base] = f[tree.base] + link_wrench(tree.base_inertia, falling(base, tree.gravity))
    return wrenches.whole()


def needed_wrenches(tree: Tree, q: Any, v: Any, a: Any, external: Any = None, base: Motion = AT_REST) -> Any:
    """Return T_parent_body, and the wrench that each body needs for its motion, less external wrenches on it."""
    T, motion, f = tree.column(PLACEMENT), tree.column(MOTION), tree.column(WRENCH)
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    motion[tree.base] = falling(base, tree.gravity)
    for i in tree.outward():
        T[i] = i.joint.transform(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
        f[i] = link_wrench(i.inertia, motion[i])
    act_on_bodies(tree, external, f)
    return T, f


def act_on_bodies(tree: Tree, external: Any, f: Any) -> None:
    """Subtract wrenches on links, (n_links, 6), if given, from the wrenches that bodies need."""
    if external is None:
        return
    given = tree.by_link(external)
    for k in tree.links():
        f[k.body] = f[k.body] - move_wrench(k.T_body_frame, given[k])


def passed_down(mechanism: Mechanism, q: np.ndarray, link_wrenches: list[np.ndarray]) -> list[np.ndarray]:
    """Return the wrench through each link's joint from the wrenches that links need; both by link number."""
    wrenches, q_own = list(link_wrenches), mechanism.joint_positions(q)
    for i, f, joint in mechanism.inward():
        wrenches[f] = wrenches[f] + move_wrench(joint.transform(q_own[i]), wrenches[i])
    return wrenches


def along_axes(mechanism: Mechanism, q: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
    """Return the components of the joint wrenches along the joint axes, (n_v,)."""
    q_own = mechanism.joint_positions(q)
    forces = [joint.subspace(q_own[i]).T @ wrenches[i] for i, _, joint in mechanism.outward()]
    return mechanism.gather_velocities([np.zeros(0), *forces])


def falling(base: Motion, gravity: np.ndarray) -> Motion:
    """Return the base's motion seen in free fall: gravity becomes an upward acceleration of the base."""
    return base._replace(a=base.a - gravity)


def link_wrench(p: np.ndarray, motion: Motion) -> np.ndarray:
    """Return the wrench `[f, n]` about the link's origin for a body with inertial parameters p and a motion.

    f = m a + Ω h and n = h × a + I ε + ω × I ω. The moment is written with the entries of Ω (the pseudo-inertia
    form vee(Ω Σ)), which are shared with the forces and the carried points.
    """
    m, h = p[0], p[1:4]
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz = p[4], p[5], p[6], p[7], p[8], p[9]
    O, w, e = motion.rates, motion.w, motion.e
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    turning = np.array(
        [
            Ixx * e[0] + (Izz - Iyy) * (w[1] * w[2]) - Ixy * O[2, 0] + Ixz * O[1, 0] + Iyz * (yy - zz),
            Iyy * e[1] + (Ixx - Izz) * (w[0] * w[2]) + Ixy * O[2, 1] - Iyz * O[0, 1] + Ixz * (zz - xx),
            Izz * e[2] + (Iyy - Ixx) * (w[0] * w[1]) - Ixz * O[1, 2] + Iyz * O[0, 2] + Ixy * (xx - yy),
        ]
    )
    return np.concatenate([m * motion.a + O @ h, cross(h, motion.a) + turning])


def bias(mechanism: Mechanism | Tree, q: Any, v: Any, external: Any = None, base: Motion = AT_REST) -> Any:
    """Return the torques at zero acceleration, (n_v,), external wrenches included (H of document 003)."""
    return inverse_dynamics(mechanism, q, v, None, external, base)


def gravity_torque(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return the torques that hold the mechanism at rest, (n_v,)."""
    return inverse_dynamics(mechanism, q)
