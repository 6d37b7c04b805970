"""Simulated data sets: exact readings of any kind, and noise of the size the kind has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError
from ..fit.rng import seed_of
from ..robot_functions import RobotFunctions
from ..spatial.rotations import exp
from ..spatial.transforms import transform
from ..spatial.vectors import real_array
from ._closing import checked_closed
from ._joint_terms import HYSTERESIS, words_of
from ._loads import holding_torques
from ._output import calibrated_mechanism
from ._postures import imagined_frames, random_direction, visible_postures
from .measurements import Measurement
from .measurements import measurement as named_measurement
from .measurements._contact import into_contact
from .measurements._fit_problem import FitProblem, fit_problem, instrument_numbers
from .measurements.datasets import Dataset, in_order
from .models import redundant_model

AnyRobot = TypeVar("AnyRobot", bound=RobotFunctions)

AWAY = 2.0
"""Distance, m, of an instrument without a given place from the robot."""


def apply_deviations(
    robot: AnyRobot, values: Mapping[str, float], frame: str | None = None, *, frames: Sequence[str | None] = ()
) -> AnyRobot:
    """Return a robot whose geometric parameters deviate from nominal, m and rad, to simulate measurements with.

    Args:
        robot: the nominal robot.
        values: deviations by the parameter names of `identifiability` and `Robot.calibrate`, "Tx1" or "Rzq2".
        frame: end frame of the modelled chain; the default frame if not given.
        frames: several end frames instead, for a measurement of more than one.
    """
    model = redundant_model(robot.mechanism, tuple(frames) or frame)
    deviations = np.zeros(len(model.terms))
    if not isinstance(values, Mapping):
        raise ShapeError(f"must be numbers by parameter name, got {type(values).__name__}", element="values")
    for name, value in values.items():
        model.term(name)  # raises for unknown names
        try:
            deviations[model.numbers[name]] = deviation = real_array(value)
        except (TypeError, ValueError):
            deviation = np.nan
        if not np.isfinite(deviation):
            raise ShapeError(f"must be a finite real number, got {value!r}", element=name)
    return type(robot)(calibrated_mechanism(model, deviations))


def simulate_dataset(
    robot: RobotFunctions,
    measurement: Measurement | str,
    q: ArrayLike,
    *,
    groups: Sequence[str] = (),
    frames: Mapping[str, np.ndarray] | None = None,
    joint_errors: Mapping[str, float] | None = None,
    noise: float = 1.0,
    rng: np.random.Generator | int | None = 0,
) -> Dataset:
    """Simulate the readings of a robot in given postures.

    Args:
        robot: the true robot, such as `apply_deviations(nominal, …)`.
        measurement: the kind, or its name; its `sigma` is the noise, or the typical one if it has none.
        q: postures, (n, n_q); where loops are closed, only the motors count. For contacts, postures nearby in which
            the robot touches; for cameras, those in which everything is seen; in both cases so far as there are
            some.
        groups: what each posture touches, for kinds that need it; or rows that belong together.
        frames: poses (4, 4) of unknown frames and targets by label ("tracker"); others are drawn.
        joint_errors: joint terms by the names that `calibrate` uses: {"Cq2": 1e-4, "Hq3": 3e-4}, in its units.
            Joints with hysteresis come from the posture before, and the data set records the side.
        noise: factor of the noise; 0 for exact readings.
        rng: generator or seed.
    """
    kind = named_measurement(measurement).with_groups(map(str, groups))
    rng = np.random.default_rng(seed_of(rng))
    postures = robot.mechanism.checked_q(q)
    if postures.ndim != 2 or not len(postures):
        raise ZvenoError(f"has shape {postures.shape}", element="q", remedy="Give postures (n, n_q)")
    postures = checked_closed(robot.mechanism, postures)
    errors = joint_errors or {}
    words = words_of(errors)
    model = redundant_model(robot.mechanism, kind.frames, words)
    values = np.zeros(len(model.terms))
    for name, value in errors.items():
        model.term(name)  # an unknown one is refused with the nearest
        values[model.numbers[name]] = value
    campaign = Dataset.unread(kind, postures, groups)
    problem = fit_problem(model, [campaign])
    drawn = problem.placed(_drawn(problem, rng, frames or {})).placed(frames or {})
    if not kind.implicit:
        campaign = _seen(drawn, campaign)
    if HYSTERESIS in words:
        campaign = replace(campaign, approach=in_order(campaign.q))
    problem = fit_problem(model, [campaign]).placed(drawn.labelled(drawn.frames))
    sigma = noise * kind.component_sigma()
    made = (_in_contact if kind.implicit else _read)(problem, values, campaign, sigma, rng)
    return made if HYSTERESIS in words else replace(made, approach=None)


def simulated_places(
    robot: RobotFunctions, kind: Measurement, q: np.ndarray, groups: Sequence[str], seed: int
) -> dict[str, np.ndarray]:
    """Return the poses (4, 4) of instruments and targets, by label, as `simulate_dataset` draws them: for several
    campaigns with one."""
    problem = fit_problem(redundant_model(robot.mechanism, kind.frames), [Dataset.unread(kind, q, groups)])
    return _drawn(problem, np.random.default_rng(seed), {})


def _drawn(
    problem: FitProblem, rng: np.random.Generator, placed: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Draw places that are not given: instruments about the robot, with random orientations, or where they see it;
    targets within its reach, at their distance from those that are `placed`."""
    part = problem.parts[0]
    T, _ = problem.poses(part, problem.nominal, part.q, compiled=False)
    away = {}
    if part.measurement.imagined_left(T, problem.model.scale) is None:
        seen_from = set(part.left.tolist())
        away = {
            unknown.label: transform(exp(rng.normal(size=3)), AWAY * random_direction(rng))
            for unknown in problem.unknowns
            if unknown.frame in seen_from and not unknown.given
        }
    drawn = problem.placed(imagined_frames(problem.placed(away), rng, placed))
    return {unknown.label: drawn.frames[unknown.frame] for unknown in problem.unknowns if not unknown.given}


