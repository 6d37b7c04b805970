"""Planning of exciting trajectories: `plan_excitation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...fit.threads import in_one_thread
from ...io.results import hash_of
from ...mechanism.loops import for_trees
from ...motion_limits import Bound, motion_limits
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from .moving import moving_part
from .optimise import best_motion
from .outcome import excitation_of
from .result import Excitation
from .setup import excitation_problem, fourier_basis


@for_trees
@in_one_thread
def plan_excitation(
    robot: RobotFunctions,
    duration: float = 10.0,
    *,
    harmonics: int | None = None,
    drives: bool | Sequence[str] = True,
    payload: str | None = None,
    existing: Any = None,
    fixed: Mapping[str, float] | Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    velocity: Bound = None,
    acceleration: Bound = None,
    jerk: Bound = None,
    torque: Bound = None,
    clearance: Clearance | None = None,
    torque_sigma: ArrayLike = 1.0,
    timeout: float | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> Excitation:
    """Plan a motion whose recorded torques determine the dynamic parameters of a robot best.

    The motion begins and ends at rest and can be repeated. Its information has the largest log det of those found
    from the best of many random motions. Ranges keep 2 % free at both ends, torques 10 %.

    Args:
        robot: the robot. A floating base is held; so are joints with quaternions, at their neutral posture.
        duration: of one period, s.
        harmonics: of the Fourier series; one per second of the duration if not given (up to 1 Hz), 5 to 15.
        drives: kinds of drive parameters that will be identified, as in `base_parameters`.
        payload: name of a frame or link that carries an unknown load; then only the load's parameters are wanted.
        existing: earlier recordings that the motion complements: Excitations, Logs, or (q, v, a) arrays.
        fixed: joints that stand still: names, or positions by name.
        limits: ranges by joint name, where narrower than the robot's own.
        velocity, acceleration, jerk, torque: limits, a scalar, one per moving joint, or by joint name; the model's
            own where not given.
        clearance: distance of links from each other and the ground; not checked if None.
        torque_sigma: standard deviation of a measured torque, a scalar or one per moving joint, N·m or N.
        timeout: time limit; the best motion so far is then returned.
        rng: generator or seed of the random motions.
        progress: whether a bar is shown, or a function of (done, total).
    """
    part, held, notes = moving_part(robot, fixed)
    bounds, assumed = motion_limits(part, limits, velocity, acceleration, jerk, torque)
    problem = excitation_problem(
        part,
        bounds,
        fourier_basis(duration, harmonics),
        drives=drives,
        payload=payload,
        have=existing,
        clearance=clearance,
        torque_sigma=torque_sigma,
    )
    with ProgressBar("Planning", progress) as bar:
        best = best_motion(problem, np.random.default_rng(rng), timeout, bar)
    inputs = hash_of(robot.mechanism.fingerprint, float(duration), best.x)
    return excitation_of(robot.name, problem, best, held, (*notes, *assumed), inputs)
