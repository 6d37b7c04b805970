"""The motion worth recording: `plan_excitation`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError, unknown_name
from ...fit.threads import in_one_thread
from ...io.results import hash_of
from ...mechanism.units import coordinate_units
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from ..capsules import Capsules, Clearance
from .clearance import ClearanceTerm
from .criteria import CRITERIA, condition_number, log_det
from .curves import DEGREE, Basis, FourierBasis, SplineBasis
from .earlier import known_before
from .lead import lead_in, lead_out
from .limits import Bound, MotionLimits, motion_limits
from .moving import moving_part
from .optimise import Best, best_motion
from .problem import ExcitationProblem
from .result import RATE, Excitation
from .torques import NominalTorque
from .wanted import WantedParameters

SAMPLES_A_HARMONIC = 20
"""States of the grid that the regressor and torques are looked at on, 100 at least."""
MOST_UNKNOWNS = 2000
"""Larger problems are refused: BFGS keeps a square matrix of them."""


@in_one_thread
def plan_excitation(
    robot: RobotFunctions,
    duration: float = 10.0,
    *,
    basis: Literal["fourier", "spline"] = "fourier",
    harmonics: int = 5,
    points: int | None = None,
    ends: Literal["rest", "periodic"] = "rest",
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
        harmonics: of the Fourier series.
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
    _check(duration, harmonics, points, ends, criterion, starts, draws, rate)
    part, held, notes = moving_part(robot, hold)
    mechanism = part.mechanism
    bounds, assumed = motion_limits(part, limits, margin, velocity, acceleration, jerk, torque, torque_margin)
    shape = _basis(basis, float(duration), int(harmonics), points)
    n_samples = max(100, SAMPLES_A_HARMONIC * (harmonics if basis == "fourier" else shape.m // 2))
    sigma = _sigma(torque_sigma, mechanism.n_v)
    link = None if payload is None else mechanism.frame(payload).link
    wanted = WantedParameters(mechanism, drives, link, sigma, bounds.velocity)
    wanted.prepare()
    prior = known_before(have, wanted, part, rate)
    problem = ExcitationProblem(
        basis=shape,
        rest=ends == "rest",
        n_samples=n_samples,
        wanted=wanted,
        criterion=CRITERIA[criterion],
        prior=prior,
        samples=rate * duration / n_samples,
        limits=bounds,
        torque=NominalTorque(mechanism),
        clearance=None if clearance is None else ClearanceTerm(Capsules(part, clearance, part.random(256, 0))),
    )
    _refuse_unreachable(problem, start)
    with ProgressBar("Planning", progress) as bar:
        best = best_motion(problem, int(starts), int(draws), np.random.default_rng(rng), seconds, bar)
    inputs = hash_of(robot.mechanism.fingerprint, float(duration), basis, criterion, best.x)
    return _excitation(robot, problem, best, basis, criterion, held, start, rate, sigma, (*notes, *assumed), inputs)


def _check(duration, harmonics, points, ends, criterion, starts, draws, rate) -> None:
    for name, value in (("duration", duration), ("rate", rate)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0.0):
            raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive number")
    counts = {"harmonics": harmonics, "starts": starts, "draws": draws}
    for name, value in (counts if points is None else counts | {"points": points}).items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive whole number")
    if ends not in ("rest", "periodic"):
        raise unknown_name("kind of ends", ends, ("rest", "periodic"))
    if criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)


def _basis(name: str, duration: float, harmonics: int, points: int | None) -> Basis:
    if name == "fourier":
        if points is not None:
            raise ZvenoError("belong to splines", element="points", remedy='Give basis="spline", or harmonics')
        if harmonics < 2:
            raise ZvenoError("one harmonic cannot begin at rest", element="harmonics", remedy="Give 2 or more")
        return FourierBasis(duration, harmonics)
    if name == "spline":
        number = 2 * harmonics + 7 if points is None else int(points)
        if number < DEGREE + 6:
            raise ZvenoError(f"{number} are too few", element="points", remedy=f"Give {DEGREE + 6} or more")
        return SplineBasis(duration, number)
    raise unknown_name("basis", name, ("fourier", "spline"))


def _sigma(given: ArrayLike, n: int) -> np.ndarray:
    try:
        sigma = np.broadcast_to(np.asarray(given, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        raise ShapeError(
            f"does not fit {n} moving joints", element="torque_sigma", remedy="Give one number, or one a joint"
        ) from None
    if not (np.isfinite(sigma).all() and (sigma > 0.0).all()):
        raise ZvenoError("is not positive", element="torque_sigma", remedy="Give standard deviations in N·m or N")
    return sigma


def _refuse_unreachable(problem: ExcitationProblem, start: ArrayLike | None) -> None:
    """What cannot be met whatever the motion."""
    names = problem.wanted.mechanism.coordinate_names
    if math.prod(problem.shape) > MOST_UNKNOWNS:
        raise ZvenoError(
            f"{math.prod(problem.shape)} coefficients are more than can be optimised",
            remedy=f"Hold joints or give fewer harmonics: at most {MOST_UNKNOWNS}",
        )
    for name, room in zip(names, problem.torque_limit, strict=True):
        if room <= 0.0:
            raise ZvenoError(
                "its torque limit, margin taken off, does not exceed its Coulomb friction",
                element=f"joint {name}",
                remedy="Raise the limit, or hold the joint",
            )
    if start is not None:
        if problem.rest:
            raise ZvenoError("belongs to a way in", element="start", remedy='Give ends="periodic", or leave it out')
        _inside(names, problem.limits, start)


def _inside(names: Sequence[str], limits: MotionLimits, start: ArrayLike) -> np.ndarray:
    q = np.asarray(start, dtype=float)
    if q.shape != limits.lower.shape:
        raise ShapeError(
            f"has shape {q.shape}", element="start", remedy=f"Give {len(names)} numbers: {', '.join(names)}"
        )
    for name, value, low, high in zip(names, q, limits.lower, limits.upper, strict=True):
        if not low <= value <= high:
            raise ZvenoError(
                f"the start {value:.6g} is outside {low:.6g} … {high:.6g}",
                element=f"joint {name}",
                remedy="Start inside the limits, margin taken off",
            )
    return q


def _excitation(
    robot: RobotFunctions,
    problem: ExcitationProblem,
    best: Best,
    basis: str,
    criterion: str,
    held: dict[str, float],
    start: ArrayLike | None,
    rate: float,
    sigma: np.ndarray,
    notes: tuple[str, ...],
    inputs: str,
) -> Excitation:
    mechanism, limits, x = problem.wanted.mechanism, problem.limits, best.x
    curve = problem.curve(x)
    leads: tuple[Any, Any] = (None, None)
    if not problem.rest:
        state = tuple(curve(0.0, order) for order in range(3))
        first = None if start is None else _inside(mechanism.coordinate_names, limits, start)
        leads = lead_in(first, state, limits, problem.torque), lead_out(state, limits, problem.torque)
    M = problem.information(x)
    value, covariance = log_det(M)
    before = None
    if problem.prior.any():
        known, inverse = log_det(problem.prior)
        before = np.sqrt(np.diag(inverse)) if np.isfinite(known) else np.full(problem.wanted.n, np.inf)
    random = best.random
    if criterion != "D":  # so that both compare
        random = np.array([log_det(problem.information(best.first))[0]])
    peaks = {}
    for (order, _), (_, share) in zip(problem._bounds, problem.shares(x), strict=True):
        peaks[("position", "velocity", "acceleration", "jerk")[order]] = abs(share).max(axis=0)
    if np.isfinite(limits.torque).any():
        tau = abs(problem.torque(*problem.states(x, fine=True))).max(axis=0) + problem.torque.coulomb
        peaks["torque"] = tau / limits.torque
    return Excitation(
        robot=robot.name,
        criterion=criterion,
        basis=basis,
        joint_names=tuple(mechanism.coordinate_names),
        units=tuple(coordinate_units(mechanism)),
        held=held,
        curve=curve,
        lead_in=leads[0],
        lead_out=leads[1],
        limits=limits,
        peaks=peaks,
        clearance=problem.clearance is not None,
        names=problem.wanted.names,
        expressions=problem.wanted.expressions,
        sigma=np.sqrt(np.diag(covariance)),
        sigma_before=before,
        covariance=covariance,
        rate=float(rate),
        torque_sigma=sigma,
        log_det=value,
        condition=condition_number(M),
        random=random,
        starts=best.starts,
        interrupted=best.interrupted,
        notes=notes,
        inputs=inputs,
    )
