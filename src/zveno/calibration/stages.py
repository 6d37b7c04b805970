"""The stages of a calibration, in their order: each takes a state and gives the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .advice.diagnose import check_enough, check_reach, doubt
from .advice.next_measurement import advise
from .fit.choosing import choose_parameters, chosen_parameters
from .fit.estimating import fit_noise, fit_prior_scales
from .fit.evidence import lacking
from .fit.held_out import held_out
from .fit.outliers import named_outliers
from .fit.placing import assemble_rows, place_frames, refitted_frames
from .fit.state import FitState
from .model.loads import DENSITY, has_masses


def check_rows(state: FitState) -> FitState:
    """Refuse readings that no robot of this size can have given."""
    check_reach(state.problem)
    return state


def check_frames(state: FitState) -> FitState:
    """Say so where the nominal robot misses the readings by far, and which mistake would explain it."""
    return _noted(state, doubt(state.problem, state.base))


def check_parameters(state: FitState) -> FitState:
    """Refuse postures that determine less than they should, or say so."""
    return _noted(state, check_enough(state.problem, state.structure, state.robot, chosen_parameters(state)))


def fit_joint_terms(state: FitState) -> FitState:
    """Joint terms for which the data are strong evidence, one round of the fit after the other."""
    state = _with_lacks(replace(state, geometry=state.structure, evidence={}))
    while state.lacks and state.settings.find_joint_terms:
        evidence = {**state.evidence, **{lack.word: lack.evidence for lack in state.lacks}}
        state = replace(state, evidence=evidence, joint_terms=(*state.settings.joint_terms, *evidence))
        for stage in NEXT_ROUND:
            state = stage(state)
        state = _with_lacks(state)
    if "compliance" in state.joint_terms and not has_masses(state.robot.mechanism):
        return _noted(state, f"{state.robot.name} has no masses: its links were taken for rods of {DENSITY:g} kg/m")
    return state


def name_outliers(state: FitState) -> FitState:
    """Rows that the fit left out because they do not belong."""
    return replace(state, outliers=named_outliers(state.problem, state.fit, state.good))


def place_frames_again(state: FitState) -> FitState:
    """The nominal robot with its frames fitted to the rows that belong, to compare the calibrated one with."""
    return replace(state, clean_base=refitted_frames(state) if state.outliers else state.base)


def hold_out(state: FitState) -> FitState:
    """Residuals of every posture from a fit without it."""
    settings = state.settings
    unseen = held_out(state.problem, state.options, state.fit, settings.folds, settings.seed, settings.progress)
    return replace(state, unseen=unseen)


def add_advice(state: FitState) -> FitState:
    """What to measure next."""
    return replace(state, advice=advise(state))


NEXT_ROUND: tuple[Callable[[FitState], FitState], ...] = (
    assemble_rows,
    choose_parameters,
    fit_noise,
    fit_prior_scales,
)
"""A fit with more joint terms, which has its frames from the round before."""
STAGES: tuple[Callable[[FitState], FitState], ...] = (
    assemble_rows,
    check_rows,
    place_frames,
    check_frames,
    choose_parameters,
    check_parameters,
    fit_noise,
    fit_prior_scales,
    fit_joint_terms,
    name_outliers,
    place_frames_again,
    hold_out,
    add_advice,
)


def _noted(state: FitState, note: str) -> FitState:
    return replace(state, notes=(*state.notes, note)) if note else state


def _with_lacks(state: FitState) -> FitState:
    return replace(state, lacks=tuple(lacking(state.problem, state.options, state.fit, state.joint_terms)))
