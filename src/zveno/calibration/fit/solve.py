"""Weighted fits of a system: noise, outliers and variance components around Levenberg–Marquardt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...fit import robust
from ...fit.covariance import Factors, factors, leverages, variance_factors
from ...fit.levenberg_marquardt import Fit, bounded_step, held_back, minimize
from ..measurements.fit_problem import CONSTRAINT, FitProblem
from .spared import spared

CHANCE = 0.01
"""That any good row of all measurements is flagged as an outlier."""
LEAST_SIGMA = 1e-9
"""Noise, m or rad, below which readings are as good as exact: what is left is rounding."""
TURNS = 12
"""Rounds of judging noise and weights at most."""


@dataclass(frozen=True, eq=False)
class Options:
    """How a fit treats noise.

    Attributes:
        columns: which columns of the system are estimated.
        sigma: standard deviation of every noise, (noises,); start values where they are estimated.
        estimated: which of them are estimated, (noises,).
        loss: "auto" (least squares without the rows that are flagged), "none", "huber", "cauchy" or "tukey".
        prior: columns, and rows (k, columns) whose products with the deviations there are independent and of
            variance one.
        bounds: column → (lower, upper).
        linear: whether to take one linearised step (19) instead of iterating.
        extra: variance that encoders add to every scalar row, (rows,).
        common: how many rows of a noise tell as much as one that errs alone, (noises,), see `common`; 1 if None.
    """

    columns: tuple[int, ...]
    sigma: np.ndarray
    estimated: np.ndarray
    loss: str = "auto"
    prior: tuple[tuple[int, ...], np.ndarray] | None = None
    bounds: Mapping[int, tuple[float, float]] | None = None
    linear: bool = False
    extra: np.ndarray | None = None
    common: np.ndarray | None = None

    def shared(self, problem: FitProblem) -> np.ndarray:
        """`common` of every scalar row, (rows,)."""
        if self.common is None:
            return np.ones(problem.n_rows)
        return np.concatenate([self.common, [1.0]])[problem.noise]


@dataclass(frozen=True, eq=False)
class At:
    """Where a fit stands: parameters and frames, residuals (rows,), and derivatives (rows, n) by its columns."""

    values: np.ndarray
    frames: np.ndarray
    r: np.ndarray
    J: np.ndarray

    @classmethod
    def of(cls, problem: FitProblem, columns: Sequence[int], values: np.ndarray, frames: np.ndarray) -> At:
        """At given parameters and frames."""
        return cls(values, frames, *problem.evaluate(values, frames, columns))


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
        fit: the last iteration, with the weighted Jacobian by the estimated columns; its state is an `At`.
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
    options: Options,
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
    state = At.of(problem, options.columns, _within(values, options.bounds), frames)
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
    inside = _rows_used(problem, use)
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


def _within(values: np.ndarray, bounds) -> np.ndarray:
    """Values moved into their bounds."""
    values = values.copy()
    for column, (low, high) in (bounds or {}).items():
        values[column] = min(max(values[column], low), high)
    return values


def _without_outliers(problem, options, state, sigma, use):
    """Least squares on the rows that are not flagged; the flags are judged anew until they stay."""
    flagged = np.zeros(problem.n_data_rows, dtype=bool)
    inside = _rows_used(problem, use)
    weight = robust_start(problem, options, state, sigma, use)
    fit = least_squares(problem, options, state, sigma, weight, use, rough=True, near=True)
    for turn in range(TURNS):
        new_sigma, distance, components = _judged(problem, options, fit, sigma, weight, use)
        new = inside & (distance > outlier_limits(problem, components, freedom(problem, fit, weight, use)))
        new = spared(problem, new, inside, distance)
        settled = turn and (new == flagged).all() and abs(new_sigma / sigma - 1.0).max() < 5e-3
        if settled:
            break
        flagged, sigma = new, new_sigma
        weight = np.where(flagged, 0.0, 1.0)
        fit = least_squares(problem, options, fit.state, sigma, weight, use, rough=True, near=True)
    if not options.linear:
        fit = _polished(problem, options, fit.state, sigma, weight, use)
    return fit, new_sigma, weight


def _polished(problem, options, state: At, sigma, weight, use) -> Fit:
    """Least squares from where a rough fit has ended."""
    state = At.of(problem, options.columns, state.values, state.frames)
    return least_squares(problem, options, state, sigma, weight, use, near=True)


def freedom(problem: FitProblem, fit: Fit, weight: np.ndarray, use: np.ndarray | None = None) -> int:
    """Scalar rows of a fit less its parameters: how well its noise is known."""
    rows = np.concatenate([weight, [1.0]])[problem.row] > 0
    return max(int((rows if use is None else rows & use).sum()) - int(fit.free.sum()), 1)


def outlier_limits(problem: FitProblem, components: np.ndarray, freedom: int) -> np.ndarray:
    """Distance beyond which rows with so many components do not belong."""
    return robust.limit(1.0 - CHANCE / problem.n_data_rows, components, freedom)


def robust_start(problem, options, state, sigma, use) -> np.ndarray:
    """Tukey weights at a state, the last of the robust fit."""
    distance, components = row_distances(problem, state.r / row_sigma(problem, options, sigma), use)
    return np.where(_rows_used(problem, use), robust.weights("tukey", distance, components), 1.0)


def _started(problem, options, state, use) -> np.ndarray:
    """Noise from the residuals at the start, at most as small as they are."""
    sigma = options.sigma.copy()
    for k in np.flatnonzero(options.estimated):
        own = state.r[use & (problem.noise == k)]
        if len(own):
            sigma[k] = max(1.5 * float(np.median(abs(own))), LEAST_SIGMA)
    return sigma


def least_squares(
    problem, options, state: At, sigma, weight, use, *, rough: bool = False, near: bool = False
) -> Fit:
    """Least squares with given noise and weights.

    Where it may be `rough`, the last step, a small one, is taken along the tangent: residuals are not evaluated
    anew. `near` says that the start is near the end, so that steps need no damping.
    """
    columns = list(options.columns)
    P = len(problem.model.terms)
    scale = _scalar_weights(problem, options, sigma, weight)
    rows = use & (scale > 0)
    used = slice(None) if rows.all() else rows
    scale = scale[used]
    prior_columns, own, prior_rows = prior_of(options)
    bounds = {columns.index(k): (k, *sides) for k, sides in (options.bounds or {}).items() if k in columns}

    def whitened(at: At):
        r = np.concatenate([scale * at.r[used], own @ at.values[prior_columns]])
        return r, np.concatenate([scale[:, None] * at.J[used], prior_rows])

    def moved(at: At, step):
        full = np.zeros(problem.n_columns)
        full[columns] = step
        return _within(at.values + full[:P], options.bounds), problem.moved(at.frames, full)

    def move(at: At, step):
        return At.of(problem, columns, *moved(at, step))

    def along_tangent(at: At, step):
        return At(*moved(at, step), at.r + at.J @ step, at.J)

    def room(at: At):
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        for place, (column, least, most) in bounds.items():
            low[place], high[place] = least - at.values[column], most - at.values[column]
        return low, high

    if options.linear:
        r, J = whitened(state)
        state = move(state, bounded_step(J, r, room(state) if bounds else None))
        r, J = whitened(state)
        return Fit(state, r, J, 0.5 * float(r @ r), 1, True, held_back(J, r, room(state) if bounds else None))
    return minimize(
        whitened,
        state,
        move,
        room=room if bounds else None,
        last=along_tangent if rough else None,
        tolerance=1e-5 if rough else 1e-14,
        damping=1e-8 if near else 1e-4,
    )


def prior_of(options: Options) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Columns of the prior, its rows by them, and by all of the fit; none where the fit lacks some of them."""
    columns = list(options.columns)
    if options.prior is None or not set(options.prior[0]) <= set(columns):
        return [], np.zeros((0, 0)), np.zeros((0, len(columns)))
    own, rows = options.prior
    place = {column: k for k, column in enumerate(columns)}
    by_columns = np.zeros((len(rows), len(columns)))
    by_columns[:, [place[column] for column in own]] = rows
    return list(own), rows, by_columns


