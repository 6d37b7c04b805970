"""The loop equation as fourteen equations that six joint angles enter linearly, and the matrices made of them.

The loop M0 Rz(y0) M1 Rz(y1) … M5 Rz(y5) = 1 is cut so that the direction l and the position p of the last axis
are equal on both sides: seen through M2 … M5 they depend on y2, y3, y4, and seen from the other end through M1, M0
on y0, y1. Of l, p, l × p, p·p, l·p and (p·p) l − 2 (l·p) p every entry is linear in the cosine and the sine of each
angle (Raghavan and Roth, 1993). All functions here take arrays of numbers or traced scalars.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernels import ops as zm

N_FEATURES = 14
SIZE = 12
"""Monomials x_b^i x_c^j, i ≤ 3, j ≤ 2, of the half-tangents of the two angles that are not scanned."""


def features(l: Any, p: Any) -> Any:
    """Return the fourteen quantities of a direction and a position, both (3,)."""
    pp, lp = p @ p, l @ p
    moment = [l[1] * p[2] - l[2] * p[1], l[2] * p[0] - l[0] * p[2], l[0] * p[1] - l[1] * p[0]]
    return np.array([*l, *p, *moment, pp, lp, *(pp * l - 2.0 * lp * p)])


def quarter_turns(v: Any) -> tuple[Any, Any, Any]:
    """Return v (3,) turned about z by 0, π and π/2: the three angles every function here is sampled at."""
    x, y, z = v
    return np.array([x, y, z]), np.array([-x, -y, z]), np.array([-y, x, z])


def _through(M, l, p):
    return M[:, :3] @ l, M[:, :3] @ p + M[:, 3]


def left_features(M2: Any, M3: Any, M4: Any, M5: Any) -> Any:
    """Return features of the last axis seen through M2 … M5, (3, 4): (3, 3, 3, 14) over samples of y2, y3, y4."""
    out = np.empty((3, 3, 3, N_FEATURES), object if M5.dtype == object or M2.dtype == object else float)
    for c, axis4 in enumerate(zip(quarter_turns(M5[:, 2]), quarter_turns(M5[:, 3]), strict=True)):
        axis4 = _through(M4, *axis4)
        for b, axis3 in enumerate(zip(*map(quarter_turns, axis4), strict=True)):
            axis3 = _through(M3, *axis3)
            for a, axis2 in enumerate(zip(*map(quarter_turns, axis3), strict=True)):
                out[a, b, c] = features(*_through(M2, *axis2))
    return out


def right_features(A: Any, B: Any) -> Any:
    """Return features of the last axis seen through B = M1⁻¹ and A = M0⁻¹, (3, 4) each: (9, 14).

    Coefficients of 1, cos, sin of −y0 by those of −y1, the constant first.
    """
    out = np.empty((3, 3, N_FEATURES), object if A.dtype == object or B.dtype == object else float)
    for i, axis in enumerate(zip(quarter_turns(A[:, 2]), quarter_turns(A[:, 3]), strict=True)):
        axis = _through(B, *axis)
        for j, turned in enumerate(zip(*map(quarter_turns, axis), strict=True)):
            out[i, j] = features(*turned)
    return trigonometric(trigonometric(out, 0), 1).reshape(9, N_FEATURES)


def trigonometric(f: Any, axis: int) -> Any:
    """Return coefficients of 1, cos, sin along an axis that holds values at 0, π, π/2."""
    at_0, at_pi, at_half = np.moveaxis(f, axis, 0)
    mean = 0.5 * (at_0 + at_pi)
    return np.stack([mean, 0.5 * (at_0 - at_pi), at_half - mean], axis)


def half_tangent(f: Any, axis: int) -> Any:
    """Return coefficients of 1, x, x², x = tan(y/2), times 1 + x², along an axis of values at 0, π, π/2."""
    at_0, at_pi, at_half = np.moveaxis(f, axis, 0)
    return np.stack([at_0, 2.0 * at_half - at_0 - at_pi, at_pi], axis)


def coefficients(f: Any, scan: Any) -> Any:
    """Convert samples (27, equations) to (3, equations, 9): by 1, cos, sin of the scan angle; by x_b^i x_c^j.

    The scan angle is y2, y3 or y4 for scan = 0, 1 or 2, a number that may be traced: one kernel serves all three.
    """
    n = f.shape[-1]
    f = f.reshape(3, 3, 3, n)
    first, second = zm.equal(scan, 0.0), zm.equal(scan, 1.0)
    f = zm.where(first, f, zm.where(second, np.moveaxis(f, 1, 0), np.moveaxis(f, 2, 0)))
    f = half_tangent(half_tangent(trigonometric(f, 0), 1), 2)
    return f.reshape(3, 9, n).swapaxes(1, 2)


def inverse(M: Any) -> Any:
    """Return the inverse of a rigid transform (3, 4)."""
    Rt = M[:, :3].T
    return np.concatenate([Rt, -(Rt @ M[:, 3])[:, None]], 1)


def product(A: Any, B: Any) -> Any:
    """Return A B of rigid transforms (3, 4)."""
    R = A[:, :3]
    return np.concatenate([R @ B[:, :3], (R @ B[:, 3] + A[:, 3])[:, None]], 1)


def placed(X: Any, M: Any, at: Any, backwards: Any, places: Any) -> Any:
    """Return the links M0⁻¹, M1⁻¹, M2 … M5, (6, 3, 4), of a target X (3, 4).

    M (6, 3, 4) holds at place `at`, one of `places`, only what follows the target there: the target enters as its
    inverse or, where the loop is walked backwards, turned by half a turn about x on both sides.
    """
    flipped = X * np.array([[1, -1, -1, 1], [-1, 1, 1, -1], [-1, 1, 1, -1]])
    entering = zm.where(zm.equal(backwards, 1.0), flipped, inverse(X))
    links = list(M)
    for j in places:
        links[j] = zm.where(zm.equal(at, float(j)), product(entering, M[j]), M[j])
    return np.array([inverse(links[0]), inverse(links[1]), *links[2:]])


def eliminated_left(X: Any, M: Any, N: Any, offset: Any, at: Any, backwards: Any, scan: Any) -> tuple[Any, Any]:
    """Return coefficients (3, equations, 9) without y0, y1, for a target among M2 … M5; and the links.

    The rows of N (equations, 14) annihilate what depends on y0 and y1, and `offset` is N Q0.
    """
    links = placed(X, M, at, backwards, (2, 3, 4, 5))
    f = left_features(*links[2:]).reshape(27, N_FEATURES)
    return coefficients(np.array([N @ row - offset for row in f]), scan), links


def eliminated_right(X: Any, M: Any, P: Any, columns: Any, at: Any, backwards: Any, scan: Any) -> tuple[Any, Any]:
    """Return the same for a target in M0 or M1; P (27, 14) are the features over samples of y2, y3, y4.

    `columns` (8, rank) combines the columns to annihilate to as many as are independent. Householder reflections
    take them to a triangle; the rows below it are the equations left.
    """
    links = placed(X, M, at, backwards, (0, 1))
    Q = right_features(links[0], links[1])
    mirrors = reflections(Q[1:].T @ columns)
    return coefficients(reflected((P - Q[0]).T, mirrors)[len(mirrors) :].T, scan), links


Mirrors = list[tuple[Any, Any]]
"""Vectors v (14 − k,) of Householder's reflections of rows k, k + 1, …, and 2 v / v·v."""


