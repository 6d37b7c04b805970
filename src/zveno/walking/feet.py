"""Feet: frames of a tree that stand on the ground, and their contact points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions

LEVEL = 1e-6
"""Cosine below which an attitude has no heading, because it is turned over."""


@dataclass(frozen=True)
class Foot:
    """Frame that stands on the ground.

    Attributes:
        frame: its name.
        sole: contact points, (k, 3) m in the frame's axes: one for the tip of a leg, the corners of a sole that
            keeps its attitude.
    """

    frame: str
    sole: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0),)

    @property
    def points(self) -> np.ndarray:
        """Sole as an array, (k, 3)."""
        return np.asarray(self.sole, dtype=float)

    @property
    def is_point(self) -> bool:
        """True if the foot touches at one point, so that it may turn about it."""
        return len(self.sole) == 1

    @property
    def radius(self) -> float:
        """Radius of the sole about the frame's origin, seen from above, m."""
        return float(np.linalg.norm(self.points[:, :2], axis=1).max())


def checked_feet(mechanism: Mechanism, feet: Sequence[Foot | str], least: int) -> tuple[Foot, ...]:
    """Return the feet, names being point feet; refuse too few feet, duplicates, and soles without a shape."""
    made = tuple(Foot(foot) if isinstance(foot, str) else foot for foot in feet)
    for foot in made:
        if not isinstance(foot, Foot):
            raise ModelError(
                f"{foot!r} is not a foot", element="feet", remedy="Give names of frames, or Foot(frame, sole)"
            )
        if foot.frame not in mechanism.frame_names:
            raise unknown_name("frame", foot.frame, mechanism.frame_names)
        try:
            points = foot.points
        except (TypeError, ValueError):
            points = np.zeros(0)
        if points.ndim != 2 or points.shape[1:] != (3,) or not len(points) or not np.isfinite(points).all():
            raise ModelError(
                "the foot has no shape",
                element=foot.frame,
                remedy="Give its sole as points (k, 3) in the frame's axes, one or more",
            )
    names = [foot.frame for foot in made]
    if len(made) < least or len(set(names)) < len(names):
        raise ModelError(
            f"{len(set(names))} different feet: {', '.join(names) or 'none'}",
            element="feet",
            remedy=f"Give {least} or more, each once",
        )
    return made


def heading(attitude: Any) -> np.ndarray:
    """Return the vertical rotation, (2, 2), nearest to an attitude (3, 3); its columns point ahead and left."""
    c, s = attitude[0, 0] + attitude[1, 1], attitude[1, 0] - attitude[0, 1]
    size = np.hypot(c, s)
    return np.array([[c, -s], [s, c]]) / size if size > LEVEL else np.eye(2)


def contact_points(robot: RobotFunctions, feet: Sequence[Foot], q: Any) -> list[np.ndarray]:
    """Return the contact points of every foot in world axes: (k, 3) each."""
    poses = robot.frame_poses(q, frames=[foot.frame for foot in feet])
    return [foot.points @ T[:3, :3].T + T[:3, 3] for foot, T in zip(feet, poses, strict=True)]
