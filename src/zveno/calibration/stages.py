"""The stages of a calibration, in their order: each takes a state and gives the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .advice.diagnose import check_enough, check_reach, doubt
from .advice.next_measurement import advise
from .fit.change_points import change_point
from .fit.choosing import choose_parameters, chosen_parameters
from .fit.estimating import fit_noise, fit_prior_scales
from .fit.events import event_of, with_event
from .fit.evidence import HIDDEN, lacking
from .fit.held_out import held_out
from .fit.outliers import named_outliers
from .fit.placing import assemble_rows, place_frames, refitted_frames
from .fit.state import FitState
from .fit.weighting import row_sigma
from .model.joint_terms import IN_WORDS
from .model.loads import DENSITY, has_masses

MOST_EVENTS = 3
"""Events that are looked for in one calibration."""
FOLDS = 10
"""Parts into which postures are dealt to choose joint terms, where no held-out errors are asked for."""
FAR_FROM_NOMINAL = (
    "parameters that the nominal geometry hides can be found, so far from it is the robot; they were fitted"
)


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
    state = _with_joint_terms(_with_lacks(replace(state, geometry=state.structure, evidence={})))
    if "compliance" in state.joint_terms and not has_masses(state.robot.mechanism):
        return _noted(state, f"{state.robot.name} has no masses: its links were taken for rods of {DENSITY:g} kg/m")
    return state


def _with_joint_terms(state: FitState) -> FitState:
    """Rounds of the fit until nothing is lacking."""
    while state.lacks and (_reveals(state) or state.settings.find_joint_terms):
        if _reveals(state):
            state = _next_round(_noted(replace(state, revealed=True), FAR_FROM_NOMINAL))
            continue
        before = state
        # All that are lacking, or else the one that is lacking most, if postures not used are predicted better.
        for lacks in dict.fromkeys((before.lacks, before.lacks[:1])):
            evidence = {**before.evidence, **{lack.word: lack.evidence for lack in lacks}}
            joint_terms = (*before.settings.joint_terms, *evidence)
            state = _next_round(replace(before, evidence=evidence, joint_terms=joint_terms))
            if _predicts_better(state, before):
                break
        else:
            words = " and ".join(IN_WORDS[lack.word] for lack in before.lacks)
            note = f"the data look like {words}, but with these terms held-out postures are predicted no better"
            return _noted(before, note)
    return state


def find_events(state: FitState) -> FitState:
    """What moved during the campaigns; fitted too if that was asked for."""
    if state.settings.events == "ignored" or state.settings.linear:
        return state
    fitted = state.settings.events == "fit"
    for _ in range(MOST_EVENTS):
        change = change_point(state.problem, state.options, state.fit)
        if change is None:
            return state
        event = event_of(state.problem, change, fitted)
        if not fitted:
            return replace(state, events=(event,))
        state = replace(with_event(state, change), events=(*state.events, event))
        # Terms may have been fitted to what moved: begin without them.
        joint_terms = state.settings.joint_terms
        state = replace(state, joint_terms=joint_terms, evidence={}, options=replace(state.options, components=()))
        state = _with_joint_terms(_next_round(state))
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
    find_events,
    name_outliers,
    place_frames_again,
    hold_out,
    add_advice,
)


def _noted(state: FitState, note: str) -> FitState:
    return replace(state, notes=(*state.notes, note)) if note else state


def _next_round(state: FitState) -> FitState:
    """A fit with more parameters, and what is lacking then."""
    for stage in NEXT_ROUND:
        state = stage(state)
    return _with_lacks(state)


def _predicts_better(state: FitState, before: FitState) -> bool:
    """Whether a fit predicts postures that it has not seen better than the one before: rows both take for good."""
    folds, seed = state.settings.folds or FOLDS, state.settings.seed
    good = state.problem.by_row(state.good & before.good, False)
    sigma = row_sigma(before.problem, before.options, before.fit.sigma)
    new, old = (held_out(one.problem, one.options, one.fit, folds, seed) for one in (state, before))
    seen = good & np.isfinite(new) & np.isfinite(old)
    return bool(np.sum((new / sigma)[seen] ** 2) <= np.sum((old / sigma)[seen] ** 2))


def _reveals(state: FitState) -> bool:
    """Whether the data show parameters that the nominal geometry hides."""
    return any(lack.word == HIDDEN for lack in state.lacks)


def _with_lacks(state: FitState) -> FitState:
    hidden: list[int] = []
    # Contacts with residuals make more look visible than is: their structure is decided where they touch.
    read = not any(part.measurement.implicit for part in state.problem.parts)
    if read and not state.revealed and not state.settings.linear and chosen_parameters(state) == "all":
        hidden = sorted(set(range(len(state.problem.model.terms))) - set(state.options.columns))
    lacks = lacking(state.problem, state.options, state.fit, state.joint_terms, hidden)
    return replace(state, lacks=tuple(lacks))
