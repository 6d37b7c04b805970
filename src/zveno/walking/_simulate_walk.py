"""Simulated walks: arguments, sensors, base estimator, gait and torques of a legged robot on unknown ground."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ..geometry.grounds import Ground, GroundPlane, HeightField
from ..io.results import hash_of
from ..mechanism.loops import for_trees
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ..simulation.drives import DriveModel
from ._base_estimator import BaseEstimator
from ._checks import check_friction, check_number, checked_start
from ._record import Record
from ._torques import Gains, Weights
from ._walker import TOUCHING
from .dynamic_gait import DynamicGait
from .feet import Foot, checked_feet, contact_points
from .machine import Machine, Push
from .result import Walk
from .sensing import Sensing, Sensors
from .static_gait import StaticGait
from .support import adapted, near_ground, overlapping, put_on, torque_share
from .terrain import checked_ground

COUNTED_ON = 0.8
"""Share of the coefficient of friction that the controller uses."""
LOADED = 0.02
"""Share of the weight that a foot must carry to be a fixed point for the estimator."""
SURE = 5.0
"""Touch threshold in σ of the mean load; it sets the number of averaged measurements. Noise alone exceeds it once
in 3 million measurements.
"""
REST_TIME = 0.5
"""Time, s, that the robot must stand after its last step."""
LATE = "is still on its way: {} of {} steps after {:.3g} s"


@for_trees
def simulate_walk(
    robot: RobotFunctions,
    feet: Sequence[Foot | str],
    q0: ArrayLike,
    gait: StaticGait | DynamicGait,
    *,
    ground: Ground | None = None,
    expected: Ground | None = None,
    friction: float = 0.7,
    sensors: Sensors | None = None,
    drive: DriveModel | None = None,
    pushes: Sequence[Push] = (),
    weights: Weights | None = None,
    gains: Gains | None = None,
    step: float = 1e-3,
    sample_time: float = 0.01,
    duration: float | None = None,
    progress: Progress = None,
) -> Walk:
    """Simulate a walk: contacts by time stepping, control at every step; no controller sees the true base.

    At every step the robot reads its sensors and estimates its base motion. The gait chooses the standing feet and
    the footholds of the others. One quadratic program finds torques within limits.

    Args:
        robot: a tree on a free base.
        feet: names of frames that touch at a point, or Feet with soles; two or more.
        q0: q (n_q,) of the standing robot; it is put onto the ground below it.
        gait: StaticGait or DynamicGait.
        ground: the true ground; level at z = 0 if None.
        expected: the ground that the robot assumes; if None, level with the standing foot.
        friction: coefficient of the feet; the controller uses 0.8 of it.
        sensors: errors of the sensors; Sensors() if None.
        drive: between controller and joints, HydraulicDrive for example; the torques themselves if None.
        pushes: on the body.
        weights, gains: of the controller's tasks.
        step: s, of simulation and control.
        sample_time: s between the samples kept.
        duration: largest duration, s; that of the gait if None.
        progress: as in `simulate`.

    Returns:
        A Walk; its status is "walked", "fell" or "unfinished", and its reason has time, step and cause.
    """
    made = checked_feet(robot.mechanism, feet, 2)
    terrain = GroundPlane() if ground is None else ground
    if not isinstance(gait, StaticGait | DynamicGait):
        raise ZvenoError(f"is {gait!r}", element="gait", remedy="Give a StaticGait or a DynamicGait")
    check_inputs(pushes, sensors, weights, gains, drive)
    check_numbers(friction, step, sample_time, duration)
    sensors = Sensors() if sensors is None else sensors
    sensors.check()
    q = standing_start(robot, made, terrain, q0, COUNTED_ON * friction)
    machine = Machine(robot, made, terrain, friction, drive, step, q)
    known = machine.known
    controlled = robot if known.mechanism is robot.mechanism else RobotFunctions(known.mechanism)
    walker = gait.walker(
        controlled,
        made,
        q,
        COUNTED_ON * friction,
        expected,
        step,
        weights or Weights(),
        gains or Gains(),
    )
    sensing = Sensing(sensors, robot.mechanism, made, step)
    estimator = BaseEstimator(robot.mechanism, made, sensors, q, step)
    record = Record(machine, walker, max(round(sample_time / step), 1))
    together = math.ceil((SURE * sensors.load / (TOUCHING * walker.weight)) ** 2)
    recent: deque[np.ndarray] = deque(maxlen=max(together, 1))
    longest = walker.longest if duration is None else duration
    n, rested = max(round(longest / step), 1), 0
    with ProgressBar("Walking", progress) as show:
        for i in range(n):
            t = i * step
            reading = sensing.read(machine.q, machine.v, machine.normals)
            recent.append(reading.loads)
            loads = np.mean(recent, axis=0)
            trusted = walker.standing & (loads > LOADED * walker.weight)
            q_seen, v_seen = estimator.update(reading, trusted)
            tau = walker.step(t, q_seen, v_seen, loads).tau + known.viscous * v_seen
            if i == 0:
                machine.begin(tau)
            machine.step(t, tau, pushes)
            if (i + 1) % record.every == 0 or (i + 1 == n and not record.times):
                record.keep(t + step, q_seen, v_seen)
                show(len(walker.footholds), walker.gait.steps)
                if record.end:
                    break
            rested = rested + 1 if walker.done else 0
            if rested * step >= REST_TIME:
                break
    made_steps = len(walker.footholds)
    late = "" if walker.done else LATE.format(made_steps, walker.gait.steps, longest)
    inputs = hash_of(
        robot.mechanism.fingerprint, made, q, gait, ground_key(terrain), ground_key(expected), friction, sensors,
        drive, list(pushes), weights, gains, step, sample_time, duration,
    )  # fmt: skip
    return record.finished(late, str(walker.gait.words), inputs)


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
    for (first, a), (second, b) in combinations(soles, 2):
        if overlapping(a, b):
            raise ZvenoError(
                f"the soles of {first} and {second} overlap at the start",
                element=robot.name,
                remedy="Move the feet apart by the joint values of the start, or give smaller soles",
            )


def ground_key(ground: Ground | None) -> Any:
    """Return the hash key of a ground; the heights of a field are hashed as bytes."""
    if not isinstance(ground, HeightField):
        return ground
    return list(ground.structure), sha256(np.asarray(ground.heights, dtype=float).tobytes()).hexdigest()
