"""Stages of a calibration, in order: each takes a state and returns the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .advice.diagnose import check_enough, check_reach, doubt, doubt_of_fit
from .fit.choosing import choose_parameters, chosen_parameters
from .fit.covariance_factor import FEW_PLACES, covariance_factor
from .fit.held_out import held_out
from .fit.outliers import named_outliers
from .fit.placing import assemble_rows, place_frames, refitted_frames
from .fit.spread import spread
from .fit.state import FitState, noted
from .fit.structure import sees_scale
from .fit.terms import fit_all_terms_or_none, note_loads
from .fit.tool_moved import find_moved_tool


def check_rows(state: FitState) -> FitState:
    """Raise an error for readings that no robot of this size can have given."""
    check_reach(state.problem)
    return state


def check_frames(state: FitState) -> FitState:
    """Note a large residual of the nominal robot, and the data error that would explain it."""
    return _doubted(state, doubt(state.problem, state.base))


def check_fit(state: FitState) -> FitState:
    """Note if the nominal robot without some data error explains the readings better than the calibrated one."""
    return state if state.doubt else _doubted(state, doubt_of_fit(state.problem, state.base, state.fit))


def _doubted(state: FitState, reason: str) -> FitState:
    return noted(replace(state, doubt=reason), reason)


def check_parameters(state: FitState) -> FitState:
    """Raise an error, or note it, if postures determine less than they should."""
    state = replace(state, geometry=state.structure)
    if not sees_scale(state.problem):
        state = noted(state, "no length is known: how large the robot is, and what it touches, is as drawn")
    return noted(state, check_enough(state.problem, state.structure, state.robot, chosen_parameters(state)))


def name_outliers(state: FitState) -> FitState:
    """Name the rows that the fit left out as outliers."""
    return replace(state, outliers=named_outliers(state.problem, state.fit, state.good))


def place_frames_again(state: FitState) -> FitState:
    """Fit the frames of the nominal robot to the rows that belong, to compare the calibrated one with."""
    return replace(state, clean_base=refitted_frames(state) if state.outliers else state.base)


def hold_out(state: FitState) -> FitState:
    """Compute residuals of every posture from a fit without it."""
    settings = state.settings
    unseen = held_out(state.problem, state.options, state.fit, settings.folds, settings.seed, settings.progress)
    return replace(state, unseen=unseen)


def fit_covariance_factor(state: FitState) -> FitState:
    """Compute the factor by which the covariance of predictions holds for held-out postures."""
    settings = state.settings
    factor, n_places = covariance_factor(
        state.problem, state.options, state.fit, state.unseen, settings.folds, settings.seed
    )
    note = f"{n_places} places cannot tell how large errors are at other places: covariances may be too small"
    return noted(replace(state, covariance_factor=factor), note if 0 < n_places <= FEW_PLACES else "")


STAGES: tuple[Callable[[FitState], FitState], ...] = (
    assemble_rows,
    check_rows,
    place_frames,
    check_frames,
    choose_parameters,
    check_parameters,
    fit_all_terms_or_none,
    find_moved_tool,
    note_loads,
    check_fit,
    name_outliers,
    place_frames_again,
    hold_out,
    fit_covariance_factor,
    spread,
)