def row_sigma(problem: FitProblem, options: Options, sigma: np.ndarray) -> np.ndarray:
    """Standard deviation of every scalar row, (rows,): σ² = σ_g² + r²σ_q²."""
    own = np.concatenate([sigma, [1.0]])[problem.noise]
    own[problem.noise == CONSTRAINT] = [s for *_, s in problem.constraints]
    return own if options.extra is None else np.sqrt(own**2 + options.extra)


def _scalar_weights(problem, options, sigma, weight) -> np.ndarray:
    return np.sqrt(np.concatenate([weight, [1.0]])[problem.row]) / weighing_sigma(problem, options, sigma)


def weighing_sigma(problem: FitProblem, options: Options, sigma: np.ndarray) -> np.ndarray:
    """What rows are divided by, (rows,): larger than their standard deviation where they err together."""
    return row_sigma(problem, options, sigma) * np.sqrt(options.shared(problem))


def row_scales(problem: FitProblem, options: Options, found: Solution) -> np.ndarray:
    """What a solution multiplied every scalar row by, (rows,): zero where it was left out."""
    return _scalar_weights(problem, options, found.sigma, found.weight)


def _rows_used(problem: FitProblem, use) -> np.ndarray:
    inside = np.zeros(problem.n_data_rows, dtype=bool)
    rows = problem.row[use]
    inside[rows[rows >= 0]] = True
    return inside


