"""The mass matrix by composite bodies: a loop over bodies, and one over pairs of joints on a way to the root."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms.mass_matrix import momentum
from ..kernels.structured.build import Builder
from ..spatial.inertia import moved
from ..spatial.transforms import move_wrench
from .bodies import Bodies, Kind
from .numbers import placed, placement
from .pairs import pairs
from .tree_tables import slot_tables, tree_tables


def mass_matrix(program: Builder, bodies: Bodies) -> None:
    """M (n_v, n_v) at q (n_q,), rotors included; entries of joints on different branches are never touched.

    Every body and what it carries are frozen into one composite body; the momentum that a unit velocity of its
    joint gives it is passed down to the root, and each joint on the way takes its share (Walker and Orin 1982).
    """
    n, n_v = bodies.n, bodies.n_v
    q = program.input("q", (bodies.n_q,))
    M = program.output("M", (n_v, n_v), zero=True)
    tree, handed = tree_tables(program, bodies), slot_tables(program, bodies)
    C = tree.constants
    T = program.scratch("T", n, 12)
    composite = program.scratch("composite", handed.count, 10, zero=True)
    momenta = program.scratch("momenta", n_v + 1, 6)  # the last row is on its way to the root
    most = range(max((kind.n_v for kind in bodies.kinds), default=0))
    # A joint with fewer velocities than another does not use the last rows: any row that exists will do for them.
    rows = [np.minimum(bodies.first_v + r, n_v - 1) for r in most]
    diagonal = [program.index(f"diagonal_{r}", row * n_v + bodies.first_v) for r, row in enumerate(rows)]

    with program.each(n, reverse=True) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            T[i], momenta[own_v], up, *block = program.step(
                partial(composite_body, kind), C[i], q[own_q], composite[handed.taken[i]]
            )
            composite[handed.given[i]] = up.added_if(handed.later[i])
            for r, row in enumerate(block):
                M[diagonal[r][i], kind.n_v] = row

    columns = np.repeat(np.arange(n), np.diff([*bodies.first_v, n_v]))
    way = pairs(bodies.parents, columns)
    source = program.index("source", np.where(way.first, way.start, n_v))
    below, above = program.index("below", way.below), program.index("above", way.above)
    kind_above = program.index("kind_above", bodies.which[way.above])
    lower = [program.index(f"lower_{r}", row[way.above] * n_v + way.start) for r, row in enumerate(rows)]
    upper = [program.index(f"upper_{r}", way.start * n_v + row[way.above]) for r, row in enumerate(rows)]
    with program.each(len(way.start)) as s:
        for below_kind in program.switch(program.index("kind_below", bodies.which[way.below])[s], bodies.kinds):
            momenta[n_v] = program.step(partial(passed, below_kind), C[below[s]], T[below[s]], momenta[source[s]])
        for kind in program.switch(kind_above[s], bodies.kinds):
            shares = program.step(partial(share, kind), q[tree.q[above[s]], kind.n_q], momenta[n_v])
            for r, value in enumerate(shares if isinstance(shares, tuple) else (shares,)):
                M[lower[r][s]] = M[upper[r][s]] = value


def composite_body(kind: Kind, constants: Any, q: Any, carried: Any) -> Any:
    """T_parent_body, momenta of unit joint velocities, the composite body seen by the parent, rows of M's block."""
    c, S = kind.constants(constants), kind.type.subspace(q)
    T = kind.joint(constants).transform(q)
    body = c.inertia + carried
    columns = [momentum(body, S[:, k]) for k in range(kind.n_v)]
    block = np.stack([S.T @ column for column in columns], axis=1) + np.diag(c.rotor)
    upper = [[block[min(r, k), max(r, k)] for k in range(kind.n_v)] for r in range(kind.n_v)]
    return placement(T, c.p), np.concatenate(columns), moved(body, T), *(np.array(row) for row in upper)


def passed(kind: Kind, constants: Any, T: Any, wrench: Any) -> Any:
    """A momentum in the parent's frame."""
    return move_wrench(placed(T, kind.constants(constants).p), wrench)


def share(kind: Kind, q: Any, wrench: Any) -> Any:
    """The part of a momentum that every velocity of a joint takes."""
    return tuple(np.array([entry]) for entry in kind.type.subspace(q).T @ wrench)