def _seen(problem: FitProblem, campaign: Dataset) -> Dataset:
    """Return the postures in which everything can be seen."""
    seen = visible_postures(problem, 0)
    if not seen.any():
        raise ZvenoError(
            f"in none of {len(seen)} postures everything can be seen",
            element=campaign.measurement.kind,
            remedy="Give more postures, or the places of what sees and is seen in `frames`",
        )
    return campaign if seen.all() else campaign.only(seen)


def _read(
    problem: FitProblem, values: np.ndarray, campaign: Dataset, sigma: np.ndarray, rng: np.random.Generator
) -> Dataset:
    """Simulate the readings in every posture."""
    part, kind = problem.parts[0], campaign.measurement
    T, _ = problem.poses(part, values, campaign.q, compiled=False)
    P = problem.frames[part.left] @ T[part.posture] @ problem.frames[part.right]
    X, numbers = problem.frames[part.target], instrument_numbers(part, problem.frames)
    # Noise of readings that are numbers of their own is added, that of others displaces what they are read of.
    added = kind.linear or all(noise.unit == "px" for noise in kind.noises)
    y = kind.reading(P if added else _displaced(P, kind, sigma, rng), X, *numbers)
    if added:
        y = y + rng.normal(size=(len(P), kind.n_data)) * sigma
    return _unnamed(replace(campaign, y=y.reshape(len(campaign), kind.n_seen, kind.n_data)))


def _displaced(P: np.ndarray, kind: Measurement, sigma: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return poses (k, 4, 4) displaced in their own axes by the noise of a kind that reads them."""
    by_unit = {noise.unit: sigma[noise.rows.start] for noise in kind.noises}
    P = P.copy()
    P[:, :3, 3] += rng.normal(size=(len(P), 3)) * by_unit.get("m", 0.0)
    turns = rng.normal(size=(len(P), 3)) * by_unit.get("rad", 0.0)
    P[:, :3, :3] = P[:, :3, :3] @ np.array([exp(turn) for turn in turns])
    return P


def _in_contact(
    problem: FitProblem, values: np.ndarray, campaign: Dataset, sigma: np.ndarray, rng: np.random.Generator
) -> Dataset:
    """Return postures in which the robot touches, as its joints read them when the touch is off by the noise."""
    q, touching = into_contact(problem, 0, campaign.q, values=values)
    if not touching.any():
        raise ZvenoError(
            f"none of {len(q)} postures can be brought into contact",
            element=campaign.measurement.kind,
            remedy="Give postures near what is touched, and its place in `frames`",
        )
    part = replace(problem.parts[0], tau=holding_torques(problem.model, q))
    T, _ = problem.poses(part, values, q, compiled=False)
    _, by_T, *_ = problem.rows_of(part, T[part.posture], problem.frames)
    slope = by_T @ problem.by_joints(part, values, q)
    errors = rng.normal(size=(len(q), len(sigma), 1)) * sigma[:, None]
    turned = (np.linalg.pinv(slope) @ errors)[..., 0]
    moved = np.array([problem.model.mechanism.integrate(a, b) for a, b in zip(q, turned, strict=True)])
    return _unnamed(replace(campaign, q=moved, y=None).only(touching))  # type: ignore[arg-type]  (y is made by `prepared`)


def _unnamed(campaign: Dataset) -> Dataset:
    """Return the campaign as a user would give it: its rows count from one."""
    groups = campaign.groups if any(campaign.groups) else ()
    return replace(campaign, groups=groups, name="", lines=np.zeros(0, dtype=int))
