"""Links as bars, from the kinematics alone: a bar runs from a link's joint to each joint or frame on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import unknown_name
from ..spatial.transforms import inverse
from .mechanism import Mechanism


def link_bars(mechanism: Mechanism, named: Sequence[str] = ()) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """List (link, start, end) in link frames: bars longer than 1 µm, and a point for named links without bars."""
    for name in named:
        if name not in mechanism.link_names:
            raise unknown_name("link", name, mechanism.link_names)
    bars = []
    for i in range(mechanism.n_links):
        start = np.zeros(3) if i == 0 else inverse(mechanism.joint_of(i).T_joint_child)[:3, 3]
        ends = [mechanism.joint_of(c).T_parent_joint[:3, 3] for c in mechanism.tree.children(i)]
        if not ends:
            name = mechanism.link_names[i]
            ends = [np.zeros(3)] + [f.T_link_frame[:3, 3] for f in mechanism.frames if f.link == name]
        of_link = [(i, start, end) for end in ends if np.linalg.norm(end - start) > 1e-6]
        bars += of_link if of_link or mechanism.link_names[i] not in named else [(i, start, start)]
    return bars
