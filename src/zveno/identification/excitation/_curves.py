"""Periodic curves in joint space: Fourier series, linear in their coefficients.

The basis gives the values of its functions and of their derivatives, rows that bound a curve *between* samples as
well, and the directions of the coefficients that keep both ends at rest. A trigonometric polynomial of degree H
stays below max|f(t_i)| / cos(πH/n) for n > 2H equidistant samples (Ehlich and Zeller, Math. Z. 86, 1964), and so do
its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...io.results import registered

_SAMPLES_PER_HARMONIC = 40
"""Number of bounding rows per harmonic: cos(π/40) takes 0.3 % of every limit."""


@registered
@dataclass(frozen=True, eq=False)
class FourierCurve:
    """q₀ + Σ (a_k sin kωt − b_k cos kωt) / (kω), ω = 2π / duration; rows q₀, a_1 … a_H, b_1 … b_H.

    Calling it with times (...) gives q (..., n), or a derivative of q.

    Attributes:
        duration: of one period, s.
        coefficients: of the basis functions, (m, n).
    """

    duration: float
    coefficients: np.ndarray

    @cached_property
    def basis(self) -> FourierBasis:
        """Functions that the coefficients multiply."""
        return FourierBasis(self.duration, (len(self.coefficients) - 1) // 2)

    def __call__(self, t: Any, order: int = 0) -> np.ndarray:
        """Return q (..., n) at times t (...), s, or a derivative up to order 3: velocity, acceleration, jerk."""
        return self.basis.functions(np.asarray(t, dtype=float), order) @ self.coefficients


class FourierBasis:
    """Constant, then sines and cosines of H harmonics, scaled so that velocities have the coefficients."""

    def __init__(self, duration: float, harmonics: int):
        self.duration: float = duration
        self.harmonics: int = harmonics
        self.m: int = 2 * harmonics + 1
        self.rates: np.ndarray = 2.0 * np.pi / duration * np.arange(1, harmonics + 1)

    def functions(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """Return the values (..., m) of the functions, or of their derivatives, at times (...)."""
        w = self.rates
        angle = t[..., None] * w + order * np.pi / 2  # every derivative turns sines and cosines by a quarter
        size = w ** (order - 1.0)
        first = np.ones_like(t) if order == 0 else np.zeros_like(t)
        return np.concatenate([first[..., None], size * np.sin(angle), -size * np.cos(angle)], axis=-1)

    def bounds(self, order: int) -> np.ndarray:
        """Return rows B (r, m): where |B c| ≤ L, the derivative of that order stays within ±L at all times."""
        n = _SAMPLES_PER_HARMONIC * self.harmonics
        t = np.arange(n) * self.duration / n
        return self.functions(t, order) / np.cos(np.pi * self.harmonics / n)

    @property
    def constant(self) -> np.ndarray:
        """Coefficients (m,) of the constant 1."""
        return np.eye(self.m)[0]

    def free(self) -> np.ndarray:
        """Return orthonormal directions (m, f) of the coefficients at rest at both ends."""
        ends = np.array([0.0, self.duration])
        rows = np.concatenate([np.diff(self.functions(ends), axis=0), *(self.functions(ends, k) for k in (1, 2))])
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = (rows / np.where(size > 0.0, size, 1.0))[size[:, 0] > 1e-12]
        _, s, vt = np.linalg.svd(rows)
        return vt[int(np.sum(s > 1e-9)) :].T
