"""Inverse of the KKT matrix in product form: a Cholesky factorisation, then one sweep per exchange.

With F the unknowns that were free when H was factored, R all other unknowns and all rows, and M = [H Cᵀ; C 0], the
tableau is at first

    T = [ −H_FF⁻¹        H_FF⁻¹ M_FR              ]
        [ M_RF H_FF⁻¹    M_RR − M_RF H_FF⁻¹ M_FR  ]

and the exchange of index k with column t makes it keep·T·keep − f ûᵀ, where keep leaves out index k, û is the
column with ∓1 at k, and f = û / t_k. T is never formed. A column of it takes two triangular solves, a product with
H and one sum of two vectors per exchange: O(n²), while setting up a tableau takes O(n³). An exchange is stored as
k, t_k, ∓1 and f with 1 added at k. With s = ûᵀe, and s put at index k of y = T e, the new y is y − f s.

H is scaled to a unit diagonal. The entries of its factor below the diagonal are stored row by row. Several sums are
computed at a time, in an order that keeps them in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import abs, equal, greater, less, logical_and, where

TILE, SUMS = 3, 8
"""Sums computed at a time: of a square tile of the factor, which share operands, and of products with a vector,
which are independent."""


def below_diagonal(n: int) -> int:
    """Return the number of entries below the diagonal of a matrix, at least one, so that it can be stored."""
    return max(n * (n - 1) // 2, 1)


def scaled_row(H: Any, scale: Any, scales: Any) -> Any:
    """Return a row of the scaled Hessian."""
    return H * (scale[0] * scales)


def factored(n: int, H: Any, side: Any) -> Any:
    """Return (L, r, free) with H = L diag(1/r) Lᵀ on the inactive unknowns, L unit lower triangular.

    An unknown at an active bound has r = 0. Its column of L is therefore zero, and nothing depends on it.
    """
    free = equal(side, 0.0)
    L, r = [list(H[i * n : i * n + i]) for i in range(n)], [0.0] * n
    W = [[0.0] * i for i in range(n)]
    for first in range(0, n, TILE):
        block = range(first, min(first + TILE, n))
        for top in range(first, n, TILE):
            _add_tile(L, W, range(top, min(top + TILE, n)), block, r, free)
    return np.array([entry for row in L for entry in row] or [0.0]), np.array(r), where(free, 1.0, 0.0)


def _add_tile(L: Any, W: Any, rows: range, columns: range, r: Any, free: Any) -> None:
    """Compute the entries of L in a tile, of W = L diag(1/r) and, on the diagonal, of r."""
    sums = {(i, j): L[i][j] if j < i else 1.0 for i in rows for j in columns if j <= i}
    for k in range(columns.start):
        for i, j in sums:
            sums[i, j] = sums[i, j] - W[i][k] * L[j][k]
    for j in columns:  # within the tile, columns depend on earlier ones
        for i in rows:
            if j > i:
                continue
            for k in range(columns.start, j):
                sums[i, j] = sums[i, j] - W[i][k] * L[j][k]
            if i == j:
                r[j] = where(free[j], 1.0 / sums[i, j], 0.0)
            else:
                W[i][j], L[i][j] = sums[i, j], sums[i, j] * r[j]


def solved(n: int, L: Any, r: Any, b: Any) -> Any:
    """Solve L diag(1/r) Lᵀ x = b, with x zero where r is zero."""
    rows = _rows(n, L)
    x = list(b)
    _substitute(x, list(range(n)), lambda i, k: rows[i][k])
    x = [value * inverse for value, inverse in zip(x, r, strict=True)]
    _substitute(x, list(range(n))[::-1], lambda i, k: rows[k][i])
    return np.array(x)


def _substitute(x: list[Any], order: list[int], entry: Any) -> None:
    """Replace x_i by x_i − Σ entry(i, k) x_k over all k before i."""
    for first in range(0, len(order), SUMS):
        block = order[first : first + SUMS]
        for k in order[:first]:
            for i in block:
                x[i] = x[i] - entry(i, k) * x[k]
        for number, i in enumerate(block):
            for k in block[:number]:
                x[i] = x[i] - entry(i, k) * x[k]


def dot(row: Any, x: Any) -> Any:
    """Return the dot product, (1,), from several partial sums."""
    parts = [(row[k::SUMS] * x[k::SUMS]).sum() for k in range(min(SUMS, len(x)))]
    while len(parts) > 1:
        parts = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return np.array(parts)


def column_rest(n: int, L: Any, r: Any, free: Any, row: Any, is_free_at_index: Any, index: Any) -> Any:
    """Return (z, ξ) of a column of the first tableau, see `column_of`; ξ is for the rows C.

    `row` is the row of M at the index, and `is_free_at_index` is 1 if that is a free unknown.
    """
    is_free, free_at_index, at = greater(free, 0.5), greater(is_free_at_index[0], 0.5), unit(n, index)
    z = solved(n, L, r, where(is_free, where(free_at_index, -at, row), 0.0))
    return z, where(free_at_index, 0.0, at) - z


def column_of(free: Any, row: Any, is_free_at_index: Any, z: Any, Hz: Any) -> Any:
    """Return a column of the first tableau, for the unknowns."""
    return where(greater(free, 0.5), z, where(greater(is_free_at_index[0], 0.5), 0.0, row) - Hz)


def first_size(n: int, is_free_at_index: Any, index: Any, y: Any) -> Any:
    """Return the size of the terms of a column of the first tableau at its own index."""
    held = logical_and(less(index[0], n - 0.5), less(is_free_at_index[0], 0.5))
    return abs(y) + where(held, 1.0, 0.0)


def size_after_sweep(size: Any, y: Any, f: Any, index: Any, share: Any, meets: Any) -> Any:
    """Return the size of these terms after a sweep. A sweep of the index itself replaces the old terms."""
    before = where(greater(meets[0], 0.5), abs(y), size)
    return before + abs(share) * abs(_entry(f, index))


def size_after_carry(size: Any, f: Any, index: Any, share: Any) -> Any:
    """Return the size of these terms for a column that is carried on."""
    return size + abs(share) * abs(_entry(f, index))


def _entry(f: Any, index: Any) -> Any:
    return where(equal(np.arange(float(len(f))), index[0]), f, 0.0).sum()


def reach(row: Any, extents: Any) -> Any:
    """Return the range of a row for unknowns of some extents, (1,)."""
    return np.array([(abs(row) * extents).sum()])


def kept(free: Any, e: Any) -> Any:
    """Return e where unknowns were active at the start."""
    return where(greater(free, 0.5), 0.0, e)


def product_rest(n: int, L: Any, r: Any, free: Any, e: Any, H_kept: Any, pull: Any) -> Any:
    """Return (z, ξ) of T e for the first tableau, see `product_of`. `pull` is Cᵀ of e's rows."""
    is_free = greater(free, 0.5)
    z = solved(n, L, r, where(is_free, H_kept + pull - e, 0.0))
    return z, where(is_free, 0.0, e) - z


