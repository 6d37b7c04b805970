"""Simple solids for pictures and pages: everything is a surface of revolution."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...spatial.rotations import z_to


class Solid(NamedTuple):
    """The surface made by turning a profile about an axis."""

    origin: np.ndarray
    """a point of the axis, (3,)"""
    axis: np.ndarray
    """unit direction, (3,)"""
    profile: np.ndarray
    """(k, 2) pairs of place along the axis and radius, from one end to the other"""
    sides: int = 20
    """how many facets go around; 4 makes a square prism"""

    def facets(self) -> np.ndarray:
        """Quadrilaterals, (n, 4, 3), whose corners go counter-clockwise seen from outside."""
        angles = 2 * np.pi * (np.arange(self.sides) + 0.5) / self.sides
        around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        rings = np.concatenate(
            [
                self.profile[:, None, 1:] * around[None],
                np.broadcast_to(self.profile[:, None, :1], (len(self.profile), self.sides, 1)),
            ],
            axis=-1,
        )
        rings = rings @ z_to(self.axis).T + self.origin
        following = np.roll(rings, -1, axis=1)
        return np.stack([rings[:-1], following[:-1], following[1:], rings[1:]], axis=2).reshape(-1, 4, 3)

    def seen_from(self, T: np.ndarray) -> Solid:
        """The same solid in the coordinates of the frame T, (4, 4)."""
        R = T[:3, :3]
        return self._replace(origin=R.T @ (self.origin - T[:3, 3]), axis=R.T @ self.axis)


def revolved(origin: Any, axis: Any, profile: Any, sides: int = 20) -> Solid:
    """A profile turned about an axis; see `Solid`."""
    return Solid(np.asarray(origin, float), np.asarray(axis, float), np.asarray(profile, float), sides)


def capsule(start: Any, end: Any, radius: float, end_radius: float | None = None, sides: int = 40) -> Solid:
    """A round bar between two points with hemispherical ends; it tapers where `end_radius` is given."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    end_radius = radius if end_radius is None else end_radius
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    turn = np.linspace(0.0, np.pi / 2, 12)
    first = np.stack([-radius * np.cos(turn), radius * np.sin(turn)], axis=-1)
    last = np.stack([length + end_radius * np.sin(turn), end_radius * np.cos(turn)], axis=-1)
    return revolved(start, axis, np.concatenate([first, last]), sides)


def drum(center: Any, axis: Any, radius: float, half_length: float) -> Solid:
    """A cylinder with bevelled edges, centred on a point."""
    bevel = 0.14 * min(radius, half_length)
    half = [(half_length - bevel, radius), (half_length, radius - bevel), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=48)


def prism(center: Any, axis: Any, radius: float, half_length: float) -> Solid:
    """A square prism, centred on a point."""
    half = [(half_length, radius), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=4)


def ball(center: Any, radius: float) -> Solid:
    """A sphere."""
    return capsule(center, center, radius)


def arrow(start: Any, end: Any, radius: float) -> Solid:
    """A thin bar with a conical head at its end."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    head = min(7.0 * radius, 0.4 * length)
    profile = [(0.0, 0.0), (0.0, radius), (length - head, radius), (length - head, 2.6 * radius), (length, 0.0)]
    return revolved(start, (end - start) / length, profile, sides=24)


def trail(points: Any, radius: float) -> list[Solid]:
    """Thin bars through a sequence of points, (k, 3)."""
    return [capsule(a, b, radius, sides=12) for a, b in pairwise(points)]
