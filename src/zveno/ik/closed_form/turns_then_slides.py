"""Arms with at most three turning joints beside sliding ones, in any order: turns from the rotation, then slides.

The rotation of a pose depends on the turning joints alone, which makes two branches of three of them and one of
fewer. With the turns known the position is linear in the slides. Axes as in `revolute_arms`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import ops as zm
from .revolute_arms import Choose, branches, coordinates, last_angle, least, three_turns, unturned
from .subproblems import cross, to_direction, turned

APART = (1.0, 1.0)
"""Margin and gap of what has one solution."""


def turns_then_slides(h: Any, a: Any, e: Any, R: Any, p: Any, *, kinds: str, choose: Choose = branches) -> Any:
    """Return coordinates (branches, n), margins, see `least`, and squared pose errors, (branches,).

    An arm of fewer than six joints reaches a pose only where the error vanishes.
    """
    turning = [i for i, kind in enumerate(kinds) if kind == "R"]
    rows, margins, errors = [], [], []
    for angles, edge in _turns([h[i] for i in turning], [e[i] for i in turning], R, choose):
        by_joint = dict(zip(turning, angles, strict=True))
        lengths, volume = _slides(kinds, h, a, by_joint, p)
        row = [by_joint[i] if kind == "R" else lengths.pop(0) for i, kind in enumerate(kinds)]
        margins.append((edge, (volume, volume)))
        errors.append(_error(kinds, h, a, row, R, p))
        rows.append(row)
    return coordinates(rows), *least(margins), np.array(errors)


def _turns(h, e, R, choose):
    """Yield angles of up to three turns whose product is R, as pairs (cos, sin), and the margin, per branch."""
    if len(h) == 3:
        yield from three_turns(h, e, R, choose)
    elif len(h) == 2:
        first = to_direction(h[0], h[1], R @ h[1])
        yield [first, last_angle(h[1], e[1], unturned(h[:1], (first,), R))], APART
    else:
        yield [last_angle(h[0], e[0], R)] if h else [], APART


def _slides(kinds: str, h, a, angles, p):
    """Return slides that bring the origin to p, nearest if they cannot; and the squared volume of their axes."""
    origin = np.zeros(3)
    directions = []
    for i in reversed(range(len(kinds))):
        if kinds[i] == "P":
            directions.insert(0, h[i])
        else:
            origin = turned(h[i], angles[i], origin - a[i]) + a[i]
            directions = [turned(h[i], angles[i], d) for d in directions]
    # Gram–Schmidt: each length from what the others leave of its direction.
    d, volume, lengths = p - origin, 1.0, []
    for k, direction in enumerate(directions):
        rest = _beside(direction, directions[:k] + directions[k + 1 :])
        square = rest @ rest
        lengths.append((rest @ d) / zm.maximum(square, 1e-60))
        volume = zm.minimum(volume, square) if k else square
    return lengths, volume


def _beside(v, others):
    """Return v without its parts along up to two other vectors."""
    if len(others) == 2:
        normal = cross(others[0], others[1])
        return normal * ((normal @ v) / zm.maximum(normal @ normal, 1e-60))
    return v - ((others[0] @ v) / (others[0] @ others[0])) * others[0] if others else v


def _error(kinds: str, h, a, row, R, p):
    """Return the squared error of position and of the three axes."""
    origin, axes = np.zeros(3), list(np.eye(3))
    for i in reversed(range(len(kinds))):
        if kinds[i] == "P":
            origin = origin + row[i] * h[i]
        else:
            origin = turned(h[i], row[i], origin - a[i]) + a[i]
            axes = [turned(h[i], row[i], axis) for axis in axes]
    off = origin - p
    return off @ off + sum((axis - R[:, j]) @ (axis - R[:, j]) for j, axis in enumerate(axes))
