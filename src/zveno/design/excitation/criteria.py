"""How much a motion tells: log det of the information, its smallest eigenvalue, or how evenly it is spread.

All are scalars φ(M) of the information, larger is better, with the gradient dφ/dM; parameters have units, so that
"E" and "condition" look at M̄ = D^−½ M D^−½ with D the diagonal of M: every column scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]

SOFT = 8.0
"""Power p of the soft minimum (Σ λ^−p)^(−1/p): where eigenvalues cross, the smallest has no gradient."""


def log_det(M: np.ndarray) -> tuple[float, np.ndarray]:
    """log det M, and M⁻¹; −inf where M is singular."""
    size = np.sqrt(np.diag(M))
    if not (np.isfinite(size).all() and size.all()):
        return -np.inf, np.zeros_like(M)
    try:
        L = scipy.linalg.cho_factor(M / size[:, None] / size, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return -np.inf, np.zeros_like(M)
    inverse = scipy.linalg.cho_solve(L, np.eye(len(M)), check_finite=False) / size[:, None] / size
    return 2.0 * float(np.log(np.diag(L[0])).sum() + np.log(size).sum()), inverse


def smallest_eigenvalue(M: np.ndarray) -> tuple[float, np.ndarray]:
    """log of the soft minimum of the eigenvalues of M̄, plus the mean of log D: more of everything counts too."""
    diagonal = np.diag(M)
    value, slope = _scaled(M, lambda values: _soft(values, -SOFT))
    return value + float(np.mean(np.log(diagonal))), slope + np.diag(1.0 / diagonal / len(M))


def conditioning(M: np.ndarray) -> tuple[float, np.ndarray]:
    """−log of the condition number of M̄, with soft extremes."""

    def spread(values: np.ndarray) -> tuple[float, np.ndarray]:
        (low, d_low), (high, d_high) = _soft(values, -SOFT), _soft(values, SOFT)
        return low - high, d_low - d_high

    return _scaled(M, spread)


CRITERIA: dict[str, Criterion] = {"D": log_det, "E": smallest_eigenvalue, "condition": conditioning}
"""By name: "D" log det, "E" smallest eigenvalue, "condition" number, the latter two of scaled columns."""


def condition_number(M: np.ndarray) -> float:
    """Of the regressor with columns of length 1: the root of that of M̄."""
    size = np.sqrt(np.diag(M))
    if not size.all():
        return np.inf
    values = np.linalg.eigvalsh(M / size[:, None] / size)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf


def _soft(values: np.ndarray, p: float) -> tuple[float, np.ndarray]:
    """log (Σ λ^p)^(1/p) and its slope by the λ."""
    logs = p * np.log(values)
    top = logs.max()
    weights = np.exp(logs - top)
    total = weights.sum()
    return float((top + np.log(total)) / p), weights / total / values


def _scaled(M: np.ndarray, of: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """A function of the eigenvalues of M̄, with its gradient by M."""
    size = np.sqrt(np.diag(M))
    if not (np.isfinite(size).all() and size.all()):
        return -np.inf, np.zeros_like(M)
    values, vectors = np.linalg.eigh(M / size[:, None] / size)
    if not values[0] > 0.0:
        return -np.inf, np.zeros_like(M)
    value, slope = of(values)
    by_scaled = (vectors * slope) @ vectors.T
    # dM̄ = dM/(s sᵀ) − ½ (E M̄ + M̄ E) with E = diag(dM_ii / M_ii).
    through_diagonal = np.einsum("ij,ji->i", by_scaled, (vectors * values) @ vectors.T) / size**2
    return value, by_scaled / size[:, None] / size - np.diag(through_diagonal)
