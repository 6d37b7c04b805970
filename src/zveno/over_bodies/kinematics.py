"""Poses of all links as one loop over bodies and one over links (document 003, (3))."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..kernels.structured.build import Builder
from ..spatial.transforms import transform
from .bodies import Bodies, Kind
from .tree_tables import tree_tables


def link_poses(program: Builder, bodies: Bodies) -> None:
    """T_world_links (n_links, 4, 4) at q (n_q,)."""
    n, n_links = bodies.n, len(bodies.carriers)
    q = program.input("q", (bodies.n_q,))
    T_world_links = program.output("T_world_links", (n_links, 4, 4), width=16)
    tree = tree_tables(program, bodies)
    on_body = program.table("on_body", bodies.T_body_link[:, :3].reshape(n_links, 12))
    carrier = program.index("carrier", bodies.carriers + 1)
    pose = program.scratch("pose", n + 1, 12)

    pose[0] = program.step(lambda: np.eye(4)[:3].ravel())
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q = q[tree.q[i], kind.n_q]
            pose[i + 1] = program.step(partial(carried, kind), tree.constants[i], own_q, pose[tree.f[i]])
    with program.each(n_links) as k:
        T_world_links[k] = program.step(of_link, pose[carrier[k]], on_body[k])


def carried(kind: Kind, constants: Any, q: Any, parent: Any) -> Any:
    """T_world_body, its first three rows."""
    return (_full(parent) @ kind.joint(constants).transform(q))[:3].ravel()


def of_link(body: Any, on_body: Any) -> Any:
    """T_world_link, (4, 4)."""
    return (_full(body) @ _full(on_body)).ravel()


def _full(rows: Any) -> Any:
    rows = rows.reshape(3, 4)
    return transform(rows[:, :3], rows[:, 3])
