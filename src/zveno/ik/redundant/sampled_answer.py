"""Redundant chains: a sample of their solutions, by slices of one joint or from random seeds."""

from __future__ import annotations

import importlib
from functools import partial

import numpy as np

from ...errors import ZvenoError
from ...progress import Progress
from .._local import solve_local
from .._rows import Draft, empty_draft
from ..answer import concluded
from ..ik_problem import IkProblem
from ..solutions import SAMPLED, SelfMotion, Solutions
from ..targets import Targets
from .sliced_joint import DEFAULT_SLICES, SLICING_METHODS, sliced_joint, solver_of_slices
from .slices import free_dimension, linked, slice_values

BETWEEN = 40
"""Random starts between the slices of a pose for which no slice holds a solution."""
PARTS_BETWEEN = "parts of continua between the slices are not listed"


def sampled_answer(
    problem: IkProblem,
    targets: Targets,
    slices: int | None,
    redundant: str | None,
    method: str,
    inputs: str,
    progress: Progress = None,
) -> Solutions:
    """Sample the solutions of a redundant chain. A sample that is empty proves nothing.

    With seven revolute joints and no number of slices, every self-motion is followed to its ends instead.
    """
    if method not in SLICING_METHODS:
        raise ZvenoError(
            f"method {method!r} is not for {problem.n} coordinates and {problem.task.n_rows} equations",
            element="method",
            remedy='Use "auto" or "scan"',
        )
    if slices is None and method == "auto" and problem.kinds == "RRRRRRR":
        choice = importlib.import_module("zveno.ik.redundant.self_motion.choice")
        joint = choice.self_motion_joint(problem, redundant)
        if joint is not None:
            motions = importlib.import_module("zveno.ik.redundant.self_motion.answer")
            # A joint that the user names is the one that is sliced.
            others = partial(choice.other_joints, problem, joint.coordinate) if redundant is None else tuple
            return motions.self_motion_answer(problem, targets, joint, inputs, progress, others)
    if problem.redundancy == 1:
        draft = _curves(problem, targets, slices, redundant, method)
    else:
        if redundant is not None:
            raise ZvenoError(
                f"needs one joint too many, and this chain has {problem.redundancy}",
                element="redundant_joint",
                remedy="Leave it out: such chains are solved from random seeds",
            )
        draft = _points(problem, targets, DEFAULT_SLICES if slices is None else slices)
    missing = np.flatnonzero(draft.count == 0)
    if len(missing):
        # Between the slices there may still be solutions.
        x, good, _ = solve_local(problem, targets.T[missing], attempts=BETWEEN)
        draft.add(missing[good], x[good] / problem.units)
    draft.codes[list(draft.self_motions)] = SAMPLED
    return concluded(draft, None, inputs)


def _curves(problem: IkProblem, targets: Targets, slices: int | None, redundant, method: str) -> Draft:
    """Join slices of one coordinate to curves."""
    T, lanes = targets.T, targets.lanes
    coordinate, usual = sliced_joint(problem, redundant)
    slices = usual if slices is None else slices
    values = slice_values(problem, coordinate, slices)
    solver, solve_slices = solver_of_slices(problem, coordinate, method)
    sliced = solve_slices(problem, T, coordinate, values)
    name = f"{solver}, {slices} slices of {_names(problem)[coordinate]}"
    draft = empty_draft(problem, targets, name)
    draft.add(sliced.pose, sliced.x)
    dimension = free_dimension(problem, lanes, draft.pose, draft.rows)
    around = bool(np.isinf(problem.upper[coordinate] - problem.lower[coordinate]))
    q = problem.to_q(problem.from_units(sliced.x))
    for i, curves in linked(problem, sliced, slices, around).items():
        draft.self_motions[i] = tuple(SelfMotion(dimension, q[rows], closed) for rows, closed in curves)
        draft.notes[i] = PARTS_BETWEEN
    return draft


def _points(problem: IkProblem, targets: Targets, slices: int) -> Draft:
    """Find solutions by Newton from random seeds."""
    draft = empty_draft(problem, targets, "local, sampled")
    pose = np.repeat(np.arange(len(targets.T)), slices)
    x, good, _ = solve_local(problem, targets.T[pose], attempts=4)
    draft.add(pose[good], x[good] / problem.units)
    draft.keep_distinct()
    dimension = free_dimension(problem, targets.lanes, draft.pose, draft.rows)
    for i in _occurring(draft.pose):
        q = problem.to_q(draft.x[draft.pose == i] * problem.units)
        draft.self_motions[int(i)] = (SelfMotion(dimension, q),)
        draft.notes[int(i)] = "a random sample, other continua are not listed"
    return draft


def _occurring(poses: np.ndarray) -> np.ndarray:
    """Return the numbers that occur, each once; `numpy.unique` would first import masked arrays, for 30 ms."""
    return np.flatnonzero(np.bincount(poses))


def _names(problem: IkProblem) -> list[str]:
    names = [""] * problem.n
    for step in problem.steps:
        names[step.coordinate] = step.joint
    return names
