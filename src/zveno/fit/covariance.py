"""Covariance of fitted parameters, and variance factors of groups of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_lapack_funcs

_cholesky, _invert_triangle = get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Factors:
    """Singular value decomposition of a weighted Jacobian with unit columns, for covariances."""

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    norms: np.ndarray

    @property
    def condition(self) -> float:
        """Ratio of the largest to the smallest singular value of the scaled Jacobian."""
        return float(self.s[0] / max(self.s[-1], 1e-300)) if len(self.s) else 1.0

    def covariance(self) -> np.ndarray:
        """Return (JᵀJ)⁻¹, (n, n): document 001, (28), for rows divided by their standard deviations."""
        half = (self.Vt.T / self.s) / self.norms[:, None]
        return half @ half.T

    def leverage(self) -> np.ndarray:
        """Return the diagonal of the hat matrix, (m,): the weight of each row in its own prediction."""
        return np.sum(self.U**2, axis=1)


def factors(J: np.ndarray) -> Factors:
    """Decompose a weighted Jacobian (m, n)."""
    norms = np.linalg.norm(J, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    U, s, Vt = np.linalg.svd(J / norms, full_matrices=False)
    return Factors(U, np.maximum(s, 1e-12 * s.max(initial=0.0)), Vt, norms)


def leverages(J: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
    """Return the diagonal of the hat matrix of a weighted Jacobian (m, n), (m,), faster than `Factors.leverage`.

    For other rows `at` (k, n) it is the variance of their predictions, (k,), relative to their own variance.
    """
    rows = J if at is None else at
    if not J.shape[1]:
        return np.zeros(len(rows))
    H = J.T @ J
    norms = np.sqrt(H.diagonal())
    norms = np.where(norms > 0, norms, 1.0)
    H = H / (norms[:, None] * norms)
    L, singular = _cholesky(H, lower=True)
    if singular:
        w, V = np.linalg.eigh(H)
        good = w > 1e-13 * w.max(initial=0.0)
        W = V[:, good] / np.sqrt(w[good])
    else:
        W = _invert_triangle(L, lower=True)[0].T
    half = rows @ (W / norms[:, None])
    return np.einsum("ij,ij->i", half, half)


def variance_factors(r: np.ndarray, leverage: np.ndarray, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the variance factor of each group of rows: Σ w r² over the group's degrees of freedom.

    Args:
        r: residuals in units of their assumed standard deviation, (m,).
        leverage: leverages of the weighted fit, (m,).
        group: number of each row's group, (m,); rows with negative numbers are left out.
        weight: robust weights, (m,).
    """
    n = int(group.max(initial=-1)) + 1
    out = np.ones(n)
    for k in range(n):
        rows = group == k
        freedom = float(weight[rows].sum() - leverage[rows].sum())
        if rows.any():
            out[k] = float(weight[rows] @ r[rows] ** 2) / max(freedom, 1e-3 * rows.sum())
    return out


def correlations(covariance: np.ndarray) -> np.ndarray:
    """Return the correlation matrix of a covariance matrix."""
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return covariance / np.outer(std, std)
