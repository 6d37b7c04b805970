"""Rounds of a fit: with joint terms, hidden parameters and events that the data show, until nothing is lacking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import ZvenoError
from .fit.change_points import MOST_CHANGES, Change, changes
from .fit.choosing import choose_parameters, chosen_parameters
from .fit.estimating import fit_noise, fit_prior_scales
from .fit.events import event_of, is_left_of, with_event
from .fit.evidence import HIDDEN, lacking
from .fit.held_out import held_out
from .fit.placing import assemble_rows
from .fit.state import FitState
from .fit.weighting import row_sigma
from .model.joint_terms import IN_WORDS

FOLDS = 10
"""Parts into which postures are dealt to choose joint terms, where no held-out errors are asked for."""
FAR_FROM_NOMINAL = (
    "parameters that the nominal geometry hides can be found, so far from it is the robot; they were fitted"
)
NEXT_ROUND: tuple[Callable[[FitState], FitState], ...] = (
    assemble_rows,
    choose_parameters,
    fit_noise,
    fit_prior_scales,
)
"""A fit with more joint terms, which has its frames from the round before."""


def with_joint_terms(state: FitState) -> FitState:
    """Joint terms, and parameters that the nominal geometry hides, for which the data are strong evidence."""
    return _until_nothing_lacks(_with_lacks(replace(state, evidence={})))


def find_events(state: FitState) -> FitState:
    """What moved during the campaigns; fitted too if that was asked for."""
    if state.settings.events == "ignored" or state.settings.linear:
        return state
    fitted = state.settings.events == "fit"
    for _ in range(MOST_CHANGES):
        found = changes(state.problem, state.options, state.fit)
        events = tuple(event_of(state.problem, change, fitted) for change in found)
        if not events:
            return state
        if not fitted:
            return noted(replace(state, events=events), _terms_in_doubt(state, found[0]))
        change, kept = found[0], (events[0],)
        for before in state.events:
            if is_left_of(events[0], before):
                lines = state.problem.campaigns[change.part].lines
                change, kept = replace(change, posture=int(np.flatnonzero(lines == before.row)[0])), ()
        state = replace(_with_event(state, change), events=(*state.events, *kept))
    return state


def _with_event(state: FitState, change: Change) -> FitState:
    """The fit with something moved. Terms may have been fitted to what moved: it begins without them."""
    state = with_event(state, change)
    joint_terms = state.settings.joint_terms
    state = replace(state, joint_terms=joint_terms, evidence={}, options=replace(state.options, components=()))
    return _until_nothing_lacks(_next_round(state))


def _terms_in_doubt(state: FitState, change: Change) -> str:
    """Which joint terms the data no longer ask for where the clearest change is fitted; empty if none."""
    if not state.evidence:
        return ""
    try:
        stay = _with_event(state, change).evidence
    except (ZvenoError, np.linalg.LinAlgError):
        return ""
    gone = " and ".join(IN_WORDS[word] for word in state.evidence if word not in stay)
    return f'with what moved fitted (events="fit") the data do not ask for {gone}' if gone else ""


def _until_nothing_lacks(state: FitState) -> FitState:
    """Rounds of the fit until nothing is lacking but terms with which postures not used are predicted no better."""
    refused: tuple[str, ...] = ()
    while state.lacks and (_reveals(state) or state.settings.find_joint_terms):
        if _reveals(state):
            state = _next_round(noted(replace(state, revealed=True), FAR_FROM_NOMINAL))
            continue
        before = _with_held_out(state)
        state = _with_more_terms(before)
        if state is before:
            refused = (*refused, before.lacks[0].word)
        if refused:  # they do not hide others that may help
            state = _with_lacks(state, refused)
    if not refused:
        return state
    lacks = tuple(lack for lack in _with_lacks(state).lacks if lack.word in refused)
    words = " and ".join(IN_WORDS[lack.word] for lack in lacks)
    note = f"the data look like {words}, but with these terms held-out postures are predicted no better"
    return noted(replace(state, lacks=lacks), note if lacks else "")


def _with_more_terms(before: FitState) -> FitState:
    """The next round: with the terms that are lacking most, so that others are judged beside them as they are
    fitted, or with all that are lacking. The state itself if neither predicts postures not used better."""
    for lacks in dict.fromkeys((before.lacks[:1], before.lacks)):
        evidence = {**before.evidence, **{lack.word: lack.evidence for lack in lacks}}
        joint_terms = (*before.settings.joint_terms, *evidence)
        loads = next((lack.loads for lack in lacks if lack.word == "compliance"), before.loads)
        state = _next_round(replace(before, evidence=evidence, joint_terms=joint_terms, loads=loads))
        state = _with_held_out(state)
        if _predicts_better(state, before):
            return state
    return before


def _next_round(state: FitState) -> FitState:
    """A fit with more parameters, and what is lacking then."""
    state = replace(state, unseen=None)
    for stage in NEXT_ROUND:
        state = stage(state)
    return _with_lacks(state)


def _with_held_out(state: FitState) -> FitState:
    """The state with residuals of postures that the fit has not seen."""
    if state.unseen is not None:
        return state
    folds, seed = state.settings.folds or FOLDS, state.settings.seed
    return replace(state, unseen=held_out(state.problem, state.options, state.fit, folds, seed))


def _predicts_better(state: FitState, before: FitState) -> bool:
    """Whether a fit predicts postures that it has not seen better than the one before: rows both take for good."""
    good = state.problem.by_row(state.good & before.good, False)
    sigma = row_sigma(before.problem, before.options, before.fit.sigma)
    new, old = state.unseen, before.unseen
    seen = good & np.isfinite(new) & np.isfinite(old)
    return bool(np.sum((new / sigma)[seen] ** 2) <= np.sum((old / sigma)[seen] ** 2))


def _reveals(state: FitState) -> bool:
    """Whether the data show parameters that the nominal geometry hides."""
    return any(lack.word == HIDDEN for lack in state.lacks)


def noted(state: FitState, note: str) -> FitState:
    """The state with one more note, if there is one."""
    return replace(state, notes=(*state.notes, note)) if note else state


def _with_lacks(state: FitState, refused: tuple[str, ...] = ()) -> FitState:
    """The state with what is lacking, leaving out terms that were refused."""
    hidden: list[int] = []
    # Contacts with residuals make more look visible than is: their structure is decided where they touch.
    read = not any(part.measurement.implicit for part in state.problem.parts)
    if read and not state.revealed and not state.settings.linear and chosen_parameters(state) == "all":
        hidden = sorted(set(range(len(state.problem.model.terms))) - set(state.options.columns))
    lacks = lacking(state.problem, state.options, state.fit, (*state.joint_terms, *refused), hidden)
    return replace(state, lacks=tuple(lacks))
