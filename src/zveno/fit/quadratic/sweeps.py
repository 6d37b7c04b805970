"""The inverse of the KKT matrix in product form: a Cholesky factorisation, then one sweep for each exchange.

With F the unknowns that were free when H was factored, R all other unknowns and all rows, and M = [H Cᵀ; C 0], the
tableau is at first

    T = [ −H_FF⁻¹        H_FF⁻¹ M_FR              ]
        [ M_RF H_FF⁻¹    M_RR − M_RF H_FF⁻¹ M_FR  ]

and the exchange of index k with column t makes it keep·T·keep − f ûᵀ, where keep leaves out index k, û is the
column with ∓1 at k, and f = û / t_k. T is never formed: a column of it is two triangular solves, a product with H
and as many sums of two vectors as there were exchanges, O(n²) where a tableau takes O(n³) to begin with. What is
stored of an exchange is k, t_k, ∓1 and f with 1 added at k: with s = ûᵀe, and s put at place k of y = T e, the new
y is y − f s.

H is scaled to a diagonal of ones; of its factor the entries below the diagonal are stored, row by row.
Sums are written down several at a time, in the order in which a processor keeps them in its registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.math import equal, greater, select

TILE, SUMS = 3, 8
"""Sums at once: of a square of the factor, which share what they read, and of products with a vector, none of which
waits for another."""


def below_diagonal(n: int) -> int:
    """Entries below the diagonal of a matrix; one at least, so that it can be stored."""
    return max(n * (n - 1) // 2, 1)


def scaled_row(H: Any, scale: Any, scales: Any) -> Any:
    """A row of the scaled Hessian."""
    return H * (scale[0] * scales)


def factored(n: int, H: Any, side: Any) -> Any:
    """(L, r, free) with H = L diag(1/r) Lᵀ on the unknowns that are not held, L unit lower triangular.

    An unknown that is held has r = 0, so that its column of L is zero and nothing depends on it.
    """
    free = equal(side, 0.0)
    L, r = [list(H[i * n : i * n + i]) for i in range(n)], [0.0] * n
    W = [[0.0] * i for i in range(n)]
    for first in range(0, n, TILE):
        block = range(first, min(first + TILE, n))
        for top in range(first, n, TILE):
            _add_tile(L, W, range(top, min(top + TILE, n)), block, r, free)
    return np.array([entry for row in L for entry in row] or [0.0]), np.array(r), select(free, 1.0, 0.0)


def _add_tile(L: Any, W: Any, rows: range, columns: range, r: Any, free: Any) -> None:
    """Entries of L in some rows and columns, of W = L diag(1/r) and, on the diagonal, of r."""
    sums = {(i, j): L[i][j] if j < i else 1.0 for i in rows for j in columns if j <= i}
    for k in range(columns.start):
        for i, j in sums:
            sums[i, j] = sums[i, j] - W[i][k] * L[j][k]
    for j in columns:  # within the tile, one column after the other
        for i in rows:
            if j > i:
                continue
            for k in range(columns.start, j):
                sums[i, j] = sums[i, j] - W[i][k] * L[j][k]
            if i == j:
                r[j] = select(free[j], 1.0 / sums[i, j], 0.0)
            else:
                W[i][j], L[i][j] = sums[i, j], sums[i, j] * r[j]


def solved(n: int, L: Any, r: Any, b: Any) -> Any:
    """x with L diag(1/r) Lᵀ x = b, zero where r is."""
    rows = _rows(n, L)
    x = list(b)
    _substitute(x, list(range(n)), lambda i, k: rows[i][k])
    x = [value * inverse for value, inverse in zip(x, r, strict=True)]
    _substitute(x, list(range(n))[::-1], lambda i, k: rows[k][i])
    return np.array(x)


def _substitute(x: list[Any], order: list[int], entry: Any) -> None:
    """x_i − Σ entry(i, k) x_k over all k before i, in place."""
    for first in range(0, len(order), SUMS):
        block = order[first : first + SUMS]
        for k in order[:first]:
            for i in block:
                x[i] = x[i] - entry(i, k) * x[k]
        for number, i in enumerate(block):
            for k in block[:number]:
                x[i] = x[i] - entry(i, k) * x[k]


def dot(row: Any, x: Any) -> Any:
    """Their product, (1,), from several sums."""
    parts = [(row[k::SUMS] * x[k::SUMS]).sum() for k in range(min(SUMS, len(x)))]
    while len(parts) > 1:
        parts = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return np.array(parts)


def column_rest(n: int, L: Any, r: Any, free: Any, row: Any, own: Any, index: Any) -> Any:
    """(z, ξ) of a column of the first tableau, see `column_of`; ξ is for the rows C.

    `row` is the row of M at the index, and `own` whether that is a free unknown.
    """
    is_free, own_free, at = greater(free, 0.5), greater(own[0], 0.5), unit(n, index)
    z = solved(n, L, r, select(is_free, select(own_free, -at, row), 0.0))
    return z, select(own_free, 0.0, at) - z


def column_of(free: Any, row: Any, own: Any, z: Any, Hz: Any) -> Any:
    """A column of the first tableau, for the unknowns."""
    return select(greater(free, 0.5), z, select(greater(own[0], 0.5), 0.0, row) - Hz)


def kept(free: Any, e: Any) -> Any:
    """e where unknowns were held at the start."""
    return select(greater(free, 0.5), 0.0, e)


def product_rest(n: int, L: Any, r: Any, free: Any, e: Any, H_kept: Any, pull: Any) -> Any:
    """(z, ξ) of T e for the first tableau, see `product_of`. `pull` is Cᵀ of e's rows."""
    is_free = greater(free, 0.5)
    z = solved(n, L, r, select(is_free, H_kept + pull - e, 0.0))
    return z, select(is_free, 0.0, e) - z


def product_of(free: Any, z: Any, H_xi: Any, pull: Any) -> Any:
    """T e of the first tableau, for the unknowns."""
    return select(greater(free, 0.5), z, H_xi + pull)


def sweep_of(index: Any, basic: Any, column: Any) -> Any:
    """(f, t, ∓1) of the exchange of an index with its column; an index that is basic leaves the basis."""
    at = equal(np.arange(float(len(column))), index[0])
    own = select(greater(basic[0], 0.5), 1.0, -1.0)
    pivot = select(at, column, 0.0).sum()
    f = select(at, own, column) * (1.0 / pivot)
    return select(at, f + 1.0, f), np.array([pivot]), np.array([own])


def share_before(f: Any, pivot: Any, e: Any, e_at: Any) -> Any:
    """ûᵀe, seen from behind: the last sweep is the first to see e."""
    return pivot * ((f * e).sum() - e_at)


def after_sweep(f: Any, share: Any, y: Any) -> Any:
    """T e after a sweep, from that before it and ûᵀe, which is at the sweep's place of y."""
    return y - f * share[0]


def unit(order: int, index: Any) -> Any:
    """e_k."""
    return select(equal(np.arange(float(order)), index[0]), 1.0, 0.0)


def _rows(n: int, packed: Any) -> list[Any]:
    return [packed[i * (i - 1) // 2 : i * (i + 1) // 2] for i in range(n)]
