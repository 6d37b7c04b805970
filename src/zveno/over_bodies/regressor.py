"""The regressor: wrenches of unit parameters, carried from every link to the root in one loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms.inverse_dynamics import link_wrench
from ..algorithms.velocities import Motion, carried_motion
from ..kernels.structured.build import Builder
from ..spatial.inertia import N_PARAMETERS
from ..spatial.transforms import move_wrench, transform
from .bodies import Bodies, Kind
from .mass_matrix import share
from .numbers import motion_numbers, motion_of, placed, placement
from .pairs import pairs
from .tree_tables import tree_tables

_UNITS = np.eye(N_PARAMETERS)


def regressor(program: Builder, bodies: Bodies) -> None:
    """W (n_v, 10 N) at q, v, a: τ = W p without rotors, p the ten parameters of links 1 … N."""
    n, n_v, n_links = bodies.n, bodies.n_v, len(bodies.carriers) - 1
    q = program.input("q", (bodies.n_q,))
    v, a = program.input("v", (n_v,)), program.input("a", (n_v,))
    W = program.output("W", (n_v, N_PARAMETERS * n_links), width=N_PARAMETERS, zero=True)
    tree = tree_tables(program, bodies)
    C, f = tree.constants, tree.f
    T = program.scratch("T", n, 12)
    motion = program.scratch("motion", n + 1, 9)
    wrenches = program.scratch("wrenches", N_PARAMETERS, 6)  # of unit parameters, on their way to the root

    motion[0] = program.step(tree.base_motion, tree.gravity[0])
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            T[i], motion[i + 1] = program.step(
                partial(moved_body, kind), C[i], q[own_q], v[own_v], a[own_v], motion[f[i]]
            )

    # Every way begins with a link on its body, then goes from body to body.
    carriers = bodies.carriers[1:]
    way = pairs(bodies.parents, carriers)
    starts = np.flatnonzero(carriers >= 0)
    order = np.argsort(np.concatenate([starts, way.start]), kind="stable")
    link = np.concatenate([starts, way.start])[order]
    reached = np.concatenate([carriers[starts], way.above])[order]
    left = np.concatenate([np.zeros(len(starts), np.int64), way.below])[order]
    begins = np.concatenate([np.zeros(len(starts), np.int64), np.ones(len(way.start), np.int64)])[order]
    on_body = program.table("on_body", bodies.T_body_link[1:, :3].reshape(n_links, 12))
    number, at, below = (
        program.index("link", link),
        program.index("reached", reached),
        program.index("left", left),
    )
    source = program.index("source", np.where(begins == 0, 0, 1 + bodies.which[left] if n else 0))
    kind_at = program.index("kind_at", bodies.which[reached] if n else reached)
    most = max((kind.n_v for kind in bodies.kinds), default=0)
    rows = [np.minimum(bodies.first_v + r, n_v - 1)[reached] for r in range(most)]
    places = [program.index(f"place_{r}", row * n_links + link) for r, row in enumerate(rows)]
    with program.each(len(link)) as s:
        for kind in program.switch(source[s], (None, *bodies.kinds)):
            if kind is None:
                wrenches[0, N_PARAMETERS] = program.step(unit_wrenches, motion[at[s] + 1], on_body[number[s]])
            else:
                wrenches[0, N_PARAMETERS] = program.step(
                    partial(passed, kind), C[below[s]], T[below[s]], wrenches[0, N_PARAMETERS]
                )
        for kind in program.switch(kind_at[s], bodies.kinds):
            shares = program.step(partial(shares_of, kind), q[tree.q[at[s]], kind.n_q], wrenches[0, N_PARAMETERS])
            for r, value in enumerate(shares if isinstance(shares, tuple) else (shares,)):
                W[places[r][s]] = value


def moved_body(kind: Kind, constants: Any, q: Any, v: Any, a: Any, parent: Any) -> Any:
    """T_parent_body and the motion `[w, a, e]` of the body."""
    joint = kind.joint(constants)
    motion = carried_motion(joint, q, v, a, motion_of(parent))
    return placement(joint.transform(q), kind.constants(constants).p), motion_numbers(motion)


def unit_wrenches(motion: Any, on_body: Any) -> Any:
    """Wrenches, in the body's frame, that unit parameters of one of its links need, (10, 6)."""
    rows = on_body.reshape(3, 4)
    T = transform(rows[:, :3], rows[:, 3])
    body = motion_of(motion).at(T[:3, 3])
    link = Motion(*(T[:3, :3].T @ part for part in body))
    return np.concatenate([move_wrench(T, link_wrench(unit, link)) for unit in _UNITS])


def passed(kind: Kind, constants: Any, T: Any, wrenches: Any) -> Any:
    """Ten wrenches in the parent's frame."""
    T_parent_body = placed(T, kind.constants(constants).p)
    return np.concatenate([move_wrench(T_parent_body, wrench) for wrench in wrenches.reshape(N_PARAMETERS, 6)])


def shares_of(kind: Kind, q: Any, wrenches: Any) -> Any:
    """For every velocity of a joint, what it takes of the ten wrenches, (10,)."""
    taken = [share(kind, q, wrench) for wrench in wrenches.reshape(N_PARAMETERS, 6)]
    return tuple(np.concatenate([own[r] for own in taken]) for r in range(kind.n_v))
