"""Arguments of a simulated walk: checks, start on the ground, and hash keys."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..robot_functions import RobotFunctions
from ..simulation.drives import DriveModel
from ..simulation.time_stepping.grounds import Ground, HeightField
from .checks import check_friction, check_number, checked_start
from .feet import Foot, contact_points
from .machine import Push
from .sensing import Sensors
from .standing import adapted, near_ground, put_on, torque_share
from .support import overlapping
from .terrain import checked_ground
from .whole_body_torques import Gains, Weights

KINDS: dict[str, tuple[type, str]] = {
    "sensors": (Sensors, "zveno.walking.Sensors(…)"),
    "weights": (Weights, "zveno.walking.Weights(…)"),
    "gains": (Gains, "zveno.walking.Gains(…)"),
    "drive": (DriveModel, "a drive, such as zveno.simulation.HydraulicDrive(…)"),
}
"""Types of arguments that may be None, and their names in errors."""


def check_inputs(pushes: Any, sensors: Any, weights: Any, gains: Any, drive: Any) -> None:
    """Raise an error unless every argument has its type."""
    if not isinstance(pushes, Sequence) or not all(isinstance(push, Push) for push in pushes):
        raise ZvenoError(
            f"is {pushes!r}", element="pushes", remedy="Give a list of zveno.walking.Push(time, impulse)"
        )
    for push in pushes:
        push.check()
    for (name, (kind, words)), value in zip(KINDS.items(), (sensors, weights, gains, drive), strict=True):
        if value is not None and not isinstance(value, kind):
            raise ZvenoError(f"is {value!r}", element=name, remedy=f"Give {words}")


def check_numbers(friction: Any, step: Any, sample: Any, duration: Any) -> None:
    """Raise an error unless friction and times are valid."""
    check_friction(friction)
    times = {"step": step, "sample_time": sample, "duration": 1.0 if duration is None else duration}
    for name, value in times.items():
        check_number(value, name, "Give seconds, more than 0", above=0.0)


def standing_start(
    robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, start: Any, friction: float
) -> np.ndarray:
    """Return q of the robot on the ground; raise an error with the reason if it cannot stand there."""
    given = checked_start(robot.mechanism, start)
    q = put_on(robot, feet, ground, adapted(robot, feet, checked_ground(ground), given))
    refuse_overlapping(robot, feet, q)
    torque_share(robot, near_ground(robot, feet, ground, q), q, friction, ground)
    return q


def refuse_overlapping(robot: RobotFunctions, feet: tuple[Foot, ...], q: np.ndarray) -> None:
    """Raise an error if the soles of two feet overlap, seen from above, where the robot is to start."""
    places = contact_points(robot, feet, q)
    soles = [(foot.frame, points) for foot, points in zip(feet, places, strict=True) if not foot.is_point]
    for (one, a), (other, b) in combinations(soles, 2):
        if overlapping(a, b):
            raise ZvenoError(
                f"the soles of {one} and {other} overlap at the start",
                element=robot.name,
                remedy="Move the feet apart by the joint values of the start, or give smaller soles",
            )


def ground_key(ground: Ground | None) -> Any:
    """Return the hash key of a ground; the heights of a field are hashed as bytes."""
    if not isinstance(ground, HeightField):
        return ground
    return list(ground.structure), sha256(np.asarray(ground.heights, dtype=float).tobytes()).hexdigest()
