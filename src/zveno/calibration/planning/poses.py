"""`plan_poses` chooses postures for the best calibration; `evaluate_poses` rates an existing plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...errors import ZvenoError, unknown_name
from ...fit.rng import seed_of
from ...fit.threads import in_one_thread
from ...io.results import hash_of
from ...mechanism.loops import for_trees
from ...mechanism.units import coordinate_units
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from ..measurements import Measurement
from ..measurements import measurement as named_measurement
from ..models import CalibrationModel
from ._criteria import CRITERIA, CriterionName, reduced
from ._exchange import information, select
from ._problem import Earlier, PlanProblem, measured_before, plan_problem
from ._refine import Objective, refined
from ._tour import short_tour, tour_length, travel_times
from .candidates import Visibility
from .result import MeasurementPlan

MAX_POSTURES = 10_000
"""Maximum number of postures of a plan: more would take days to plan."""
N_RANDOM = 25
"""Number of random plans that a plan is compared with."""
STEPS = 4
"""Number of progress steps: candidates, exchange, refinement, accuracy and order."""


@for_trees
@in_one_thread
def plan_poses(
    robot: RobotFunctions,
    measurement: Measurement | str = "pose",
    n: int = 30,
    *,
    existing: Earlier | None = None,
    model: CalibrationModel = CalibrationModel(),  # noqa: B008  (frozen)
    criterion: CriterionName = "D",
    candidates: int | np.ndarray = 5000,
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.01,
    box: ArrayLike | None = None,
    visibility: Visibility | Sequence[Visibility] | None = None,
    clearance: Clearance | None = Clearance(),  # noqa: B008  (frozen)
    q0: ArrayLike | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> MeasurementPlan:
    """Plan n postures whose measurements determine the robot's geometry best.

    Args:
        robot: the robot.
        measurement: kind of measurement, or its name; its `sigma` sets the scale of the predictions.
        n: postures to plan, in addition to those in `existing`.
        existing: postures already measured, (n0, n_q), their Dataset, a Plan, or a list of these; the new ones
            complete them. For contacts a Dataset or Plan names the touched targets, which new ones touch too.
        model: parameters that will be calibrated. With "hysteresis" every posture is planned to be measured twice,
            from both sides.
        criterion: "D" (volume), "A" (mean variance), "E" (worst direction), "G" (worst tool position).
        candidates: number of random postures to choose from, or postures (N, n_q) of your own.
        limits: ranges by joint name, where narrower than the robot's own.
        margin: share of every range kept free at both ends, away from the joint stops.
        box: ((x, y, z), (x, y, z)) the frame must stay in, m.
        visibility: instruments that must see the frame.
        clearance: distance of links from each other and the floor; None disables it.
        q0: posture (n_q,) the tour begins from.
        rng: generator or seed of the random candidates.
        progress: whether a bar is shown, or a function of (done, total) steps.
    """
    seed = seed_of(rng)
    if criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)
    if not isinstance(n, int | np.integer) or n < 1:
        raise ZvenoError(f"{n!r} postures cannot be planned", element="n", remedy="Give a positive whole number")
    if n > MAX_POSTURES:
        raise ZvenoError(
            f"{n} postures are more than can be planned", element="n", remedy=f"Give at most {MAX_POSTURES}"
        )
    with ProgressBar("planning", progress) as bar:
        task = plan_problem(
            robot,
            measurement,
            criterion_name=criterion,
            have=existing,
            candidates=candidates,
            model=model,
            limits=limits,
            margin=margin,
            box=box,
            visibility=visibility,
            clearance=clearance,
            seed=seed,
        )
        task.refuse_too_few(n)
        bar(1, STEPS)
        selection = select(task.J, int(n), task.criterion, prior=task.prior + task.weak, interest=task.k)
        bar(2, STEPS)
        chooser = np.random.default_rng(seed + 1)
        chance = [_value(task, chooser.choice(len(task.J), n, replace=len(task.J) < n)) for _ in range(N_RANDOM)]
        values = {"random": float(np.median(chance)), **selection.steps}
        q = task.q[selection.members]
        groups = tuple(task.groups[k] for k in selection.members) if task.groups else ()
        M = task.prior + information(task.J, selection.members)
        if groups:
            values["exchange"] = _value(task, selection.members)
        if not groups and robot.n_q == robot.n_v and selection.value > 0 and not task.rows.measurement.implicit:
            objective = Objective(task.rows, task.criterion, task.prior)
            allowed, rows = task.allowed, task.rows
            q = refined(objective, q, allowed.lower, allowed.upper, lambda q: allowed(q) & rows.visible(q))
            M = objective.information(q)
            values["refined"] = objective.value(q)
        bar(3, STEPS)
        inputs = hash_of(robot.mechanism.fingerprint, q)
        return _plan(task, q, groups, M, values, selection.efficiency, _way(robot, q, q0), inputs)


@for_trees
@in_one_thread
def evaluate_poses(
    robot: RobotFunctions,
    measurement: Measurement | str,
    q: Earlier,
    *,
    existing: Earlier | None = None,
    model: CalibrationModel = CalibrationModel(),  # noqa: B008  (frozen)
    criterion: CriterionName = "D",
    limits: Mapping[str, tuple[float, float]] | None = None,
    rng: np.random.Generator | int | None = 0,
) -> MeasurementPlan:
    """Predict the accuracy that postures will give, as a Plan: (n, n_q), a Dataset or a Plan; for measurements by
    contact these name the targets. Other arguments as in `plan_poses`."""
    kind = named_measurement(measurement)
    given, _ = measured_before(q, kind, robot.mechanism)
    before, _ = measured_before(existing, kind, robot.mechanism)
    task = plan_problem(
        robot,
        kind,
        criterion_name=criterion,
        have=[before, given] if kind.implicit else before,
        model=model,
        limits=limits,
        seed=seed_of(rng),
        candidates=1000,
    )
    M = task.prior
    rows = task.rows.measured(given).reshape(-1, len(task.rows.names))
    if kind.implicit:  # what was touched decides what can be found, so both are known to the problem
        task = replace(task, have=before.q, prior=M - rows.T @ rows)
    else:
        M = M + rows.T @ rows
    value = float(task.criterion.value(reduced(M, task.k)))
    inputs = hash_of(robot.mechanism.fingerprint, given.q)
    return _plan(task, given.q, given.groups, M, {"given": value}, float("nan"), np.arange(len(given)), inputs)


def _value(task: PlanProblem, members: ArrayLike) -> float:
    return float(task.criterion.value(reduced(task.prior + information(task.J, members), task.k)))


def _plan(
    task: PlanProblem,
    q: np.ndarray,
    groups: tuple[str, ...],
    M: np.ndarray,
    values: dict[str, float],
    efficiency: float,
    way: np.ndarray,
    inputs: str,
) -> MeasurementPlan:
    rows, robot, k = task.rows, task.rows.robot, task.k
    C, std = task.covariance(M)
    scales = rows.scales[:k]
    value = list(values.values())[-1]
    before = None
    if len(task.have):
        before = scales * task.covariance(task.prior)[1]
    D = travel_times(robot, q)
    finite = bool(np.isfinite(std).all())
    used = {group for group in groups if group}
    touched = [label for label in rows.placed if not used or label.partition(":")[2] in used]
    imagined = [label for label in touched if label in rows.new_places]
    notes = task.notes
    if imagined:
        notes += (f"{', '.join(imagined)}: imagined; put what is touched about where the plan says",)
    return MeasurementPlan(
        robot.name,
        rows.measurement.kind,
        rows.frame,
        task.criterion.name,
        robot.mechanism.coordinate_names,
        coordinate_units(robot.mechanism),
        q[way],
        tuple(groups[i] for i in way) if groups else (),
        len(task.have),
        rows.names[:k],
        rows.units[:k],
        scales * std,
        before,
        C * np.outer(scales, scales),
        rows.names[int(np.argmax(std))],
        task.tool_positions,
        task.tool_sigma(C) if finite else np.full(len(task.F), np.inf),
        value,
        values,
        efficiency,
        value / values["random"] if values.get("random", 0.0) > 0 else float("nan"),
        len(task.q),
        tour_length(D, way),
        tour_length(D, np.arange(len(q))),
        inputs,
        notes,
        tuple(touched),
        np.array([rows.placed[label] for label in touched]).reshape(-1, 4, 4),
        robot.mechanism,
        rows.both_sides,
    )


def _way(robot: RobotFunctions, q: np.ndarray, start: ArrayLike | None) -> np.ndarray:
    if start is None:
        return short_tour(travel_times(robot, q))
    first = robot.mechanism.checked_q(start, "q0")
    D = travel_times(robot, np.concatenate([first[None], q]))
    return short_tour(D, start=0)[1:] - 1
