"""Where to measure so that the calibration is best: `plan_poses`, and `judge_poses` for a plan one already has."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.measurements import Measurement
from ..calibration.measurements import measurement as named_measurement
from ..clearance import Clearance
from ..errors import ZvenoError, unknown_name
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..io.results import hash_of
from ..mechanism.units import coordinate_units
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ..scale.fold import On, fold
from ..scale.pieces import stream
from .candidates import Visibility
from .criteria import CRITERIA, reduced
from .earlier import Earlier, measured_before
from .exchange import information, select
from .plan_problem import PlanProblem, plan_problem
from .refine import Objective, refined
from .result import Plan
from .tour import short_tour, tour_length, travel_times

MAX_POSTURES = 10_000
"""Plans of more postures are refused: they would take days, and nobody measures so many."""
N_RANDOM = 25
"""Random plans a plan is compared with."""
STEPS = 4
"""What a plan's progress counts: candidates, exchange, refinement, accuracy and order."""


@in_one_thread
def plan_poses(
    robot: RobotFunctions,
    measurement: Measurement | str = "pose",
    n: int = 30,
    criterion: str = "D",
    *,
    have: Earlier | None = None,
    candidates: int | np.ndarray = 5000,
    parameters: str | Sequence[str] = "all",
    strategy: str = "JL",
    joint_terms: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.0,
    box: ArrayLike | None = None,
    visibility: Visibility | Sequence[Visibility] | None = None,
    clearance: Clearance | str | None = "standard",
    places: int | None = None,
    repeats: bool = True,
    refine: bool = True,
    order: bool = True,
    start: ArrayLike | None = None,
    workspace: ArrayLike | None = None,
    rng: np.random.Generator | int | None = 0,
    starts: int = 1,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Plan:
    """n postures whose measurements determine the robot's geometry best.

    Args:
        robot: the robot.
        measurement: what will be measured, or its name; its `sigma` sets the scale of the predictions.
        n: postures to plan, in addition to those in `have`.
        criterion: "D" (volume), "A" (mean variance), "E" (worst direction), "G" (worst tool position), "T" (trace:
            document 001's, accepts singular plans), or the observability indices "O1" … "O5".
        have: postures already measured, (n0, n_q), their Campaign, a Plan, or a list of these; the new ones
            complete them. For contacts a Campaign or Plan says what was touched, and the new ones touch it too.
        candidates: how many random postures to choose from, or postures (N, n_q) of your own.
        parameters, strategy, joint_terms: what will be calibrated, as in `zveno.identifiability`. With "hysteresis"
            every posture is planned to be measured twice, from both sides.
        limits: ranges by joint name, where narrower than the robot's own.
        margin: share of every range kept free at both ends.
        box: ((x, y, z), (x, y, z)) the frame must stay in, m.
        visibility: instruments that must see the frame.
        clearance: how far links keep from each other and the floor: "standard" is `Clearance()`, None is no check.
        places: for measurements by contact, how many places that were not measured before are touched; six holes if
            None, or none if `have` has places.
        repeats: whether a posture may be measured several times.
        refine: whether to move the chosen candidates to where the criterion is largest nearby.
        order: whether to sort the postures for a short tour.
        start: posture (n_q,) the tour begins from.
        workspace: postures (w, n_q) at which the tool's accuracy matters; random ones if None.
        rng: generator or seed of the random candidates.
        starts: how often to plan, each time among other random candidates; the best plan is returned.
        on: workers that share the starts, as in `zveno.scale.fold`; this process if None.
        checkpoint: file that keeps the best plan so far; the same call goes on from there.
        progress: whether a bar is shown, or a function of (done, total): steps of a plan, or starts.
    """
    seed = seed_of(rng)
    if starts != 1 or on is not None or checkpoint is not None:
        options = {"have": have, "candidates": candidates, "parameters": parameters, "strategy": strategy}
        options |= {"joint_terms": joint_terms, "limits": limits, "margin": margin, "box": box}
        options |= {"visibility": visibility, "clearance": clearance, "places": places, "repeats": repeats}
        options |= {"refine": refine, "order": order, "start": start, "workspace": workspace}
        call = _Call(robot, (measurement, n, criterion), options, seed)
        where = "here" if on is None else on
        return fold(call, _checked_starts(starts, candidates), _better, where, checkpoint, progress)
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
            have=have,
            candidates=candidates,
            parameters=parameters,
            strategy=strategy,
            joint_terms=joint_terms,
            limits=limits,
            margin=margin,
            box=box,
            visibility=visibility,
            clearance=_clearance(clearance),
            places=places,
            workspace=workspace,
            seed=seed,
        )
        task.refuse_too_few(n)
        bar(1, STEPS)
        selection = select(
            task.J, int(n), task.criterion, prior=task.prior + task.weak, interest=task.k, repeats=repeats
        )
        bar(2, STEPS)
        chooser = np.random.default_rng(seed + 1)
        chance = [
            _value(task, chooser.choice(len(task.J), n, replace=len(task.J) < n), int(n)) for _ in range(N_RANDOM)
        ]
        values = {"random": float(np.median(chance)), **selection.steps}
        q = task.q[selection.members]
        groups = tuple(task.groups[k] for k in selection.members) if task.groups else ()
        M = task.prior + information(task.J, selection.members)
        if groups:
            values["exchange"] = _value(task, selection.members, int(n))
        if (
            refine
            and not groups
            and robot.n_q == robot.n_v
            and selection.value > 0
            and not task.rows.measurement.implicit
        ):
            objective = Objective(task.rows, task.criterion, task.prior)
            q = refined(objective, q, task.allowed.lower, task.allowed.upper, task.allowed)
            M = objective.information(q)
            values["refined"] = objective.value(q)
        bar(3, STEPS)
        return _plan(
            task, q, groups, M, values, selection.efficiency, order, start, hash_of(robot.mechanism.fingerprint, q)
        )


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of `plan_poses` but for its random numbers, as a value that travels to workers."""

    robot: RobotFunctions
    asked: tuple[Measurement | str, int, str]
    options: dict[str, Any]
    seed: int

    def __call__(self, number: int) -> Plan:
        """The plan of a start; the first is that of `plan_poses` without several."""
        seed = self.seed if number == 0 else int(stream(self.seed, number).integers(1 << 32))
        return plan_poses(self.robot, *self.asked, rng=seed, progress=False, **self.options)


def _better(first: Plan, second: Plan) -> Plan:
    return second if second.value > first.value else first


def _checked_starts(starts: int, candidates: int | np.ndarray) -> range:
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise ZvenoError(f"is {starts!r}", element="starts", remedy="Give a whole number from 1")
    if starts > 1 and not isinstance(candidates, int | np.integer):
        raise ZvenoError(
            "is for random candidates, and they are given", element="starts", remedy="Leave out one of them"
        )
    return range(int(starts))


def _clearance(clearance: Clearance | str | None) -> Clearance | None:
    if isinstance(clearance, str):
        if clearance != "standard":
            raise unknown_name("clearance", clearance, ("standard",))
        return Clearance()
    return clearance


@in_one_thread
def judge_poses(
    robot: RobotFunctions,
    measurement: Measurement | str,
    q: Earlier,
    criterion: str = "D",
    *,
    have: Earlier | None = None,
    parameters: str | Sequence[str] = "all",
    strategy: str = "JL",
    joint_terms: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    workspace: ArrayLike | None = None,
    rng: np.random.Generator | int | None = 0,
) -> Plan:
    """The accuracy that postures will give, as a Plan: (n, n_q), a Campaign or a Plan; for measurements by contact
    these say what is touched. Other arguments as in `plan_poses`."""
    kind = named_measurement(measurement)
    given, _ = measured_before(q, kind, robot.mechanism)
    before, _ = measured_before(have, kind, robot.mechanism)
    task = plan_problem(
        robot,
        kind,
        criterion_name=criterion,
        have=[before, given] if kind.implicit else before,
        parameters=parameters,
        strategy=strategy,
        joint_terms=joint_terms,
        limits=limits,
        workspace=workspace,
        seed=seed_of(rng),
        candidates=1000,
    )
    M = task.prior
    rows = task.rows.measured(given).reshape(-1, len(task.rows.names))
    if kind.implicit:  # what was touched decides what can be found, so both are known to the problem
        task = replace(task, have=before.q, prior=M - rows.T @ rows)
    else:
        M = M + rows.T @ rows
    value = float(task.criterion.value(reduced(M, task.k), len(given)))
    inputs = hash_of(robot.mechanism.fingerprint, given.q)
    return _plan(task, given.q, given.groups, M, {"given": value}, float("nan"), False, None, inputs)


def _value(task: PlanProblem, members: ArrayLike, n: int) -> float:
    return float(task.criterion.value(reduced(task.prior + information(task.J, members), task.k), n))


def _plan(
    task: PlanProblem,
    q: np.ndarray,
    groups: tuple[str, ...],
    M: np.ndarray,
    values: dict[str, float],
    efficiency: float,
    order: bool,
    start: ArrayLike | None,
    inputs: str,
) -> Plan:
    rows, robot, k = task.rows, task.rows.robot, task.k
    C, std = task.covariance(M)
    scales = rows.scales[:k]
    value = list(values.values())[-1]
    before = None
    if len(task.have):
        before = scales * task.covariance(task.prior)[1]
    way = _way(robot, q, start) if order else np.arange(len(q))
    D = travel_times(robot, q)
    finite = bool(np.isfinite(std).all())
    used = {group for group in groups if group}
    touched = [label for label in rows.placed if not used or label.partition(":")[2] in used]
    imagined = [label for label in touched if label in rows.new_places]
    notes = task.notes
    if imagined:
        notes += (f"{', '.join(imagined)}: imagined; put what is touched about where the plan says",)
    return Plan(
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
    first = robot.mechanism.checked_q(start, "start")
    D = travel_times(robot, np.concatenate([first[None], q]))
    return short_tour(D, start=0)[1:] - 1
