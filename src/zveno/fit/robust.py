"""Robust weights: rows that fit badly count less, whatever the reason."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtri, gammaincinv


def weights(distance: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return Tukey's weights (rows,) for distances: the root of the sum of squares of n whitened components."""
    return np.maximum(0.0, 1.0 - distance**2 / (1.6 * _limit(0.99, np.maximum(n, 1))) ** 2) ** 2


def limit(probability: float, n: np.ndarray, freedom: int | None = None) -> np.ndarray:
    """Return the distance that a good row with n components exceeds with probability 1 − `probability`.

    If the noise was estimated from residuals with `freedom` degrees of freedom, the estimate may be too small.
    Squared distances over n then follow F(n, freedom) instead of χ²(n)/n.
    """
    if freedom is None:
        return _limit(probability, n)
    counts = np.arange(1, np.max(n, initial=1) + 1)
    return np.sqrt(counts * fdtri(counts, freedom, probability))[np.maximum(n, 1) - 1]


def _limit(probability: float, n) -> np.ndarray:
    """Return the root of the quantile of χ²(n)."""
    counts = np.arange(np.max(n, initial=0) + 1)
    return np.sqrt(2.0 * gammaincinv(0.5 * counts, probability))[n]
