"""Ground under the feet: its height, and places on it that are level enough to step on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism.joints.joint_type import unit_axis
from ..simulation.time_stepping.grounds import Ground, GroundPlane, GroundSteps, HeightField

AROUND = 8
"""Directions in which the ground around a foothold is looked at."""


def checked_ground(ground: Any) -> Ground:
    """The ground, refused where it has holes or walls only."""
    if not isinstance(ground, GroundPlane | GroundSteps | HeightField):
        raise ModelError(
            f"is {ground!r}", element="ground", remedy="Give a GroundPlane, GroundSteps or a HeightField"
        )
    ground.check("ground")
    if isinstance(ground, GroundPlane) and unit_axis(ground.normal)[2] < 0.1:
        raise ModelError("the plane is a wall, and nothing stands on it", element="ground")
    return ground


def heights(ground: Ground, places: Any) -> np.ndarray:
    """z of the ground, m, (...), below places (..., 2 or 3)."""
    xy = np.asarray(places, dtype=float)[..., :2]
    if isinstance(ground, GroundPlane):
        normal = unit_axis(ground.normal)
        return (float(ground.height) - xy @ normal[:2]) / normal[2]
    if isinstance(ground, GroundSteps):
        direction = np.asarray(ground.direction, dtype=float)
        along = xy @ (direction / np.linalg.norm(direction))
        return np.asarray(ground.heights, dtype=float)[np.searchsorted(np.asarray(ground.edges), along)]
    grid, shape = np.asarray(ground.heights, dtype=float), np.shape(ground.heights)
    cell, share = [], []
    for k in (0, 1):
        at = np.clip((xy[..., k] - ground.origin[k]) / ground.spacing[k], 0.0, shape[k] - 1.0)
        first = np.minimum(at.astype(int), shape[k] - 2)
        cell.append(first)
        share.append(at - first)
    (i, j), (x, y) = cell, share
    near = grid[i, j] * (1 - y) + grid[i, j + 1] * y
    far = grid[i + 1, j] * (1 - y) + grid[i + 1, j + 1] * y
    return near * (1 - x) + far * x


def unevenness(ground: Ground, place: Any, radius: float) -> float:
    """Largest difference of height, m, within a radius of a place, seen at its rim, half way, and in the middle."""
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    around = np.asarray(place)[:2] + np.concatenate([np.zeros((1, 2)), 0.5 * ring, ring])
    return float(np.ptp(heights(ground, around)))


def foothold(ground: Ground, wanted: Any, radius: float, level: float, search: float) -> np.ndarray:
    """The place (3,) on the ground nearest to `wanted` that is level within a radius around it.

    Args:
        ground: the ground.
        wanted: x and y, m.
        radius: m, of the ground that the foot needs.
        level: m, by which heights may differ there.
        search: m, how far from `wanted` places are looked at, on rings 5 mm apart.
    """
    for ring in np.arange(0.0, search + 1e-9, 0.005):
        n = 1 if ring == 0 else 24
        angles = 2 * np.pi * np.arange(n) / n
        for place in np.asarray(wanted)[:2] + ring * np.stack([np.cos(angles), np.sin(angles)], axis=1):
            if unevenness(ground, place, radius) <= level:
                return np.append(place, heights(ground, place))
    raise ZvenoError(
        f"no place within {search:g} m of ({wanted[0]:.3f}, {wanted[1]:.3f}) is level"
        f" to {level:g} m over {radius:g} m",
        element="ground",
        remedy="Change the stride, or give a larger search or level",
    )
