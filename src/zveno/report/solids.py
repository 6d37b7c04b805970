"""Facets of simple solids, for pictures: everything is a surface of revolution made of quadrilaterals.

A solid is an (n, 4, 3) array of facets whose corners go counter-clockwise seen from outside.
"""

from __future__ import annotations

import numpy as np

from ..spatial.rotations import z_to


def revolved(origin, axis, profile, sides: int = 20) -> np.ndarray:
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


def capsule(a, b, radius: float, piece: float | None = None, sides: int = 20) -> np.ndarray:
    """A round bar from a to b with hemispherical ends, cut into pieces so that it can be sorted by depth."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    turn = np.linspace(0.0, np.pi / 2, 6)
    start = np.stack([-radius * np.cos(turn), radius * np.sin(turn)], axis=-1)
    end = np.stack([length + radius * np.sin(turn), radius * np.cos(turn)], axis=-1)
    n = max(int(np.ceil(length / (piece or radius))), 1)
    middle = np.stack([length * np.arange(1, n) / n, np.full(n - 1, radius)], axis=-1)
    return revolved(a, axis, np.concatenate([start, middle, end]), sides)


def drum(center, axis, radius: float, half_length: float, sides: int = 28) -> np.ndarray:
    """A cylinder with slightly bevelled edges, centred on a point."""
    bevel = 0.12 * min(radius, half_length)
    rims = [radius * k / 3 for k in (0, 1, 2)] + [radius - bevel]
    wall = np.linspace(-half_length + bevel, half_length - bevel, 5)
    profile = [(-half_length, r) for r in rims] + [(s, radius) for s in wall]
    return revolved(center, axis, profile + [(half_length, r) for r in reversed(rims)], sides)


def prism(center, axis, radius: float, half_length: float) -> np.ndarray:
    """A square prism, centred on a point."""
    rims = [radius * k / 3 for k in (0, 1, 2, 3)]
    wall = np.linspace(-half_length, half_length, 5)[1:-1]
    profile = [(-half_length, r) for r in rims] + [(s, radius) for s in wall]
    return revolved(center, axis, profile + [(half_length, r) for r in reversed(rims)], sides=4)


def ball(center, radius: float) -> np.ndarray:
    """A sphere."""
    return capsule(center, center, radius)


def arrow(origin, tip, radius: float) -> np.ndarray:
    """A thin bar with a conical head at its tip."""
    origin, tip = np.asarray(origin, dtype=float), np.asarray(tip, dtype=float)
    length = float(np.linalg.norm(tip - origin))
    head = min(6.0 * radius, 0.4 * length)
    wall = np.linspace(0.0, length - head, 4)
    profile = [(0.0, 0.0), *((s, radius) for s in wall), (length - head, 2.4 * radius), (length, 0.0)]
    return revolved(origin, (tip - origin) / length, profile, sides=12)


def trail(points, radius: float) -> np.ndarray:
    """A thin bar through a sequence of points, (k, 3)."""
    return np.concatenate(
        [capsule(a, b, radius, 6 * radius, sides=8) for a, b in zip(points[:-1], points[1:], strict=True)]
    )
