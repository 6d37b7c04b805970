"""From what is asked for to the problem that is solved: checked arguments, kernels, what is known before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Capsules, Clearance
from ...errors import ShapeError, ZvenoError, unknown_name
from ...robot_functions import RobotFunctions
from .clearance import ClearanceTerm
from .criteria import CRITERIA
from .curves import DEGREE, Basis, FourierBasis, SplineBasis
from .earlier import known_before
from .limits import MotionLimits
from .problem import ExcitationProblem
from .torques import NominalTorque
from .wanted import WantedParameters

LEAST_SAMPLES = 100
"""States of the grid that regressor and torques are looked at on."""
SAMPLES_A_FUNCTION = 10
"""The same for every function of the basis."""
MOST_UNKNOWNS = 2000
"""Larger problems are refused: BFGS keeps a square matrix of them."""
USUAL_HARMONICS = (5, 15)
"""Least and most where none are asked for: otherwise one a second, so that the fastest has 1 Hz."""
ENDS = ("rest", "periodic")


def excitation_problem(
    robot: RobotFunctions,
    limits: MotionLimits,
    basis: Basis,
    *,
    ends: str,
    criterion: str,
    drives: bool | Sequence[str],
    payload: str | None,
    have: Any,
    clearance: Clearance | None,
    torque_sigma: ArrayLike,
    rate: float,
) -> ExcitationProblem:
    """The problem of a robot all of whose joints move; arguments as in `plan_excitation`."""
    mechanism = robot.mechanism
    if ends not in ENDS:
        raise unknown_name("kind of ends", ends, ENDS)
    if criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)
    positive(rate, "rate")
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
        rest=ends == "rest",
        n_samples=n_samples,
        wanted=wanted,
        criterion=CRITERIA[criterion],
        prior=known_before(have, wanted, robot, rate),
        samples=rate * basis.duration / n_samples,
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


def chosen_basis(name: str, duration: float, harmonics: int | None, points: int | None) -> Basis:
    """The basis of that name."""
    positive(duration, "duration")
    usual = int(np.clip(round(duration), *USUAL_HARMONICS))
    harmonics = usual if harmonics is None else counted(harmonics, "harmonics")
    if name == "fourier":
        if points is not None:
            raise ZvenoError("belong to splines", element="points", remedy='Give basis="spline", or harmonics')
        if harmonics < 2:
            raise ZvenoError("one harmonic cannot begin at rest", element="harmonics", remedy="Give 2 or more")
        return FourierBasis(float(duration), harmonics)
    if name == "spline":
        number = 2 * harmonics + 7 if points is None else counted(points, "points")
        if number < DEGREE + 6:
            raise ZvenoError(f"{number} are too few", element="points", remedy=f"Give {DEGREE + 6} or more")
        return SplineBasis(float(duration), number)
    raise unknown_name("basis", name, ("fourier", "spline"))


def first_posture(problem: ExcitationProblem, start: ArrayLike) -> np.ndarray:
    """The posture a way in begins at, (n,), refused where limits forbid it."""
    if problem.rest:
        raise ZvenoError("belongs to a way in", element="start", remedy='Give ends="periodic", or leave it out')
    names, limits = problem.wanted.mechanism.coordinate_names, problem.limits
    q = problem.wanted.mechanism.checked_q(start, "start")
    if q.ndim != 1:
        raise ShapeError(f"has shape {q.shape}", element="start", remedy="Give one posture")
    for name, value, low, high in zip(names, q, limits.lower, limits.upper, strict=True):
        if not low <= value <= high:
            raise ZvenoError(
                f"the start {value:.6g} is outside {low:.6g} … {high:.6g}",
                element=f"joint {name}",
                remedy="Start inside the limits, margin taken off",
            )
    return q


def positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0.0):
        raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive number")
    return float(value)


def counted(value: Any, name: str) -> int:
    """A whole number above zero."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive whole number")
    return int(value)


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
