"""Factor of the covariance of predictions by which 95 % regions hold 95 % of postures not used.

For every fold the residuals r of the held-out rows have the covariance V = J C Jᵀ + Σ, with C the covariance of the
parameters from the other rows. Targets that only the fold touches are projected out. A posture has d² = rᵀV⁻¹r with
k components. The factor is the quantile of d² / χ²_k(0.95) over all postures, and at least one. Postures with
flagged rows count too, but as no farther away than the others: a gross data error is not an error of the robot.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from ..measurements._fit_problem import FitProblem
from .held_out import folds_of, split
from .noise import FitOptions, prior_of, row_sigma
from .solve import Solution

LEVEL = 0.95
MANY_PLACES = 10
"""Number of places from which the quantile is taken over all postures; below, that of the worst place."""
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
    places = [ratios for ratios in places if len(ratios)]  # a few touches may only place their target
    samples = [np.concatenate([*dealt, np.zeros((0, 2))]), *places]
    if len(places) >= MANY_PLACES:
        samples = [np.concatenate(samples)]
    return max(1.0, *map(_quantile, samples)), len(places)


def _quantile(ratios: np.ndarray) -> float:
    """Return the ⌈LEVEL (n + 1)⌉-th smallest of n ratios, the largest where that is more than n; 0 for none.

    Args:
        ratios: (n, 2), each with 1 where the posture has a flagged row, else 0.
    """
    size, flagged = ratios[:, 0], ratios[:, 1] > 0
    if flagged.all():
        return 0.0
    size = np.sort(np.minimum(size, size[~flagged].max()))
    return float(size[min(int(np.ceil(LEVEL * (len(size) + 1))), len(size)) - 1])


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
