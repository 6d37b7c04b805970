"""Curves F(s, u) = 0 of trigonometric polynomials of two angles: all points where s turns, by Taylor's bounds.

On a cell about (s, u) with half-widths r the Taylor coefficients t_ij = ∂ⁱ∂ʲF rⁱ⁺ʲ / i! j! bound F and its
derivatives: F has no zero where |t_00| is greater than all other |t_ij| and the remainder together. A point where s
turns has F = F_u = 0. Cells in which F or F_u has no zero are dropped, the others halved. Where F_s and F_uu have
no zero in twice the cell, the curve is there a graph over u that is bent one way, so it turns once at most; that
point is found by Newton's method. Cells left at the least size, such as crossings of the curve, are ambiguous.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from .cell_kernels import DROPPED, LEADS, LEFT, ORDER, WIDER, cells, padded, turn

CELLS_PER_DEGREE = 8
"""Cells round the circle to begin with, for every degree of the polynomial."""
MOST_PER_TURN = 64
LEAST_WIDTH, LEAST_WIDTH_OF_MANY = 1e-4, 1e-5
"""Smallest widths of cells; the second for degrees above `SIMPLE`, where several curves may nearly coincide."""
MOST_CELLS, MOST_CELLS_OF_MANY = 16_000, 200_000
"""Cells looked at in all, in the same way."""
SIMPLE = 4
FEW_CELLS = 200
"""Cells up to which two halvings at once take no longer than one."""
SETTLED = 1e-6
"""Half-widths of a cell that the last step of Newton's method may have."""


class PlaneCurve(NamedTuple):
    """F(s, u) = φ(s)ᵀ A φ(u), φ = (1, cos, …, cos d·, sin, …, sin d·), scaled to a greatest sample of 1."""

    A: np.ndarray
    degrees: tuple[int, int]
    noise: float
    """Uncertainty of F."""


class Turning(NamedTuple):
    """Points where s turns on a curve F(s, u) = 0.

    Attributes:
        points: (t, 2) points (s, u), each the only one within its surroundings.
        side: (t,) 1 where the curve lies above s, −1 where below.
        doubtful: (c, 2) intervals of s that are left undecided.
    """

    points: np.ndarray
    side: np.ndarray
    doubtful: np.ndarray


def sample_angles(n: int) -> np.ndarray:
    """Return −π + 2π (k + ½)/n."""
    return -np.pi + 2 * np.pi * (np.arange(n) + 0.5) / n


def plane_curve(samples: np.ndarray, greatest: int, uncertain: float = 0.0) -> PlaneCurve:
    """Fit a curve to samples (n, n) at `sample_angles` in both angles, of degree at most `greatest` in each.

    Harmonics above that vanish but for rounding, and so measure it; `uncertain` is the uncertainty of the
    samples.
    """
    n = len(samples)
    d = n // 2 - 1
    project = _projector(n)
    scale = np.abs(samples).max()
    A = project.T @ (samples / (scale if scale > 0 else 1.0)) @ project
    size = amplitudes(A)
    noise = 30.0 * max(size[greatest + 1 :].max(), size[:, greatest + 1 :].max()) + 1e-14
    heard = size > noise
    d_s, d_u = (
        max(1, int(np.flatnonzero(along[: greatest + 1]).max(initial=0))) for along in (heard.any(1), heard.any(0))
    )
    rows, columns = (np.r_[0 : m + 1, d + 1 : d + 1 + m] for m in (d_s, d_u))
    noise += uncertain / scale if scale > 0 else 0.0
    return PlaneCurve(A[rows[:, None], columns], (d_s, d_u), noise)


