"""Bringing a point to a point with three joints, turning or sliding, of any geometry: zeros of one polynomial.

The third coordinate is scanned: an angle θ, or a length ℓ tan(θ/2). What the first joint leaves unchanged of a
point, two numbers, must agree between the goal and the point moved by the other two; the second coordinate is
eliminated from these two equations, which leaves a trigonometric polynomial of θ of degree two at most: up to four
solutions. Where axes are parallel or meet, or a slide is perpendicular to the first axis, the two equations say the
same of the second coordinate; then their combination without it is the polynomial, and the second has two solutions
a zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import ops as zm
from .subproblems import cross, to_direction, turned

SPECIAL = 1e-9
"""Below this determinant, lengths relative to the arm's, the two equations say the same."""
FURTHEST = 1e6
"""Slides further than this, in units of half the arm's size, belong to zeros at infinity."""


@dataclass(frozen=True, eq=False)
class PointForm:
    """Three joints that bring a point `start`, where all coordinates are zero, to goals.

    Attributes:
        kinds: three letters R or P.
        h, a: directions and points of the axes, (3, 3).
        start: the point, (3,); lengths are scaled and counted from
        origin: a point of the first axis, (3,), not scaled.
        scale: factor of all lengths.
        special: True if the two equations say the same of the second coordinate.
    """

    kinds: str
    h: np.ndarray
    a: np.ndarray
    start: np.ndarray
    origin: np.ndarray
    scale: float
    special: bool

    @property
    def units(self) -> np.ndarray:
        """(3,) divisors of the coordinates to scaled lengths or radians."""
        return np.array([1.0 if kind == "R" else 1.0 / self.scale for kind in self.kinds])


def point_form(kinds: str, h: np.ndarray, a: np.ndarray, start: np.ndarray) -> PointForm | None:
    """Return the form of three joints, or None if they cannot move the point in all directions."""
    size = np.linalg.norm(np.diff(np.vstack([a, start]), axis=0), axis=1).sum()
    scale = 2.0 / size if size > 0 else 1.0
    origin = a[0]
    a, start = (a - origin) * scale, (start - origin) * scale
    x = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    J = [np.stack(_walk(h, a, start, sample, kinds)[1]) for sample in x]
    if max(np.linalg.svd(jacobian, compute_uv=False)[-1] for jacobian in J) < 1e-9:
        return None
    rows = _second(h, a, start, kinds)[0]
    special = abs(_determinant(rows)) if kinds[1] == "R" else abs(rows[0])
    special = special < SPECIAL if kinds != "PPP" and kinds[:2] != "PP" else False
    return PointForm(kinds, h, a, start, origin, float(scale), bool(special))


def _third(h, a, start, goal, cs, kinds: str):
    """Return the point after the third joint, that joint's coordinate, and (1 + cos θ) / 2."""
    c, s = cs
    if kinds[2] == "R":
        return turned(h[2], (c, s), start - a[2]) + a[2], zm.atan2(s, c), 1.0
    d = goal - start
    x = (1.0 + zm.sqrt(d @ d)) * s / (1.0 + c)
    return start + x * h[2], x, 0.5 * (1.0 + c)


def _across(h):
    """Return two unit vectors across a unit vector and each other."""
    e = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    near_x = zm.less(0.8, zm.abs(h[0]))
    v = cross(h, np.array([zm.where(near_x, e[1][i], e[0][i]) for i in range(3)]))
    v = v / zm.sqrt(v @ v)
    return v, cross(h, v)


def _invariant(h, a, kinds: str):
    """Return two directions. The first joint keeps a point's part along the first, and along the second if the
    joint slides, or its distance from a[0] if it turns."""
    return _across(h[0]) if kinds[0] == "P" else (h[0], a[1] - a[0])


def _second(h: Any, a: Any, point: Any, kinds: str) -> tuple[Any, Any]:
    """Return rows of the two equations in the second coordinate, and the plane it moves in.

    For a joint that turns, coefficients (2, 2) of the moved point's two parts across the axis; for one that slides,
    those of its length.
    """
    first, second = _invariant(h, a, kinds)
    if kinds[1] == "P":
        return [first @ h[1], second @ h[1]], None
    plane = _across(h[1])
    return [[first @ b for b in plane], [second @ b for b in plane]], plane


def _determinant(rows):
    return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]


def _right_sides(h, a, u, goal, kinds: str):
    """Return the right sides of both equations: values of the goal that u, moved by joint two, must have."""
    first, second = _invariant(h, a, kinds)
    if kinds[1] == "P":
        if kinds[0] == "P":
            return first @ (goal - u), second @ (goal - u)
        away, g = u - a[0], goal - a[0]
        return first @ (g - away), g @ g - away @ away
    v = u - a[1]
    along = (h[1] @ v) * h[1]
    if kinds[0] == "P":
        return first @ (goal - a[1] - along), second @ (goal - a[1] - along)
    g, d = goal - a[0], a[1] - a[0]
    return first @ (g - d - along), 0.5 * (g @ g - d @ d - v @ v) - d @ along


