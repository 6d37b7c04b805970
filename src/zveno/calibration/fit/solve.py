"""Weighted fits: noise, outliers and variance components around least squares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...fit import robust
from ...fit.covariance import Factors, factors, leverages, variance_factors
from ...fit.levenberg_marquardt import Fit
from ..measurements.fit_problem import CONSTRAINT, FitProblem
from .least_squares import FitPoint, least_squares, within_bounds
from .outliers import freedom, keeping_unknowns_placed, outlier_limits
from .weighting import FitOptions, row_distances, row_sigma, rows_used

LEAST_SIGMA = 1e-9
"""Noise, m or rad, below which readings are as good as exact: what is left is rounding."""
TURNS = 12
"""Rounds of judging noise and weights at most."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters and frames of a fit, with everything that describes how good they are.

    Attributes:
        values: deviations of the model's parameters, (P,).
        frames: all frames.
        sigma: standard deviation of every noise.
        residual: of every scalar row, in its unit.
        weight: of every row of data, 0 where it was flagged.
        distance: of every row of data, in standard deviations (root of the sum of squares over its components).
        components: number of components of every row.
        fit: the last iteration, with the weighted Jacobian by the estimated columns; its state is an `FitPoint`.
    """

    values: np.ndarray
    frames: np.ndarray
    sigma: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    distance: np.ndarray
    components: np.ndarray
    fit: Fit

    @cached_property
    def factors(self) -> Factors:
        """Of the weighted Jacobian by the parameters that no bound holds back: covariance and condition."""
        return factors(self.fit.jacobian[:, self.fit.free])

    def covariance(self) -> np.ndarray:
        """Of the estimated columns, (28); parameters that a bound holds back are known, so theirs is zero."""
        free = self.fit.free
        whole = np.zeros((len(free), len(free)))
        whole[np.ix_(free, free)] = self.factors.covariance()
        return whole


def solve(
    problem: FitProblem,
    options: FitOptions,
    values: np.ndarray,
    frames: np.ndarray,
    use: np.ndarray | None = None,
    after: Solution | None = None,
) -> Solution:
    """Fit the columns asked for.

    Args:
        problem: the rows.
        options: columns, noise and loss.
        values, frames: where to start.
        use: scalar rows to use, (rows,) booleans; all if None.
        after: a fit that ended there, with much the same options: its noise is where to start, too.
    """
    use = np.ones(problem.n_rows, dtype=bool) if use is None else use
    weight = np.ones(problem.n_data_rows)
    loss = "tukey" if options.loss == "auto" else options.loss
    state = FitPoint.of(problem, options.columns, within_bounds(values, options.bounds), frames)
    if loss == "none" and not options.estimated.any():
        sigma = options.sigma.copy()
        fit = least_squares(problem, options, state, sigma, weight, use)
    elif after is not None and options.loss == "auto":
        fit, sigma, weight = _without_outliers(problem, options, state, after.sigma, use)
    else:
        # The noise is judged where the fit starts, so that nothing is weighted absurdly.
        sigma = _started(problem, options, state, use)
        state, sigma, weight = _reweighted(problem, options, loss, state, sigma, use)
        if options.loss == "auto":
            fit, sigma, weight = _without_outliers(problem, options, state, sigma, use)
        else:
            fit = _polished(problem, options, state, sigma, weight, use)
    _, distance, components = _judged(problem, options, fit, sigma, weight, use)
    end = fit.state
    return Solution(end.values, end.frames, sigma, end.r, weight, distance, components, fit)


def _reweighted(problem, options, loss: str, state, sigma, use):
    """State, noise and weights that agree with each other: least squares, then judged anew, until they stay.

    Where only a start is wanted, from which flags are judged anew, they agree roughly.
    """
    start = options.loss == "auto"
    enough = 2e-2 if start else 1e-3, 2e-2 if start else 5e-3
    weight = np.ones(problem.n_data_rows)
    inside = rows_used(problem, use)
    for turn in range(TURNS // 2 if start else TURNS):
        fit = least_squares(problem, options, state, sigma, weight, use, rough=True, near=turn > 0)
        state = fit.state
        new_sigma, distance, components = _judged(problem, options, fit, sigma, weight, use)
        new = np.ones_like(weight)
        if loss != "none":
            new = np.where(inside, robust.weights(loss, distance, components), 1.0)
        steady = abs(new - weight).max() < enough[0] and abs(new_sigma / sigma - 1.0).max() < enough[1]
        weight, sigma = new, new_sigma
        if steady and turn > 0:
            break
    return state, sigma, weight


def _without_outliers(problem, options, state, sigma, use):
    """Least squares on the rows that are not flagged; the flags are judged anew until they stay."""
    flagged = np.zeros(problem.n_data_rows, dtype=bool)
    inside = rows_used(problem, use)
    weight = _robust_start(problem, options, state, sigma, use)
    fit = least_squares(problem, options, state, sigma, weight, use, rough=True, near=True)
    for turn in range(TURNS):
        new_sigma, distance, components = _judged(problem, options, fit, sigma, weight, use)
        new = inside & (distance > outlier_limits(problem, components, freedom(problem, fit, weight, use)))
        new = keeping_unknowns_placed(problem, new, inside, distance)
        settled = turn and (new == flagged).all() and abs(new_sigma / sigma - 1.0).max() < 5e-3
        if settled:
            break
        flagged, sigma = new, new_sigma
        weight = np.where(flagged, 0.0, 1.0)
        fit = least_squares(problem, options, fit.state, sigma, weight, use, rough=True, near=True)
    if not options.linear:
        fit = _polished(problem, options, fit.state, sigma, weight, use)
    return fit, new_sigma, weight


def _polished(problem, options, state: FitPoint, sigma, weight, use) -> Fit:
    """Least squares from where a rough fit has ended."""
    state = FitPoint.of(problem, options.columns, state.values, state.frames)
    return least_squares(problem, options, state, sigma, weight, use, near=True)


def _robust_start(problem, options, state, sigma, use) -> np.ndarray:
    """Tukey weights at a state, the last of the robust fit."""
    distance, components = row_distances(problem, state.r / row_sigma(problem, options, sigma), use)
    return np.where(rows_used(problem, use), robust.weights("tukey", distance, components), 1.0)


def _started(problem, options, state, use) -> np.ndarray:
    """Noise from the residuals at the start, at most as small as they are."""
    sigma = options.sigma.copy()
    for k in np.flatnonzero(options.estimated):
        residuals = state.r[use & (problem.noise == k)]
        if len(residuals):
            sigma[k] = max(1.5 * float(np.median(abs(residuals))), LEAST_SIGMA)
    return sigma


def _judged(problem, options, fit: Fit, sigma, weight, use):
    """Noise judged from the residuals, and distances of all rows, corrected for what the fit has absorbed."""
    sigma_by_row = row_sigma(problem, options, sigma)
    row_weight = np.concatenate([weight, [1.0]])[problem.row]
    rows = use & (row_weight > 0)
    whitened = fit.state.r / sigma_by_row
    free = slice(None) if fit.free.all() else fit.free
    # Variance of what the fit predicts for every row, in units of the row's own.
    predicted = leverages(fit.jacobian[:, free], fit.state.J[:, free] / sigma_by_row[:, None])
    leverage = np.where(rows, row_weight * predicted, 0.0)
    new = sigma.copy()
    if options.estimated.any():
        group = np.where(rows, problem.noise, CONSTRAINT)
        ratios = np.sqrt(variance_factors(whitened, leverage, group, row_weight))
        # Weights below one take their share from large residuals: undo it by what they take from good rows.
        for k in np.flatnonzero(options.estimated):
            if k < len(ratios) and (group == k).any():
                new[k] = max(sigma[k] * ratios[k], LEAST_SIGMA)
    # To rows the fit has not seen, its own uncertainty adds.
    spread = np.where(rows, np.clip(1.0 - leverage, 0.05, 1.0), np.where(use, 1.0 + predicted, 1.0))
    ratio = np.concatenate([sigma / new, [1.0]])[problem.noise]
    distance, components = row_distances(problem, whitened * ratio / np.sqrt(spread), use)
    return new, distance, components
