"""A motion in one picture: the last pose, pale ones before it, and the way of a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import frame_pose
from ...errors import ShapeError
from ...mechanism import Mechanism
from .mechanism import draw_mechanism


def draw_motion(
    mechanism: Mechanism,
    q: Any,
    file: Any,
    *,
    frame: str | None = None,
    n_ghosts: int = 4,
    caption: str | None = None,
    size: tuple[float, float] = (8.0, 6.0),
    dpi: int = 150,
) -> Path:
    """Draw a motion and save the picture; returns the file.

    Args:
        mechanism: the mechanism.
        q: configurations in order, (k, n_q), k ≥ 2; the last one is drawn in full.
        file: a .png or .svg file to write.
        frame: the frame whose way is drawn; the default frame if none is named.
        n_ghosts: how many earlier configurations, evenly spaced, are drawn pale.
        caption, size, dpi: as in `draw_mechanism`.
    """
    q = mechanism.checked_q(q)
    if q.ndim != 2 or len(q) < 2:
        raise ShapeError(
            f"has shape {q.shape}", element="q", remedy=f"Give at least 2 configurations, (k, {mechanism.n_q})"
        )
    name = mechanism.frame(frame).name
    way = np.stack([frame_pose(mechanism, configuration, name)[:3, 3] for configuration in q])
    ghosts = q[np.linspace(0, len(q) - 1, n_ghosts + 1).round().astype(int)[:-1]]
    return draw_mechanism(
        mechanism, file, q[-1], frames=[name], ghosts=list(ghosts), trail=way, caption=caption, size=size, dpi=dpi
    )
