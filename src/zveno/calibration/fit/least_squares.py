"""Levenberg–Marquardt least squares at given noise and weights, with a prior and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...fit.levenberg_marquardt import Fit, minimize
from ..measurements.fit_problem import FitProblem
from .weighting import Bounds, FitOptions, Whitening, prior_of


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
