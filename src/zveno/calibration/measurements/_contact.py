"""Postures brought into contact: joints of every type are moved until the measured point touches its target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...fit.gauss_newton import damped_steps
from ...mechanism import Mechanism
from .._closing import closed_postures
from .._loads import holding_torques
from ._fit_problem import FitProblem, instrument_numbers, residual_kernel

TOLERANCE = 1e-12
"""Residual of a posture in contact, in units of the robot's size."""
STEPS = 30
"""Maximum number of steps per posture."""


def into_contact(
    problem: FitProblem,
    number: int,
    q: np.ndarray,
    many: Callable[[int], np.ndarray] | None = None,
    values: np.ndarray | None = None,
    compiled: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Move postures, as little as needed, to zero residual in every row of a part.

    A measured contact leaves a residual with the nominal model; its derivatives there make more parameters look
    identifiable than are. Structure is decided where the residual is zero.

    Args:
        problem: the rows and the frames.
        number: number of the part.
        q: postures to start from.
        many: generator of other random postures for rows that do not converge.
        values: deviations of the model's parameters, (P,); the nominal robot if None.
        compiled: whether the pose comes from a kernel, where one is needed anyway.

    Returns:
        The postures, and for each whether it touches.
    """
    part = problem.parts[number]
    values = problem.nominal if values is None else values
    kernel = residual_kernel(type(part.measurement))
    slots = [problem.frames[index] for index in (part.left, part.right, part.target)]
    slots += [part.y, *instrument_numbers(part, problem.frames)]
    length = problem.model.scale
    q = q.copy()
    waiting = np.arange(len(q))
    for attempt in range(1 if many is None else 6):
        if attempt and many is not None:
            q[waiting] = many(len(waiting))
        for _ in range(STEPS):
            tau = holding_torques(problem.model, q[waiting])  # of where the robot is by now
            here = replace(part, tau=tau, side=part.side[waiting])
            T, _ = problem.poses(here, values, q[waiting], compiled)
            by_joints = problem.by_joints(here, values, q[waiting])
            r, by_T, *_ = kernel(T, *(values_of_rows[waiting] for values_of_rows in slots))
            touching = abs(r).max(axis=1) < TOLERANCE * length
            slope, r, waiting = (by_T @ by_joints)[~touching], r[~touching], waiting[~touching]
            if not len(waiting):
                return q, np.ones(len(q), dtype=bool)
            dq = -damped_steps(slope, r, 1e-3 * np.linalg.norm(r, axis=1) * length)
            shorter = np.maximum(1.0, abs(dq).max(axis=1, keepdims=True) / 0.5)
            q[waiting] = _integrated(problem.model.mechanism, q[waiting], dq / shorter)
            q[waiting], _ = closed_postures(problem.model.mechanism, q[waiting])
    return q, ~np.isin(np.arange(len(q)), waiting)


def _integrated(mechanism: Mechanism, q, dq):
    if mechanism.n_q == mechanism.n_v:
        return q + dq
    return np.array([mechanism.integrate(a, b) for a, b in zip(q, dq, strict=True)])
