"""Poses of links and frames as one loop over bodies and one over frames (document 003, (3))."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..kernels.structured.build import Builder
from ..kernels.structured.parts import Rows
from ..spatial.transforms import transform
from .bodies import Bodies, Kind
from .frames import Frames
from .tree_tables import TreeTables, tree_tables


def link_poses(program: Builder, bodies: Bodies) -> None:
    """T_world_links (n_links, 4, 4) at q (n_q,)."""
    frame_poses(program, bodies, Frames(bodies.carriers, bodies.T_body_link), "T_world_links")


def forward_kinematics(program: Builder, bodies: Bodies, frames: Frames) -> None:
    """T_world_frame (4, 4) of the only frame at q (n_q,)."""
    frame_poses(program, bodies, frames, "T_world_frame", single=True)


def frame_poses(
    program: Builder, bodies: Bodies, frames: Frames, name: str = "T_world_frames", single: bool = False
) -> None:
    """Poses (k, 4, 4) of k frames at q (n_q,); of a single one (4, 4)."""
    count = len(frames.carriers)
    q = program.input("q", (bodies.n_q,))
    poses = program.output(name, (4, 4) if single else (count, 4, 4), width=16)
    tree = tree_tables(program, bodies)
    on_body = program.table("on_body", frames.T_body_frame[:, :3].reshape(count, 12))
    carrier = program.index("carrier", frames.carriers + 1)
    pose = body_poses(program, bodies, q, tree)
    with program.each(count) as k:
        poses[k] = program.step(of_link, pose[carrier[k]], on_body[k])


def body_poses(program: Builder, bodies: Bodies, q: Rows, tree: TreeTables) -> Rows:
    """The first three rows of T_world_body of the base and of every body, (n + 1) rows."""
    pose = program.scratch("pose", bodies.n + 1, 12)
    pose[0] = program.step(lambda: np.eye(4)[:3].ravel())
    with program.each(bodies.n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q = q[tree.q[i], kind.n_q]
            pose[i + 1] = program.step(partial(carried, kind), tree.constants[i], own_q, pose[tree.f[i]])
    return pose


def carried(kind: Kind, constants: Any, q: Any, parent: Any) -> Any:
    """T_world_body, its first three rows."""
    return (full(parent) @ kind.joint(constants).transform(q))[:3].ravel()


def of_link(body: Any, on_body: Any) -> Any:
    """T_world_link, (4, 4)."""
    return (full(body) @ full(on_body)).ravel()


def full(rows: Any) -> Any:
    """A transform (4, 4) from its first three rows (12,)."""
    rows = rows.reshape(3, 4)
    return transform(rows[:, :3], rows[:, 3])
