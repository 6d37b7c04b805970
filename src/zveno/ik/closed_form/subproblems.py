"""Canonical subproblems of inverse kinematics: one angle from one equation, in vectors.

An angle is a pair (cos, sin), so nothing here calls an inverse function. Every function takes numbers or traced
scalars. Where an equation has no solution but nearly one, as at the edge of the workspace, the nearest pair is
given and the margin says so: it is the squared sine of half the angle between the solutions, negative beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import ops as zm

_NOTHING = 1e-60
_ROUNDING = 4e-15
"""Relative error up to which both sides of an equation are taken for equal."""
ALIGNED = 1e-20
"""Squared sine of the angle between directions that are taken for the same."""


def cross(a: Any, b: Any) -> Any:
    """Return a × b of vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turned(axis: Any, angle: Any, v: Any) -> Any:
    """Rotate v about a unit axis by (cos, sin)."""
    c, s = angle
    return c * v + s * cross(axis, v) + ((1.0 - c) * (axis @ v)) * axis


def back(angle: Any) -> tuple[Any, Any]:
    """Return the opposite angle."""
    return angle[0], -angle[1]


def unit(c: Any, s: Any) -> tuple[Any, Any]:
    """Scale (c, s) to a pair (cos, sin); zero angle where both vanish."""
    square = c * c + s * s
    lost = zm.less(square, _NOTHING)
    scale = 1.0 / zm.sqrt(zm.where(lost, 1.0, square))
    return zm.where(lost, 1.0, c * scale), zm.where(lost, 0.0, s * scale)


def across(axis: Any, v: Any) -> Any:
    """Return the part of v across a unit axis: exact to the last digit of v, however small it is."""
    return v - (axis @ v) * axis


def to_direction(axis: Any, v: Any, target: Any) -> Any:
    """Return the angle about the axis that takes v nearest to the direction of the target.

    Only the parts across the axis meet in products: of vectors nearly along it, products of whole ones would keep
    none of the digits that tell the angle.
    """
    u, w = across(axis, v), across(axis, target)
    return unit(u @ w, axis @ cross(u, w))


def to_plane(axis: Any, v: Any, normal: Any, distance: Any, size: Any = None) -> tuple[Any, Any]:
    """Return both angles with normal · turned(axis, angle, v) = distance, and the margin.

    `size` is what the square of either side is at most, the scale of rounding errors; |v|² |normal|² if not given.
    """
    flat = across(axis, v)
    a, b = normal @ flat, normal @ cross(axis, flat)
    c = distance - (axis @ v) * (normal @ axis)
    square = a * a + b * b
    rest = square - c * c
    # Where the difference is nothing but rounding, solutions meet; where both sides vanish, every angle is one.
    size = (v @ v) * (normal @ normal) if size is None else size
    rounding = zm.less(rest * rest, _ROUNDING * _ROUNDING * (square + c * c) * size)
    return _both(a, b, c, square, rest), zm.where(rounding, 0.0, rest / zm.maximum(square, _NOTHING))


def _both(a, b, c, square, rest):
    """Return both solutions of a cos + b sin = c, where square = a² + b² and rest = square − c²."""
    return Both(a, b, c, zm.sqrt(zm.maximum(rest, 0.0)))


@dataclass(frozen=True, eq=False)
class Both:
    """Two angles, (c a − r b, c b + r a) scaled, r = root and −root; each is computed when it is asked for."""

    a: Any
    b: Any
    c: Any
    root: Any

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return (self._at(root) for root in (self.root, -self.root))

    def __getitem__(self, which: int) -> tuple[Any, Any]:
        return self._at(-self.root if which else self.root)

    def second_where(self, other: Any) -> tuple[Any, Any]:
        """Return the second where a flag says so, else the first."""
        return self._at(zm.where(other, -self.root, self.root))

    def _at(self, root: Any) -> tuple[Any, Any]:
        return unit(self.a * self.c - self.b * root, self.b * self.c + self.a * root)


def to_cone(axis: Any, v: Any, normal: Any, seen: Any) -> tuple[Any, Any, Any, Any]:
    """Return both angles with normal · turned(axis, angle, v) = normal · seen, unit vectors; margin, gap, sin² γ.

    As `to_plane`, but exact where the solutions meet: there a difference of cosines would lose half the digits. The
    margin comes from a spherical triangle with sides α, β, γ: (cos(α − β) − cos γ) (cos γ − cos(α + β)).

    The gap is the margin over sin² γ, and 1 where sin γ vanishes: as `seen` comes to lie along the normal, both
    angles become one, but the turn about the normal that follows stays as different as it was.
    """
    along = axis @ v
    a, b = normal @ v - along * (normal @ axis), normal @ cross(axis, v)
    c = normal @ seen - along * (normal @ axis)
    (cα, sα), (cβ, sβ), γ = _between(normal, axis), _between(axis, v), _between(normal, seen)
    less, more = (cα * cβ + sα * sβ, sα * cβ - cα * sβ), (cα * cβ - sα * sβ, sα * cβ + cα * sβ)
    rest = _difference_of_cosines(less, γ) * _difference_of_cosines(γ, more)
    square, beside = a * a + b * b, across(normal, seen)
    margin, sine = rest / zm.maximum(square, _NOTHING), beside @ beside
    gap = zm.where(zm.less(sine, ALIGNED), 1.0, zm.abs(margin) / zm.maximum(sine, ALIGNED))
    return _both(a, b, c, square, rest), margin, gap, sine


def _between(u, v):
    """Return the angle between unit vectors, 0 to π, as a pair."""
    w = cross(u, v)
    return u @ v, zm.sqrt(w @ w)


def _difference_of_cosines(x, y):
    """Return cos x − cos y of angles given as pairs, as exact as x and y are.

    Near 0 and π, where cosines hardly change, from sin² y − sin² x = sin(y + x) sin(y − x).
    """
    (cx, sx), (cy, sy) = x, y
    total = cx + cy
    flat = zm.less(1.0, zm.abs(total))
    product = (sy * cx + cy * sx) * (sy * cx - cy * sx)
    return zm.where(flat, product / zm.where(flat, total, 1.0), cx - cy)


def to_distance(axis: Any, v: Any, point: Any, square: Any) -> Any:
    """Return both angles at which the turned v is at a distance, given squared, from a point, and the margin."""
    sides = 0.5 * (v @ v + point @ point)
    return to_plane(axis, v, point, sides - 0.5 * square, sides * sides)
