"""Stages of a fit: parameters with their noise, then with prior scales that the data suggest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .prior import learned
from .shared_errors import shared_errors
from .solve import solve
from .state import FitState


def fit_noise(state: FitState) -> FitState:
    """Parameters and noise; then the same with points of one posture weighted by the error they share."""
    problem, options, near = state.problem, state.options, state.near
    whole = solve(problem, options, _start(state), state.base.frames if near is None else near.frames, after=near)
    shared = shared_errors(problem, whole)
    if shared is not None:
        options = replace(options, shared=shared)
        whole = solve(problem, options, whole.values, whole.frames, after=whole)
    return replace(state, options=options, fit=whole)


def fit_prior_scales(state: FitState) -> FitState:
    """Prior scales that the data suggest, and the fit with them."""
    problem, whole, known = state.problem, state.fit, state.prior
    if known is None or state.settings.plausible != "estimated" or not known.kinds:
        return state
    known = learned(problem, state.options, whole, known)
    options = replace(state.options, prior=known.rows())
    if state.settings.linear:
        whole = solve(problem, options, _start(state), state.base.frames)
    else:
        whole = solve(problem, options, whole.values, whole.frames, after=whole)
    return replace(state, options=options, prior=known, fit=whole)


def _start(state: FitState) -> np.ndarray:
    """Values (P,) from which the fit starts: those of a round before, or a tool that was found elsewhere."""
    values = state.tool if state.near is None else state.near.values
    return np.where(np.isin(np.arange(len(values)), state.options.columns), values, 0.0)
