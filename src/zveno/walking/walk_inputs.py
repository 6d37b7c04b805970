"""What a simulated walk is given: checked, put onto the ground, and told apart from others."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..robot_functions import RobotFunctions
from ..simulation.drives import DriveModel
from ..simulation.time_stepping.grounds import Ground, HeightField
from .checks import check_friction, check_number, checked_start
from .feet import Foot
from .machine import Push
from .sensing import WalkingSensors
from .standing import near_ground, put_on, torque_share
from .whole_body_torques import WalkingGains, WalkingWeights

KINDS = {
    "sensors": (WalkingSensors, "zveno.WalkingSensors(…)"),
    "weights": (WalkingWeights, "zveno.WalkingWeights(…)"),
    "gains": (WalkingGains, "zveno.WalkingGains(…)"),
    "drive": (DriveModel, "a drive, such as zveno.HydraulicDrive(…)"),
}
"""Of arguments that may be None, and what errors call them."""


def check_inputs(pushes: Any, sensors: Any, weights: Any, gains: Any, drive: Any) -> None:
    """Refuse what is not of its kind."""
    if not isinstance(pushes, Sequence) or not all(isinstance(push, Push) for push in pushes):
        raise ZvenoError(f"is {pushes!r}", element="pushes", remedy="Give a list of zveno.Push(time, impulse)")
    for push in pushes:
        push.check()
    for (name, (kind, words)), value in zip(KINDS.items(), (sensors, weights, gains, drive), strict=True):
        if value is not None and not isinstance(value, kind):
            raise ZvenoError(f"is {value!r}", element=name, remedy=f"Give {words}")


def check_numbers(friction: Any, step: Any, sample: Any, duration: Any) -> None:
    """Refuse what is no coefficient of friction, and what are no times."""
    check_friction(friction)
    for name, value in {"step": step, "sample": sample, "duration": 1.0 if duration is None else duration}.items():
        check_number(value, name, "Give seconds, more than 0", above=0.0)


def standing_start(
    robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, start: Any, friction: float
) -> np.ndarray:
    """q of the machine on the ground; refused with the reason if it cannot stand there."""
    q = put_on(robot, feet, ground, checked_start(robot.mechanism, start))
    torque_share(robot, near_ground(robot, feet, ground, q), q, friction)
    return q


def ground_key(ground: Ground | None) -> Any:
    """What tells one ground from another, for hashes: of a field its heights as bytes, which are many."""
    if not isinstance(ground, HeightField):
        return ground
    return list(ground.structure), sha256(np.asarray(ground.heights, dtype=float).tobytes()).hexdigest()
