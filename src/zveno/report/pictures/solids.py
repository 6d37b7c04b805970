"""Facets of simple solids, for pictures: everything is a surface of revolution made of quadrilaterals.

A solid is an (n, 4, 3) array of facets whose corners go counter-clockwise seen from outside.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...spatial.rotations import z_to


def revolved(origin: Any, axis: Any, profile: Any, sides: int = 20) -> np.ndarray:
    """The surface made by turning a profile about an axis.

    Args:
        origin: a point of the axis, (3,).
        axis: unit direction, (3,).
        profile: (k, 2) pairs of place along the axis and radius, from one end to the other.
        sides: how many facets go around; 4 makes a square prism.
    """
    profile = np.asarray(profile, dtype=float)
    angles = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    rings = np.concatenate(
        [
            profile[:, None, 1:] * around[None],
            np.broadcast_to(profile[:, None, :1], (len(profile), sides, 1)),
        ],
        axis=-1,
    )
    rings = rings @ z_to(axis).T + origin
    following = np.roll(rings, -1, axis=1)
    return np.stack([rings[:-1], following[:-1], following[1:], rings[1:]], axis=2).reshape(-1, 4, 3)


def capsule(start: Any, end: Any, radius: float, end_radius: float | None = None, sides: int = 40) -> np.ndarray:
    """A round bar between two points with hemispherical ends; it tapers where `end_radius` is given."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    end_radius = radius if end_radius is None else end_radius
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    turn = np.linspace(0.0, np.pi / 2, 12)
    first = np.stack([-radius * np.cos(turn), radius * np.sin(turn)], axis=-1)
    last = np.stack([length + end_radius * np.sin(turn), end_radius * np.cos(turn)], axis=-1)
    return revolved(start, axis, np.concatenate([first, last]), sides)


def drum(center: Any, axis: Any, radius: float, half_length: float) -> np.ndarray:
    """A cylinder with bevelled edges, centred on a point."""
    bevel = 0.14 * min(radius, half_length)
    half = [(half_length - bevel, radius), (half_length, radius - bevel), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=48)


def prism(center: Any, axis: Any, radius: float, half_length: float) -> np.ndarray:
    """A square prism, centred on a point."""
    half = [(half_length, radius), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=4)


def ball(center: Any, radius: float) -> np.ndarray:
    """A sphere."""
    return capsule(center, center, radius)


def arrow(start: Any, end: Any, radius: float) -> np.ndarray:
    """A thin bar with a conical head at its end."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    head = min(7.0 * radius, 0.4 * length)
    profile = [(0.0, 0.0), (0.0, radius), (length - head, radius), (length - head, 2.6 * radius), (length, 0.0)]
    return revolved(start, (end - start) / length, profile, sides=24)


def trail(points: Any, radius: float) -> np.ndarray:
    """A thin bar through a sequence of points, (k, 3)."""
    return np.concatenate([capsule(a, b, radius, sides=12) for a, b in pairwise(points)])
