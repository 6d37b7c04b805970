"""Shared errors of rows as variance components, estimated by restricted likelihood (REML)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..measurements._fit_problem import FitProblem
from .noise import FitOptions, Whitening, by_group, prior_of
from .solve import Solution

STRONG = 5.0
"""Log of the ratio of restricted likelihoods from which rows are taken to share an error. The ratio of good rows
exceeds it with a probability of 0.08 % (half of χ² with one degree of freedom)."""
RATIOS = np.geomspace(1e-3, 1e4, 57)
"""Trial values of κ², a third apart."""
FEWEST = 4
"""Minimum number of groups to separate their shared errors from those of the robot."""


@dataclass(frozen=True, eq=False)
class VarianceComponent:
    """Errors that the rows of a group share.

    Attributes:
        noise: number of the noise it belongs to.
        group: number (rows,) of the group of every scalar row, −1 where it has none.
        effects: V, (rows, k).
        ratio: κ², the variance of effects over that of independent errors: its posterior mean.
    """

    noise: int
    group: np.ndarray
    effects: np.ndarray
    ratio: float = 0.0


def variance_components(problem: FitProblem, options: FitOptions, whole: Solution) -> tuple[VarianceComponent, ...]:
    """Return the components that the residuals of a fit show, each tested beside those before it."""
    accepted: tuple[VarianceComponent, ...] = ()
    for candidate in _candidates(problem, whole):
        ratio, gain = _judged(problem, replace(options, components=accepted), whole, candidate)
        if gain > STRONG:
            accepted = (*accepted, replace(candidate, ratio=ratio))
    return accepted


def has_groups(problem: FitProblem, whole: Solution) -> bool:
    """Return True if rows are in groups that may share errors."""
    return any(True for _ in _candidates(problem, whole))


def _candidates(problem: FitProblem, whole: Solution) -> Iterator[VarianceComponent]:
    """Generate the errors that the rows of a group of postures may share: one per component of a reading.

    Rows that are flagged belong to their group, too: with its error they may not be far.
    """
    good = problem.by_row(whole.weight > 0.05, False)
    labels = _groups(problem)
    for noise in range(len(problem.noise_names)):
        rows = (problem.row >= 0) & (problem.noise == noise) & (labels >= 0)
        if not (rows & good).any():
            continue
        _, place = np.unique(labels[rows], return_inverse=True)
        postures = np.unique(np.stack([place, problem.posture[rows]])[:, good[rows]], axis=1)[0]
        if (np.bincount(postures) > 1).sum() < FEWEST:
            continue
        group = np.full(problem.n_rows, -1)
        group[rows] = place
        width = int(problem.component[rows].max()) + 1
        effects = np.where(rows[:, None], problem.component[:, None] == np.arange(width), 0.0)
        yield VarianceComponent(noise, group, effects)


def _groups(problem: FitProblem) -> np.ndarray:
    """Return the group number of every scalar row, (rows,): as named, else by equal readings; −1 for none.

    Rows that touch a target of their group that is estimated have nothing in common that it does not explain.
    """
    by_posture = np.full(problem.n_postures, -1)
    used = 0
    for part, campaign in zip(problem.parts, problem.campaigns, strict=True):
        if part.measurement.grouped is not None or part.measurement.implicit:
            continue
        n = len(campaign)
        if campaign.groups:
            _, place = np.unique(np.array(campaign.groups), return_inverse=True)
        else:
            readings = np.nan_to_num(campaign.y.reshape(n, -1))
            _, place = np.unique(readings, axis=0, return_inverse=True)
            place = place.ravel()
            if place.max(initial=0) + 1 == n:
                continue
        by_posture[part.first_posture : part.first_posture + n] = used + place
        used += int(place.max(initial=-1)) + 1
    return np.where(problem.posture >= 0, by_posture[problem.posture], -1)


def _judged(
    problem: FitProblem, options: FitOptions, whole: Solution, candidate: VarianceComponent
) -> tuple[float, float]:
    """Return the expected κ², and the log of the ratio of the largest restricted likelihood to that without the
    component.

    With Σ = 1 + κ² V Vᵀ of whitened rows, A their Jacobian and b their residuals, the noise profiled out,

        ln L = −½ ln det Σ − ½ ln det AᵀΣ⁻¹A − ½ f ln bᵀ(Σ⁻¹ − Σ⁻¹A (AᵀΣ⁻¹A)⁻¹ AᵀΣ⁻¹) b
    """
    white = Whitening(problem, options, whole.sigma, whole.weight)
    A = np.column_stack([white(whole.fit.state.J[:, whole.fit.free]), white(whole.fit.state.r)])
    prior_columns, weights, prior_rows = prior_of(options)
    pulled = weights @ whole.values[prior_columns]
    A = np.concatenate([A, np.column_stack([prior_rows[:, whole.fit.free], pulled])])
    norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    A = A / norms
    inside, starts, _ = by_group(candidate.group[white.used])
    V = white(problem.by_noise(whole.sigma, 1.0)[:, None] * candidate.effects)[inside]
    eigenvalues, Q = np.linalg.eigh(np.add.reduceat(V[:, :, None] * V[:, None, :], starts))
    sums = np.swapaxes(Q, 1, 2) @ np.add.reduceat(V[:, :, None] * A[inside][:, None, :], starts)
    sums = sums.reshape(-1, A.shape[1])
    eigenvalues = np.maximum(eigenvalues.ravel(), 0.0)
    M0, freedom = A.T @ A, max(len(white.scale) - int(whole.fit.free.sum()), 1)

    def likelihood(ratio: float) -> tuple[float, float]:
        """Return ln L, and the remaining sum of squares."""
        M = M0 - sums.T @ (sums * (ratio / (1.0 + ratio * eigenvalues))[:, None])
        try:
            L = np.linalg.cholesky(M + 1e-13 * np.eye(len(M)))
        except np.linalg.LinAlgError:
            return -np.inf, 1.0
        diagonal = np.log(np.diag(L))
        half = 0.5 * float(np.log1p(ratio * eigenvalues).sum())
        return -half - diagonal[:-1].sum() - freedom * diagonal[-1], float(L[-1, -1] ** 2)

    values, left = np.array([likelihood(ratio) for ratio in RATIOS]).T
    # The noise goes with κ²: what is averaged is the variance of effects, κ² σ².
    weight = np.exp(values - values.max()) * left
    return float(RATIOS @ weight / weight.sum()), float(values.max() - likelihood(0.0)[0])


SURE = 4.0
"""Number of standard deviations by which sums of a posture must exceed chance."""


def shared_errors(problem: FitProblem, whole: Solution) -> np.ndarray | None:
    """Return the number of rows of each noise per independent row, (noises,); None where all are independent.

    Residuals of the things seen in a posture are added up, component by component: the squares of the sums are as
    large as the sums of the squares if rows are independent, and m times as large if all m are equal.
    """
    factor = np.ones(len(problem.noise_names))
    good = problem.by_row(whole.weight > 0.05, False)
    for number in range(len(factor)):
        rows = np.flatnonzero(good & (problem.noise == number))
        component = problem.component[rows]
        key = problem.posture[rows] * (component.max(initial=0) + 1) + component
        _, place, count = np.unique(key, return_inverse=True, return_counts=True)
        r = whole.residual[rows]
        sums, squares = np.bincount(place, r), np.bincount(place, r**2)
        several = count > 1
        if not several.any():
            continue
        ratio = float(np.sum(sums[several] ** 2) / np.sum(squares[several]))
        chance = np.sqrt(2.0 * np.mean(count[several] - 1.0) / several.sum())
        if ratio > 1.0 + SURE * chance:
            factor[number] = ratio
    return factor if (factor > 1.0).any() else None