def reflections(R: Any) -> Mirrors:
    """Return the reflections that take R (14, rank) to a triangle."""
    mirrors: Mirrors = []
    for k in range(R.shape[1]):
        v = R[k:, k]
        length = zm.sqrt(v @ v)
        head = v[0] + zm.where(zm.less(v[0], 0.0), -length, length)
        v = np.array([head, *v[1:]])
        scaled = v * (2.0 / (v @ v))
        R = R.copy()
        R[k:, k:] = R[k:, k:] - np.outer(v, scaled @ R[k:, k:])
        mirrors.append((v, scaled))
    return mirrors


def reflected(f: Any, mirrors: Mirrors) -> Any:
    """Return f (14, columns) after all reflections."""
    f = f.copy()
    for k, (v, scaled) in enumerate(mirrors):
        f[k:] = f[k:] - np.outer(v, scaled @ f[k:])
    return f


# Rows and columns are mixed by fixed matrices with orthonormal rows and otherwise no structure, so that elimination
# in a fixed order, in lanes, is as good as pivoting almost always.


def _orthonormal(rows: int, columns: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((columns, rows)))[0].T


@cache
def row_mixing(equations: int) -> np.ndarray:
    """Return W (12, 2 equations)."""
    return _orthonormal(SIZE, 2 * equations, seed=1)


