"""Robust losses as weights: rows that fit badly count less, whatever made them bad."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import fdtri, gammaincinv

from ..errors import unknown_name


def _huber(d, n):
    return np.minimum(1.0, _limit(0.95, n) / np.maximum(d, 1e-300))


def _cauchy(d, n):
    return 1.0 / (1.0 + d**2 / _limit(0.9, n) ** 2)


def _tukey(d, n):
    return np.maximum(0.0, 1.0 - d**2 / (1.6 * _limit(0.99, n)) ** 2) ** 2


LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "none": lambda d, n: np.ones_like(d),
    "huber": _huber,
    "cauchy": _cauchy,
    "tukey": _tukey,
}
"""Weight of a row from its distance d (root of the sum of squares of n whitened components)."""


def weights(loss: str, distance: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Weights (rows,) of rows at a distance with n components each, for one of `LOSSES`."""
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    return LOSSES[loss](distance, np.maximum(n, 1))


def limit(probability: float, n: np.ndarray, freedom: int | None = None) -> np.ndarray:
    """Distance that a good row with n components exceeds with probability 1 − `probability`.

    Where the noise was judged from residuals with some `freedom`, it may have been judged too small: squared
    distances over n then follow F(n, freedom) instead of χ²(n)/n.
    """
    if freedom is None:
        return _limit(probability, n)
    counts = np.arange(1, np.max(n, initial=1) + 1)
    return np.sqrt(counts * fdtri(counts, freedom, probability))[np.maximum(n, 1) - 1]


def _limit(probability: float, n) -> np.ndarray:
    """Root of the quantile of χ²(n)."""
    counts = np.arange(np.max(n, initial=0) + 1)
    return np.sqrt(2.0 * gammaincinv(0.5 * counts, probability))[n]
