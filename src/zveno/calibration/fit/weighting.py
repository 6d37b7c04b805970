"""How a fit treats noise: options, standard deviations and weights of scalar rows, and rows of the prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..measurements.fit_problem import CONSTRAINT, FitProblem

Bounds = Mapping[int, tuple[float, float]] | None
"""Column → (lower, upper)."""


@dataclass(frozen=True, eq=False)
class FitOptions:
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
        shared: how many rows of a posture count as one independent row, (noises,); 1 if None.
    """

    columns: tuple[int, ...]
    sigma: np.ndarray
    estimated: np.ndarray
    loss: str = "auto"
    prior: tuple[tuple[int, ...], np.ndarray] | None = None
    bounds: Bounds = None
    linear: bool = False
    extra: np.ndarray | None = None
    shared: np.ndarray | None = None

    def shared_by_row(self, problem: FitProblem) -> np.ndarray:
        """`shared` of every scalar row, (rows,)."""
        if self.shared is None:
            return np.ones(problem.n_rows)
        return problem.by_noise(self.shared, 1.0)


def prior_of(options: FitOptions) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Columns of the prior, its rows by them, and by all of the fit; none where the fit lacks some of them."""
    columns = list(options.columns)
    if options.prior is None or not set(options.prior[0]) <= set(columns):
        return [], np.zeros((0, 0)), np.zeros((0, len(columns)))
    prior_columns, rows = options.prior
    place = {column: k for k, column in enumerate(columns)}
    by_columns = np.zeros((len(rows), len(columns)))
    by_columns[:, [place[column] for column in prior_columns]] = rows
    return list(prior_columns), rows, by_columns


def row_sigma(problem: FitProblem, options: FitOptions, sigma: np.ndarray) -> np.ndarray:
    """Standard deviation of every scalar row, (rows,): σ² = σ_g² + r²σ_q²."""
    by_row = problem.by_noise(sigma, 1.0)
    by_row[problem.noise == CONSTRAINT] = [s for *_, s in problem.constraints]
    return by_row if options.extra is None else np.sqrt(by_row**2 + options.extra)


def weighing_sigma(problem: FitProblem, options: FitOptions, sigma: np.ndarray) -> np.ndarray:
    """What rows are divided by, (rows,): larger than their standard deviation where they share an error."""
    return row_sigma(problem, options, sigma) * np.sqrt(options.shared_by_row(problem))


def scalar_weights(problem: FitProblem, options: FitOptions, sigma: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """What every scalar row is multiplied by, (rows,), with weights (data rows,)."""
    return np.sqrt(problem.by_row(weight, 1.0)) / weighing_sigma(problem, options, sigma)


def rows_used(problem: FitProblem, use: np.ndarray) -> np.ndarray:
    """Rows of data, (data rows,) booleans, of which any of the scalar rows `use` is."""
    inside = np.zeros(problem.n_data_rows, dtype=bool)
    rows = problem.row[use]
    inside[rows[rows >= 0]] = True
    return inside


def row_distances(
    problem: FitProblem, whitened: np.ndarray, use: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Root of the sum of squares of the whitened components of every row of data, and their number."""
    counted = problem.row >= 0 if use is None else (problem.row >= 0) & use
    squares = np.bincount(problem.row[counted], whitened[counted] ** 2, problem.n_data_rows)
    return np.sqrt(squares), np.bincount(problem.row[counted], minlength=problem.n_data_rows)
