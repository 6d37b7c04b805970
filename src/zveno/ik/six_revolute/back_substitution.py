"""Back-substitution: the other long-side angles from a kernel vector of the scan angle, the rest from the loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import ops as zm
from .equations import column_mixing, kernel_basis, product


def turned(angle: Any, M: Any) -> Any:
    """Return M Rz(angle) of (3, 4) matrices."""
    c, s = zm.cos(angle), zm.sin(angle)
    return np.stack([c * M[:, 0] + s * M[:, 1], c * M[:, 1] - s * M[:, 0], M[:, 2], M[:, 3]], 1)


def half_angles(v: Any) -> tuple[Any, Any, Any]:
    """Return (y_b, y_c) whose monomials x_b^i x_c^j fit v (12,), and the misfit: 1 − cosine of the angle."""
    V = v.reshape(4, 3)

    def angle(low, high):
        cross, square, square_high = (low * high).sum(), (low * low).sum(), (high * high).sum()
        first = zm.less(square, square_high)
        return 2.0 * zm.atan2(zm.where(first, square_high, cross), zm.where(first, cross, square))

    b, c = angle(V[:3], V[1:]), angle(V[:, :2], V[:, 1:])
    cb, sb, cc, sc = zm.cos(0.5 * b), zm.sin(0.5 * b), zm.cos(0.5 * c), zm.sin(0.5 * c)
    first = np.array([cb * cb * cb, cb * cb * sb, cb * sb * sb, sb * sb * sb])
    second = np.array([cc * cc, cc * sc, sc * sc])
    fit = first @ V @ second
    defect = 1.0 - fit * fit / ((v @ v) * (first @ first) * (second @ second))
    return b, c, defect


def _row(u, v):
    """Return u · Rz(−y0) v as coefficients of cos y0, sin y0 and 1."""
    return u[0] * v[0] + u[1] * v[1], u[0] * v[1] - u[1] * v[0], u[2] * v[2]


def complete(links: Any, y2: Any, y3: Any, y4: Any) -> tuple[Any, Any]:
    """Return two candidates (2, 3) for y0, y1, y5 from y2, y3, y4; the second is NaN unless y0 has two solutions.

    Second, (2,) how far the last axis, seen both ways, is from being the same line, squared.

    The links are M0⁻¹, M1⁻¹, M2 … M5, (6, 3, 4). Four equations are linear in (cos y0, sin y0); where they are
    (nearly) one equation, as for two parallel axes, it has two solutions.
    """
    A, B, M2, M3, M4, M5 = links
    C = product(turned(y4, product(turned(y3, product(turned(y2, M2), M3)), M4)), M5)
    l0, p0, l1, p1 = A[:, 2], A[:, 3], C[:, 2], C[:, 3]
    t = B[:, 3] @ B[:, :3]
    rows = [
        (_row(B[2, :3], l0), l1[2]),
        (_row(B[2, :3], p0), p1[2] - B[2, 3]),
        (_row(t, p0), 0.5 * (p1 @ p1 - p0 @ p0 - B[:, 3] @ B[:, 3])),
        (_row(t, l0), l1 @ p1 - l0 @ p0),
    ]
    h00 = h01 = h11 = g0 = g1 = 0.0
    for (e0, e1, e2), right in rows:
        g = right - e2
        h00, h01, h11 = h00 + e0 * e0, h01 + e0 * e1, h11 + e1 * e1
        g0, g1 = g0 + e0 * g, g1 + e1 * g
    trace, det = h00 + h11, h00 * h11 - h01 * h01
    regular = zm.less(1e-8 * trace * trace, det)
    clear = zm.less(1e-5 * trace * trace, det)
    unique = zm.atan2(h00 * g1 - h01 * g0, h11 * g0 - h01 * g1)
    direction = 0.5 * zm.atan2(2.0 * h01, h00 - h11)
    ca, sa = zm.cos(direction), zm.sin(direction)
    level = (g0 * ca + g1 * sa) / (h00 * ca * ca + 2.0 * h01 * ca * sa + h11 * sa * sa)
    spread = zm.acos(zm.maximum(-1.0, zm.minimum(1.0, level)))
    first = zm.where(regular, unique, direction + spread)
    second = direction - spread
    # Between the two cases the second candidate is the one the regular solution is not.
    other = zm.where(
        zm.less(zm.cos(unique - second), zm.cos(unique - direction - spread)), second, direction + spread
    )
    second = zm.where(regular, other, second)
    out, misses = [], []
    for y0, valid in ((first, None), (second, zm.logical_not(clear))):
        D = product(B, product(turned(-y0, np.eye(3, 4)), A))
        l, p = D[:, 2], D[:, 3]
        y1 = zm.atan2(
            l1[0] * l[1] - l1[1] * l[0] + p1[0] * p[1] - p1[1] * p[0],
            l[0] * l1[0] + l[1] * l1[1] + p[0] * p1[0] + p[1] * p1[1],
        )
        D = product(turned(-y1, np.eye(3, 4)), D)
        off = np.concatenate([D[:, 2] - l1, D[:, 3] - p1])
        misses.append(off @ off)
        K = C[:, :3].T @ D[:, :3]
        y5 = zm.atan2(K[1, 0] - K[0, 1], K[0, 0] + K[1, 1])
        row = [y0, y1, y5]
        out.append(row if valid is None else [zm.where(valid, y, np.nan) for y in row])
    return np.array(out), np.array(misses)


SPURIOUS = 1e-4
"""Defect of a kernel vector from which its root belongs to no configuration."""


def from_vector(v: Any, y: Any, scan: Any, links: Any) -> tuple[Any, Any]:
    """Return two candidates (2, 6) for y0 … y5 from monomials v (12,) at the scan angle y, and the defect of v.

    Candidates that are none are NaN: both where the defect is too great, else the second if there is but one.
    """
    return _from_vector(v, y, scan, links)[:2]


def _from_vector(v, y, scan, links):
    """Return the same, and the residuals (2,) of both."""
    b, c, defect = half_angles(v)
    first, second = zm.equal(scan, 0.0), zm.equal(scan, 1.0)
    y234 = [zm.where(first, y, b), zm.where(first, b, zm.where(second, y, c))]
    y234.append(zm.where(zm.logical_or(first, second), c, y))
    both, misses = complete(links, *y234)
    real = zm.less(defect, SPURIOUS)
    return np.array([[zm.where(real, y0, np.nan), y1, *y234, y5] for y0, y1, y5 in both]), defect, misses


def from_root(E: Any, y: Any, scan: Any, links: Any) -> Any:
    """Return the same from a root y of the determinant with a one-dimensional kernel; third, its certainty."""
    V, pivot = kernel_basis(E, (zm.cos(y), zm.sin(y)), dimension=1)
    return *from_vector(column_mixing() @ V[:, 0], y, scan, links), pivot


def better_from_root(E: Any, y: Any, scan: Any, links: Any) -> Any:
    """Return the better candidate (6,) of a root that belongs to one configuration."""
    V, pivot = kernel_basis(E, (zm.cos(y), zm.sin(y)), dimension=1)
    both, defect, misses = _from_vector(column_mixing() @ V[:, 0], y, scan, links)
    second = zm.logical_and(zm.less(misses[1], misses[0]), zm.less_equal(both[1, 0], np.inf))
    return np.array([zm.where(second, b, a) for a, b in zip(*both, strict=True)]), defect, pivot


def shift_matrix(E: Any, y: Any, *, dimension: int) -> tuple[Any, Any]:
    """Return an orthonormal kernel basis V (12, k) in monomials, and a matrix (k, k) whose eigenvectors combine it.

    A kernel spanned by k vectors of monomials is mapped to itself by multiplication with x_b or x_c. The matrix is
    that of x_b + 0.618 x_c after both have been turned by fixed angles, so that none is infinite.
    """
    V = column_mixing() @ kernel_basis(E, (zm.cos(y), zm.sin(y)), dimension=dimension)[0]
    columns: list = []
    for c in range(dimension):
        v = V[:, c]
        for _ in range(2):
            for u in columns:
                v = v - (u @ v) * u
            v = v * (1.0 / zm.sqrt(v @ v))
        columns.append(v)
    V = np.stack(columns, 1)
    W = V.reshape(4, 3, dimension)

    def multiplication(low, high, angle):
        c, s = np.cos(angle), np.sin(angle)
        over, under = (f.reshape(-1, dimension) for f in (c * high - s * low, s * high + c * low))
        return _solved(under.T @ under, under.T @ over)

    C = multiplication(W[:3], W[1:], 0.7) + 0.618 * multiplication(W[:, :2], W[:, 1:], 1.1)
    return V, C


def _solved(H, G):
    """Return H⁻¹ G of a small positive definite H."""
    H, G = H.copy(), G.copy()
    n = len(H)
    for k in range(n):
        factors = H[k + 1 :, k] * (1.0 / H[k, k])
        H[k + 1 :, k:] = H[k + 1 :, k:] - np.outer(factors, H[k, k:])
        G[k + 1 :] = G[k + 1 :] - np.outer(factors, G[k])
    for i in reversed(range(n)):
        G[i] = (G[i] - (H[i, i + 1 :] @ G[i + 1 :] if i + 1 < n else 0.0)) * (1.0 / H[i, i])
    return G
