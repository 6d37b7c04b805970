"""Curves F(s, u) = 0 of trigonometric polynomials of two angles: all points where s turns, by Taylor's bounds.

On a cell about (s, u) with half-widths r the Taylor coefficients t_ij = ∂ⁱ∂ʲF rⁱ⁺ʲ / i! j! bound F and its
derivatives: F has no zero where |t_00| is greater than all other |t_ij| and the remainder together. A point where s
turns has F = F_u = 0. Cells in which F or F_u has no zero are dropped, the others halved. Where F_s and F_uu have
no zero in twice the cell, the curve is there a graph over u that is bent one way, so it turns once at most; that
point is found by Newton's method. What is left at the least size, such as crossings of the curve, is in doubt.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

ORDER = 8
CELLS_PER_DEGREE = 8
"""Cells round the circle to begin with, for every degree of the polynomial."""
MOST_PER_TURN = 64
LEAST_WIDTH = 1e-4
MOST_CELLS = 16_000
WIDER = 2.0
"""The part of the plane about a cell in which a turning point is the only one, in widths of the cell."""

_I, _J = (part.ravel() for part in np.meshgrid(np.arange(ORDER + 1), np.arange(ORDER + 1), indexing="ij"))
_KEPT = _I + _J <= ORDER
_I, _J = _I[_KEPT], _J[_KEPT]


def _place(i: int, j: int) -> int:
    return int(np.flatnonzero((i == _I) & (j == _J))[0])


_F, _FS, _FU, _FUU = _place(0, 0), _place(1, 0), _place(0, 1), _place(0, 2)


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
    s, u, t = first_cells(curve, rows, r_s, r_u)
    while True:
        total += len(s)
        no_zero, no_turn = without_zero(t, size, r_s, r_u, 1.0, curve.noise, (_F, _FU))
        keep = np.flatnonzero(~(no_zero | no_turn))
        t, s, u = t[keep], s[keep], u[keep]
        rising, bent = without_zero(t, size, r_s, r_u, WIDER, curve.noise, (_FS, _FUU))
        may = np.flatnonzero(rising & bent)
        x, y, settled = _newton(t[may])
        single = may[settled]
        side = -np.sign(t[single, _FS] * t[single, _FUU])
        found.append(np.stack([s[single] + x[settled] * r_s, u[single] + y[settled] * r_u, side], axis=1))
        s, u = np.delete(s, single), np.delete(u, single)
        if not len(s) or max(r_s, r_u) < LEAST_WIDTH or total > MOST_CELLS:
            return np.concatenate(found), np.stack([s - r_s, s + r_s], axis=1)
        s, u, r_s, r_u = split(s, u, r_s, r_u)
        t = taylor(curve, s, u, r_s, r_u)


def _cells(curve: PlaneCurve) -> int:
    """Cells round a circle to begin with."""
    return min(MOST_PER_TURN, CELLS_PER_DEGREE * max(curve.degrees))


def first_cells(curve: PlaneCurve, rows: np.ndarray, r_s: float, r_u: float):
    """Middles (n,) of all cells about values of s, and their Taylor coefficients (n, 45)."""
    columns = sample_angles(round(np.pi / r_u))
    powers = np.arange(ORDER + 1)
    by_s = harmonics(rows, curve.degrees[0], ORDER) @ curve.A * (r_s**powers)[:, None, None]
    by_u = harmonics(columns, curve.degrees[1], ORDER) * (r_u**powers)[:, None, None]
    k = len(rows)
    products = by_s.reshape((ORDER + 1) * k, -1) @ by_u.reshape((ORDER + 1) * len(columns), -1).T
    products = products.reshape(ORDER + 1, k, ORDER + 1, len(columns))
    t = np.empty((k * len(columns), len(_I)))
    for place, (i, j) in enumerate(zip(_I, _J, strict=True)):
        t[:, place] = products[i, :, j].ravel()
    return np.repeat(rows, len(columns)), np.tile(columns, k), t


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


def taylor(curve: PlaneCurve, s: np.ndarray, u: np.ndarray, r_s: float, r_u: float) -> np.ndarray:
    """(n, 45) t_ij of cells about (s, u)."""
    powers = np.arange(ORDER + 1)
    rows = harmonics(s, curve.degrees[0], ORDER) @ curve.A * (r_s**powers)[:, None, None]
    columns = harmonics(u, curve.degrees[1], ORDER) * (r_u**powers)[:, None, None]
    products = np.matmul(rows.transpose(1, 0, 2), columns.transpose(1, 2, 0))
    return products.reshape(len(s), (ORDER + 1) ** 2)[:, _KEPT]


def amplitudes(A: np.ndarray) -> np.ndarray:
    """(d_s + 1, d_u + 1) bounds of the harmonics of every degree."""
    d_s, d_u = (len(A) - 1) // 2, (A.shape[1] - 1) // 2
    a = np.abs(A)
    a = np.concatenate([a[:1], a[1 : d_s + 1] + a[d_s + 1 :]])
    return np.concatenate([a[:, :1], a[:, 1 : d_u + 1] + a[:, d_u + 1 :]], axis=1)


def without_zero(
    t: np.ndarray, size: np.ndarray, r_s: float, r_u: float, wider: float, noise: float, which: tuple[int, ...]
) -> list[np.ndarray]:
    """(n,) each: whether a derivative of F, named by its leading coefficient, has no zero in (wider) cells."""
    m, n = np.arange(size.shape[0])[:, None] * (wider * r_s), np.arange(size.shape[1]) * (wider * r_u)
    a = np.abs(t)
    answers = []
    for lead in which:
        i, j = int(_I[lead]), int(_J[lead])
        weight = _weights(i, j) * wider ** (_I + _J)
        left = ORDER + 1 - i - j
        rest = float((size * m**i * n**j * (m + n) ** left).sum()) / math.factorial(left)
        uncertain = noise * m[-1, 0] ** i * n[-1] ** j
        answers.append(2 * weight[lead] * a[:, lead] > a @ weight + rest + uncertain)
    return answers


@cache
def _weights(i: int, j: int) -> np.ndarray:
    """(45,) k!/(k−i)! l!/(l−j)!: what ∂ⁱ∂ʲ of a term t_kl x^k y^l, times the half-widths, is of t_kl at most."""
    return np.array([math.perm(int(k), i) * math.perm(int(l), j) for k, l in zip(_I, _J, strict=True)], float)


def common_zero(curves: list[PlaneCurve]) -> bool:
    """Whether several curves may have a point in common: whether a cell is left in which each may have a zero."""
    sizes = [amplitudes(curve.A) for curve in curves]
    cells = max(_cells(curve) for curve in curves)
    r_s = r_u = np.pi / cells
    rows = sample_angles(cells)
    s, u, t = first_cells(curves[0], rows, r_s, r_u)
    every: list[np.ndarray] = [t, *(first_cells(curve, rows, r_s, r_u)[2] for curve in curves[1:])]
    while len(s) and max(r_s, r_u) > LEAST_WIDTH and len(s) < MOST_CELLS:
        keep = np.ones(len(s), bool)
        for curve, size, t in zip(curves, sizes, every, strict=True):
            keep &= ~without_zero(t, size, r_s, r_u, 1.0, curve.noise, (_F,))[0]
        s, u, r_s, r_u = split(s[keep], u[keep], r_s, r_u)
        every = [taylor(curve, s, u, r_s, r_u) for curve in curves]
    return len(s) > 0


def _newton(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Zeros of F and F_u in units of the cells, and whether they were found within the wider cells."""
    if not len(t):
        return np.zeros(0), np.zeros(0), np.zeros(0, bool)
    whole = np.zeros((len(t), ORDER + 1, ORDER + 1))
    whole[:, _I, _J] = t
    x, y = np.zeros(len(t)), np.zeros(len(t))
    step = np.full(len(t), np.inf)
    for _ in range(7):
        (px, dx, _), by_y = _powers(x), _powers(y)
        (f, f_y, f_yy), (f_x, f_xy, _) = (np.stack([px, dx], 1) @ (whole @ np.stack(by_y, 2))).transpose(1, 2, 0)
        with np.errstate(all="ignore"):
            det = f_x * f_yy - f_y * f_xy
            along = np.nan_to_num(np.stack([f * f_yy - f_y * f_y, f_x * f_y - f * f_xy]) / det, nan=9.0)
        x, y = np.clip(x - along[0], -3.0, 3.0), np.clip(y - along[1], -3.0, 3.0)
        step = np.abs(along).max(axis=0)
        if step.max() < 1e-12:
            break
    return x, y, (np.maximum(np.abs(x), np.abs(y)) <= WIDER) & (step < 1e-6)


def _powers(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, 9) each: powers of x (n,) and their first and second derivatives."""
    k = np.arange(ORDER + 1)
    powers = x[:, None] ** k
    first, second = np.zeros_like(powers), np.zeros_like(powers)
    first[:, 1:] = k[1:] * powers[:, :-1]
    second[:, 2:] = k[2:] * k[1:-1] * powers[:, :-2]
    return powers, first, second


def _distinct(points: np.ndarray) -> list[int]:
    """Numbers of points (n, 3) without repetitions, whole turns aside."""
    kept: list[int] = []
    for i, point in enumerate(points):
        d = points[kept, :2] - point[:2]
        if not np.any(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1, initial=0.0) < 1e-7):
            kept.append(i)
    return kept
