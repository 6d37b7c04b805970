"""Triangular factor of a tall matrix, sufficient for least squares and ranks."""

from __future__ import annotations

import numpy as np


def triangle(A: np.ndarray) -> np.ndarray:
    """Return R (at most n, n) of A = Q R for a tall A (m, n), with the same singular values and row space.

    Blocks with twice as many rows as columns are reduced together until one is left (Demmel and others 2012).
    """
    n = A.shape[1]
    rows = 2 * max(n, 1)
    while len(A) > rows:
        missing = -len(A) % rows
        if missing:
            A = np.concatenate([A, np.zeros((missing, n))])
        A = np.asarray(np.linalg.qr(A.reshape(-1, rows, n), mode="r")).reshape(-1, n)
    return np.asarray(np.linalg.qr(A, mode="r"))
