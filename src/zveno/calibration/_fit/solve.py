"""Weighted fits: noise, outliers and variance components around Levenberg–Marquardt least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...fit import robust
from ...fit.covariance import Factors, factors, leverages, variance_factors
from ...fit.levenberg_marquardt import Fit, minimize
from ..measurements._fit_problem import CONSTRAINT, FitProblem
from .noise import LEAST_SIGMA, Bounds, FitOptions, Whitening, prior_of, row_distances, row_sigma, rows_used
from .outliers import freedom, keeping_unknowns_placed, outlier_limits, wild_rows

TURNS = 12
"""Maximum number of rounds that estimate noise and weights."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters and frames of a fit, with measures of their quality.

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
    fit: Fit[FitPoint]

    @cached_property
    def factors(self) -> Factors:
        """Factors of the weighted Jacobian by the parameters that are not at a bound: covariance and condition."""
        return factors(self.fit.jacobian[:, self.fit.free])

    def covariance(self) -> np.ndarray:
        """Return the covariance of the estimated columns, (28); zero for parameters held at a bound."""
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
    rough: bool = False,
) -> Solution:
    """Fit the requested columns.

    Args:
        problem: the rows.
        options: columns, noise and loss.
        values, frames: start values.
        use: scalar rows to use, (rows,) booleans; all if None.
        after: a fit that ended there, with similar options: its noise is the start value, too.
        rough: whether the last step may be taken along the tangent, where another fit follows.
    """
    use = np.ones(problem.n_rows, dtype=bool) if use is None else use
    weight = np.ones(problem.n_data_rows)
    point = FitPoint.of(problem, options.columns, within_bounds(values, options.bounds), frames)
    rounds = _Rounds(problem, options, use, rough)
    if options.loss == "none" and not options.estimated.any():
        sigma = options.sigma.copy()
        fit = least_squares(problem, options, point, sigma, weight, use)
    elif after is not None and options.loss == "auto":
        fit, sigma, weight = rounds.without_outliers(point, after.sigma, after.weight == 0.0)
    else:
        start, (point, sigma, weight) = point, rounds.reweighted(point, rounds.first_sigma(point))
        if options.loss == "auto":
            apart = None
            if not options.estimated.all() and rounds.most_are_far(point, sigma):
                point, apart = rounds.by_their_own_noise(start)
            fit, sigma, weight = rounds.without_outliers(point, sigma, apart)
        else:
            fit = rounds.polished(point, sigma, weight)
    _, distance, components = rounds.judged(fit, sigma, weight)
    end = fit.state
    return Solution(end.values, end.frames, sigma, end.r, weight, distance, components, fit)


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Alternating least squares and estimates of noise and weights, on the scalar rows `use` (rows,); `is_rough` as
    in `solve`."""

    problem: FitProblem
    options: FitOptions
    use: np.ndarray
    is_rough: bool = False

    @cached_property
    def rows(self) -> np.ndarray:
        """Data rows that are used, (data rows,)."""
        return rows_used(self.problem, self.use)

    def rough(self, point: FitPoint, sigma: np.ndarray, weight: np.ndarray, near: bool = True) -> Fit[FitPoint]:
        """Solve least squares with the last, small step taken along the tangent."""
        return least_squares(self.problem, self.options, point, sigma, weight, self.use, rough=True, near=near)

    def polished(self, point: FitPoint, sigma: np.ndarray, weight: np.ndarray) -> Fit[FitPoint]:
        """Solve least squares from the end of a rough fit."""
        point = FitPoint.of(self.problem, self.options.columns, point.values, point.frames)
        return least_squares(self.problem, self.options, point, sigma, weight, self.use, near=True)

    def first_sigma(self, point: FitPoint) -> np.ndarray:
        """Estimate noise from the residuals at the start of the fit, to avoid extreme weights."""
        sigma = self.options.sigma.copy()
        for k in np.flatnonzero(self.options.estimated):
            residuals = point.r[self.use & (self.problem.noise == k)]
            if len(residuals):
                sigma[k] = max(1.5 * float(np.median(abs(residuals))), LEAST_SIGMA)
        return sigma

    def reweighted(self, point: FitPoint, sigma: np.ndarray) -> tuple[FitPoint, np.ndarray, np.ndarray]:
        """Alternate least squares with estimates of noise and weights until these converge.

        Before outliers are flagged the tolerance is coarse, and distant rows count less. With the loss "none" all
        rows count.
        """
        roughly = self.options.loss == "auto"
        steady_weight, steady_sigma = (2e-2, 2e-2) if roughly else (1e-3, 5e-3)
        weight = np.ones(self.problem.n_data_rows)
        if roughly:
            weight[self.rows & wild_rows(self.problem, point.r)] = 0.0
        for turn in range(TURNS // 2 if roughly else TURNS):
            fit = self.rough(point, sigma, weight, near=turn > 0)
            point = fit.state
            new_sigma, distance, components = self.judged(fit, sigma, weight)
            new = np.ones_like(weight)
            if roughly:
                new = np.where(self.rows, robust.weights(distance, components), 1.0)
            steady = abs(new - weight).max() < steady_weight and abs(new_sigma / sigma - 1.0).max() < steady_sigma
            weight, sigma = new, new_sigma
            if steady and turn > 0:
                break
        return point, sigma, weight

    def most_are_far(self, point: FitPoint, sigma: np.ndarray) -> bool:
        """Return True if most rows are outliers at the end of a fit, with that noise."""
        return not self._few(self._first_weights(point, sigma) == 0.0)

    def by_their_own_noise(self, point: FitPoint) -> tuple[FitPoint, np.ndarray]:
        """Fit with noise estimated from the residuals, and return the fit and its outlier rows.

        In a small data set, a few bad rows pull the first fit so far off that, with the stated noise, most rows
        look bad. The scatter of the residuals still identifies the bad ones.
        """
        free = _Rounds(
            self.problem, replace(self.options, estimated=np.ones(len(self.options.sigma), bool)), self.use
        )
        rough, sigma, _ = free.reweighted(point, free.first_sigma(point))
        fit, _, weight = free.without_outliers(rough, sigma)
        return fit.state, weight == 0.0

    def _first_weights(self, point: FitPoint, sigma: np.ndarray) -> np.ndarray:
        whitened = point.r / row_sigma(self.problem, self.options, sigma)
        distance, components = row_distances(self.problem, whitened, self.use)
        return np.where(self.rows, robust.weights(distance, components), 1.0)

    def without_outliers(
        self, point: FitPoint, sigma: np.ndarray, apart: np.ndarray | None = None
    ) -> tuple[Fit[FitPoint], np.ndarray, np.ndarray]:
        """Solve least squares on the rows that are not flagged; repeat until the flags no longer change.

        Args:
            point, sigma: start values.
            apart: rows (data rows,) that are flagged where most rows are far, by which nothing can be judged; none
                of them if None.
        """
        problem = self.problem
        apart = np.zeros(problem.n_data_rows, dtype=bool) if apart is None else apart & self.rows
        flagged = np.zeros(problem.n_data_rows, dtype=bool)
        weight = self._first_weights(point, sigma)
        weight = weight if self._few(weight == 0.0) else np.where(apart, 0.0, 1.0)
        fit = self.rough(point, sigma, weight)
        for turn in range(TURNS):
            new_sigma, distance, components = self.judged(fit, sigma, weight)
            limits = outlier_limits(problem, components, freedom(problem, fit, weight, self.use))
            far = self.rows & (distance > limits)
            new = keeping_unknowns_placed(problem, far if self._few(far) else apart, self.rows, distance)
            if turn and (new == flagged).all() and abs(new_sigma / sigma - 1.0).max() < 5e-3:
                break
            flagged, sigma = new, new_sigma
            weight = np.where(flagged, 0.0, 1.0)
            fit = self.rough(fit.state, sigma, weight)
        if not self.is_rough:
            fit = self.polished(fit.state, sigma, weight)
        return fit, new_sigma, weight

    def _few(self, flagged: np.ndarray) -> bool:
        """Return True if at most half of the rows are flagged: a fit with more outliers is wrong."""
        return bool(2 * (flagged & self.rows).sum() <= self.rows.sum())

    def judged(
        self, fit: Fit[FitPoint], sigma: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Estimate noise from the residuals; distances of all rows in units of it, corrected for the leverage of
        the fit; and their numbers of components."""
        problem, use, estimated = self.problem, self.use, self.options.estimated
        sigma_by_row = row_sigma(problem, self.options, sigma)
        row_weight = problem.by_row(weight, 1.0)
        rows = use & (row_weight > 0)
        whitened = fit.state.r / sigma_by_row
        free = slice(None) if fit.free.all() else fit.free
        # Variance of what the fit predicts for every row, in units of the row's own.
        predicted = leverages(fit.jacobian[:, free], fit.state.J[:, free] / sigma_by_row[:, None])
        leverage = np.where(rows, row_weight * predicted, 0.0)
        new = sigma.copy()
        if estimated.any():
            group = np.where(rows, problem.noise, CONSTRAINT)
            if self.options.components:  # few groups would say little of what every row has for itself
                ratios = np.sqrt(self._independent_factors(fit, sigma, weight, group))
            else:
                ratios = np.sqrt(variance_factors(whitened, leverage, group, row_weight))
            # Weights below one take their share from large residuals: undo it by what they take from good rows.
            for k in np.flatnonzero(estimated):
                if k < len(ratios) and (group == k).any():
                    new[k] = max(sigma[k] * ratios[k], LEAST_SIGMA)
        # To rows the fit has not seen, its own uncertainty adds.
        spread = np.where(rows, np.clip(1.0 - leverage, 0.05, 1.0), np.where(use, 1.0 + predicted, 1.0))
        scaled = whitened * problem.by_noise(sigma / new, 1.0) / np.sqrt(spread)
        return new, *row_distances(problem, scaled, use)

    def _independent_factors(
        self, fit: Fit[FitPoint], sigma: np.ndarray, weight: np.ndarray, group: np.ndarray
    ) -> np.ndarray:
        """Return the correction factor of the variance of each noise, from rows made independent of each other."""
        white = Whitening(self.problem, self.options, sigma, weight, self.use)
        free = fit.free
        leverage = leverages(fit.jacobian[:, free], white(fit.state.J[:, free]))
        counted = (self.problem.by_row(weight, 1.0) / self.options.shared_by_row(self.problem))[white.used]
        # Whitened rows have their weight already.
        r = white(fit.state.r) / np.sqrt(counted)
        return variance_factors(r, leverage, group[white.used], counted)


