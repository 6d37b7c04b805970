"""Essential parameters: those that cannot be left out without a significant misfit."""

from __future__ import annotations

import numpy as np

SIGNIFICANT = 2.0
"""Number of standard deviations from zero within which parameters may be left out."""


def essential_parameters(x: np.ndarray, covariance: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return True for essential parameters, (p,), by backward elimination.

    The parameter nearest to zero, in units of its standard deviation, is set to zero; the others follow as their
    correlation with it says (x − C_k x_k/C_kk, C − C_k C_kᵀ/C_kk: least squares under the constraint), until all
    that are left differ from zero.

    Args:
        x: (p,) estimate.
        covariance: (p, p) of x, with the true scatter of correlated residuals.
        seen: (p,) whether the rows determine a parameter; others are never essential.
    """
    left = np.flatnonzero(seen)
    x, C = x[left].copy(), covariance[np.ix_(left, left)].copy()
    while len(left):
        std = np.sqrt(np.maximum(C.diagonal(), 1e-300))
        k = int(np.argmin(abs(x) / std))
        if abs(x[k]) >= SIGNIFICANT * std[k]:
            break
        others = np.arange(len(left)) != k
        column = C[others, k] / C[k, k]
        x = x[others] - column * x[k]
        C = C[np.ix_(others, others)] - np.outer(column, C[k, others])
        left = left[others]
    out = np.zeros(len(seen), dtype=bool)
    out[left] = True
    return out
