"""Support polygons: admissible centres of mass of a robot at rest, and their distance from tipping over."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..mechanism.loops import for_trees

SLACK = 1e-12
"""Rounding tolerance at an edge, m."""


@for_trees
def support_polygon(points: ArrayLike) -> np.ndarray:
    """Return the corners (k, 2) of the convex hull of contact points (n, 2 or 3), seen from above, anticlockwise.

    One point or points on a line give a polygon of one or two corners. By Andrew's monotone chain (1979).
    """
    given = np.asarray(points, dtype=float)
    if given.ndim != 2 or given.shape[1] not in (2, 3) or not len(given) or not np.isfinite(given).all():
        raise ShapeError(
            f"contact points of the shape {given.shape} support nothing",
            element="points",
            remedy="Give one or more finite points (n, 2) or (n, 3)",
        )
    ordered = np.unique(given[:, :2], axis=0)
    if len(ordered) <= 2:
        return ordered
    chains: list[list[np.ndarray]] = []
    for along in (ordered, ordered[::-1]):
        chain: list[np.ndarray] = []
        for point in along:
            while len(chain) >= 2 and _turn(chain[-1] - chain[-2], point - chain[-1]) <= 0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1])


@for_trees
def stability_margin(polygon: ArrayLike, point: ArrayLike) -> Any:
    """Return the distance, m, of points (..., 2 or 3) to a polygon's edge (k, 2), from above; negative outside."""
    corners, p = np.asarray(polygon, dtype=float), np.asarray(point, dtype=float)[..., :2]
    ends = np.roll(corners, -1, axis=0)
    edges = ends - corners
    lengths = np.linalg.norm(edges, axis=1)
    relative = p[..., None, :] - corners
    share = np.clip((relative * edges).sum(-1) / np.where(lengths > 0, lengths, 1.0) ** 2, 0.0, 1.0)
    distance = np.linalg.norm(relative - share[..., None] * edges, axis=-1).min(axis=-1)
    if len(corners) < 3:
        return -distance
    inside = (_turn(edges, relative) >= 0).all(axis=-1)
    return np.where(inside, distance, -distance)[()]


def nearest_supported(polygon: ArrayLike, point: ArrayLike, margin: float) -> np.ndarray | None:
    """Return the point (2,) nearest to a given one with a large enough margin in a polygon (k, 2), or None.

    It is the point itself, its projection onto an edge moved inwards, or a corner of the smaller polygon.
    """
    corners, p = np.asarray(polygon, dtype=float), np.asarray(point, dtype=float)[:2]
    if len(corners) < 3:
        return None
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    bounds = (normals * corners).sum(axis=1) + margin
    candidates = [p, *(p + (b - n @ p) * n for n, b in zip(normals, bounds, strict=True))]
    for i, j in combinations(range(len(corners)), 2):
        determinant = _turn(normals[i], normals[j])
        if abs(determinant) > SLACK:
            candidates.append(np.linalg.solve(normals[[i, j]], bounds[[i, j]]))
    allowed = [place for place in candidates if (normals @ place >= bounds - SLACK).all()]
    return min(allowed, key=lambda place: float(np.linalg.norm(place - p)), default=None)


def _turn(a: Any, b: Any) -> Any:
    """Return z of the cross product of vectors (..., 2)."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def overlapping(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if the hulls of points, (n, 2 or 3) each, overlap from above: no edge separates them."""
    a, b = a[:, :2], b[:, :2]
    for points in (a, b):
        for i, j in combinations(range(len(points)), 2):
            across = np.array([points[i, 1] - points[j, 1], points[j, 0] - points[i, 0]])
            one, other = a @ across, b @ across
            if across.any() and (one.max() <= other.min() or other.max() <= one.min()):
                return False
    return True