def row_distances(problem: FitProblem, whitened: np.ndarray, use: np.ndarray | None = None):
    """Root of the sum of squares of the whitened components of every row of data, and their number."""
    own = problem.row >= 0 if use is None else (problem.row >= 0) & use
    squares = np.bincount(problem.row[own], whitened[own] ** 2, problem.n_data_rows)
    return np.sqrt(squares), np.bincount(problem.row[own], minlength=problem.n_data_rows)


def _judged(problem, options, fit: Fit, sigma, weight, use):
    """Noise judged from the residuals, and distances of all rows, corrected for what the fit has absorbed."""
    own_sigma = row_sigma(problem, options, sigma)
    row_weight = np.concatenate([weight, [1.0]])[problem.row]
    rows = use & (row_weight > 0)
    whitened = fit.state.r / own_sigma
    free = slice(None) if fit.free.all() else fit.free
    # Variance of what the fit predicts for every row, in units of the row's own.
    predicted = leverages(fit.jacobian[:, free], fit.state.J[:, free] / own_sigma[:, None])
    leverage = np.where(rows, row_weight * predicted, 0.0)
    new = sigma.copy()
    if options.estimated.any():
        group = np.where(rows, problem.noise, CONSTRAINT)
        found = np.sqrt(variance_factors(whitened, leverage, group, row_weight))
        # Weights below one take their share from large residuals: undo it by what they take from good rows.
        for k in np.flatnonzero(options.estimated):
            if k < len(found) and (group == k).any():
                new[k] = max(sigma[k] * found[k], LEAST_SIGMA)
    # To rows the fit has not seen, its own uncertainty adds.
    spread = np.where(rows, np.clip(1.0 - leverage, 0.05, 1.0), np.where(use, 1.0 + predicted, 1.0))
    ratio = np.concatenate([sigma / new, [1.0]])[problem.noise]
    distance, components = row_distances(problem, whitened * ratio / np.sqrt(spread), use)
    return new, distance, components


def with_columns(options: Options, columns: Sequence[int]) -> Options:
    """The same options for other columns."""
    return replace(options, columns=tuple(columns))
