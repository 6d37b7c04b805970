"""Stage of a fit: the geometry with all joint terms, if the data show them together, or with none.

All kinds of joint terms are fitted at once, each with a prior scale that the data suggest. One test compares them
with none. Where it fails a fresh fit without them is made: in a fit with scales at their floor, outliers and noise
were judged with terms at their usual size.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np

from ...mechanism.plausibility import impossible_loads
from ..model.joint_terms import WORDS
from ..model.loads import DENSITY, MODEL, RODS, loads_to_try
from ..model.models import Term
from .choosing import choose_parameters
from .estimating import fit_noise, fit_prior_scales, fit_scales_of_terms_again, held_kinds
from .hidden import shows_hidden_parameters
from .placing import assemble_rows
from .prior import JOINT_WORDS
from .prior import WORDS as KINDS
from .scales import FLOOR, Linearised, evidence
from .solve import solve
from .state import FitState, noted
from .variance_components import has_groups

THERE = 10.0
"""Log evidence of all joint terms together, against none, from which they are fitted. Errors that postures share
can produce up to seven by chance."""
BELIEVED = 3.0
"""Log likelihood ratio by which rods must exceed the masses of the model (odds of 20 : 1)."""
FAR_FROM_NOMINAL = (
    "parameters that the nominal geometry hides can be found, so far from it is the robot; they were fitted"
)


def fit_all_terms_or_none(state: FitState) -> FitState:
    """Fit the geometry, with all joint terms if the data show them; and parameters that the nominal geometry hides,
    if the data show these."""
    state = _all_or_none(state)
    if shows_hidden_parameters(state):
        state = _all_or_none(noted(replace(state, revealed=True), FAR_FROM_NOMINAL))
    return state


def note_loads(state: FitState) -> FitState:
    """Note under which loads joints yield, and masses that were not used."""
    mechanism, name = state.robot.mechanism, state.robot.name
    impossible = [f"{link} ({what})" for link, what in impossible_loads(mechanism).items()]
    if impossible:
        state = noted(state, f"masses that cannot be were not used: {', '.join(impossible[:8])}")
    if "compliance" not in state.joint_terms:
        return state
    if MODEL not in loads_to_try(mechanism):
        return noted(state, f"{name} has no masses: its links were taken for rods of {DENSITY:g} kg/m")
    if state.loads == RODS:
        rods = f"rods of {DENSITY:g} kg/m"
        return noted(state, f"joints yield as if links were {rods}, and not as with the masses of {name}")
    return state


def _all_or_none(state: FitState) -> FitState:
    found = None
    if state.settings.find_joint_terms:
        with contextlib.suppress(np.linalg.LinAlgError):  # too few rows for so many terms
            found = _with_terms(state)
    if found is not None:
        return found
    return replace(fit_scales_of_terms_again(_fitted(state, state.settings.joint_terms)), evidence=None)


def _with_terms(state: FitState) -> FitState | None:
    """Fit with joint terms; None if the data do not show any."""
    terms = _fitted(state, WORDS)
    if terms.prior is None or not terms.prior.joint_kinds:
        return None
    if _is_likelier_with_rods(terms):
        terms = _fitted(state, WORDS, RODS)
    terms = _with_group_errors(terms, state)
    assert terms.prior is not None
    shown = evidence(terms.problem, terms.options, terms.fit, terms.prior, held_kinds(terms))
    if shown <= THERE:
        return None
    return replace(_without_terms_at_floor(fit_scales_of_terms_again(terms)), evidence=shown)


def _with_group_errors(terms: FitState, state: FitState) -> FitState:
    """Fit with terms and with the group errors that a fit without terms shows.

    Many terms explain the errors of a few groups, and rows of a group are not independent evidence for them.
    """
    if terms.options.components or not has_groups(terms.problem, terms.fit):
        return terms
    plain = _fitted(state, ()).options
    if not plain.components:
        return terms
    options = replace(terms.options, shared=plain.shared, components=plain.components)
    whole = solve(terms.problem, options, terms.fit.values, terms.fit.frames, after=terms.fit)
    return fit_prior_scales(replace(terms, options=options, fit=whole))


def _fitted(state: FitState, joint_terms: tuple[str, ...], loads: str = MODEL) -> FitState:
    """Fit with these joint terms."""
    if state.fit is not None or (joint_terms, loads) != (state.joint_terms, state.loads):
        state = choose_parameters(assemble_rows(replace(state, joint_terms=joint_terms, loads=loads)))
    return fit_prior_scales(fit_noise(state))


def _is_likelier_with_rods(state: FitState) -> bool:
    """Return True if rods, instead of the masses of the model, make the data clearly likelier at a fit."""
    problem, options, whole, prior = state.problem, state.options, state.fit, state.prior
    at = [k for k, term in enumerate(_fitted_terms(state)) if term is not None and term.role == "compliance"]
    if prior is None or not at or MODEL not in loads_to_try(state.robot.mechanism):
        return False
    rods = assemble_rows(replace(state, loads=RODS)).problem
    _, J = rods.evaluate(whole.values, whole.frames, [options.columns[k] for k in at])
    now = replace(prior, wider=np.ones_like(prior.wider))
    yielding = [word for word in now.joint_kinds if JOINT_WORDS[word] == "compliance"]
    anew = now.with_sizes({word: now.sizes[word] / now.relative(word) for word in yielding})
    hold, other_loads = held_kinds(state), (np.array(at), J)
    masses = Linearised(problem, options, whole, prior).likeliest(now, hold)[2]
    others = Linearised(problem, options, whole, prior, other_loads).likeliest(anew, hold)[2]
    return others - masses > BELIEVED


def _without_terms_at_floor(state: FitState) -> FitState:
    """Fit without kinds of joint terms whose scales are at the floor, or that no row shows."""
    prior = state.prior
    assert prior is not None
    gone = {word for word in prior.joint_kinds if prior.relative(word) <= 2.0 * FLOOR}
    shown = {term.role for term in _fitted_terms(state) if term and KINDS.get((term.role, term.unit)) not in gone}
    words = tuple(word for word in WORDS if word in shown)
    if words == state.joint_terms or not words:
        return state
    fewer = choose_parameters(assemble_rows(replace(state, joint_terms=words)))
    if fewer.prior is None:
        return state
    known = fewer.prior.with_scales_of(prior)
    shared, components = state.options.shared, state.options.components
    options = replace(fewer.options, prior=known.rows(), shared=shared, components=components)
    near = fewer.near
    assert near is not None
    whole = solve(fewer.problem, options, _kept(near.values, options.columns), near.frames, after=near)
    return replace(fewer, options=options, prior=known, fit=whole)


def _fitted_terms(state: FitState) -> list[Term | None]:
    """Return the model term of every column of a fit; None for unknowns."""
    terms = state.problem.model.terms
    return [terms[column] if column < len(terms) else None for column in state.options.columns]


def _kept(values: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    """Return the values (P,) of the columns of a fit, zero elsewhere."""
    return np.where(np.isin(np.arange(len(values)), columns), values, 0.0)
