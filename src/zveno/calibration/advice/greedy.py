"""Postures taken one by one, each where it reduces a mean variance most."""

from __future__ import annotations

import numpy as np


def greedy(C: np.ndarray, A: np.ndarray, M: np.ndarray, count: int) -> tuple[list[int], np.ndarray]:
    """Numbers of `count` postures, and the covariance after them.

    Args:
        C: covariance (k, k) before.
        A: whitened rows of every posture, (n, m, k).
        M: what is made small is trace(M C).
    """
    picked: list[int] = []
    n, m, width = A.shape
    numbers = np.arange(n)
    AC, one = (A.reshape(-1, width) @ C).reshape(A.shape), np.eye(m)
    ACM = (AC.reshape(-1, width) @ M).reshape(A.shape)
    for turn in range(count):
        # trace(M C Aᵀ inner⁻¹ A C) of every candidate
        inner = one + AC @ np.swapaxes(A, 1, 2)
        gain = np.einsum("nij,nij->n", np.linalg.solve(inner, AC), ACM)
        gain[np.isin(numbers, picked)] = -np.inf
        best = int(np.argmax(gain))
        picked.append(int(numbers[best]))
        C = updated(C, A[best])
        # C loses K A C of the posture taken: so do all products with it.
        K = np.linalg.solve(inner[best], (AC.reshape(-1, width) @ A[best].T).T).T
        AC, ACM = ((X.reshape(-1, width) - K @ X[best]).reshape(X.shape) for X in (AC, ACM))
        if not turn:  # a posture that is poor alone is hardly ever taken later
            good = np.argsort(gain)[len(gain) // 2 :]
            numbers, A, AC, ACM = numbers[good], A[good], AC[good], ACM[good]
    return picked, C


def updated(C: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Covariance C (k, k) after rows A (m, k) of variance one: C − C Aᵀ (1 + A C Aᵀ)⁻¹ A C."""
    AC = A @ C
    return C - AC.T @ np.linalg.solve(np.eye(len(A)) + AC @ A.T, AC)
