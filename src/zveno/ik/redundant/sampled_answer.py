"""Redundant chains: a sample of their continua, by slices over as many coordinates as are redundant."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial

import numpy as np

from ...errors import ZvenoError
from ...progress import Progress
from ..answer import concluded
from ..checks.draft import Draft, empty_draft
from ..ik_problem import IkProblem
from ..local import solve_local
from ..objectives import Aim
from ..solutions import SAMPLED, Family, Solutions
from ..targets import Targets
from .grid_slices import redundant_coordinates, regular, sheets_of, slice_grid, solve_sheets, values_each
from .sliced_joint import DEFAULT_SLICES, SLICING_METHODS, sliced_joint, solver_of_slices
from .slices import free_dimension, linked, slice_values

BETWEEN = 40
"""Random starts between the slices of a pose for which no slice holds a solution."""
PARTS_BETWEEN = "parts of continua between the slices are not listed"


def sampled_answer(
    problem: IkProblem,
    targets: Targets,
    slices: int | None,
    redundant: str | Sequence[str] | None,
    method: str,
    aim: Aim,
    inputs: str,
    progress: Progress = None,
) -> Solutions:
    """A sample of a redundant chain's continua. Slices can miss, so where nothing is found nothing is proved.

    Of seven revolute joints, without a number of slices, every continuum is followed to its ends instead.
    """
    if method not in SLICING_METHODS:
        raise ZvenoError(
            f"method {method!r} is not for {problem.n} coordinates and {problem.task.n_rows} equations",
            element="method",
            remedy='Use "auto", "scan" or "local"',
        )
    if slices is None and method == "auto" and problem.kinds == "RRRRRRR":
        choice = importlib.import_module("zveno.ik.redundant.self_motion.choice")
        joint = choice.self_motion_joint(problem, redundant)
        if joint is not None:
            motions = importlib.import_module("zveno.ik.redundant.self_motion.answer")
            # A joint that the user names is the one that is sliced.
            others = partial(choice.other_joints, problem, joint.coordinate) if redundant is None else tuple
            return motions.self_motion_answer(problem, targets, joint, aim, inputs, progress, others)
    if problem.redundancy == 1:
        draft = _curves(problem, targets, slices, redundant, method, aim)
    else:
        slices = DEFAULT_SLICES if slices is None else slices
        draft = _sheets(problem, targets, slices, redundant, aim) or _points(problem, targets, slices, aim)
    missing = np.flatnonzero(draft.count == 0)
    if len(missing):
        # Between the slices there may still be solutions.
        x, good, _ = solve_local(problem, targets.T[missing], attempts=BETWEEN)
        draft.add(missing[good], x[good] / problem.units)
    draft.codes[list(draft.families)] = SAMPLED
    return concluded(draft, None, inputs)


def _curves(problem: IkProblem, targets: Targets, slices: int | None, redundant, method: str, aim: Aim) -> Draft:
    """Slices of one coordinate, joined to curves."""
    T, lanes = targets.T, targets.lanes
    coordinate, usual = sliced_joint(problem, redundant)
    slices = usual if slices is None else slices
    values = slice_values(problem, coordinate, slices)
    solver, solve_slices = solver_of_slices(problem, coordinate, method)
    sliced = solve_slices(problem, T, coordinate, values)
    name = f"{solver}, {slices} slices of {_names(problem)[coordinate]}"
    draft = empty_draft(problem, targets, name, aim)
    draft.add(sliced.pose, sliced.x)
    dimension = free_dimension(problem, lanes, sliced.pose, sliced.x)
    around = bool(np.isinf(problem.upper[coordinate] - problem.lower[coordinate]))
    for i in _occurring(sliced.pose):
        curves = linked(problem, sliced, int(i), slices, around)
        draft.families[int(i)] = tuple(
            Family(dimension, problem.to_q(sliced.x[rows] * problem.units), closed) for rows, closed in curves
        )
        draft.notes[int(i)] = PARTS_BETWEEN
    return draft


def _sheets(problem: IkProblem, targets: Targets, slices: int, redundant, aim: Aim) -> Draft | None:
    """Slices over a grid of all redundant coordinates; None if too few are wanted, or they would not be points."""
    each = values_each(problem, slices)
    if each < 2 or not regular(problem):
        return None
    coordinates = redundant_coordinates(problem, redundant)
    grid = slice_grid(problem, coordinates, each)
    sheets = solve_sheets(problem, targets.T, coordinates, grid)
    names = _names(problem)
    size = " × ".join(map(str, grid.counts))
    draft = empty_draft(problem, targets, f"scan, {size} slices of {', '.join(names[k] for k in coordinates)}", aim)
    draft.density = np.full(len(targets.T), sheets.density)
    draft.add(sheets.pose, sheets.x)
    dimension = free_dimension(problem, targets.lanes, sheets.pose, sheets.x)
    for i in _occurring(sheets.pose):
        members = sheets_of(problem, sheets, int(i))
        draft.families[int(i)] = tuple(
            Family(dimension, problem.to_q(sheets.x[sheet] * problem.units)) for sheet in members
        )
        more = f"{sheets.unstable[i]} of {grid.size} slices may hold more, " if sheets.unstable[i] else ""
        draft.notes[int(i)] = more + PARTS_BETWEEN
    return draft


def _points(problem: IkProblem, targets: Targets, slices: int, aim: Aim) -> Draft:
    """Local solutions from random starts."""
    draft = empty_draft(problem, targets, "local, sampled", aim)
    pose = np.repeat(np.arange(len(targets.T)), slices)
    x, good, _ = solve_local(problem, targets.T[pose], attempts=4)
    draft.add(pose[good], x[good] / problem.units)
    draft.keep_distinct()
    dimension = free_dimension(problem, targets.lanes, draft.pose, draft.x)
    for i in _occurring(draft.pose):
        q = problem.to_q(draft.x[draft.pose == i] * problem.units)
        draft.families[int(i)] = (Family(dimension, q),)
        draft.notes[int(i)] = "a random sample, other continua are not listed"
    return draft


def _occurring(poses: np.ndarray) -> np.ndarray:
    """The numbers that occur, each once; `numpy.unique` would first import masked arrays, for 30 ms."""
    return np.flatnonzero(np.bincount(poses))


def _names(problem: IkProblem) -> list[str]:
    names = [""] * problem.n
    for step in problem.steps:
        names[step.coordinate] = step.joint
    return names
