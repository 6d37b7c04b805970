"""Poses of links and frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..mechanism import Mechanism
from .tree import FRAMES, LINKS, POSE, Tree, tree_of


def body_poses(tree: Tree, q: Any) -> Any:
    """Return T_world_body of every body: T_i = T_f(i) M_{f(i),ns(i)} A_i (document 003, (3))."""
    T, at = tree.column(POSE), tree.positions(q)
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
    return T


def link_poses(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return T_world_link of every link, (n_links, 4, 4)."""
    tree = tree_of(mechanism)
    poses, T = tree.result("T_world_links", LINKS, 4, 4), body_poses(tree, q)
    for k in tree.links():
        poses[k] = T[k.body] @ k.T_body_frame
    return poses.whole()


def frame_pose(mechanism: Mechanism | Tree, q: Any, frame: str | None = None) -> Any:
    """Return T_world_frame, (4, 4), of a named frame or the default one; only links that carry it are visited."""
    tree = tree_of(mechanism).carrying(frame)
    pose, T = tree.result("T_world_frame", 4, 4), body_poses(tree, q)
    for k in tree.frames():
        pose.value = T[k.body] @ k.T_body_frame
    return pose.whole()


def frame_poses(mechanism: Mechanism | Tree, q: Any, frames: Iterable[str] = ()) -> Any:
    """Return T_world_frame of several frames, (k, 4, 4)."""
    tree = tree_of(mechanism).carrying(*frames)
    poses, T = tree.result("T_world_frames", FRAMES, 4, 4), body_poses(tree, q)
    for k in tree.frames():
        poses[k] = T[k.body] @ k.T_body_frame
    return poses.whole()
