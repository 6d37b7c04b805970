"""Canonical subproblems of inverse kinematics: one angle from one equation, in vectors.

An angle is a pair (cos, sin), so nothing here calls an inverse function. Every function takes numbers or traced
scalars. Where an equation has no solution but nearly one, as at the edge of the workspace, the nearest pair is
given and the margin says so: it is the squared sine of half the angle between the solutions, negative beyond.
"""

from __future__ import annotations

import numpy as np

from ...kernels import math as zm

_NOTHING = 1e-60


def cross(a, b):
    """a × b of vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turned(axis, angle, v):
    """v turned about a unit axis by (cos, sin)."""
    c, s = angle
    return c * v + s * cross(axis, v) + ((1.0 - c) * (axis @ v)) * axis


def back(angle):
    """The opposite angle."""
    return angle[0], -angle[1]


def unit(c, s):
    """(c, s) scaled to a pair (cos, sin); zero angle where both vanish."""
    square = c * c + s * s
    lost = zm.less(square, _NOTHING)
    scale = 1.0 / zm.sqrt(zm.select(lost, 1.0, square))
    return zm.select(lost, 1.0, c * scale), zm.select(lost, 0.0, s * scale)


def to_direction(axis, v, target):
    """The angle about the axis that takes v nearest to the direction of the target."""
    flat = v - (axis @ v) * axis
    return unit(flat @ target, axis @ cross(v, target))


def to_plane(axis, v, normal, distance):
    """Both angles with normal · turned(axis, angle, v) = distance, and the margin."""
    along = axis @ v
    a, b = normal @ v - along * (normal @ axis), normal @ cross(axis, v)
    c = distance - along * (normal @ axis)
    square = a * a + b * b
    return _both(a, b, c, square, square - c * c)


def _both(a, b, c, square, rest):
    """Both solutions of a cos + b sin = c, where square = a² + b² and rest = square − c²."""
    root = zm.sqrt(zm.maximum(rest, 0.0))
    return [unit(a * c - b * r, b * c + a * r) for r in (root, -root)], rest / zm.maximum(square, _NOTHING)


def to_cone(axis, v, normal, seen):
    """Both angles with normal · turned(axis, angle, v) = normal · seen, all unit vectors, and the margin.

    As `to_plane`, but exact where the solutions meet: there a difference of cosines would lose half the digits. The
    margin comes from a spherical triangle with sides α, β, γ: 4 sin s sin(s − α) sin(s − β) sin(s − γ) with
    2 s = α + β + γ.
    """
    along = axis @ v
    a, b = normal @ v - along * (normal @ axis), normal @ cross(axis, v)
    c = normal @ seen - along * (normal @ axis)
    sides = [_between(normal, axis), _between(axis, v), _between(normal, seen)]
    s = 0.5 * (sides[0] + sides[1] + sides[2])
    rest = 4.0 * zm.sin(s)
    for side in sides:
        rest = rest * zm.sin(s - side)
    return _both(a, b, c, a * a + b * b, rest)


def _between(u, v):
    """The angle between unit vectors, 0 to π."""
    w = cross(u, v)
    return zm.atan2(zm.sqrt(w @ w), u @ v)


def to_distance(axis, v, point, square):
    """Both angles at which the turned v is at a distance, given squared, from a point, and the margin."""
    return to_plane(axis, v, point, 0.5 * (v @ v + point @ point - square))
