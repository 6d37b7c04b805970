"""Inverse dynamics: the recursive Newton–Euler algorithm in body axes (document 003, corrected)."""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross
from .drives import rotor_bias, rotor_torque
from .velocities import AT_REST, Motion, body_motions


def inverse_dynamics(
    mechanism: Mechanism,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    external: np.ndarray | None = None,
    base: Motion = AT_REST,
) -> np.ndarray:
    """Joint torques and forces τ, (n_v,), that give the accelerations a at the state (q, v).

    Args:
        mechanism: the mechanism; its rotors count, its friction does not.
        q, v, a: (n_q,), (n_v,), (n_v,).
        external: wrenches `[f, n]` that act on the links, in link axes about the link frame's origin,
            (n_links, 6) by link number.
        base: the motion of link 0, at rest unless given.
    """
    wrenches = joint_wrenches(mechanism, q, v, a, external, base)
    return along_axes(mechanism, q, wrenches) + rotor_torque(mechanism, a) + rotor_bias(mechanism, v)


def joint_wrenches(
    mechanism: Mechanism,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    external: np.ndarray | None = None,
    base: Motion = AT_REST,
) -> list[np.ndarray]:
    """The wrench `[f, n]` that each link receives through its joint, in its own axes about its origin.

    The reaction on the parent is its opposite (document 003's f_i and M_i). Entry 0 is what the ground gives
    to link 0. A link's wrench is what moves it and all that it carries, less what acts on them from outside.
    """
    motions = body_motions(mechanism, q, v, a, falling(base, mechanism.gravity))
    wrenches = [link_wrench(link.inertia, motions[i]) for i, link in enumerate(mechanism.links)]
    if external is not None:
        wrenches = [wrench - external[i] for i, wrench in enumerate(wrenches)]
    return passed_down(mechanism, q, wrenches)


def passed_down(mechanism: Mechanism, q: np.ndarray, link_wrenches: list[np.ndarray]) -> list[np.ndarray]:
    """The wrench through each link's joint, from those that the links themselves need; both by link number."""
    wrenches, q_own = list(link_wrenches), mechanism.joint_positions(q)
    for i, f, joint in mechanism.inward():
        wrenches[f] = wrenches[f] + move_wrench(joint.transform(q_own[i]), wrenches[i])
    return wrenches


def along_axes(mechanism: Mechanism, q: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
    """The part of the wrenches through the joints that moves them, (n_v,)."""
    q_own = mechanism.joint_positions(q)
    forces = [joint.subspace(q_own[i]).T @ wrenches[i] for i, _, joint in mechanism.outward()]
    return mechanism.gather_velocities([np.zeros(0), *forces])


def falling(base: Motion, gravity: np.ndarray) -> Motion:
    """The base's motion as seen by someone in free fall: gravity becomes an acceleration of the base upward."""
    return base._replace(a=base.a - gravity)


def link_wrench(p: np.ndarray, motion: Motion) -> np.ndarray:
    """The wrench `[f, n]` about the link's origin that gives a body with inertial parameters p its motion.

    f = m a + Ω h and n = h × a + I ε + ω × I ω. The moment is written with the entries of Ω (METHOD: the
    pseudo-inertia form vee(Ω Σ)), which the forces and the carried points need anyway.
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


def bias(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, external: np.ndarray | None = None, base: Motion = AT_REST
) -> np.ndarray:
    """Torques at zero acceleration, (n_v,): Coriolis, centrifugal, gravity and external (H of document 003)."""
    return inverse_dynamics(mechanism, q, v, np.zeros(mechanism.n_v), external, base)


def gravity_torque(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Torques that hold the mechanism at rest, (n_v,): inverse dynamics at rest."""
    rest = np.zeros(mechanism.n_v)
    return inverse_dynamics(mechanism, q, rest, rest)
