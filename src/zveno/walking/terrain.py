"""Ground under the feet: its height, and footholds that are level enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoError
from ..geometry.grounds import Ground, GroundPlane, GroundSteps, HeightField
from ..mechanism.joints.joint_type import unit_axis

GRID = 0.01
"""Grid spacing of uneven ground, m, which is the width of tile edges."""
AROUND = 8
"""Number of directions in which the ground around a foothold is checked."""


def checked_ground(ground: Any) -> Ground:
    """Return the ground; refuse holes and vertical planes."""
    if not isinstance(ground, GroundPlane | GroundSteps | HeightField):
        raise ModelError(
            f"is {ground!r}", element="ground", remedy="Give a GroundPlane, GroundSteps or a HeightField"
        )
    ground.check("ground")
    if isinstance(ground, GroundPlane) and unit_axis(ground.normal)[2] < 0.1:
        raise ModelError(
            "the plane is a wall, and nothing stands on it",
            element="ground",
            remedy="Give a normal that points upwards",
        )
    return ground


def heights(ground: Ground, places: Any) -> np.ndarray:
    """Return z of the ground, m, (...), below points (..., 2 or 3)."""
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


def normals_below(ground: Ground, places: Any, width: float) -> np.ndarray:
    """Return mean normals of the ground, (..., 3), over a width around points (..., 2)."""
    xy = np.asarray(places, dtype=float)[..., :2]
    half = 0.5 * width
    x, y = np.array([half, 0.0]), np.array([0.0, half])
    slopes = [(heights(ground, xy - d) - heights(ground, xy + d)) / width for d in (x, y)]
    normal = np.stack([*slopes, np.ones(xy.shape[:-1])], axis=-1)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def uneven_ground(
    height: float = 0.02,
    tile: float = 0.3,
    slope: float = 0.0,
    length: float = 6.0,
    width: float = 1.2,
    rng: np.random.Generator | int | None = None,
) -> HeightField:
    """Return tiles of random heights along x, one row for left and one for right feet; level around x = 0.

    Args:
        height: largest deviation of tiles from the slope, m.
        tile: their length, m.
        slope: of the whole ground along x, rad.
        length, width: of the field, m; it begins 1 m behind the origin.
        rng: of the heights.
    """
    sizes = (height, tile, slope, length, width)
    numbers = all(isinstance(size, int | float | np.number) and np.isfinite(size) for size in sizes)
    if not (numbers and min(tile, length, width) > 0 <= height):
        raise ZvenoError(
            f"tiles of {tile} m within ±{height} m on {length} m × {width} m are not a ground",
            element="ground",
            remedy="Give finite lengths above 0, and a height of 0 or more",
        )
    random = np.random.default_rng(rng)
    x, y = np.arange(-1.0, length, GRID), np.arange(-0.5 * width, 0.5 * width + 0.5 * GRID, GRID)
    number = np.floor(x / tile + 0.5).astype(int)
    levels = random.uniform(-height, height, (int(np.ptp(number)) + 1, 2))
    levels[(abs(np.arange(len(levels)) + number[0]) * tile) < 0.5 * tile] = 0.0
    rows = levels[number - number[0]]
    z = np.where(y[None, :] > 0, rows[:, :1], rows[:, 1:]) + np.tan(slope) * x[:, None]
    return HeightField(z, (GRID, GRID), (float(x[0]), float(y[0])))


def unevenness(ground: Ground, place: Any, radius: float) -> float:
    """Return the largest height difference, m, within a radius of a point: at its rim, half way and middle."""
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    around = np.asarray(place)[:2] + np.concatenate([np.zeros((1, 2)), 0.5 * ring, ring])
    return float(np.ptp(heights(ground, around)))


def foothold(ground: Ground, wanted: Any, radius: float, level: float, search: float) -> np.ndarray:
    """Return the point (3,) on the ground nearest to `wanted` that is level within a radius around it.

    Args:
        ground: the ground.
        wanted: x and y, m.
        radius: m, of the ground that the foot needs.
        level: m, by which heights may differ there.
        search: m, radius of the search around `wanted`, on rings 5 mm apart.
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
