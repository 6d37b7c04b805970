"""Whether joint inertias are far from singular, in one loop over bodies: `algorithms.singular` for large trees."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms.articulated import rigid
from ..algorithms.linear import inverse
from ..kernels.math import sqrt
from ..kernels.structured.build import Builder
from .bodies import Bodies, Kind
from .forward_dynamics import packed, unpacked
from .tree_tables import slot_tables, tree_tables


def surely_regular(bodies: Bodies, margin: float) -> bool:
    """Whether the own inertia of every body, along its joint's axis, is above that part of the scale of the whole.

    What a body carries only adds to its inertia where all inertias are positive; so this is enough, not necessary.
    """
    c = bodies.constants
    if any(kind.n_v != 1 or "axis" not in kind.type.parameters() for kind in bodies.kinds):
        return False
    m, h, I = c[:, 12], c[:, 13:16], c[:, 16:22]
    tensor = I[:, [0, 1, 3, 1, 2, 4, 3, 4, 5]].reshape(-1, 3, 3)
    if m.min() <= 0.0:
        return False
    square = np.einsum("ni,ni->n", h, h)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", h, h)
    if np.linalg.eigvalsh(tensor - square / m[:, None, None]).min() < 0.0:  # about the centre of mass
        return False
    S = np.array([kind.type.subspace(np.zeros(1))[:, 0] for kind in bodies.kinds])[bodies.which]
    v, w = S[:, 2], S[:, 5]  # along and about z
    own = m * v * v + tensor[:, 2, 2] * w * w
    length = (np.linalg.norm(c[:, 9:12], axis=1) + np.pi * abs(v)).sum()
    largest = (v * v + length * length * w * w).max() * m.sum()
    largest += 2.0 * (length * w * w + abs(v * w)).max() * np.linalg.norm(h, axis=1).sum()
    return bool(own.min() > margin * (largest + np.linalg.norm(tensor, axis=(1, 2)).sum()))


def margins(program: Builder, bodies: Bodies) -> None:
    """margin (n_v,): a lower bound of the part of its scale that a joint's inertia is, in every direction.

    With D = Sᵀ M* S + rotor scaled to order 1, 1/‖D⁻¹‖ is at most its least eigenvalue. The scale is what the
    carried bodies would resist if nothing gave way and nothing cancelled, see `algorithms.singular.Scale`.
    """
    n = bodies.n
    q = program.input("q", (bodies.n_q,))
    margin = program.output("margin", (bodies.n_v,))
    tree, handed = tree_tables(program, bodies), slot_tables(program, bodies)
    carried = program.scratch("carried", handed.count, 24, zero=True)
    with program.each(n, reverse=True) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            margin[tree.v[i], kind.n_v], up = program.step(
                partial(separated, kind), tree.constants[i], q[tree.q[i], kind.n_q], carried[handed.taken[i]]
            )
            carried[handed.given[i]] = up.added_if(handed.later[i])


def separated(kind: Kind, constants: Any, q: Any, carried: Any) -> Any:
    """The margins of a joint, and M* and the scales of mass and moments that reach the parent."""
    c, S = kind.constants(constants), kind.type.subspace(q)
    T = kind.joint(constants).transform(q)
    body = rigid(c.inertia).plus(unpacked(carried[:21]))
    U = np.stack([body @ S[:, k] for k in range(kind.n_v)], axis=1)
    D = S.T @ U + np.diag(c.rotor)
    mass, first, second = carried[21:] + _own_scale(c.inertia)
    length, turn = ([_norm(S[part, k]) for k in range(kind.n_v)] for part in (slice(3), slice(3, 6)))
    scale = [
        mass * v * v + 2.0 * first * v * w + second * w * w + rotor
        for v, w, rotor in zip(length, turn, c.rotor, strict=True)
    ]
    root = np.array([sqrt(x) for x in scale])
    inverted = inverse(D / np.outer(root, root))
    handed = body.without(U, U @ (inverted / np.outer(root, root)))
    distance = _norm(T[:3, 3])
    moved_first = first + mass * distance
    scales = np.array([mass, moved_first, second + (first + moved_first) * distance])
    return np.array([1.0 / _norm(inverted.ravel())] * kind.n_v), np.concatenate([packed(handed.moved(T)), scales])


def _own_scale(p):
    tensor = np.array([p[4], p[5], p[7], p[5], p[6], p[8], p[7], p[8], p[9]])
    return np.array([sqrt(p[0] * p[0]), _norm(p[1:4]), _norm(tensor)])


def _norm(x):
    return sqrt(x @ x)
