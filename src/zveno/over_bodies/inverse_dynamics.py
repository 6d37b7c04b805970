"""Inverse dynamics as two loops over bodies: the recursive Newton–Euler algorithm (document 003, corrected)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms.drives import turned_momentum
from ..algorithms.inverse_dynamics import link_wrench
from ..algorithms.velocities import carried_motion
from ..kernels.structured.build import Builder
from ..spatial.transforms import move_wrench
from .acting import external_wrenches, friction_torques
from .bodies import Bodies, Kind
from .numbers import motion_numbers, motion_of, placed, placement
from .tree_tables import slot_tables, tree_tables


def inverse_dynamics(
    program: Builder,
    bodies: Bodies,
    given: tuple[str, ...] = ("q", "v", "a"),
    external: bool = False,
    friction: bool = False,
) -> None:
    """tau (n_v,) for the accelerations a (n_v,) at the state q (n_q,), v (n_v,); what is not given is zero.

    With `external`, wrenches on the links are one more input; with `friction`, the drives overcome it.
    """
    n = bodies.n
    q = program.input("q", (bodies.n_q,))
    rates = [program.input(name, (bodies.n_v,)) for name in given[1:]]
    acting = external_wrenches(program, bodies, external)
    tau = program.output("tau", (bodies.n_v,))
    tree, handed = tree_tables(program, bodies), slot_tables(program, bodies)
    C = tree.constants
    T = program.scratch("T", n, 12)
    motion = program.scratch("motion", tree.n_rows, 9)
    needed = program.scratch("needed", n, 6)
    carried = program.scratch("carried", handed.count, 6, zero=True)

    motion[0] = program.step(tree.base_motion, tree.gravity[0])
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            T[i], motion[tree.own[i]], needed[i] = program.step(
                partial(moved_body, kind), C[i], q[own_q], motion[tree.parent[i]], *(rate[own_v] for rate in rates)
            )
            for wrench in acting(i):
                needed[i] = program.step(np.subtract, needed[i], wrench)
    with program.each(n, reverse=True) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            tau[own_v], up = program.step(
                partial(torque, kind),
                *(C[i], q[own_q], T[i], needed[i], carried[handed.taken[i]]),
                *(rate[own_v] for rate in rates),
            )
            carried[handed.given[i]] = up.added_if(handed.later[i])
    if friction:
        spent = friction_torques(program, bodies, rates[0], smoothing=0.0)
        with program.each(bodies.n_v) as k:
            tau[k] = program.step(np.add, tau[k], spent[k])


def moved_body(kind: Kind, constants: Any, q: Any, parent: Any, *rates: Any) -> Any:
    """T_parent_body, the motion `[w, a, e]` of the body, and the wrench that it needs for it."""
    v, a = (*rates, *[np.zeros(kind.n_v)] * 2)[:2]
    joint, c = kind.joint(constants), kind.constants(constants)
    motion = carried_motion(joint, q, v, a, motion_of(parent))
    return placement(joint.transform(q), c.p), motion_numbers(motion), link_wrench(c.inertia, motion)


def torque(kind: Kind, constants: Any, q: Any, T: Any, needed: Any, carried: Any, *rates: Any) -> Any:
    """What the joint gives, rotors included, and the wrench that the parent gives."""
    c = kind.constants(constants)
    wrench = needed + carried
    v, a = (*rates, *[np.zeros(kind.n_v)] * 2)[:2]
    rotor = c.rotor * a + turned_momentum(kind.type, v, c.rotor * v)
    return kind.type.subspace(q).T @ wrench + rotor, move_wrench(placed(T, c.p), wrench)


def bias(program: Builder, bodies: Bodies, external: bool = False) -> None:
    """tau (n_v,) at zero acceleration."""
    inverse_dynamics(program, bodies, ("q", "v"), external)


def gravity_torque(program: Builder, bodies: Bodies) -> None:
    """tau (n_v,) at rest."""
    inverse_dynamics(program, bodies, ("q",))
