"""Curves F(s, u) = 0 of trigonometric polynomials of two angles: all points where s turns, by Taylor's bounds.

On a cell about (s, u) with half-widths r the Taylor coefficients t_ij = ∂ⁱ∂ʲF rⁱ⁺ʲ / i! j! bound F and its
derivatives: F has no zero where |t_00| is greater than all other |t_ij| and the remainder together. A point where s
turns has F = F_u = 0. Cells in which F or F_u has no zero are dropped, the others halved. Where F_s and F_uu have
no zero in twice the cell, the curve is there a graph over u that is bent one way, so it turns once at most; that
point is found by Newton's method. What is left at the least size, such as crossings of the curve, is in doubt.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .cell_kernels import DROPPED, LEFT, ORDER, WIDER, cells, turn

CELLS_PER_DEGREE = 8
"""Cells round the circle to begin with, for every degree of the polynomial."""
MOST_PER_TURN = 64
LEAST_WIDTH = 1e-4
MOST_CELLS = 16_000
SETTLED = 1e-6
"""Half-widths of a cell that the last step of Newton's method may have."""


class PlaneCurve(NamedTuple):
    """F(s, u) = φ(s)ᵀ A φ(u), φ = (1, cos, …, cos d·, sin, …, sin d·), scaled to a greatest sample of 1."""

    A: np.ndarray
    degrees: tuple[int, int]
    noise: float
    """What F is known to."""


class Turning(NamedTuple):
    """Where s turns on a curve F(s, u) = 0.

    Attributes:
        points: (t, 2) points (s, u), each the only one within its surroundings.
        side: (t,) 1 where the curve lies above s, −1 where below.
        doubtful: (c, 2) intervals of s that hold what is left undecided.
    """

    points: np.ndarray
    side: np.ndarray
    doubtful: np.ndarray


def sample_angles(n: int) -> np.ndarray:
    """−π + 2π (k + ½)/n."""
    return -np.pi + 2 * np.pi * (np.arange(n) + 0.5) / n


def plane_curve(samples: np.ndarray, greatest: int, uncertain: float = 0.0) -> PlaneCurve:
    """From samples (n, n) at `sample_angles` in both angles, of a polynomial of degree at most `greatest` each.

    Harmonics above that vanish but for rounding, and so tell how great that is; the samples may be known no better
    than to `uncertain`.
    """
    n = len(samples)
    d = n // 2 - 1
    angles = sample_angles(n)
    project = harmonics(angles, d, 0)[0] * (2.0 / n)
    project[:, 0] *= 0.5
    scale = np.abs(samples).max()
    A = project.T @ (samples / (scale if scale > 0 else 1.0)) @ project
    size = amplitudes(A)
    noise = 30.0 * max(size[greatest + 1 :].max(), size[:, greatest + 1 :].max()) + 1e-14
    degrees = [
        max((m for m in range(1, greatest + 1) if along[m] > noise), default=1)
        for along in (size.max(axis=1), size.max(axis=0))
    ]
    rows, columns = (np.r_[0 : m + 1, d + 1 : d + 1 + m] for m in degrees)
    noise += uncertain / scale if scale > 0 else 0.0
    return PlaneCurve(A[np.ix_(rows, columns)], (degrees[0], degrees[1]), noise)


def turning_points(curve: PlaneCurve, ranges: np.ndarray) -> Turning:
    """All points with s in one of the ranges (r, 2) at which s turns."""
    size = amplitudes(curve.A)
    r_u = np.pi / _cells(curve)
    found: list[np.ndarray] = []
    doubtful = [np.zeros((0, 2))]
    for low, high in ranges:
        count = max(1, math.ceil((high - low) / (2 * r_u)))
        r_s = (high - low) / (2 * count)
        points, left = _subdivided(curve, size, low + r_s * (2 * np.arange(count) + 1), r_s)
        found.append(points)
        doubtful.append(left)
    every = np.concatenate([np.zeros((0, 3)), *found])
    every = every[_distinct(every)]
    return Turning(every[:, :2], every[:, 2], np.concatenate(doubtful))


