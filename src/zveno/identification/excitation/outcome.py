"""Conversion of the best motion to the result."""

from __future__ import annotations

import numpy as np

from ...mechanism.units import coordinate_units
from .criteria import condition_number, log_det
from .optimise import Best
from .problem import ExcitationProblem
from .result import Excitation
from .setup import RATE

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
