"""Weighted least squares on Gram matrices: every joint is weighted by its own residual (IRLS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..fit.triangle import triangle
from ._rows import Moments

_cholesky, _reciprocal_condition, _inverted, _substituted = get_lapack_funcs(
    ("potrf", "pocon", "potri", "potrs"), dtype=np.float64
)

ITERATIONS = 12
SETTLED = 1e-4
"""Relative change of the joints' residuals at which the weights have settled."""
RANK = 1e-9
"""Share of the largest eigenvalue of the scaled normal matrix below which others are zero: not excited."""
EXACT_RANK = 1e-7
"""Same share for singular values of the scaled columns, from triangular factors."""
SURE_RANK = 1e-5
"""Reciprocal condition number, estimated in the 1-norm, from which all eigenvalues are above `RANK` in any case."""
ILL = 1e3
"""Condition of the scaled columns from which triangular factors are used: Gram matrices square it."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Weighted least-squares fit.

    Attributes:
        x: (p,) parameters; 0 along unobserved directions.
        sigma: (n,) standard deviation of every joint's residual.
        normal: (p, p) Σ WᵀW/σ², the information if residuals were independent.
        unseen: (p, k) orthonormal directions of the scaled parameters that the rows do not show.
        scale: (p,) norms of the columns that `unseen` is scaled by.
        exact_condition: of the scaled columns that are seen, where it is known from triangular factors.
    """

    x: np.ndarray
    sigma: np.ndarray
    normal: np.ndarray
    unseen: np.ndarray
    scale: np.ndarray
    exact_condition: float | None = None

    @cached_property
    def condition(self) -> float:
        """Condition number of the scaled columns, along the observed directions."""
        if self.exact_condition is not None:
            return self.exact_condition
        w = np.linalg.eigvalsh(_scaled(self.normal)[0])
        good = w[w > RANK * w.max(initial=0.0)]
        return float(np.sqrt(good[-1] / good[0])) if len(good) else 1.0

    @property
    def seen(self) -> np.ndarray:
        """True for parameters that the rows determine, (p,)."""
        return (self.unseen**2).sum(axis=1) < 1e-6


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations of every joint over the columns of one choice.

    Attributes:
        H: (n, p, p), g: (n, p), s: (n,) the products WᵀW, Wᵀτ, ττ.
        counts: (n,) rows.
    """

    H: np.ndarray
    g: np.ndarray
    s: np.ndarray
    counts: np.ndarray

    def squares(self, x: np.ndarray) -> np.ndarray:
        """Return the sum of squared residuals of every joint, (n,)."""
        return np.maximum(self.s - 2.0 * self.g @ x + (self.H @ x) @ x, 0.0)

    def __add__(self, other: Normal) -> Normal:
        return Normal(self.H + other.H, self.g + other.g, self.s + other.s, self.counts + other.counts)

    def __sub__(self, other: Normal) -> Normal:
        return Normal(self.H - other.H, self.g - other.g, self.s - other.s, self.counts - other.counts)

    def columns(self, places: np.ndarray) -> Normal:
        """Return the equations with some of the columns."""
        return Normal(self.H[:, places[:, None], places], self.g[:, places], self.s, self.counts)


def normals(moments: Moments) -> list[Normal]:
    """Return the normal equations of every block over all columns of the model."""
    return [_spread(moments, gram, counts) for gram, counts in zip(moments.gram, moments.counts, strict=True)]


def with_shift(parts: Sequence[Normal], moments: Moments, shift: int) -> list[Normal]:
    """Return the same normal equations for torques of another of the trial delays."""
    shifted = []
    for part, grams in zip(parts, moments.gram, strict=True):
        g, s = np.zeros_like(part.g), np.zeros_like(part.s)
        for j, (G, columns) in enumerate(zip(grams, moments.model.active, strict=True)):
            m = len(columns)
            g[j, columns], s[j] = G[:m, m + shift], G[m + shift, m + shift]
        shifted.append(Normal(part.H, g, s, part.counts))
    return shifted


def total(parts: Sequence[Normal], without: Sequence[int] = ()) -> Normal:
    """Return the normal equations of all blocks but some, summed (not subtracted: digits of small blocks stay)."""
    return reduce(add, [part for k, part in enumerate(parts) if k not in without])


def _spread(moments: Moments, grams: Sequence[np.ndarray], counts: np.ndarray) -> Normal:
    model = moments.model
    n, p = len(grams), model.n_columns
    H, g, s = np.zeros((n, p, p)), np.zeros((n, p)), np.zeros(n)
    for j, (G, columns) in enumerate(zip(grams, model.active, strict=True)):
        m = len(columns)
        H[j][np.ix_(columns, columns)] = G[:m, :m]
        g[j, columns] = G[:m, m]
        s[j] = G[m, m]
    return Normal(H, g, s, counts.astype(float))


def solve(normal: Normal, sigma: np.ndarray | None = None, iterations: int = ITERATIONS) -> Estimate:
    """Solve iteratively reweighted least squares: σ of every joint from its own residuals, until they settle.

    Args:
        normal: normal equations.
        sigma: first weights, as of a fit to nearly the same rows; those of a fit without parameters if not given.
        iterations: at most; 1 keeps the first weights.
    """
    used = normal.counts > 0
    if sigma is None:
        sigma = np.sqrt(np.where(used, normal.s / np.maximum(normal.counts, 1), 1.0))
        sigma = np.where(sigma > 0, sigma, 1.0)
    for k in range(iterations):
        weight = used / sigma**2
        H = np.einsum("j,jpq->pq", weight, normal.H)
        solved = solved_scaled(H, weight @ normal.g)
        # Each joint pays for the parameters that its own rows determine.
        spent = weight * np.einsum("jpq,qp->j", normal.H, solved.inverse)
        free = np.maximum(normal.counts - spent, 0.1 * np.maximum(normal.counts, 1))
        floor = 1e-9 * np.sqrt(np.maximum(normal.s, 1e-300) / np.maximum(normal.counts, 1))
        new = np.where(used, np.maximum(np.sqrt(normal.squares(solved.x) / free), floor), 1.0)
        if iterations == 1:
            break
        settled = k > 0 and np.allclose(new, sigma, rtol=SETTLED)
        sigma = new
        if settled:
            break
    return Estimate(solved.x, sigma, H, solved.unseen, solved.scale)


def solve_exactly(moments: Moments, blocks: Sequence[int], places: np.ndarray, estimate: Estimate) -> Estimate:
    """Solve the same weighted fit from triangular factors instead of Gram matrices, for nearly dependent columns.

    Args:
        moments: with triangles.
        blocks: that are fitted.
        places: columns of the fit.
        estimate: the fit from Gram matrices, whose weights are kept.
    """
    model, p = moments.model, len(places)
    assert moments.triangles is not None
    number = np.full(model.n_columns, -1)
    number[places] = np.arange(p)
    rows = []
    for j, columns in enumerate(model.active):
        used = number[columns] >= 0
        for block in blocks:
            R = moments.triangles[block][j]
            kept_columns = np.zeros((len(R), p + 1))
            kept_columns[:, number[columns[used]]] = R[:, : len(columns)][:, used]
            kept_columns[:, p] = R[:, len(columns)]
            rows.append(kept_columns / estimate.sigma[j])
    A = triangle(np.concatenate(rows))
    scale = np.linalg.norm(A[:, :p], axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    U, s, Vt = np.linalg.svd(A[:, :p] / scale, full_matrices=False)
    good = s > EXACT_RANK * s.max(initial=0.0)
    x = (Vt[good].T @ ((U.T @ A[:, p])[good] / s[good])) / scale
    condition = float(s[0] / s[good][-1]) if good.any() else 1.0
    return Estimate(x, estimate.sigma, A[:, :p].T @ A[:, :p], Vt[~good].T, scale, condition)


@dataclass(frozen=True, eq=False)
class Solved:
    """Solution of normal equations.

    Attributes:
        x: (p,) 0 along unobserved directions.
        inverse: (p, p) pseudo-inverse of H.
        unseen: (p, k) orthonormal directions of x · scale that H does not show.
        scale: (p,) square roots of H's diagonal, 1 where it is zero.
    """

    x: np.ndarray
    inverse: np.ndarray
    unseen: np.ndarray
    scale: np.ndarray


def solved_scaled(H: np.ndarray, g: np.ndarray) -> Solved:
    """Solve H x = g by least squares, scaled to a unit diagonal, without directions that H does not show.

    Cholesky factors where they are certainly accurate enough, else eigenvectors, which take ten times as long.
    """
    S, scale = _scaled(H)
    both = scale[:, None] * scale
    factor, failed = _cholesky(S, lower=1)
    if not failed and len(S) and _reciprocal_condition(factor, np.linalg.norm(S, 1), uplo="L")[0] > SURE_RANK:
        half = _inverted(factor, lower=1)[0]
        inverse = (np.tril(half) + np.tril(half, -1).T) / both
        return Solved(_substituted(factor, g / scale, lower=1)[0] / scale, inverse, np.zeros((len(S), 0)), scale)
    w, V = np.linalg.eigh(S)
    good = w > RANK * w.max(initial=0.0)
    half = V[:, good] / np.sqrt(w[good])
    inverse = (half @ half.T) / both
    return Solved(inverse @ g, inverse, V[:, ~good], scale)


def _scaled(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return H with a unit diagonal, or zeros where a column is zero, and its scale."""
    scale = np.sqrt(np.maximum(H.diagonal(), 0.0))
    zero = scale <= 1e-14 * scale.max(initial=0.0)
    scale = np.where(zero, 1.0, scale)
    S = H / (scale[:, None] * scale)
    S[zero], S[:, zero] = 0.0, 0.0
    return S, scale


def without_each(parts: Sequence[Normal], columns: Sequence[np.ndarray] | None = None) -> list[Estimate]:
    """Return fits to all blocks and without each, over all columns or over those that each fit has in `columns`."""
    fits: list[Estimate] = []
    for k in range(len(parts) + 1):
        normal = total(parts, [] if k == 0 else [k - 1])
        normal = normal if columns is None else normal.columns(columns[k])
        fits.append(solve(normal, fits[0].sigma if fits else None))
    return fits


def pseudo_inverse(H: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of a positive semidefinite matrix; scaled to a unit diagonal first."""
    if not len(H):
        return H
    s = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    s[H.diagonal() <= 0] = 0.0
    w, V = np.linalg.eigh(H * s[:, None] * s)
    good = w > 1e-12 * w.max(initial=0.0)
    half = V[:, good] / np.sqrt(w[good])
    return (half @ half.T) * s[:, None] * s
