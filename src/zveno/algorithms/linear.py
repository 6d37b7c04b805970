"""Symmetric positive definite systems with float, complex or traced entries, without fill-in on a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.ops import abs, less, sqrt, where


def factor(A: Any) -> tuple[Any, Any]:
    """Return (L, r) with A = Lᵀ diag(1/r) L and L unit lower triangular, eliminating the last row first.

    In depth-first order this leaves every structural zero of a tree's mass matrix zero (Featherstone 2008, 6.5).
    Only the lower triangle of A is read.
    """
    n = len(A)
    L = [[A[i][j] for j in range(i)] for i in range(n)]
    d = [A[i][i] for i in range(n)]
    for k in range(n - 1, -1, -1):
        row = L[k]
        d[k] = 1.0 / d[k]  # one division per row, because it costs as much as several products
        scaled = [entry * d[k] for entry in row]
        for i in range(k):
            if not _is_zero(scaled[i]):
                d[i] = d[i] - scaled[i] * row[i]
                for j in range(i):
                    L[i][j] = L[i][j] - scaled[i] * row[j]
        L[k] = scaled
    return L, d


def up(L: Any, b: Any) -> np.ndarray:
    """Return L⁻ᵀ b for a unit lower triangular L."""
    x = list(b)
    for k in range(len(x) - 1, -1, -1):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    return np.array(x)


def down(L: Any, x: Any) -> np.ndarray:
    """Return L⁻¹ x for a unit lower triangular L."""
    x = list(x)
    for k in range(len(x)):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return np.array(x)


def solve_factored(factors: Any, b: Any) -> np.ndarray:
    """Solve Lᵀ diag(1/r) L x = b for one right-hand side (n,)."""
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


def triangle(columns: Any) -> list[list[Any]]:
    """Return R by rows, upper triangular (n, n), of the QR factorisation of n columns (m,), m ≥ n.

    One Householder reflection per column. The singular values of R are those of the matrix to rounding, even small
    ones, unlike those of AᵀA.
    """
    return reflected(columns)[0]


def reflected(columns: Any) -> tuple[list[list[Any]], list[tuple[list[Any], Any]]]:
    """Return R as `triangle`, and the reflections that make it: vectors (m − k,) and their factors."""
    n, A = len(columns), [list(column) for column in columns]
    R: list[list[Any]] = [[0.0] * n for _ in range(n)]
    reflections: list[tuple[list[Any], Any]] = []
    for k in range(n):
        v = A[k][k:]
        norm = sqrt(sum(entry * entry for entry in v))
        R[k][k] = where(less(v[0], 0.0), norm, -norm)
        v[0] = v[0] - R[k][k]
        scale = norm * abs(v[0])
        scale = where(less(0.0, scale), 1.0 / where(less(0.0, scale), scale, 1.0), 0.0)
        reflections.append((v, scale))
        for j in range(k + 1, n):
            A[j] = _reflect(k, v, scale, A[j])
            R[k][j] = A[j][k]
    return R, reflections


def _reflect(k: int, v: list[Any], scale: Any, b: Any) -> list[Any]:
    along = scale * sum(x * y for x, y in zip(v, b[k:], strict=True))
    return [*b[:k], *(y - along * x for x, y in zip(v, b[k:], strict=True))]


def reflect(reflections: list[tuple[list[Any], Any]], b: Any) -> list[Any]:
    """Return Qᵀ b (m,) of a factorisation by `reflected`."""
    b = list(b)
    for k, (v, scale) in enumerate(reflections):
        b = _reflect(k, v, scale, b)
    return b


def reflect_back(reflections: list[tuple[list[Any], Any]], b: Any) -> list[Any]:
    """Return Q b (m,) of a factorisation by `reflected`."""
    b = list(b)
    for k, (v, scale) in reversed(list(enumerate(reflections))):
        b = _reflect(k, v, scale, b)
    return b


def solve_upper(R: list[list[Any]], b: Any) -> list[Any]:
    """Return R⁻¹ b of an upper triangular R by rows; the first n numbers of b count."""
    n = len(R)
    x: list[Any] = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - sum(R[i][k] * x[k] for k in range(i + 1, n))) / R[i][i]
    return x


def solve_upper_transposed(R: list[list[Any]], b: Any) -> list[Any]:
    """Return R⁻ᵀ b of an upper triangular R by rows."""
    n = len(R)
    x: list[Any] = [0.0] * n
    for i in range(n):
        x[i] = (b[i] - sum(R[k][i] * x[k] for k in range(i))) / R[i][i]
    return x


def squared_inverse(R: list[list[Any]]) -> Any:
    """Return ‖R⁻¹‖² in the Frobenius norm of an upper triangular R by rows; infinite or NaN if singular."""
    n, total = len(R), 0.0
    with np.errstate(all="ignore"):
        inverse = [1.0 / R[k][k] for k in range(n)]
        for j in range(n):
            x: list[Any] = [0.0] * (j + 1)
            x[j] = inverse[j]
            for i in range(j - 1, -1, -1):
                x[i] = -inverse[i] * sum(R[i][k] * x[k] for k in range(i + 1, j + 1))
            total = total + sum(entry * entry for entry in x)
    return total


def solve(A: Any, b: Any) -> np.ndarray:
    """Solve A x = b for a symmetric positive definite A (n, n) and b (n,) or (n, m)."""
    factors = factor(A)
    b = np.asarray(b)
    if b.ndim == 1:
        return solve_factored(factors, b) if len(b) else np.zeros(0)
    columns = [solve_factored(factors, b[:, k]) for k in range(b.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros(b.shape)


def pivot_order(samples: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Choose pivots (row, column) for matrices (s, n, n) of one structure: little fill-in, none small.

    A pivot must be at least a tenth of the largest entry of its row in every sample, if one is.
    """
    A = np.array(samples, dtype=float)
    pattern = (abs(A) > 1e-14 * abs(A).max(initial=0.0)).any(axis=0)
    rows, columns = list(range(A.shape[1])), list(range(A.shape[2]))
    order = []
    while rows:
        part = abs(A[:, rows][:, :, columns])
        relative = (part / np.maximum(part.max(axis=2, keepdims=True), 1e-300)).min(axis=0)
        here = pattern[np.ix_(rows, columns)]
        fill = (here.sum(axis=1)[:, None] - 1.0) * (here.sum(axis=0)[None] - 1.0)
        cost = np.where(relative >= min(0.1, relative.max()), fill - 1e-3 * relative, np.inf)
        i, j = np.unravel_index(np.argmin(cost), cost.shape)
        r, c = rows.pop(int(i)), columns.pop(int(j))
        order.append((r, c))
        for k in rows:
            if pattern[k, c]:
                A[:, k] -= (A[:, k, c] / A[:, r, c])[:, None] * A[:, r]
                pattern[k, columns] |= pattern[r, columns]
    return tuple(order)


def inverse(A: np.ndarray) -> np.ndarray:
    """Return A⁻¹ of a symmetric positive definite A, made symmetric by copying its lower triangle."""
    full = solve(A, np.eye(len(A)))
    return symmetric(full.T)


def symmetric(A: Any) -> np.ndarray:
    """Return the symmetric matrix with the upper triangle of A; traced, the lower triangle is not even computed."""
    n = len(A)
    return np.array([[A[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]).reshape(n, n)


def _is_zero(x) -> bool:
    return isinstance(x, float | int) and x == 0
