"""Stages of a fit: parameters with their noise, then with prior scales that the data suggest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .held_out import held_out, n_groups
from .prior import learned
from .shared_errors import shared_errors
from .solve import solve
from .state import FitState
from .variance_components import variance_components
from .weighting import row_sigma

MANY_GROUPS = 10
"""Groups of postures from which they, and not the likelihood of rows, say what the prior scales are."""
TURNS = 3
"""Rounds of judging what rows share at most."""
FACTORS = (0.3, 1.0, 3.0)
"""By which prior scales of largest likelihood are multiplied to try."""


def fit_noise(state: FitState) -> FitState:
    """Parameters and noise; then the same with the errors that rows share, where they do."""
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
    """Prior scales that the data suggest, and the fit with them."""
    problem, whole, known = state.problem, state.fit, state.prior
    if known is None or not _has_scales(state):
        return state
    known = learned(problem, state.options, whole, known)
    options = replace(state.options, prior=known.rows())
    if state.settings.linear:
        whole = solve(problem, options, _start(state), state.base.frames)
        return replace(state, options=options, prior=known, fit=whole)
    whole = solve(problem, options, whole.values, whole.frames, after=whole)
    state = replace(state, options=options, prior=known, fit=whole)
    return _with_scales_of_groups(state) if n_groups(problem, options) >= MANY_GROUPS else state


def _has_scales(state: FitState) -> bool:
    """Whether prior scales are to be estimated."""
    return state.prior is not None and state.settings.plausible == "estimated" and bool(state.prior.kinds)


def _with_scales_of_groups(state: FitState) -> FitState:
    """Prior scales multiplied by what predicts groups of postures best that a fit has not seen."""
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
    """Values (P,) from which the fit starts: those of a round before, or a tool that was found elsewhere."""
    values = state.tool if state.near is None else state.near.values
    return np.where(np.isin(np.arange(len(values)), state.options.columns), values, 0.0)
