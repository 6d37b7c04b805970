"""Planning of exciting trajectories: arguments checked, the best motion of the moving part found, its result."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Capsules, Clearance
from ...errors import ModelError, ShapeError, ZvenoError, ZvenoWarning, refuse_other, unknown_name
from ...fit.threads import in_one_thread
from ...io.results import hash_of
from ...mechanism.base import with_base
from ...mechanism.edit import fix_joints
from ...mechanism.loops import for_trees
from ...mechanism.units import coordinate_units
from ...motion_limits import MotionBounds, MotionLimits, motion_bounds
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from ._curves import FourierBasis
from ._optimise import Best, best_motion
from ._problem import (
    ClearanceTerm,
    ExcitationProblem,
    NominalTorque,
    WantedParameters,
    condition_number,
    known_before,
    log_det,
)
from .result import Excitation


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
    motion: MotionLimits = MotionLimits(),  # noqa: B008  (frozen)
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
        motion: limits of velocity, acceleration, jerk and torque of the moving joints; the model's if not given.
        clearance: distance of links from each other and the ground; not checked if None.
        torque_sigma: standard deviation of a measured torque, a scalar or one per moving joint, N·m or N.
        timeout: time limit; the best motion so far is then returned.
        rng: generator or seed of the random motions.
        progress: whether a bar is shown, or a function of (done, total).
    """
    refuse_other(motion, MotionLimits, "motion", "zveno.MotionLimits(acceleration=…)")
    part, held, notes = moving_part(robot, fixed)
    bounds, assumed = motion_bounds(part, limits, motion)
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


LEAST_SAMPLES = 100
"""Minimum number of grid states for regressor and torques."""
SAMPLES_A_FUNCTION = 10
"""Number of grid states per function of the basis."""
MOST_UNKNOWNS = 2000
"""Maximum number of unknowns: BFGS keeps a square matrix of them."""
DURATIONS = (1e-3, 1e6)
"""Shortest and longest period, s."""
SIGMAS = (1e-9, 1e9)
"""Smallest and largest standard deviation of a torque, N·m or N."""
USUAL_HARMONICS = (5, 15)
"""Smallest and largest default number of harmonics: otherwise one per second, so that the fastest has 1 Hz."""
RATE = 100.0
"""Sampling rate, Hz, that predictions assume, with independent errors."""


def excitation_problem(
    robot: RobotFunctions,
    limits: MotionBounds,
    basis: FourierBasis,
    *,
    drives: bool | Sequence[str],
    payload: str | None,
    have: Any,
    clearance: Clearance | None,
    torque_sigma: ArrayLike,
) -> ExcitationProblem:
    """Build the problem of a robot all of whose joints move; arguments as in `plan_excitation`."""
    mechanism = robot.mechanism
    unknowns = basis.m * mechanism.n_v
    if unknowns > MOST_UNKNOWNS:
        raise ZvenoError(
            f"{unknowns} coefficients are more than can be optimised",
            remedy=f"Hold joints or give fewer harmonics: at most {MOST_UNKNOWNS}",
        )
    link = None if payload is None else mechanism.frame(payload).link
    sigma = _sigma(torque_sigma, mechanism.n_v)
    wanted = WantedParameters(mechanism, drives, link, sigma, limits.velocity)
    n_samples = max(LEAST_SAMPLES, SAMPLES_A_FUNCTION * basis.m)
    problem = ExcitationProblem(
        basis=basis,
        n_samples=n_samples,
        wanted=wanted,
        prior=known_before(have, wanted, robot, RATE),
        samples=RATE * basis.duration / n_samples,
        limits=limits,
        torque=NominalTorque(mechanism),
        clearance=None if clearance is None else ClearanceTerm(Capsules(robot, clearance, robot.random(256, 0))),
    )
    for name, room in zip(mechanism.coordinate_names, problem.torque_limit, strict=True):
        if room <= 0.0:
            raise ZvenoError(
                "its torque limit, margin taken off, does not exceed its Coulomb friction",
                element=f"joint {name}",
                remedy="Raise the limit, or hold the joint",
            )
    return problem


def fourier_basis(duration: float, harmonics: int | None) -> FourierBasis:
    """Return the basis of a period of `duration` seconds."""
    if not DURATIONS[0] <= positive(duration, "duration") <= DURATIONS[1]:
        raise ZvenoError(
            f"is {duration!r} s", element="duration", remedy=f"Give {DURATIONS[0]:g} to {DURATIONS[1]:g} s"
        )
    usual = int(np.clip(round(duration), *USUAL_HARMONICS))
    harmonics = usual if harmonics is None else counted(harmonics, "harmonics")
    if harmonics < 2:
        raise ZvenoError("one harmonic cannot begin at rest", element="harmonics", remedy="Give 2 or more")
    if harmonics > MOST_UNKNOWNS:
        raise ZvenoError(f"is {harmonics}", element="harmonics", remedy="Give 5 to 15")
    return FourierBasis(float(duration), harmonics)


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero, or raise an error."""
    if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0.0):
        raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive number")
    return float(value)


def counted(value: Any, name: str) -> int:
    """Return a whole number above zero, or raise an error."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive whole number")
    return int(value)


