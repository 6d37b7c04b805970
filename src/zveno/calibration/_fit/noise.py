"""Noise in a fit: options, standard deviations and weights of scalar rows, and rows of the prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..measurements._fit_problem import CONSTRAINT, FitProblem

if TYPE_CHECKING:
    from .shared_errors import VarianceComponent

Bounds = Mapping[int, tuple[float, float]] | None
"""Column → (lower, upper)."""
LEAST_SIGMA = 1e-9
"""Noise, m or rad, below which readings are practically exact: the rest is rounding."""


@dataclass(frozen=True, eq=False)
class FitOptions:
    """Treatment of noise in a fit.

    Attributes:
        columns: which columns of the system are estimated.
        sigma: standard deviation of the independent errors of every noise, (noises,); start values where they are
            estimated.
        estimated: which of them are estimated, (noises,).
        loss: "auto" (least squares without the rows that are flagged) or "none" (all rows).
        prior: columns, and rows (k, columns) whose products with the deviations there are independent and of
            variance one.
        bounds: column → (lower, upper).
        extra: variance that encoders add to every scalar row, (rows,).
        shared: number of rows of a posture per independent row, (noises,); 1 if None.
        components: errors that the rows of a group share.
    """

    columns: tuple[int, ...]
    sigma: np.ndarray
    estimated: np.ndarray
    loss: str = "auto"
    prior: tuple[tuple[int, ...], np.ndarray] | None = None
    bounds: Bounds = None
    extra: np.ndarray | None = None
    shared: np.ndarray | None = None
    components: tuple[VarianceComponent, ...] = ()

    def shared_by_row(self, problem: FitProblem) -> np.ndarray:
        """Return `shared` of every scalar row, (rows,)."""
        if self.shared is None:
            return np.ones(problem.n_rows)
        return problem.by_noise(self.shared, 1.0)


def prior_of(options: FitOptions) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return the columns of the prior, its rows by them, and by all of the fit; none where the fit lacks some of
    them."""
    columns = list(options.columns)
    if options.prior is None or not set(options.prior[0]) <= set(columns):
        return [], np.zeros((0, 0)), np.zeros((0, len(columns)))
    prior_columns, rows = options.prior
    place = {column: k for k, column in enumerate(columns)}
    by_columns = np.zeros((len(rows), len(columns)))
    by_columns[:, [place[column] for column in prior_columns]] = rows
    return list(prior_columns), rows, by_columns


def row_sigma(problem: FitProblem, options: FitOptions, sigma: np.ndarray) -> np.ndarray:
    """Return the standard deviation of every scalar row, (rows,), including the errors shared with others."""
    shared = np.ones(problem.n_rows)
    for component in options.components:
        shared += component.ratio * np.sum(component.effects**2, axis=1)
    return independent_sigma(problem, options, sigma) * np.sqrt(shared)


def independent_sigma(problem: FitProblem, options: FitOptions, sigma: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the independent error of every scalar row, (rows,): σ² = σ_g² + r²σ_q²."""
    by_row = problem.by_noise(sigma, 1.0)
    by_row[problem.noise == CONSTRAINT] = [s for *_, s in problem.constraints]
    return by_row if options.extra is None else np.sqrt(by_row**2 + options.extra)


class Whitening:
    """Transform that makes the rows of a fit independent with unit variance: W with W Σ Wᵀ = 1.

    Rows are divided by their independent standard deviation, and by the root of the number that counts as one. A
    component with effects V then has left Σ = 1 + V Vᵀ in
    every group, and Σ^(−½) = 1 − V Q diag((1 − (1 + λ)^(−½)) / λ) Qᵀ Vᵀ, with VᵀV = Q diag(λ) Qᵀ.

    Args:
        problem, options, sigma: the rows and their noise.
        weight: of every row of data, (data rows,).
        use: scalar rows to use, (rows,) booleans; all if None.
    """

    def __init__(
        self,
        problem: FitProblem,
        options: FitOptions,
        sigma: np.ndarray,
        weight: np.ndarray,
        use: np.ndarray | None = None,
    ):
        counted = problem.by_row(weight, 1.0) / options.shared_by_row(problem)
        scale = np.sqrt(counted) / independent_sigma(problem, options, sigma)
        used = scale > 0 if use is None else use & (scale > 0)
        self.used: np.ndarray | slice = slice(None) if used.all() else used
        self.scale: np.ndarray = scale[self.used]
        self._shared: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        by_noise = problem.by_noise(sigma, 1.0)
        for component in options.components:
            rows = (component.group >= 0) & used
            if not rows.any():
                continue
            V = self(np.sqrt(component.ratio) * by_noise[:, None] * np.where(rows[:, None], component.effects, 0.0))
            inside, starts, group = by_group(component.group[self.used])
            V = V[inside]
            eigenvalues, Q = np.linalg.eigh(np.add.reduceat(V[:, :, None] * V[:, None, :], starts))
            eigenvalues = np.maximum(eigenvalues, 1e-12)
            half = Q * np.sqrt((1.0 - (1.0 + eigenvalues) ** -0.5) / eigenvalues)[:, None, :]
            self._shared.append((inside, starts, group, (V[:, None, :] @ half[group])[:, 0]))

    def __call__(self, of: np.ndarray) -> np.ndarray:
        """Return whitened rows of values of all scalar rows, (rows,) or (rows, k)."""
        white = of[self.used] * (self.scale if of.ndim == 1 else self.scale[:, None])
        for inside, starts, group, U in self._shared:
            rows = white[inside].reshape(len(inside), -1)
            sums = np.add.reduceat(U[:, :, None] * rows[:, None, :], starts)
            white[inside] = (rows - (U[:, None, :] @ sums[group])[:, 0]).reshape(len(inside), *white.shape[1:])
        return white


def by_group(group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows that have a group (a number from 0), sorted by it; the start of each group among them; and
    the place of each row's group among the groups."""
    inside = np.flatnonzero(group >= 0)
    inside = inside[np.argsort(group[inside], kind="stable")]
    first = np.diff(group[inside], prepend=-1) != 0
    return inside, np.flatnonzero(first), np.cumsum(first) - 1


def rows_used(problem: FitProblem, use: np.ndarray) -> np.ndarray:
    """Return the data rows, (data rows,) booleans, that have any of the scalar rows `use`."""
    inside = np.zeros(problem.n_data_rows, dtype=bool)
    rows = problem.row[use]
    inside[rows[rows >= 0]] = True
    return inside


def row_distances(
    problem: FitProblem, whitened: np.ndarray, use: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the norm of the whitened components of every data row, and their number."""
    counted = problem.row >= 0 if use is None else (problem.row >= 0) & use
    squares = np.bincount(problem.row[counted], whitened[counted] ** 2, problem.n_data_rows)
    return np.sqrt(squares), np.bincount(problem.row[counted], minlength=problem.n_data_rows)
