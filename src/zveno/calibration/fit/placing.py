"""Stages of a fit: its rows, and the frames of the nominal robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..measurements.assembly import fit_problem
from ..measurements.fit_problem import FitProblem
from ..model.models import redundant_model
from .choosing import fit_options
from .initial import first_frames
from .outliers import wild_rows
from .solve import Solution, solve
from .state import FitState
from .structure import frame_columns
from .weighting import FitOptions


def assemble_rows(state: FitState) -> FitState:
    """Assemble the rows of all campaigns, with a model that has the joint terms of the state.

    The next fit starts from the result of a fit with other terms.
    """
    mechanism = state.robot.mechanism
    frames = list(dict.fromkeys(frame for campaign in state.campaigns for frame in campaign.measurement.frames))
    model = redundant_model(mechanism, frames, state.joint_terms, state.loads)
    problem = fit_problem(model, state.campaigns)
    if state.base is None:
        return replace(state, problem=problem)
    base = _renumbered(state.base, state.problem, problem)
    near = None if state.fit is None else _renumbered(state.fit, state.problem, problem)
    return replace(state, problem=problem.placed(base.frames), base=base, near=near)


def place_frames(state: FitState) -> FitState:
    """Fit the frames of the nominal robot."""
    problem = state.problem.placed(first_frames(state.problem, state.problem.nominal))
    residual, _ = problem.evaluate(problem.nominal, problem.frames, ())
    use = problem.by_row(~wild_rows(problem, residual), True)
    base = solve(problem, _frame_options(problem), problem.nominal, problem.frames, use)
    return replace(state, problem=problem.placed(base.frames), base=base)


def refitted_frames(state: FitState) -> Solution:
    """Fit the frames of the nominal robot to the rows that belong to the fit."""
    problem = state.problem
    use = problem.by_row(state.good, True)
    return solve(problem, _frame_options(problem), problem.nominal, state.base.frames, use)


def _frame_options(problem: FitProblem) -> FitOptions:
    return fit_options(problem, frame_columns(problem), "none", None)


def _renumbered(solution: Solution, old: FitProblem, new: FitProblem) -> Solution:
    """Move the parameters of a solution to their places in a model with other terms."""
    values = np.zeros(len(new.model.terms))
    kept = [name for name in old.model.names if name in new.model.numbers]
    values[[new.model.numbers[name] for name in kept]] = solution.values[[old.model.numbers[name] for name in kept]]
    return replace(solution, values=values)