def polynomial(h: Any, a: Any, start: Any, goal: Any, cs: Any, *, kinds: str, special: bool) -> Any:
    """Evaluate the polynomial at θ, cs = (cos θ, sin θ)."""
    u, _, shrink = _third(h, a, start, goal, cs, kinds)
    rows, _ = _second(h, a, u, kinds)
    r = _right_sides(h, a, u, goal, kinds)
    if kinds[1] == "R":
        if special:
            return _null_row(rows) @ np.array(r) * shrink
        det = _determinant(rows)
        w = rows[1][1] * r[0] - rows[0][1] * r[1], rows[0][0] * r[1] - rows[1][0] * r[0]
        v = u - a[1]
        radius = v @ v - (h[1] @ v) * (h[1] @ v)
        degree = 2 if kinds == "RRP" else 1
        return (w[0] * w[0] + w[1] * w[1] - det * det * radius) * shrink**degree
    if kinds[0] == "P":
        return (rows[1] * r[0] - rows[0] * r[1]) * shrink
    if special:
        return r[0] * shrink
    # The length from the first equation, put into the second: |u − a + x h|² = |goal − a|².
    away = u - a[0]
    return (r[0] * r[0] + 2.0 * rows[0] * r[0] * (away @ h[1]) - rows[0] * rows[0] * r[1]) * shrink


def _null_row(rows):
    """Return the combination (2,) of two dependent rows that vanishes."""
    column = [rows[0][0], rows[1][0]], [rows[0][1], rows[1][1]]
    longer = zm.less(
        column[0][0] * column[0][0] + column[0][1] * column[0][1],
        column[1][0] * column[1][0] + column[1][1] * column[1][1],
    )
    p, q = (zm.where(longer, column[1][i], column[0][i]) for i in range(2))
    size = 1.0 / zm.sqrt(p * p + q * q)
    return np.array([-q * size, p * size])


def candidates(h: Any, a: Any, start: Any, goal: Any, cs: Any, *, kinds: str, special: bool) -> Any:
    """Return two candidates (2, 3) at a zero of the polynomial, NaN if there is one, and margins: real from 0."""
    u, third, _ = _third(h, a, start, goal, cs, kinds)
    rows, plane = _second(h, a, u, kinds)
    r = _right_sides(h, a, u, goal, kinds)
    pairs, margin = _moved(h, a, u, rows, plane, r, kinds, special)
    out = []
    for moved, second in pairs:
        if kinds[0] == "P":
            first = h[0] @ (goal - moved)
        else:
            c, s = to_direction(h[0], moved - a[0], goal - a[0])
            first = zm.atan2(s, c)
        out.append([first, second, third])
    if len(out) == 1:
        out.append([np.nan] * 3)
    return np.array(out), np.array([margin, margin])


def _moved(h, a, u, rows, plane, r, kinds: str, special: bool):
    """Return the point after the second joint and its coordinate, one or two of each; their relative margin."""
    margin = 1.0
    if kinds[1] == "P":
        if kinds[0] == "R" and special:
            away = u - a[0]
            half = away @ h[1]
            root, margin = _root(half * half, -r[1])
            lengths = [-half + root, -half - root]
        elif kinds[0] == "R":
            lengths = [r[0] / rows[0]]
        else:
            lengths = [(rows[0] * r[0] + rows[1] * r[1]) / (rows[0] * rows[0] + rows[1] * rows[1])]
        return [(u + x * h[1], x) for x in lengths], margin
    v = u - a[1]
    if special:
        # One equation m · w = d in the plane, on a circle.
        (p0, p1), (q0, q1) = rows
        larger = zm.less(q0 * q0 + q1 * q1, p0 * p0 + p1 * p1)
        m0, m1, d = zm.where(larger, p0, q0), zm.where(larger, p1, q1), zm.where(larger, r[0], r[1])
        square = m0 * m0 + m1 * m1
        radius = v @ v - (h[1] @ v) * (h[1] @ v)
        root, margin = _root(square * radius, d * d)
        pairs = [((m0 * d - m1 * t) / square, (m1 * d + m0 * t) / square) for t in (root, -root)]
    else:
        det = _determinant(rows)
        pairs = [((rows[1][1] * r[0] - rows[0][1] * r[1]) / det, (rows[0][0] * r[1] - rows[1][0] * r[0]) / det)]
    out = []
    for w0, w1 in pairs:
        w = w0 * plane[0] + w1 * plane[1]
        c, s = to_direction(h[1], v, w)
        out.append((turned(h[1], (c, s), v) + a[1], zm.atan2(s, c)))
    return out, margin


def _root(a, b):
    """Return √(a − b), 0 where that is negative, and (a − b) / (|a| + |b|)."""
    rest = a - b
    return zm.sqrt(zm.maximum(rest, 0.0)), rest / zm.maximum(zm.abs(a) + zm.abs(b), 1e-300)


def _walk(h, a, start, x, kinds: str):
    """Return the position of the point at x (3,), and its three derivatives."""
    p, rates = start, []
    for i in reversed(range(3)):
        if kinds[i] == "R":
            angle = zm.cos(x[i]), zm.sin(x[i])
            p = turned(h[i], angle, p - a[i]) + a[i]
            rates = [cross(h[i], p - a[i])] + [turned(h[i], angle, rate) for rate in rates]
        else:
            p = p + x[i] * h[i]
            rates = [h[i], *rates]
    return p, rates
