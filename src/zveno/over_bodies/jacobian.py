"""The geometric Jacobian of a frame as loops over the bodies that carry it (document 003)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..kernels.structured.build import Builder
from ..spatial.vectors import cross
from .bodies import Bodies, Kind
from .frames import Frames
from .kinematics import body_poses, full, of_link
from .tree_tables import tree_tables


def jacobian(program: Builder, bodies: Bodies, frames: Frames, reference: str) -> None:
    """J (6, n_v) of the first of the frames at q (n_q,); the references are those of `algorithms.jacobian`."""
    q = program.input("q", (bodies.n_q,))
    J = program.output("J", (6, bodies.n_v), zero=True)
    tree = tree_tables(program, bodies)
    on_body = program.table("on_body", frames.T_body_frame[:, :3].reshape(-1, 12))
    carrier = program.index("carrier", frames.carriers + 1)
    columns = [program.index(f"column{row}", bodies.first_v + row * bodies.n_v) for row in range(6)]
    pose = body_poses(program, bodies, q, tree)
    target = program.scratch("target", 1, 16)
    target[0] = program.step(of_link, pose[carrier[0]], on_body[0])
    with program.each(bodies.n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            rows = program.step(
                partial(twist_columns, kind, reference), q[tree.q[i], kind.n_q], pose[i + 1], target[0]
            )
            for column, row in zip(columns, rows, strict=True):
                J[column[i], kind.n_v] = row


def twist_columns(kind: Kind, reference: str, q: Any, body: Any, target: Any) -> tuple[Any, ...]:
    """The six rows, (n_v,) each, of the columns of one joint: w = R S_w, v = R S_v + w × (point − p)."""
    T, T_world_frame, S = full(body), target.reshape(4, 4), kind.type.subspace(q)
    R, p = T[:3, :3], T[:3, 3]
    point = np.zeros(3) if reference == "world" else T_world_frame[:3, 3]
    columns = []
    for k in range(kind.n_v):
        w = R @ S[3:, k]
        v = R @ S[:3, k] + cross(w, point - p)
        if reference == "local":
            v, w = T_world_frame[:3, :3].T @ v, T_world_frame[:3, :3].T @ w
        columns.append(np.concatenate([v, w]))
    return tuple(np.stack(columns, axis=1))