@dataclass(frozen=True, eq=False)
class FitPoint:
    """State of a fit: parameters and frames, residuals (rows,), and derivatives (rows, n) by its columns."""

    values: np.ndarray
    frames: np.ndarray
    r: np.ndarray
    J: np.ndarray

    @classmethod
    def of(cls, problem: FitProblem, columns: Sequence[int], values: np.ndarray, frames: np.ndarray) -> FitPoint:
        """Evaluate the fit at given parameters and frames."""
        return cls(values, frames, *problem.evaluate(values, frames, columns))


def least_squares(
    problem: FitProblem,
    options: FitOptions,
    state: FitPoint,
    sigma: np.ndarray,
    weight: np.ndarray,
    use: np.ndarray,
    *,
    rough: bool = False,
    near: bool = False,
) -> Fit[FitPoint]:
    """Solve least squares with given noise and weights.

    Where it may be `rough`, the last step, a small one, is taken along the tangent: residuals are not evaluated
    anew. `near` says that the start is near the end, so that steps need no damping.
    """
    columns = list(options.columns)
    P = len(problem.model.terms)
    white = Whitening(problem, options, sigma, weight, use)
    prior_columns, prior_weights, prior_rows = prior_of(options)
    bounds = {columns.index(k): (k, *sides) for k, sides in (options.bounds or {}).items() if k in columns}

    def whitened(at: FitPoint):
        r = np.concatenate([white(at.r), prior_weights @ at.values[prior_columns]])
        return r, np.concatenate([white(at.J), prior_rows])

    def moved(at: FitPoint, step):
        full = np.zeros(problem.n_columns)
        full[columns] = step
        return within_bounds(at.values + full[:P], options.bounds), problem.moved(at.frames, full)

    def move(at: FitPoint, step):
        return FitPoint.of(problem, columns, *moved(at, step))

    def along_tangent(at: FitPoint, step):
        return FitPoint(*moved(at, step), at.r + at.J @ step, at.J)

    def room(at: FitPoint):
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        for place, (column, least, most) in bounds.items():
            low[place], high[place] = least - at.values[column], most - at.values[column]
        return low, high

    return minimize(
        whitened,
        state,
        move,
        room=room if bounds else None,
        last=along_tangent if rough else None,
        tolerance=1e-5 if rough else 1e-14,
        damping=1e-8 if near else 1e-4,
    )


def within_bounds(values: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Return values clipped to their bounds."""
    values = values.copy()
    for column, (low, high) in (bounds or {}).items():
        values[column] = min(max(values[column], low), high)
    return values
