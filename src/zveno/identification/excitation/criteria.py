"""Information of a motion: its log det with the gradient, and the condition number of the regressor."""

from __future__ import annotations

import numpy as np
import scipy.linalg


def log_det(M: np.ndarray) -> tuple[float, np.ndarray]:
    """Return log det M, and M⁻¹, its gradient; −inf where M is singular."""
    size = np.sqrt(np.diag(M))
    if not (np.isfinite(size).all() and size.all()):
        return -np.inf, np.zeros_like(M)
    try:
        L = scipy.linalg.cho_factor(M / size[:, None] / size, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return -np.inf, np.zeros_like(M)
    inverse = scipy.linalg.cho_solve(L, np.eye(len(M)), check_finite=False) / size[:, None] / size
    return 2.0 * float(np.log(np.diag(L[0])).sum() + np.log(size).sum()), inverse


def condition_number(M: np.ndarray) -> float:
    """Return the condition number of the regressor with columns of length 1."""
    size = np.sqrt(np.diag(M))
    if not size.all():
        return np.inf
    values = np.linalg.eigvalsh(M / size[:, None] / size)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf
