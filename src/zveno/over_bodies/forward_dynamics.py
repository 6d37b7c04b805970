"""Forward dynamics by the method of separate bodies as three loops over bodies (document 002; Vereshchagin 1974).

The same recursion as `algorithms.factors.BodyFactors`: outward the motion without joint accelerations and the
wrenches Q* it needs, inward M* and Q* of every body with what it carries, outward the accelerations.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms import linear
from ..algorithms.articulated import Articulated, rigid
from ..algorithms.drives import FRICTION_SMOOTHING, turned_momentum
from ..algorithms.inverse_dynamics import link_wrench
from ..algorithms.velocities import carried_motion
from ..kernels.structured.build import Builder
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross
from .acting import external_wrenches, friction_torques
from .bodies import Bodies, Kind
from .numbers import motion_numbers, motion_of, placed, placement
from .tree_tables import slot_tables, tree_tables

_UPPER = [(i, j) for i in range(3) for j in range(i, 3)]


def forward_dynamics(program: Builder, bodies: Bodies, external: bool = False, friction: bool = False) -> None:
    """a (n_v,) under joint torques tau (n_v,) at the state q (n_q,), v (n_v,); rotors count.

    With `external`, wrenches on the links are one more input; with `friction`, it takes from the torques, its sign
    smoothed over a velocity.
    """
    n = bodies.n
    q = program.input("q", (bodies.n_q,))
    v, tau = program.input("v", (bodies.n_v,)), program.input("tau", (bodies.n_v,))
    acting = external_wrenches(program, bodies, external)
    a = program.output("a", (bodies.n_v,))
    if friction:
        spent, left = (
            friction_torques(program, bodies, v, FRICTION_SMOOTHING),
            program.scratch("left", bodies.n_v, 1),
        )
        with program.each(bodies.n_v) as k:
            left[k] = program.step(np.subtract, tau[k], spent[k])
        tau = left
    tree, handed = tree_tables(program, bodies), slot_tables(program, bodies)
    C, own, parent = tree.constants, tree.own, tree.parent
    T = program.scratch("T", n, 12)
    motion = program.scratch("motion", tree.n_rows, 9)
    needed = program.scratch("needed", n, 6)
    carried = program.scratch("carried", handed.count, 27, zero=True)
    scaled = program.scratch("scaled", bodies.n_v, 6)
    alone = program.scratch("alone", bodies.n_v, 1)
    joint_part = program.scratch("joint_part", tree.n_rows, 6)

    motion[0] = program.step(tree.base_motion, tree.gravity[0])
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = q[tree.q[i], kind.n_q], v[tree.v[i], kind.n_v]
            T[i], motion[own[i]], needed[i] = program.step(
                partial(without_acceleration, kind), C[i], own_q, own_v, motion[parent[i]]
            )
            for wrench in acting(i):
                needed[i] = program.step(np.subtract, needed[i], wrench)
    with program.each(n, reverse=True) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            scaled[own_v], alone[own_v], up = program.step(
                partial(separated, kind),
                *(C[i], q[own_q], v[own_v], tau[own_v], T[i], needed[i], carried[handed.taken[i]]),
            )
            carried[handed.given[i]] = up.added_if(handed.later[i])
    joint_part[0] = program.step(lambda: np.zeros(6))
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            a[own_v], joint_part[own[i]] = program.step(
                partial(accelerated, kind), C[i], q[own_q], T[i], scaled[own_v], alone[own_v], joint_part[parent[i]]
            )


def without_acceleration(kind: Kind, constants: Any, q: Any, v: Any, parent: Any) -> Any:
    """T_parent_body, the motion `[w, a, e]` while no joint accelerates, and the wrench that it needs."""
    joint, c = kind.joint(constants), kind.constants(constants)
    motion = carried_motion(joint, q, v, np.zeros(kind.n_v), motion_of(parent))
    needed = link_wrench(c.inertia, motion)
    return placement(joint.transform(q), c.p), motion_numbers(motion), needed


def separated(kind: Kind, constants: Any, q: Any, v: Any, tau: Any, T: Any, needed: Any, carried: Any) -> Any:
    """U D⁻¹ by columns, D⁻¹ (τ − Sᵀ Q*), and what reaches the parent: M* − U D⁻¹ Uᵀ and Q* + U D⁻¹ (τ − Sᵀ Q*)."""
    c, S = kind.constants(constants), kind.type.subspace(q)
    body = rigid(c.inertia).plus(unpacked(carried[:21]))
    Q = needed + carried[21:]
    U = np.stack([body @ S[:, k] for k in range(kind.n_v)], axis=1)
    D = linear.factor(S.T @ U + np.diag(c.rotor))
    scaled = np.stack([linear.solve_factored(D, row) for row in U])
    own = tau - turned_momentum(kind.type, v, c.rotor * v) - S.T @ Q
    T_parent_body = placed(T, c.p)
    up = body.without(U, scaled).moved(T_parent_body)
    wrench = move_wrench(T_parent_body, Q + scaled @ own)
    return scaled.T, linear.solve_factored(D, own), np.concatenate([packed(up), wrench])


def accelerated(kind: Kind, constants: Any, q: Any, T: Any, scaled: Any, alone: Any, parent: Any) -> Any:
    """q̈ = D⁻¹ (τ − Sᵀ Q*) − (U D⁻¹)ᵀ C a_f, and what the joints' accelerations give the body."""
    T_parent_body = placed(T, kind.constants(constants).p)
    Rt, p = T_parent_body[:3, :3].T, T_parent_body[:3, 3]
    given, turn = parent[:3], parent[3:]
    carried = np.concatenate([Rt @ (given + cross(turn, p)), Rt @ turn])
    own = alone - scaled.reshape(kind.n_v, 6) @ carried
    return own, carried + kind.type.subspace(q) @ own


def packed(body: Articulated) -> Any:
    """The 21 numbers of M*: upper triangles of M and A, and H."""
    upper = [np.array([block[i, j] for i, j in _UPPER]) for block in (body.M, body.A)]
    return np.concatenate([upper[0], body.H.ravel(), upper[1]])


def unpacked(x: Any) -> Articulated:
    """M* of 21 numbers."""
    M, A = np.array([[0.0] * 3] * 3, dtype=object), np.array([[0.0] * 3] * 3, dtype=object)
    for number, (i, j) in enumerate(_UPPER):
        M[i, j] = M[j, i] = x[number]
        A[i, j] = A[j, i] = x[15 + number]
    return Articulated(M, x[6:15].reshape(3, 3), A)
