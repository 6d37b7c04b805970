"""Campaigns measured on a simulated robot: exact readings of any kind, and noise of the size the kind has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ..fit.rng import seed_of
from ..robot_functions import RobotFunctions
from ..spatial.rotations import exp
from ..spatial.transforms import transform
from .identifiability.postures import random_direction
from .measurements import Measurement
from .measurements import measurement as named_measurement
from .measurements.assembly import fit_problem
from .measurements.campaigns import Campaign
from .measurements.contact import into_contact
from .measurements.fit_problem import FitProblem
from .measurements.residual_slopes import residual_kernel
from .model.models import redundant_model

AWAY = 2.0
"""How far from the robot an instrument stands whose place is not given, m."""


def simulated_campaign(
    robot: RobotFunctions,
    measurement: Measurement | str,
    q: ArrayLike,
    *,
    groups: Sequence[str] = (),
    frames: Mapping[str, np.ndarray] | None = None,
    noise: float = 1.0,
    rng: np.random.Generator | int | None = 0,
) -> Campaign:
    """What would be read of a robot in given postures.

    Args:
        robot: the true robot, such as `nominal.with_deviations(…)`.
        measurement: the kind, or its name; its `sigma` is the noise, or what is typical where it has none.
        q: postures, (n, n_q). For contacts, postures nearby in which the robot touches, so far as there are some.
        groups: what each posture touches, for kinds that need it.
        frames: poses (4, 4) of unknown frames and targets by label ("tracker"); others are drawn.
        noise: factor of the noise; 0 for exact readings.
        rng: generator or seed.
    """
    kind = named_measurement(measurement)
    rng = np.random.default_rng(seed_of(rng))
    postures = robot.mechanism.checked_q(q)
    if postures.ndim != 2 or not len(postures):
        raise ZvenoError(f"has shape {postures.shape}", element="q", remedy="Give postures (n, n_q)")
    campaign = Campaign.unread(kind, postures, groups)
    problem = fit_problem(redundant_model(robot.mechanism, kind.frame), [campaign])
    problem = problem.placed(_drawn(problem, rng)).placed(frames or {})
    sigma = noise * kind.component_sigma()
    if kind.implicit:
        return _in_contact(problem, campaign, sigma, rng)
    part = problem.parts[0]
    T, _ = problem.poses(part, problem.nominal, postures, compiled=False)
    P = problem.frames[part.left] @ T[part.posture] @ problem.frames[part.right]
    X = problem.frames[part.target]
    if kind.linear:
        y = kind.reading(P, X) + rng.normal(size=(len(P), kind.n_data)) * sigma
    else:
        y = kind.reading(_displaced(P, kind, sigma, rng), X)
    return Campaign(kind, postures, y.reshape(len(postures), kind.n_seen, kind.n_data), tuple(groups))


def simulated_places(
    robot: RobotFunctions, kind: Measurement, q: np.ndarray, groups: Sequence[str], seed: int
) -> dict[str, np.ndarray]:
    """Poses (4, 4) of instruments, by label, as `simulated_campaign` draws them: for several campaigns with one."""
    problem = fit_problem(redundant_model(robot.mechanism, kind.frame), [Campaign.unread(kind, q, groups)])
    return _drawn(problem, np.random.default_rng(seed))


def _drawn(problem: FitProblem, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Places of instruments whose place is not given: somewhere about the robot, turned anyhow."""
    seen_from = set(problem.parts[0].left.tolist())
    return {
        unknown.label: transform(exp(rng.normal(size=3)), AWAY * random_direction(rng))
        for unknown in problem.unknowns
        if unknown.frame in seen_from and not unknown.given
    }


def _displaced(P: np.ndarray, kind: Measurement, sigma: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Poses (k, 4, 4) moved and turned in their own axes by the noise of a kind that reads them."""
    by_unit = {noise.unit: sigma[noise.rows.start] for noise in kind.noises}
    P = P.copy()
    P[:, :3, 3] += rng.normal(size=(len(P), 3)) * by_unit.get("m", 0.0)
    turns = rng.normal(size=(len(P), 3)) * by_unit.get("rad", 0.0)
    P[:, :3, :3] = P[:, :3, :3] @ np.array([exp(turn) for turn in turns])
    return P


def _in_contact(problem: FitProblem, campaign: Campaign, sigma: np.ndarray, rng: np.random.Generator) -> Campaign:
    """Postures in which the robot touches, as its joints read them when the touch is off by the noise."""
    q, touching = into_contact(problem, 0, campaign.q)
    if not touching.any():
        raise ZvenoError(
            f"none of {len(q)} postures can be brought into contact",
            element=campaign.measurement.kind,
            remedy="Give postures near what is touched, and its place in `frames`",
        )
    part = problem.parts[0]
    T, J = problem.poses(part, problem.nominal, q, compiled=False)
    L, R, X = (problem.frames[index] for index in (part.left, part.right, part.target))
    _, by_T, *_ = residual_kernel(type(part.measurement))(T, L, R, X, part.y)
    slope = by_T @ problem.by_joints(part, problem.nominal, q, J)
    errors = rng.normal(size=(len(q), len(sigma), 1)) * sigma[:, None]
    turned = (np.linalg.pinv(slope) @ errors)[..., 0]
    moved = np.array([problem.model.mechanism.integrate(a, b) for a, b in zip(q, turned, strict=True)])
    kept = np.flatnonzero(touching)
    groups = tuple(campaign.groups[k] for k in kept) if any(campaign.groups) else ()
    return Campaign(campaign.measurement, moved[kept], groups=groups)
