"""Stances of built-in legged robots: their feet, and a configuration with bent legs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..mechanism.loops import for_trees
from ..robot_functions import RobotFunctions
from .feet import Foot

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
