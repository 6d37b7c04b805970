"""Setup of the problem from the arguments: checks, kernels, and prior information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Capsules, Clearance
from ...errors import ShapeError, ZvenoError
from ...motion_limits import MotionLimits
from ...robot_functions import RobotFunctions
from .clearance import ClearanceTerm
from .curves import FourierBasis
from .earlier import known_before
from .problem import ExcitationProblem
from .torques import NominalTorque
from .wanted import WantedParameters

LEAST_SAMPLES = 100
"""Minimum number of grid states for regressor and torques."""
SAMPLES_A_FUNCTION = 10
"""Number of grid states per function of the basis."""
MOST_UNKNOWNS = 2000
"""Maximum number of unknowns: BFGS keeps a square matrix of them."""
USUAL_HARMONICS = (5, 15)
"""Smallest and largest default number of harmonics: otherwise one per second, so that the fastest has 1 Hz."""
RATE = 100.0
"""Sampling rate, Hz, that predictions assume, with independent errors."""


def excitation_problem(
    robot: RobotFunctions,
    limits: MotionLimits,
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
    positive(duration, "duration")
    usual = int(np.clip(round(duration), *USUAL_HARMONICS))
    harmonics = usual if harmonics is None else counted(harmonics, "harmonics")
    if harmonics < 2:
        raise ZvenoError("one harmonic cannot begin at rest", element="harmonics", remedy="Give 2 or more")
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
    if not (np.isfinite(sigma).all() and (sigma > 0.0).all()):
        raise ZvenoError("is not positive", element="torque_sigma", remedy="Give standard deviations in N·m or N")
    return sigma
