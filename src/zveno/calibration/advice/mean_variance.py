"""The mean variance of the tool as a criterion for more postures: an engine of `fit.greedy`."""

from __future__ import annotations

import numpy as np

FEW = 50
"""Postures of which none is given up."""


class MeanVariance:
    """trace(M C), which postures make smaller.

    Args:
        C: covariance (k, k) before.
        A: whitened rows of every posture, (n, m, k).
        M: weights, (k, k).
    """

    C: np.ndarray

    def __init__(self, C: np.ndarray, A: np.ndarray, M: np.ndarray):
        self.C, self._A, self._n, self._numbers = C, A, len(A), np.arange(len(A))
        self._AC = _times(A, C)
        self._ACM = _times(self._AC, M)

    def gains(self, sign: float = 1.0) -> np.ndarray:
        """By how much each posture would make trace(M C) smaller, (n,); −inf for those given up."""
        # trace(M C Aᵀ inner⁻¹ A C)
        self._inner = np.eye(self._A.shape[1]) + self._AC @ np.swapaxes(self._A, 1, 2)
        gains = np.full(self._n, -np.inf)
        gains[self._numbers] = np.einsum("nij,nij->n", np.linalg.solve(self._inner, self._AC), self._ACM)
        self._last = gains[self._numbers]
        return gains

    def change(self, i: int, sign: float = 1.0) -> None:
        """Add posture i, the best of the last `gains`."""
        at = int(np.flatnonzero(self._numbers == i)[0])
        rows, width = self._A[at], self.C.shape[0]
        self.C = updated(self.C, rows)
        # C loses K A C of the posture taken: so do all products with it.
        K = np.linalg.solve(self._inner[at], (self._AC.reshape(-1, width) @ rows.T).T).T
        kept = slice(None)
        if len(self._numbers) == self._n > FEW:  # a posture that is poor alone is hardly ever taken later
            kept = np.argsort(self._last)[self._n // 2 :]
        AC, ACM = ((X.reshape(-1, width) - K @ X[at]).reshape(X.shape)[kept] for X in (self._AC, self._ACM))
        self._AC, self._ACM, self._A, self._numbers = AC, ACM, self._A[kept], self._numbers[kept]


def _times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A_i B (n, m, k) as one product."""
    return (A.reshape(-1, len(B)) @ B).reshape(A.shape)


def updated(C: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Covariance C (k, k) after rows A (m, k) of variance one: C − C Aᵀ (1 + A C Aᵀ)⁻¹ A C."""
    AC = A @ C
    return C - AC.T @ np.linalg.solve(np.eye(len(A)) + AC @ A.T, AC)
