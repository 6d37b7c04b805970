"""Stages of a fit: parameters with their noise, then with prior scales estimated from the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .held_out import held_out, n_groups
from .prior import JOINT_WORDS
from .scales import learned
from .shared_errors import shared_errors
from .solve import solve
from .state import FitState
from .variance_components import variance_components
from .weighting import row_sigma

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
    known = learned(problem, state.options, state.fit, start, held_kinds(state))
    options = replace(state.options, prior=known.rows())
    whole = solve(problem, options, state.fit.values, state.fit.frames, after=state.fit)
    state = replace(state, options=options, prior=known, fit=whole)
    if start.joint_kinds or n_groups(problem, state.options) < MANY_GROUPS:
        return state
    return _with_scales_of_groups(state)


def fit_scales_of_terms_again(state: FitState) -> FitState:
    """Repeat the estimate of scales and the fit if there are joint terms: their scales decide which rows belong."""
    return fit_prior_scales(state) if state.prior is not None and state.prior.joint_kinds else state


def held_kinds(state: FitState) -> list[str]:
    """Return the kinds of terms whose prior scales are given: those of the geometry, or none."""
    if state.prior is None or state.settings.plausible == "estimated":
        return []
    return [word for word in state.prior.kinds if word not in JOINT_WORDS]


def _has_scales(state: FitState) -> bool:
    """Return True if any prior scale is to be estimated."""
    prior = state.prior
    if prior is None or not prior.kinds:
        return False
    return state.settings.plausible == "estimated" or bool(prior.joint_kinds)


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
