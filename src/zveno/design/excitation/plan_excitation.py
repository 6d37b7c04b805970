"""The motion worth recording: `plan_excitation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...fit.threads import in_one_thread
from ...io.results import hash_of
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from .limits import Bound, motion_limits
from .moving import moving_part
from .optimise import best_motion
from .outcome import excitation_of
from .result import RATE, Excitation
from .setup import chosen_basis, counted, excitation_problem, first_posture


@in_one_thread
def plan_excitation(
    robot: RobotFunctions,
    duration: float = 10.0,
    *,
    basis: str = "fourier",
    harmonics: int | None = None,
    points: int | None = None,
    ends: str = "rest",
    start: ArrayLike | None = None,
    criterion: str = "D",
    drives: bool | Sequence[str] = True,
    payload: str | None = None,
    have: Any = None,
    hold: Mapping[str, float] | Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.02,
    velocity: Bound = None,
    acceleration: Bound = None,
    jerk: Bound = None,
    torque: Bound = None,
    torque_margin: float = 0.1,
    clearance: Clearance | None = None,
    torque_sigma: ArrayLike = 1.0,
    rate: float = RATE,
    starts: int = 6,
    draws: int = 256,
    seconds: float | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> Excitation:
    """A motion whose recorded torques determine the dynamic parameters of a robot best.

    Args:
        robot: the robot. A floating base is held; so are joints with quaternions, at their neutral posture.
        duration: of one period, s.
        basis: "fourier" series or quintic B-"spline".
        harmonics: of the Fourier series; one a second of the duration if not given (up to 1 Hz), 5 to 15.
        points: control points of the spline; 2 · harmonics + 7 if not given.
        ends: "rest" begins and ends at rest; "periodic" runs through, with ways in and out.
        start: posture (n_q,) the way in begins at, for "periodic"; near the motion if not given.
        criterion: "D" (log det of the information), "E" (its smallest eigenvalue) or "condition" (number), the
            latter two of columns scaled to length 1.
        drives: kinds of drive parameters that will be identified, as in `base_parameters`.
        payload: name of a frame or link that carries an unknown load; then only the load's parameters are wanted.
        have: earlier recordings that the motion complements: Excitations, Logs, or (q, v, a) arrays.
        hold: joints that stand still: names, or positions by name.
        limits: ranges by joint name, where narrower than the robot's own.
        margin: share of every range kept free at both ends.
        velocity, acceleration, jerk, torque: limits, one number, one a moving joint, or by joint name; the model's
            own where not given.
        torque_margin: share of every torque limit kept free.
        clearance: how far links keep from each other and the ground; not looked at if None.
        torque_sigma: standard deviation of a measured torque, one number or one a moving joint, N·m or N.
        rate: samples a second that the predictions assume, with independent errors.
        starts: motions that are improved, the best of `draws` random ones.
        seconds: time limit; what was reached by then is returned.
        rng: generator or seed of the random motions.
        progress: whether a bar is shown, or a function of (done, total).
    """
    part, held, notes = moving_part(robot, hold)
    bounds, assumed = motion_limits(part, limits, margin, velocity, acceleration, jerk, torque, torque_margin)
    problem = excitation_problem(
        part,
        bounds,
        chosen_basis(basis, duration, harmonics, points),
        ends=ends,
        criterion=criterion,
        drives=drives,
        payload=payload,
        have=have,
        clearance=clearance,
        torque_sigma=torque_sigma,
        rate=rate,
    )
    first = None if start is None else first_posture(problem, start)
    with ProgressBar("Planning", progress) as bar:
        best = best_motion(
            problem, counted(starts, "starts"), counted(draws, "draws"), np.random.default_rng(rng), seconds, bar
        )
    inputs = hash_of(robot.mechanism.fingerprint, float(duration), basis, criterion, best.x)
    return excitation_of(robot.name, problem, best, basis, criterion, held, first, rate, (*notes, *assumed), inputs)