@cache
def _projector(n: int) -> np.ndarray:
    """Return the matrix (n, n − 1) from samples at n angles to coefficients of φ."""
    project = harmonics(sample_angles(n), n // 2 - 1, 0)[0] * (2.0 / n)
    project[:, 0] *= 0.5
    return project


def turning_points(curve: PlaneCurve, ranges: np.ndarray) -> Turning:
    """Find all points with s in one of the ranges (r, 2) at which s turns."""
    bounds, r_u = _Bounds(curve), np.pi / _cells(curve)
    found: list[np.ndarray] = []
    doubtful, room = [np.zeros((0, 2))], MOST_CELLS if max(curve.degrees) <= SIMPLE else MOST_CELLS_OF_MANY
    for low, high in ranges:
        if room <= 0:
            doubtful.append(np.array([[low, high]]))
            continue
        count = max(1, math.ceil((high - low) / (2 * r_u)))
        r_s = (high - low) / (2 * count)
        points, left, total = _subdivided(curve, bounds, low + r_s * (2 * np.arange(count) + 1), r_s, room)
        room -= total
        found.append(points)
        doubtful.append(left)
    every = np.concatenate([np.zeros((0, 3)), *found])
    every = every[_distinct(every)]
    return Turning(every[:, :2], every[:, 2], np.concatenate(doubtful))


def _subdivided(curve: PlaneCurve, bounds: _Bounds, rows: np.ndarray, r_s: float, room: int):
    """Find turning points with s in rows of cells about values (n,), undecided intervals of s (c, 2), and cells."""
    polynomial = padded(curve.A)
    least = LEAST_WIDTH if max(curve.degrees) <= SIMPLE else LEAST_WIDTH_OF_MANY
    found, total, r_u = [np.zeros((0, 3))], 0, np.pi / _cells(curve)
    s, u = _grid(rows, _cells(curve))
    while True:
        total += len(s)
        code = cells(polynomial, s, u, r_s, r_u, bounds.of(r_s, r_u))[:, 0]
        keep = np.flatnonzero(code != DROPPED)
        code, s, u = code[keep], s[keep], u[keep]
        may = np.flatnonzero(code != LEFT)
        if len(may):
            x, y, step = turn(polynomial, s[may], u[may], r_s, r_u).T
            settled = (np.maximum(np.abs(x), np.abs(y)) <= WIDER) & (step < SETTLED)
            single = may[settled]
            points = s[single] + x[settled] * r_s, u[single] + y[settled] * r_u, code[single]
            found.append(np.stack(points, axis=1))
            s, u = np.delete(s, single), np.delete(u, single)
        if not len(s) or max(r_s, r_u) < least or total > room:
            return np.concatenate(found), np.stack([s - r_s, s + r_s], axis=1), total
        s, u, r_s, r_u = split(s, u, r_s, r_u)


def _cells(curve: PlaneCurve) -> int:
    """Return the initial number of cells round a circle."""
    return min(MOST_PER_TURN, CELLS_PER_DEGREE * max(curve.degrees))


def _grid(rows: np.ndarray, around: int) -> tuple[np.ndarray, np.ndarray]:
    """Return middles of all cells about values of s."""
    return np.repeat(rows, around), np.tile(sample_angles(around), len(rows))


def split(s: np.ndarray, u: np.ndarray, r_s: float, r_u: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Halve cells both ways, long ones across only, and again if they are few; return middles and half-widths."""
    parts = _halved(s, u, r_s, r_u)
    return parts if len(parts[0]) > FEW_CELLS else _halved(*parts)


def _halved(s: np.ndarray, u: np.ndarray, r_s: float, r_u: float):
    if r_s > 0.5 * r_u:
        r_s = r_s / 2
        s, u = (s[:, None] + r_s * np.array([-1.0, 1.0])).ravel(), np.repeat(u, 2)
        if r_u <= r_s:
            return s, u, r_s, r_u
    r_u = r_u / 2
    return np.repeat(s, 2), (u[:, None] + r_u * np.array([-1.0, 1.0])).ravel(), r_s, r_u


def harmonics(angles: np.ndarray, degree: int, order: int) -> np.ndarray:
    """Return φ and its derivatives (order + 1, n, 2 degree + 1), each over the factorial of its order."""
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
    """Return bounds (d_s + 1, d_u + 1) of the harmonics of every degree."""
    d_s, d_u = (len(A) - 1) // 2, (A.shape[1] - 1) // 2
    a = np.abs(A)
    a = np.concatenate([a[:1], a[1 : d_s + 1] + a[d_s + 1 :]])
    return np.concatenate([a[:, :1], a[:, 1 : d_u + 1] + a[:, d_u + 1 :]], axis=1)


class _Bounds:
    """Bounds on the remainders of Taylor polynomials in the derivatives `LEADS`, and on the errors of these.

    The first is Σ a_mn mⁱ nʲ (m r_s + n r_u)^(9 − i − j) r_sⁱ r_uʲ / (9 − i − j)! over amplitudes a_mn of degrees m
    and n: a polynomial of degree nine of the half-widths, ten numbers for each derivative.
    """

    def __init__(self, curve: PlaneCurve):
        size, k = amplitudes(curve.A), np.arange(_NINE + 1)
        m, n = (np.arange(length)[:, None] ** k for length in size.shape)
        self._terms = _EXPANDED * np.einsum("mk,mn,nk->k", m, size, n[:, ::-1])
        d_s, d_u = curve.degrees
        self._noise = curve.noise * np.array([1.0, d_u, WIDER * d_s, (WIDER * d_u) ** 2])

    def of(self, r_s: float, r_u: float) -> np.ndarray:
        """Return the bounds (4,) for half-widths of cells."""
        powers = np.array([r_s**k * r_u ** (_NINE - k) for k in range(_NINE + 1)])
        return self._terms @ powers + self._noise * np.array([1.0, r_u, r_s, r_u * r_u])


_NINE = ORDER + 1


def _expanded() -> np.ndarray:
    """Return factors (4, 10) of Σ a_mn mᵏ n⁹⁻ᵏ, the last two for wider cells."""
    factors = np.zeros((len(LEADS), _NINE + 1))
    for number, (i, j) in enumerate(LEADS):
        left = _NINE - i - j
        wide = 1.0 if number < 2 else WIDER**_NINE
        for k in range(left + 1):
            factors[number, k + i] = wide * math.comb(left, k) / math.factorial(left)
    return factors


_EXPANDED = _expanded()


def common_zero(curves: list[PlaneCurve]) -> bool:
    """Return True if several curves may have a common point: if a cell is left in which each may have a zero."""
    bounds = [(padded(curve.A), _Bounds(curve)) for curve in curves]
    around = max(_cells(curve) for curve in curves)
    r_s = r_u = np.pi / around
    s, u = _grid(sample_angles(around), around)
    while len(s) and max(r_s, r_u) > LEAST_WIDTH and len(s) < MOST_CELLS:
        for polynomial, bound in bounds:
            keep = cells(polynomial, s, u, r_s, r_u, bound.of(r_s, r_u))[:, 1] == 0.0
            s, u = s[keep], u[keep]
        s, u, r_s, r_u = split(s, u, r_s, r_u)
    return len(s) > 0


def _distinct(points: np.ndarray) -> list[int]:
    """Return numbers of points (n, 3) without repetitions, modulo 2π."""
    kept: list[int] = []
    for i, point in enumerate(points):
        d = points[kept, :2] - point[:2]
        if not np.any(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1, initial=0.0) < 1e-7):
            kept.append(i)
    return kept