@cache
def column_mixing() -> np.ndarray:
    """Return Z (12, 12)."""
    return _orthonormal(SIZE, SIZE, seed=2)


def mixed(S: Any) -> Any:
    """Return W [S, x_b S] Z, (12, 12), of one coefficient S (equations, 9) of the scan angle."""
    return rows_mixed(row_mixing(S.shape[0]), columns_mixed(S))


def columns_mixed(S: Any) -> Any:
    """Return S Z and x_b S Z side by side, (..., 24), of rows S (..., 9)."""
    Z = column_mixing()
    return np.concatenate([S @ Z[:9], S @ Z[3:]], axis=-1)


def rows_mixed(W: Any, SZ: Any) -> Any:
    """Return rows of W times S Z and x_b S Z, (..., 12), which are side by side, (equations, 24)."""
    n = len(SZ)
    return W[..., :n] @ SZ[:, :SIZE] + W[..., n:] @ SZ[:, SIZE:]


def at_angle(E: Any, cs: Any) -> Any:
    """Return M(y) = E0 + cos y E1 + sin y E2 of E (3, rows, columns)."""
    return E[0] + cs[0] * E[1] + cs[1] * E[2]


def _eliminate(A, steps: int):
    """Eliminate in the given order; the triangle stays in place, entries below it are not valid."""
    A = A.copy()
    for k in range(steps):
        factors = A[k + 1 :, k] * (1.0 / A[k, k])
        A[k + 1 :, k + 1 :] = A[k + 1 :, k + 1 :] - np.outer(factors, A[k, k + 1 :])
    return A


def determinant(E: Any, cs: Any, *, size: int) -> Any:
    """Return the determinant of the leading block of M(y), cs = (cos y, sin y).

    Rows and columns are mixed, so this is a projection of M(y): it vanishes wherever the rank is below `size`.
    """
    A = _eliminate(at_angle(E[:, :size, :size], cs), size - 1)
    product = A[0, 0]
    for k in range(1, size):
        product = product * A[k, k]
    return product


def kernel_basis(E: Any, cs: Any, *, dimension: int) -> tuple[Any, Any]:
    """Return a basis (12, dimension) of the kernel of M(y), whose rank is 12 − dimension; not yet in monomials.

    Also return the last pivot divided by the largest: it is small where the kernel nearly has one more dimension.
    """
    rank = SIZE - dimension
    A = _eliminate(at_angle(E, cs), rank)
    V = np.zeros((SIZE, dimension), A.dtype)
    for c in range(dimension):
        V[rank + c, c] = 1.0
        for i in reversed(range(rank)):
            V[i, c] = -(A[i, i + 1 : rank] @ V[i + 1 : rank, c] + A[i, rank + c]) / A[i, i]
    greatest = zm.abs(A[0, 0])
    for k in range(1, rank):
        greatest = zm.maximum(greatest, zm.abs(A[k, k]))
    return V, zm.abs(A[rank - 1, rank - 1]) / greatest
