"""Products of tall matrices in pieces small enough that BLAS stays in one thread.

Fits make thousands of products of a few hundred rows. Handing each to a team of threads costs more than the
product, and on a busy machine a hundred times more.
"""

from __future__ import annotations

import numpy as np

SINGLE = 150_000
"""Multiplications below which common BLAS libraries do not start threads."""


def gram(A: np.ndarray) -> np.ndarray:
    """AᵀA of a tall A (m, n)."""
    pieces = _pieces(A, A.shape[1] ** 2)
    return (np.swapaxes(pieces, 1, 2) @ pieces).sum(axis=0)


def triangle(A: np.ndarray) -> np.ndarray:
    """R (at most n, n) of A = Q R for a tall A (m, n): the same singular values, row space and column relations.

    Pieces of twice as many rows as columns are reduced together until one is left (Demmel and others 2012).
    """
    n = A.shape[1]
    rows = 2 * max(n, 1)
    while len(A) > rows:
        missing = -len(A) % rows
        if missing:
            A = np.concatenate([A, np.zeros((missing, n))])
        A = np.asarray(np.linalg.qr(A.reshape(-1, rows, n), mode="r")).reshape(-1, n)
    return np.asarray(np.linalg.qr(A, mode="r"))


def _pieces(A: np.ndarray, work: int) -> np.ndarray:
    """Rows in equal pieces (pieces, rows, n), the last filled up with zeros."""
    rows = max(8, SINGLE // max(work, 1))
    if len(A) <= rows:
        return A[None]
    missing = -len(A) % rows
    if missing:
        A = np.concatenate([A, np.zeros((missing, A.shape[1]))])
    return A.reshape(-1, rows, A.shape[1])
