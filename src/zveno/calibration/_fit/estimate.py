"""Stages of a fit: parameters and noise, prior scales, then joint terms if the data show them together."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np

from ...mechanism.plausibility import impossible_loads
from .._joint_terms import WORDS
from .._loads import DENSITY, MODEL, RODS, loads_to_try
from ..models import Term
from .frames import assemble_rows
from .held_out import held_out, n_groups
from .noise import Whitening, row_sigma
from .parameters import choose_parameters, chosen_parameters
from .prior import FLOOR, JOINT_WORDS, Linearised, evidence, learned, usual
from .prior import WORDS as KINDS
from .shared_errors import has_groups, shared_errors, variance_components
from .solve import solve
from .state import FitState, noted

MANY_GROUPS = 10
"""Number of posture groups from which groups, not the likelihood of rows, determine the prior scales."""
TURNS = 3
"""Maximum number of rounds that estimate shared errors of rows."""
FACTORS = (0.3, 1.0, 3.0)
"""Factors tried on the prior scales of largest likelihood."""


def fit_noise(state: FitState) -> FitState:
    """Fit parameters and noise; then repeat with the errors that rows share, if any."""
    problem, options, near, rough = state.problem, state.options, state.near, _has_scales(state)
    frames = state.base.frames if near is None else near.frames
    whole = solve(problem, options, _start(state), frames, after=near, rough=rough)
    for _ in range(TURNS):
        flagged = whole.weight == 0.0
        options = replace(options, shared=shared_errors(problem, whole), components=())
        options = replace(options, components=variance_components(problem, options, whole))
        if options.shared is None and not options.components:
            break
        whole = solve(problem, options, whole.values, whole.frames, after=whole, rough=rough)
        if ((whole.weight == 0.0) == flagged).all():
            break  # what rows share is judged by those that belong; with it more of them may
    return replace(state, options=options, fit=whole)


def fit_prior_scales(state: FitState) -> FitState:
    """Estimate the prior scales from the data, and fit with them."""
    problem, start = state.problem, state.prior
    if start is None or not _has_scales(state):
        return state
    known = learned(problem, state.options, state.fit, start)
    options = replace(state.options, prior=known.rows())
    whole = solve(problem, options, state.fit.values, state.fit.frames, after=state.fit)
    state = replace(state, options=options, prior=known, fit=whole)
    if start.joint_kinds or n_groups(problem, state.options) < MANY_GROUPS:
        return state
    return _with_scales_of_groups(state)


def fit_scales_of_terms_again(state: FitState) -> FitState:
    """Repeat the estimate of scales and the fit if there are joint terms: their scales decide which rows belong."""
    return fit_prior_scales(state) if state.prior is not None and state.prior.joint_kinds else state


def _has_scales(state: FitState) -> bool:
    """Return True if any prior scale is to be estimated."""
    return state.prior is not None and bool(state.prior.kinds)


def _with_scales_of_groups(state: FitState) -> FitState:
    """Multiply the prior scales by the factor that best predicts held-out groups of postures."""
    problem, known, fit = state.problem, state.prior, state.fit
    assert known is not None
    good = problem.by_row(state.good, False)
    sigma = row_sigma(problem, state.options, fit.sigma)
    trials = []
    for factor in FACTORS:
        scaled = known.scaled(factor)
        options = replace(state.options, prior=scaled.rows())
        residual = held_out(problem, options, fit, state.settings.folds or 10, state.settings.seed)
        trials.append((float(np.nansum((residual / sigma)[good] ** 2)), factor, scaled, options))
    _, factor, scaled, options = min(trials, key=lambda trial: (trial[0], abs(np.log(trial[1]))))
    if factor == 1.0:
        return state
    fit = solve(problem, options, fit.values, fit.frames, after=fit)
    return replace(state, options=options, prior=scaled, fit=fit)


def _start(state: FitState) -> np.ndarray:
    """Return the start values (P,) of the fit: those of the previous round, or a tool that was found elsewhere."""
    values = state.tool if state.near is None else state.near.values
    return np.where(np.isin(np.arange(len(values)), state.options.columns), values, 0.0)


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
    impossible = [f"{link} ({reason})" for link, reason in impossible_loads(mechanism).items()]
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
    with_terms = None
    if state.settings.find_joint_terms:
        with contextlib.suppress(np.linalg.LinAlgError):  # too few rows for so many terms
            with_terms = _with_terms(state)
    if with_terms is not None:
        return with_terms
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
    shown = evidence(terms.problem, terms.options, terms.fit, terms.prior)
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
    other_loads = (np.array(at), J)
    masses = Linearised(problem, options, whole, prior).likeliest(now)[2]
    others = Linearised(problem, options, whole, prior, other_loads).likeliest(anew)[2]
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


STRONG = 5.0
"""Log evidence from which such parameters are fitted."""
SIZES = np.geomspace(1e-2, 1e1, 25)
"""Trial prior scales, in units of the usual size."""


def shows_hidden_parameters(state: FitState) -> bool:
    """Return True if the residuals of a fit show parameters that cannot be seen near the nominal geometry."""
    problem, options, whole, model = state.problem, state.options, state.fit, state.problem.model
    # Contacts with residuals make more look visible than is: their structure is decided where they touch.
    if any(part.measurement.implicit for part in problem.parts) or state.revealed:
        return False
    geometry = {k for k, term in enumerate(model.terms) if term.role in ("base", "link", "tool", "joint")}
    hidden = sorted(geometry - set(options.columns))
    if chosen_parameters(state) != "all" or not hidden:
        return False
    white = Whitening(problem, options, whole.sigma, whole.weight)
    J, r = whole.fit.jacobian[:, whole.fit.free], whole.fit.residual
    if len(white.scale) <= J.shape[1]:
        return False
    _, columns = problem.evaluate(whole.values, whole.frames, hidden)
    C = white(columns) * [usual(model.terms[k]) for k in hidden]
    C = np.pad(C, ((0, len(r) - len(white.scale)), (0, 0)))
    Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
    C = C - Q @ (Q.T @ C)
    information, V = np.linalg.eigh(C.T @ C)
    information, score = np.maximum(information, 0.0), V.T @ (C.T @ r)
    S = SIZES[:, None] ** 2
    ratios = 0.5 * np.sum(S * score**2 / (1.0 + S * information) - np.log1p(S * information), axis=1)
    return bool(ratios.max() > STRONG)
