"""Factor of the covariance of predictions by which 95 % regions hold 95 % of postures not used.

For every fold the residuals r of the held-out rows have the covariance V = J C Jᵀ + Σ, with C the covariance of the
parameters from the other rows. Targets that only the fold touches are projected out. A posture has d² = rᵀV⁻¹r with
k components. The factor is the quantile of d² / χ²_k(0.95) over all postures, and at least one. Postures with
flagged rows count too, but as no farther away than the others: a gross data error is not an error of the robot.

Errors at one place are alike, and what counts is another place. Their sizes by place are taken as lognormal: the
factor is the quantile of the distribution of a posture at another place, over all spreads that the places leave
possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import bisect
from scipy.special import gammaincinv, ndtr

from ..measurements._fit_problem import FitProblem
from .held_out import folds_of, split
from .noise import FitOptions, prior_of, row_sigma
from .solve import Solution

LEVEL = 0.95
SPREADS = np.linspace(0.0, 3.0, 61)
"""Standard deviations of the logarithm of d² between places."""
USUAL_SPREAD = 0.5
"""Scale of the half-Cauchy prior of that standard deviation. Of lognormal sizes that spread by 0 to 1, regions hold
94 to 97 % from four places on, and 93 to 98 % with two or three; by the quantile of the worst place, up to 99 %."""
FEW_PLACES = 3
"""Number of places that is too small to estimate prediction errors elsewhere."""


def covariance_factor(
    problem: FitProblem, options: FitOptions, whole: Solution, unseen: np.ndarray, folds: int, seed: int
) -> tuple[float, int]:
    """Return the factor, and the number of places that it rests on (0 where postures do not come in places).

    Args:
        problem, options, whole: the fit.
        unseen: held-out residual of every scalar row, (rows,); NaN where there is none.
        folds, seed: as of `held_out`.
    """
    if not folds:
        return 1.0, 0
    dealt, places = (
        [_ratios(problem, options, whole, unseen, postures) for postures in parts]
        for parts in folds_of(problem, folds, seed, options.components)
    )
    together = _sizes(np.concatenate([*dealt, np.zeros((0, 2))]))
    apart = [sizes for sizes in map(_sizes, places) if len(sizes)]  # a few touches may only place their target
    return max(1.0, _quantile(together), _quantile_elsewhere(apart)), len(apart)


def _sizes(ratios: np.ndarray) -> np.ndarray:
    """Return the ratios (n,) of a sample in ascending order; none if all are flagged.

    Args:
        ratios: (n, 2), each with 1 where the posture has a flagged row, else 0.
    """
    size, flagged = ratios[:, 0], ratios[:, 1] > 0
    return np.zeros(0) if flagged.all() else np.sort(np.minimum(size, size[~flagged].max()))


def _quantile(size: np.ndarray) -> float:
    """Return the ⌈LEVEL (n + 1)⌉-th smallest of n ascending ratios, the largest where that is more than n; 0 for
    none."""
    return float(size[min(int(np.ceil(LEVEL * (len(size) + 1))), len(size)) - 1]) if len(size) else 0.0


def _quantile_elsewhere(places: Sequence[np.ndarray]) -> float:
    """Return the ratio that a share of `LEVEL` of the postures at another place does not exceed; 0 without places.

    Args:
        places: ratios (n,) of the postures at every place.
    """
    if not places:
        return 0.0
    means = np.array([max(size.mean(), 1e-300) for size in places])
    alike = np.concatenate([size / mean for size, mean in zip(places, means, strict=True)])
    variance = alike.var() / np.array([len(size) for size in places])
    # Restricted likelihood of the spread between places; the mean and a place given it are normal.
    x = np.log(means)
    weight = 1.0 / np.maximum(variance + SPREADS[:, None] ** 2, 1e-12)
    known = weight.sum(axis=1)
    mean = (weight * x).sum(axis=1) / known
    likelihood = np.log(weight).sum(axis=1) - np.log(known) - (weight * (x - mean[:, None]) ** 2).sum(axis=1)
    density = np.exp(0.5 * (likelihood - likelihood.max())) / (1.0 + (SPREADS / USUAL_SPREAD) ** 2)
    density /= density.sum()
    deviation = np.sqrt(1.0 / known + SPREADS**2)
    shape = np.log(np.maximum(np.quantile(alike, (np.arange(200) + 0.5) / 200), 1e-300))

    def missing(log_ratio: float) -> float:
        inside = ndtr((log_ratio - shape - mean[:, None]) / deviation[:, None]).mean(axis=1)
        return float(density @ inside) - LEVEL

    low, high = (float(pick(x)) + width for pick, width in ((np.min, -50.0), (np.max, 50.0)))
    root: Any = bisect(missing, low, high, xtol=1e-9)
    return float(np.exp(root))


def _ratios(
    problem: FitProblem, options: FitOptions, whole: Solution, unseen: np.ndarray, postures: np.ndarray
) -> np.ndarray:
    """Return d² / χ²_k(0.95) of every posture of a fold, and whether it has a flagged row, (n, 2). The array is
    empty where there is no fit without the fold."""
    test = np.isin(problem.posture, postures)
    if not np.isfinite(unseen[test]).all():
        return np.zeros((0, 2))
    kept, train, _ = split(problem, options.columns, test)
    J, sigma = whole.fit.state.J, row_sigma(problem, options, whole.sigma)
    weight = np.sqrt(problem.by_row(whole.weight, 1.0) / options.shared_by_row(problem)) / sigma
    fitted = kept & whole.fit.free
    A = np.concatenate([(J[:, fitted] * weight[:, None])[train], prior_of(options)[2][:, fitted]])
    norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    C = np.linalg.pinv((A / norms).T @ (A / norms), hermitian=True) / np.outer(norms, norms)
    known, new = J[np.ix_(test, fitted)] / sigma[test, None], J[np.ix_(test, ~kept)] / sigma[test, None]
    Q = np.linalg.qr(new[:, abs(new).max(axis=0, initial=0.0) > 0])[0]
    projection = np.eye(len(known)) - Q @ Q.T
    z = projection @ (unseen[test] / sigma[test])
    V = projection @ (known @ C @ known.T + np.eye(len(known))) @ projection
    ratios = []
    for posture in postures:
        rows = problem.posture[test] == posture
        eigenvalues, vectors = np.linalg.eigh(V[np.ix_(rows, rows)])
        seen = eigenvalues > 1e-6 * eigenvalues[-1:].sum()
        if seen.any():
            squares = np.sum((vectors[:, seen].T @ z[rows]) ** 2 / eigenvalues[seen])
            flagged = float((weight[test][rows] == 0.0).any())
            ratios.append((squares / (2.0 * gammaincinv(0.5 * seen.sum(), LEVEL)), flagged))
    return np.array(ratios).reshape(-1, 2)
