"""Poses of links and frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..mechanism import Mechanism


def link_poses(mechanism: Mechanism, q: np.ndarray) -> list[np.ndarray]:
    """T_world_link of every link, by link number: T_i = T_f(i) M_{f(i),ns(i)} A_i (document 003, (3))."""
    q_own = mechanism.joint_positions(q)
    T = [np.eye(4)]
    for i, f, joint in mechanism.outward():
        T.append(T[f] @ joint.transform(q_own[i]))
    return T


def frame_pose(mechanism: Mechanism, q: np.ndarray, frame: str | None = None) -> np.ndarray:
    """T_world_frame, (4, 4), of a named frame or the default one; only the links that carry it are walked."""
    target = mechanism.frame(frame)
    link = mechanism.link_number(target.link)
    q_own = mechanism.joint_positions(q)
    T = np.eye(4)
    for i in (*mechanism.tree.ancestors(link)[1:], *([link] if link else [])):
        T = T @ mechanism.joint_of(i).transform(q_own[i])
    return T @ target.T_link_frame


def frame_poses(mechanism: Mechanism, q: np.ndarray, frames: Iterable[str]) -> np.ndarray:
    """T_world_frame of several frames, (k, 4, 4)."""
    T = link_poses(mechanism, q)
    targets = [mechanism.frame(name) for name in frames]
    return np.stack([T[mechanism.link_number(target.link)] @ target.T_link_frame for target in targets])