def _sigma(given: ArrayLike, n: int) -> np.ndarray:
    try:
        sigma = np.broadcast_to(np.asarray(given, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        raise ShapeError(
            f"does not fit {n} moving joints", element="torque_sigma", remedy="Give one number, or one per joint"
        ) from None
    if not ((sigma >= SIGMAS[0]) & (sigma <= SIGMAS[1])).all():
        raise ZvenoError(
            f"is {given!r:.100}",
            element="torque_sigma",
            remedy=f"Give standard deviations of {SIGMAS[0]:g} to {SIGMAS[1]:g} N·m or N",
        )
    return sigma


_ORDERS = ("position", "velocity", "acceleration", "jerk")


def excitation_of(
    robot: str,
    problem: ExcitationProblem,
    best: Best,
    held: dict[str, float],
    notes: tuple[str, ...],
    inputs: str,
) -> Excitation:
    """Build the result: the motion with its limits and predicted accuracy."""
    mechanism, limits, x = problem.wanted.mechanism, problem.limits, best.x
    curve = problem.curve(x)
    M = problem.information(x)
    value, covariance = log_det(M)
    before = None
    if problem.prior.any():
        known, inverse = log_det(problem.prior)
        before = np.sqrt(np.diag(inverse)) if np.isfinite(known) else np.full(problem.wanted.n, np.inf)
    peaks = {}
    for (order, _), (_, share) in zip(problem.bounds, problem.shares(x), strict=True):
        peaks[_ORDERS[order]] = abs(share).max(axis=0)
    if np.isfinite(limits.torque).any():
        tau = abs(problem.torque(*problem.states(x, fine=True))).max(axis=0) + problem.torque.coulomb
        peaks["torque"] = tau / limits.torque
    return Excitation(
        robot_name=robot,
        joint_names=tuple(mechanism.coordinate_names),
        units=tuple(coordinate_units(mechanism)),
        held=held,
        curve=curve,
        limits=limits,
        peaks=peaks,
        clearance=problem.clearance is not None,
        names=problem.wanted.names,
        expressions=problem.wanted.expressions,
        sigma=np.sqrt(np.diag(covariance)),
        sigma_before=before,
        covariance=covariance,
        rate=RATE,
        torque_sigma=problem.wanted.sigma,
        log_det=value,
        condition=condition_number(M),
        random=best.random,
        starts=best.starts,
        interrupted=best.interrupted,
        notes=notes,
        inputs_hash=inputs,
        mechanism=mechanism,
    )


def moving_part(
    robot: RobotFunctions, hold: Mapping[str, float] | Sequence[str]
) -> tuple[RobotFunctions, dict[str, float], tuple[str, ...]]:
    """Return the robot with everything that stands still fixed, the fixed coordinates by name, and notes about
    them.

    Coordinates must be plain (q̇ = v): a floating base, and other joints with quaternions, are held.
    """
    mechanism, notes = with_base(robot.mechanism, "fixed"), []
    if mechanism is not robot.mechanism:
        notes.append("the base is held while the robot is recorded")
    held: dict[str, float] = dict(hold) if isinstance(hold, Mapping) else dict.fromkeys(_names(hold), 0.0)
    for name in held:
        if name not in mechanism.joint_names:
            raise unknown_name("joint", name, mechanism.joint_names)
    turning = [
        name for name in mechanism.joint_names if name not in held and not _plain(mechanism.joint(name).type)
    ]
    if turning:
        notes.append(
            f"{', '.join(turning)}: held at the neutral posture, as motions of quaternions are not planned"
        )
    positions: dict[str, object] = dict(held)
    positions |= {name: mechanism.joint(name).type.neutral() for name in turning}
    if positions:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)
            mechanism = fix_joints(mechanism, positions)
    if mechanism.n_v == 0:
        raise ModelError(f"no joint of {robot.name} is left to move", remedy="Hold fewer joints")
    return RobotFunctions(mechanism), held, tuple(notes)


def _names(hold: Sequence[str]) -> list[str]:
    return [hold] if isinstance(hold, str) else list(hold)


def _plain(kind) -> bool:
    """Return True if velocities are the rates of the coordinates."""
    if kind.n_q != kind.n_v:
        return False
    q = np.full(kind.n_q, 0.3)
    return bool(np.array_equal(np.asarray(kind.tangent(q), dtype=float), np.eye(kind.n_q)))
