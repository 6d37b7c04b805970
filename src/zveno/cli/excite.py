"""The verb `excite`: the motion worth recording for an identification."""

from __future__ import annotations

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
)
from .output import Answer, apart, deliver, protect, say_written, write_report


def excite(
    robot: RobotName,
    /,
    *,
    duration: float = 10.0,
    basis: str = "fourier",
    harmonics: Count = None,
    periodic: Flag = False,
    criterion: str = "D",
    have: Source = None,
    unknown_load: Name = None,
    hold: Words = (),
    velocity: Numbers = (),
    acceleration: Numbers = (),
    jerk: Numbers = (),
    torque: Numbers = (),
    torque_margin: float = 0.1,
    torque_sigma: float = 1.0,
    clearance: Flag = False,
    ground: Number = None,
    radius: Number = None,
    rate: float = 100.0,
    starts: int = 6,
    seconds: Number = None,
    rng: int = 0,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """A motion whose recorded torques determine the dynamic parameters best.

    `--out x.csv` (or .yaml, .script) takes the motion itself.

    Args:
        duration: of one period, s.
        basis: fourier or spline.
        harmonics: of the Fourier series, one a second if not given; a spline has twice as many free points.
        periodic: run through without rest, with ways in and out.
        criterion: D (log det), E (smallest eigenvalue) or condition.
        have: an excitation saved before (.json), or a recording, that this one complements.
        unknown_load: frame of an unknown load; then only the load's parameters are wanted.
        hold: joints that stand still, at zero.
        velocity: limit, one number or one a joint, rad/s or m/s; the model's if not given.
        acceleration: the same, rad/s^2 or m/s^2.
        jerk: the same, rad/s^3 or m/s^3.
        torque: the same, N*m or N.
        torque_margin: share of the torque limits that is kept free.
        torque_sigma: standard deviation of a measured torque, N*m or N.
        clearance: keep links clear of each other.
        ground: height of a floor that links keep clear of, m.
        radius: of the links, m; 3 % of the reach if not given.
        rate: samples a second, of the file and of the predictions.
        starts: motions that are improved.
        seconds: time limit; the best motion so far is kept.
        rng: seed of the random motions.
    """
    from ..clearance import Clearance
    from ..design.excitation.formats import WRITERS
    from ..design.excitation.plan_excitation import plan_excitation
    from ..io.logs.read import read_log
    from ..io.results import load_result
    from ..report.text.excitation import excitation_data, print_excitation
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, have], [picture.plot], reports=True)
    arm = Robot(loaded(robot, model))
    motion = plan_excitation(
        arm,
        duration,
        basis=basis,
        harmonics=harmonics,
        ends="periodic" if periodic else "rest",
        criterion=criterion,
        payload=unknown_load,
        have=None if have is None else load_result(have) if have.suffix == ".json" else read_log(have, arm),
        hold=hold,
        torque_margin=torque_margin,
        torque_sigma=torque_sigma,
        clearance=Clearance(radius, ground, clearance) if clearance or ground is not None else None,
        rate=rate,
        starts=starts,
        seconds=seconds,
        rng=rng,
        velocity=_limit(velocity),
        acceleration=_limit(acceleration),
        jerk=_limit(jerk),
        torque=_limit(torque),
    )
    if picture.plot is not None:
        say_written(motion.plot(picture.plot))
    output = apart(output, set(WRITERS) - {".json"}, lambda file: motion.write_trajectory(file, rate))
    answer = Answer(lambda: excitation_data(motion), lambda console: print_excitation(console, motion, model.deg))
    write_report(motion, output)
    deliver(answer, output)


def _limit(values: tuple[float, ...]) -> tuple[float, ...] | float | None:
    """One number for all joints, one a joint, or the model's own."""
    return values[0] if len(values) == 1 else values or None
