"""Command `excite`: exciting trajectory for an identification."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    Count,
    Flag,
    ModelFlags,
    Name,
    Number,
    Numbers,
    OutputFlags,
    PictureFlags,
    RobotName,
    Source,
    Words,
    unused,
)
from .output import answer_of, apart, deliver, protect, write_plot, write_report


def excite(
    robot: RobotName,
    /,
    *,
    duration: float = 10.0,
    harmonics: Count = None,
    existing: Source = None,
    unknown_load: Name = None,
    fixed: Words = (),
    velocity: Numbers = (),
    acceleration: Numbers = (),
    jerk: Numbers = (),
    torque: Numbers = (),
    torque_sigma: float = 1.0,
    clearance: Flag = False,
    ground: Number = None,
    radius: Number = None,
    rate: Number = None,
    timeout: Number = None,
    rng: int = 0,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Plan the motion whose torques determine the dynamic parameters best.

    `--out x.csv` (or .yaml, .script) saves the motion.

    Example: `zveno excite ur5 --duration 20 --out motion.csv`.

    Args:
        duration: duration of one period, s.
        harmonics: number of harmonics of the Fourier series; one per second of the duration if not given.
        existing: earlier excitation (.json) or recording that the motion complements.
        unknown_load: frame of an unknown load; only the load's parameters are then excited.
        fixed: joints fixed at zero.
        velocity: velocity limit, a scalar or one per joint, rad/s (deg/s with --deg) or m/s; by default the
            model's.
        acceleration: acceleration limit, a scalar or one per joint, rad/s^2 (deg/s^2 with --deg) or m/s^2.
        jerk: jerk limit, a scalar or one per joint, rad/s^3 (deg/s^3 with --deg) or m/s^3.
        torque: torque limit, a scalar or one per joint, N*m or N.
        torque_sigma: standard deviation of a measured torque, N*m or N.
        clearance: keep links clear of each other.
        ground: height of the floor that links keep clear of, m.
        radius: radius of the links, m; 3 % of the reach if not given.
        rate: sampling rate of the file of --out, Hz; 100 if not given.
        timeout: time limit; the best motion so far is returned.
        rng: random seed.
    """
    from ..clearance import Clearance
    from ..identification.excitation.plan_excitation import plan_excitation
    from ..identification.excitation.result import WRITERS
    from ..io.logs.read import read_log
    from ..io.results import load_result
    from ..mechanism.units import velocity_units
    from ..motion_limits import MotionLimits
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, existing], reports=True, plot=picture.plot)
    unused({"radius": None if clearance or ground is not None else radius}, "add --clearance")
    sampled = output.out is not None and output.out.suffix.lower() in set(WRITERS) - {".json"}
    unused({"rate": None if sampled else rate}, "give --out x.csv")
    arm = Robot(loaded(robot, model))
    turning = [unit == "rad" and model.deg for unit in velocity_units(arm.mechanism)]
    motion = plan_excitation(
        arm,
        duration,
        harmonics=harmonics,
        payload=unknown_load,
        existing=None
        if existing is None
        else load_result(existing)
        if existing.suffix == ".json"
        else read_log(existing, arm),
        fixed=fixed,
        torque_sigma=torque_sigma,
        clearance=Clearance(radius, ground, clearance) if clearance or ground is not None else None,
        timeout=timeout,
        rng=rng,
        motion=MotionLimits(
            velocity=_limit(velocity, turning),
            acceleration=_limit(acceleration, turning),
            jerk=_limit(jerk, turning),
            torque=_limit(torque),
        ),
    )
    write_plot(motion, picture.plot)
    output = apart(output, set(WRITERS) - {".json"}, lambda file: motion.write_trajectory(file, rate or 100.0))
    write_report(motion, output)
    deliver(answer_of(motion, model.deg), output)
    if motion.interrupted and timeout is None:
        raise KeyboardInterrupt


def _limit(values: tuple[float, ...], turning: Sequence[bool] = ()) -> tuple[float, ...] | float | None:
    """Limit as one number for all joints, one per joint, or that of the model; `turning` joints are in degrees."""
    if any(turning) and len(values) in (1, len(turning)):
        each = values * (len(turning) if len(values) == 1 else 1)
        return tuple(math.radians(value) if turns else value for value, turns in zip(each, turning, strict=True))
    return values[0] if len(values) == 1 else values or None
