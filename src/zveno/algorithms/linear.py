"""Symmetric positive definite systems on float, complex or traced entries, without fill-in on a tree."""

from __future__ import annotations

from typing import Any

import numpy as np


def factor(A: Any) -> tuple[Any, Any]:
    """(L, r) with A = Lᵀ diag(1/r) L, L unit lower triangular, eliminating the last row first.

    In depth-first order this leaves every structural zero of a tree's mass matrix zero (Featherstone 2008, 6.5).
    Only the lower triangle of A is read.
    """
    n = len(A)
    L = [[A[i][j] for j in range(i)] for i in range(n)]
    d = [A[i][i] for i in range(n)]
    for k in range(n - 1, -1, -1):
        row = L[k]
        d[k] = 1.0 / d[k]  # one division a row: it costs as much as several products
        scaled = [entry * d[k] for entry in row]
        for i in range(k):
            if not _is_zero(scaled[i]):
                d[i] = d[i] - scaled[i] * row[i]
                for j in range(i):
                    L[i][j] = L[i][j] - scaled[i] * row[j]
        L[k] = scaled
    return L, d


def up(L: Any, b: Any) -> np.ndarray:
    """L⁻ᵀ b for a unit lower triangular L."""
    x = list(b)
    for k in range(len(x) - 1, -1, -1):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    return np.array(x)


def down(L: Any, x: Any) -> np.ndarray:
    """L⁻¹ x for a unit lower triangular L."""
    x = list(x)
    for k in range(len(x)):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return np.array(x)


def solve_factored(factors: Any, b: Any) -> np.ndarray:
    """x with Lᵀ diag(1/r) L x = b, for one right-hand side (n,)."""
    L, r = factors
    x = list(b)
    n = len(x)
    for k in range(n - 1, -1, -1):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    for k in range(n):
        x[k] = x[k] * r[k]
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return np.array(x)


def trace_of_inverse(factors: Any) -> Any:
    """tr A⁻¹ of the factors (L, r) of A: the squared entries of L⁻ᵀ, each row times its r."""
    L, r = factors
    columns = [up([row[:i] for row in L[: i + 1]], [0.0] * i + [1.0]) for i in range(len(r))]
    return sum(r[k] * (entry * entry) for column in columns for k, entry in enumerate(column))


def solve(A: Any, b: Any) -> np.ndarray:
    """x with A x = b for a symmetric positive definite A (n, n) and b (n,) or (n, m)."""
    factors = factor(A)
    b = np.asarray(b)
    if b.ndim == 1:
        return solve_factored(factors, b) if len(b) else np.zeros(0)
    columns = [solve_factored(factors, b[:, k]) for k in range(b.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros(b.shape)


def inverse(A: np.ndarray) -> np.ndarray:
    """A⁻¹ of a symmetric positive definite A, made symmetric by copying its lower triangle."""
    full = solve(A, np.eye(len(A)))
    return symmetric(full.T)


def symmetric(A: Any) -> np.ndarray:
    """The symmetric matrix with the upper triangle of A; the lower one is not even computed when traced."""
    n = len(A)
    return np.array([[A[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]).reshape(n, n)


def _is_zero(x) -> bool:
    return isinstance(x, float | int) and x == 0
