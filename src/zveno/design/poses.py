"""Where to measure so that the calibration is best: `plan_poses`, and `judge_poses` for a plan one already has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..calibration.measurements import Measurement
from ..errors import ZvenoError
from ..io.results import hash_of
from ..robot import Robot
from .candidates import Visibility
from .capsules import Clearance
from .criteria import CRITERIA, reduced
from .exchange import information, select
from .problem import Problem, problem
from .refine import Objective, refined
from .result import Plan
from .tour import short_tour, tour_length, travel_times

N_RANDOM = 25
"""Random plans a plan is compared with."""
DEFAULT_CLEARANCE = Clearance()


def plan_poses(
    robot: Robot,
    measurement: Measurement | str = "pose",
    n: int = 30,
    criterion: str = "D",
    *,
    have=None,
    candidates: int | np.ndarray = 5000,
    parameters: str | Sequence[str] = "all",
    strategy: str = "JL",
    joint_terms: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.0,
    box=None,
    visibility: Visibility | Sequence[Visibility] | None = None,
    clearance: Clearance | None = DEFAULT_CLEARANCE,
    repeats: bool = True,
    refine: bool = True,
    order: bool = True,
    start=None,
    workspace=None,
    seed: int = 0,
) -> Plan:
    """n postures whose measurements determine the robot's geometry best.

    Args:
        robot: the robot.
        measurement: what will be measured, or its name; its `sigma` sets the scale of the predictions.
        n: postures to plan, in addition to those in `have`.
        criterion: "D" (volume), "A" (mean variance), "E" (worst direction), "G" (worst tool position), "T" (trace:
            document 001's, accepts singular plans), or the observability indices "O1" … "O5".
        have: postures already measured, (n0, n_q), or their Campaign; the new ones complete them.
        candidates: how many random postures to choose from, or postures (N, n_q) of your own.
        parameters, strategy, joint_terms: what will be calibrated, as in `zveno.identifiability`.
        limits: ranges by joint name, where narrower than the robot's own.
        margin: share of every range kept free at both ends.
        box: ((x, y, z), (x, y, z)) the frame must stay in, m.
        visibility: instruments that must see the frame.
        clearance: how far links keep from each other and the floor; None: not looked at.
        repeats: whether a posture may be measured several times.
        refine: whether to move the chosen candidates to where the criterion is largest nearby.
        order: whether to sort the postures for a short tour.
        start: posture (n_q,) the tour begins from.
        workspace: postures (w, n_q) at which the tool's accuracy matters; random ones if None.
        seed: of the random candidates.
    """
    if criterion not in CRITERIA:
        from ..errors import unknown_name

        raise unknown_name("criterion", criterion, CRITERIA)
    if not isinstance(n, int | np.integer) or n < 1:
        raise ZvenoError(f"{n!r} postures cannot be planned", element="n", remedy="Give a positive whole number")
    task = problem(
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
        clearance=clearance,
        workspace=workspace,
        seed=seed,
    )
    task.refuse_too_few(n)
    found = select(task.J, int(n), task.criterion, prior=task.prior, interest=task.k, repeats=repeats)
    rng = np.random.default_rng(seed + 1)
    chance = [_value(task, rng.choice(len(task.J), n, replace=len(task.J) < n), int(n)) for _ in range(N_RANDOM)]
    values = {"random": float(np.median(chance)), **found.steps}
    q = task.q[found.members]
    groups = tuple(task.groups[k] for k in found.members) if task.groups else ()
    M = found.information
    if refine and not groups and robot.n_q == robot.n_v and found.value > 0 and not task.rows.measurement.implicit:
        objective = Objective(task.rows, task.criterion, task.prior)
        q = refined(objective, q, task.allowed.lower, task.allowed.upper, task.allowed)
        M = objective.information(q)
        values["refined"] = objective.value(q)
    return _plan(
        task, q, groups, M, values, found.efficiency, order, start, hash_of(robot.mechanism.fingerprint, q)
    )


def judge_poses(
    robot: Robot,
    measurement: Measurement | str,
    q,
    criterion: str = "D",
    *,
    have=None,
    parameters: str | Sequence[str] = "all",
    strategy: str = "JL",
    joint_terms: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    workspace=None,
    seed: int = 0,
) -> Plan:
    """The accuracy that given postures (n, n_q) will give, as a Plan; arguments as in `plan_poses`."""
    task = problem(
        robot,
        measurement,
        criterion_name=criterion,
        have=have,
        parameters=parameters,
        strategy=strategy,
        joint_terms=joint_terms,
        limits=limits,
        workspace=workspace,
        seed=seed,
        candidates=1000,
    )
    q = robot.mechanism.checked_q(np.atleast_2d(q))
    M = Objective(task.rows, task.criterion, task.prior).information(q)
    value = float(task.criterion.value(reduced(M, task.k), len(q)))
    return _plan(
        task, q, (), M, {"given": value}, float("nan"), False, None, hash_of(robot.mechanism.fingerprint, q)
    )


def _value(task: Problem, members, n: int) -> float:
    return float(task.criterion.value(reduced(task.prior + information(task.J, members), task.k), n))


def _plan(
    task: Problem, q, groups, M: np.ndarray, values: dict[str, float], efficiency: float, order: bool, start, inputs
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
    return Plan(
        robot.name,
        rows.measurement.kind,
        rows.frame,
        task.criterion.name,
        robot.mechanism.coordinate_names,
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
        task.notes,
    )


def _way(robot: Robot, q: np.ndarray, start) -> np.ndarray:
    if start is None:
        return short_tour(travel_times(robot, q))
    first = robot.mechanism.checked_q(start, "start")
    D = travel_times(robot, np.concatenate([first[None], q]))
    return short_tour(D, start=0)[1:] - 1