def product_of(free: Any, z: Any, H_xi: Any, pull: Any) -> Any:
    """Return T e of the first tableau, for the unknowns."""
    return where(greater(free, 0.5), z, H_xi + pull)


def sweep_of(index: Any, basic: Any, column: Any) -> Any:
    """Return (f, t, ∓1) of the exchange of an index with its column. A basic index leaves the basis."""
    at = equal(np.arange(float(len(column))), index[0])
    sign = where(greater(basic[0], 0.5), 1.0, -1.0)
    pivot = where(at, column, 0.0).sum()
    f = where(at, sign, column) * (1.0 / pivot)
    return where(at, f + 1.0, f), np.array([pivot]), np.array([sign])


def share_before(f: Any, pivot: Any, e: Any, e_at: Any) -> Any:
    """Return ûᵀe, in reverse order: the last sweep is applied to e first."""
    return pivot * ((f * e).sum() - e_at)


def after_sweep(f: Any, share: Any, y: Any) -> Any:
    """Return T e after a sweep, from T e before it and ûᵀe, which is at the sweep's index of y."""
    return y - f * share[0]


def unit(order: int, index: Any) -> Any:
    """Return the unit vector e_k."""
    return where(equal(np.arange(float(order)), index[0]), 1.0, 0.0)


def _rows(n: int, packed: Any) -> list[Any]:
    return [packed[i * (i - 1) // 2 : i * (i + 1) // 2] for i in range(n)]
