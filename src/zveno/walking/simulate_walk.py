"""Walks that are simulated: a machine that measures, estimates, decides and pushes, on ground it does not know."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ..io.results import hash_of
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ..simulation.drives import DriveModel
from ..simulation.time_stepping.grounds import Ground, GroundPlane
from .base_estimator import BaseEstimator
from .feet import Foot, checked_feet
from .gaits.dynamic import DynamicGait
from .gaits.static import StaticGait
from .machine import Machine, Push
from .record import Record
from .sensing import Sensing, WalkingSensors
from .walk_inputs import check_inputs, check_numbers, ground_key, standing_start
from .walk_result import Walk
from .whole_body_torques import WalkingGains, WalkingWeights

COUNTED_ON = 0.8
"""Share of the coefficient of friction that the controller counts on."""
LOADED = 0.02
"""Share of the weight that a foot must carry to be taken as a fixed point by the estimator."""
REST_TIME = 0.5
"""s, that a machine must still stand after its last step."""
LATE = "is still on its way: {} of {} steps after {:.3g} s"


def simulate_walk(
    robot: RobotFunctions,
    feet: Sequence[Foot | str],
    start: ArrayLike,
    gait: StaticGait | DynamicGait,
    *,
    ground: Ground | None = None,
    expected: Ground | None = None,
    friction: float = 0.7,
    sensors: WalkingSensors | None = None,
    drive: DriveModel | None = None,
    pushes: Sequence[Push] = (),
    weights: WalkingWeights | None = None,
    gains: WalkingGains | None = None,
    step: float = 1e-3,
    sample: float = 0.01,
    duration: float | None = None,
    progress: Progress = None,
) -> Walk:
    """A walk in simulation: contacts by time stepping, control at every step, and no controller sees the true base.

    Every step the machine reads its sensors, estimates how its base moves, decides by its gait which feet stand and
    where the others go, and finds torques within limits by one quadratic program.

    Args:
        robot: a tree on a free base.
        feet: names of frames that touch at a point, or Feet with soles; two or more.
        start: q (n_q,) of the standing machine; it is put onto the ground below it.
        gait: StaticGait or DynamicGait.
        ground: what it walks on; level at z = 0 if None.
        expected: what the machine believes the ground to be; if None, level with the foot that stands.
        friction: coefficient of the feet; the controller counts on 0.8 of it.
        sensors: errors of the sensors; WalkingSensors() if None.
        drive: between controller and joints, HydraulicDrive for example; the torques themselves if None.
        pushes: on the body.
        weights, gains: of the controller's tasks.
        step: s, of simulation and control.
        sample: s between the samples kept.
        duration: s at most; as long as the gait may need if None.
        progress: as in `simulate`.

    Returns:
        A Walk; its status is "walked", or says when, at which step and how it fell.
    """
    made = checked_feet(robot.mechanism, feet, 2)
    terrain = GroundPlane() if ground is None else ground
    if not isinstance(gait, StaticGait | DynamicGait):
        raise ZvenoError(f"is {gait!r}", element="gait", remedy="Give a StaticGait or a DynamicGait")
    check_inputs(pushes, sensors, weights, gains, drive)
    check_numbers(friction, step, sample, duration)
    q = standing_start(robot, made, terrain, start, COUNTED_ON * friction)
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
        weights or WalkingWeights(),
        gains or WalkingGains(),
    )
    sensors = WalkingSensors() if sensors is None else sensors
    sensing = Sensing(sensors, robot.mechanism, made, step)
    estimator = BaseEstimator(robot.mechanism, made, sensors, q, step)
    record = Record(machine, walker, max(round(sample / step), 1))
    longest = walker.longest if duration is None else duration
    n, rested = max(round(longest / step), 1), 0
    with ProgressBar("Walking", progress) as show:
        for i in range(n):
            t = i * step
            reading = sensing.read(machine.q, machine.v, machine.normals)
            trusted = walker.standing & (reading.loads > LOADED * walker.weight)
            q_seen, v_seen = estimator.update(reading, trusted)
            tau = walker.step(t, q_seen, v_seen, reading.loads).tau + known.viscous * v_seen
            if i == 0:
                machine.begin(tau)
            machine.step(t, tau, pushes)
            if (i + 1) % record.every == 0 or (i + 1 == n and not record.times):
                record.keep(t + step, q_seen, v_seen)
                show(len(walker.footholds), walker.gait.steps)
                if record.fall:
                    break
            rested = rested + 1 if walker.done else 0
            if rested * step >= REST_TIME:
                break
    made_steps = len(walker.footholds)
    late = "" if walker.done else LATE.format(made_steps, walker.gait.steps, longest)
    inputs = hash_of(
        robot.mechanism.fingerprint, made, q, gait, ground_key(terrain), ground_key(expected), friction, sensors,
        drive, list(pushes), weights, gains, step, sample, duration,
    )  # fmt: skip
    return record.finished(late, str(walker.gait.words), inputs)
