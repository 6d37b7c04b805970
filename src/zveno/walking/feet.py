"""Feet: frames of a tree that stand on the ground, their contact points, and stances of built-in robots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, unknown_name
from ..mechanism import Mechanism
from ..mechanism.loops import for_trees
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


BENT = 0.35
"""Angle of a biped's hips and ankles, rad; knees twice as much."""
SOLE = (0.24, 0.1)
"""Size of the biped's feet, m."""


class Stance(NamedTuple):
    """Arguments of `simulate_walk` after the robot."""

    feet: tuple[Foot, ...]
    start: np.ndarray
    """q, (n_q,)"""


@for_trees
def default_stance(robot: RobotFunctions) -> Stance:
    """Return feet and a start of the built-in biped and quadruped."""
    names = robot.joint_names
    if robot.name == "biped":
        corners = [(x * SOLE[0] / 2, y * SOLE[1] / 2, 0.0) for x in (1, -1) for y in (1, -1)]
        feet = tuple(Foot(f"{side}_foot", corners) for side in ("left", "right"))
        bend = {"hip_pitch": -BENT, "knee": 2 * BENT, "ankle_pitch": -BENT}
    elif robot.name == "quadruped":
        ends = ("front_left", "front_right", "rear_left", "rear_right")
        feet = tuple(Foot(f"{end}_foot") for end in ends)
        bend = {"hip_pitch": 0.6, "knee": -1.2}
    else:
        raise ModelError(
            f"{robot.name} is not a built-in walking machine, so its feet are not known",
            element="stance",
            remedy="Take biped or quadruped, or a file with its feet and start (zveno.walking.WalkingMachine)",
        )
    values = {name: value for name in names for part, value in bend.items() if name.endswith(part)}
    return Stance(feet, robot.pack(values))
