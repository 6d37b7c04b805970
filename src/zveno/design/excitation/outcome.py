"""From the best motion to the result."""

from __future__ import annotations

import numpy as np

from ...mechanism.units import coordinate_units
from .criteria import condition_number, log_det
from .lead import leads
from .optimise import Best
from .problem import ExcitationProblem
from .result import Excitation

_ORDERS = ("position", "velocity", "acceleration", "jerk")


def excitation_of(
    robot: str,
    problem: ExcitationProblem,
    best: Best,
    basis: str,
    criterion: str,
    held: dict[str, float],
    start: np.ndarray | None,
    rate: float,
    notes: tuple[str, ...],
    inputs: str,
) -> Excitation:
    """The motion with its limits, its ways in and out, and the accuracy it will give."""
    mechanism, limits, x = problem.wanted.mechanism, problem.limits, best.x
    curve = problem.curve(x)
    phase, there, away = 0.0, None, None
    if not problem.rest:
        phase, there, away = leads(curve, start, limits, problem.torque)
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
    for (order, _), (_, share) in zip(problem.bounds, problem.shares(x), strict=True):
        peaks[_ORDERS[order]] = abs(share).max(axis=0)
    if np.isfinite(limits.torque).any():
        tau = abs(problem.torque(*problem.states(x, fine=True))).max(axis=0) + problem.torque.coulomb
        peaks["torque"] = tau / limits.torque
    return Excitation(
        robot=robot,
        criterion=criterion,
        basis=basis,
        joint_names=tuple(mechanism.coordinate_names),
        units=tuple(coordinate_units(mechanism)),
        held=held,
        curve=curve,
        phase=phase,
        lead_in=there,
        lead_out=away,
        limits=limits,
        peaks=peaks,
        clearance=problem.clearance is not None,
        names=problem.wanted.names,
        expressions=problem.wanted.expressions,
        sigma=np.sqrt(np.diag(covariance)),
        sigma_before=before,
        covariance=covariance,
        rate=float(rate),
        torque_sigma=problem.wanted.sigma,
        log_det=value,
        condition=condition_number(M),
        random=random,
        starts=best.starts,
        interrupted=best.interrupted,
        notes=notes,
        inputs=inputs,
        mechanism=mechanism,
    )