def _subdivided(curve: PlaneCurve, size: np.ndarray, rows: np.ndarray, r_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Turning points with s in rows of cells about values (n,), and intervals of s (c, 2) that are left."""
    found, total, r_u = [np.zeros((0, 3))], 0, np.pi / _cells(curve)
    s, u = _grid(rows, _cells(curve))
    while True:
        total += len(s)
        code = cells(curve.A, s, u, r_s, r_u, _rest(size, r_s, r_u, curve.noise))[:, 0]
        keep = np.flatnonzero(code != DROPPED)
        code, s, u = code[keep], s[keep], u[keep]
        may = np.flatnonzero(code != LEFT)
        if len(may):
            x, y, step = turn(curve.A, s[may], u[may], r_s, r_u).T
            settled = (np.maximum(np.abs(x), np.abs(y)) <= WIDER) & (step < SETTLED)
            single = may[settled]
            points = s[single] + x[settled] * r_s, u[single] + y[settled] * r_u, code[single]
            found.append(np.stack(points, axis=1))
            s, u = np.delete(s, single), np.delete(u, single)
        if not len(s) or max(r_s, r_u) < LEAST_WIDTH or total > MOST_CELLS:
            return np.concatenate(found), np.stack([s - r_s, s + r_s], axis=1)
        s, u, r_s, r_u = split(s, u, r_s, r_u)


def _cells(curve: PlaneCurve) -> int:
    """Cells round a circle to begin with."""
    return min(MOST_PER_TURN, CELLS_PER_DEGREE * max(curve.degrees))


def _grid(rows: np.ndarray, around: int) -> tuple[np.ndarray, np.ndarray]:
    """Middles of all cells about values of s."""
    return np.repeat(rows, around), np.tile(sample_angles(around), len(rows))


def split(s: np.ndarray, u: np.ndarray, r_s: float, r_u: float):
    """Cells halved both ways, long ones across only: their middles and half-widths."""
    if r_s > 0.5 * r_u:
        r_s = r_s / 2
        s, u = (s[:, None] + r_s * np.array([-1.0, 1.0])).ravel(), np.repeat(u, 2)
        if r_u <= r_s:
            return s, u, r_s, r_u
    r_u = r_u / 2
    return np.repeat(s, 2), (u[:, None] + r_u * np.array([-1.0, 1.0])).ravel(), r_s, r_u


def harmonics(angles: np.ndarray, degree: int, order: int) -> np.ndarray:
    """(order + 1, n, 2 degree + 1): φ and its derivatives, each over the factorial of its order."""
    m, k = np.arange(1, degree + 1), np.arange(order + 1)
    turned = np.multiply.outer(angles, m)
    c, s = np.cos(turned), np.sin(turned)
    derivatives = np.stack([c, -s, -c, s])
    power = m ** k[:, None] / np.array([math.factorial(i) for i in k])[:, None]
    out = np.zeros((order + 1, len(angles), 2 * degree + 1))
    out[0, :, 0] = 1.0
    np.multiply(power[:, None], derivatives[k % 4], out=out[:, :, 1 : degree + 1])
    np.multiply(power[:, None], derivatives[(k - 1) % 4], out=out[:, :, degree + 1 :])
    return out


def amplitudes(A: np.ndarray) -> np.ndarray:
    """(d_s + 1, d_u + 1) bounds of the harmonics of every degree."""
    d_s, d_u = (len(A) - 1) // 2, (A.shape[1] - 1) // 2
    a = np.abs(A)
    a = np.concatenate([a[:1], a[1 : d_s + 1] + a[d_s + 1 :]])
    return np.concatenate([a[:, :1], a[:, 1 : d_u + 1] + a[:, d_u + 1 :]], axis=1)


def _rest(size: np.ndarray, r_s: float, r_u: float, noise: float) -> np.ndarray:
    """(4,) what Taylor polynomials leave out of the derivatives `LEADS` at most, and what these are known to."""
    m, n = np.arange(size.shape[0])[:, None] * r_s, np.arange(size.shape[1]) * r_u
    both = m + n
    square = both * both
    seventh = size * (square * square * square * both)
    eighth = seventh * both
    greatest_m, greatest_n = m[-1, 0], n[-1]
    # Each is Σ size mⁱ nʲ (m + n)^(9 − i − j) / (9 − i − j)!, the last two for wider cells.
    return np.array(
        [
            (eighth * both).sum() / math.factorial(ORDER + 1) + noise,
            (eighth * n).sum() / math.factorial(ORDER) + noise * greatest_n,
            WIDER ** (ORDER + 1) * (eighth * m).sum() / math.factorial(ORDER) + noise * WIDER * greatest_m,
            WIDER ** (ORDER + 1) * (seventh * n * n).sum() / math.factorial(ORDER - 1)
            + noise * (WIDER * greatest_n) ** 2,
        ]
    )


def common_zero(curves: list[PlaneCurve]) -> bool:
    """Whether several curves may have a point in common: whether a cell is left in which each may have a zero."""
    sizes = [amplitudes(curve.A) for curve in curves]
    around = max(_cells(curve) for curve in curves)
    r_s = r_u = np.pi / around
    s, u = _grid(sample_angles(around), around)
    while len(s) and max(r_s, r_u) > LEAST_WIDTH and len(s) < MOST_CELLS:
        for curve, size in zip(curves, sizes, strict=True):
            keep = cells(curve.A, s, u, r_s, r_u, _rest(size, r_s, r_u, curve.noise))[:, 1] == 0.0
            s, u = s[keep], u[keep]
        s, u, r_s, r_u = split(s, u, r_s, r_u)
    return len(s) > 0


def _distinct(points: np.ndarray) -> list[int]:
    """Numbers of points (n, 3) without repetitions, whole turns aside."""
    kept: list[int] = []
    for i, point in enumerate(points):
        d = points[kept, :2] - point[:2]
        if not np.any(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1, initial=0.0) < 1e-7):
            kept.append(i)
    return kept
