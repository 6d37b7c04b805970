"""The stages of a calibration, in their order: each takes a state and gives the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..mechanism.plausibility import impossible_loads
from .advice.diagnose import check_enough, check_reach, doubt
from .advice.next_measurement import advise
from .fit.choosing import choose_parameters, chosen_parameters
from .fit.estimating import fit_noise, fit_prior_scales
from .fit.held_out import held_out
from .fit.outliers import named_outliers
from .fit.placing import assemble_rows, place_frames, refitted_frames
from .fit.state import FitState
from .model.loads import DENSITY, RODS, has_masses
from .rounds import find_events, noted, with_joint_terms


def check_rows(state: FitState) -> FitState:
    """Refuse readings that no robot of this size can have given."""
    check_reach(state.problem)
    return state


def check_frames(state: FitState) -> FitState:
    """Say so where the nominal robot misses the readings by far, and which mistake would explain it."""
    return noted(state, doubt(state.problem, state.base))


def check_parameters(state: FitState) -> FitState:
    """Refuse postures that determine less than they should, or say so."""
    return noted(state, check_enough(state.problem, state.structure, state.robot, chosen_parameters(state)))


def fit_joint_terms(state: FitState) -> FitState:
    """Joint terms for which the data are strong evidence, one round of the fit after the other."""
    state = with_joint_terms(replace(state, geometry=state.structure))
    mechanism, name = state.robot.mechanism, state.robot.name
    impossible = [f"{link} ({what})" for link, what in impossible_loads(mechanism).items()]
    if impossible:
        state = noted(state, f"masses that cannot be were not used: {', '.join(impossible[:8])}")
    if "compliance" not in state.joint_terms:
        return state
    if not has_masses(mechanism):
        return noted(state, f"{name} has no masses: its links were taken for rods of {DENSITY:g} kg/m")
    if state.loads == RODS:
        rods = f"rods of {DENSITY:g} kg/m"
        return noted(state, f"joints yield as if links were {rods}, and not as with the masses of {name}")
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
    if settings.folds and state.unseen is not None:  # from the choice of joint terms
        return state
    unseen = held_out(state.problem, state.options, state.fit, settings.folds, settings.seed, settings.progress)
    return replace(state, unseen=unseen)


def add_advice(state: FitState) -> FitState:
    """What to measure next."""
    return replace(state, advice=advise(state))


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
    find_events,
    name_outliers,
    place_frames_again,
    hold_out,
    add_advice,
)
