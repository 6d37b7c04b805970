"""Bounding capsules of point clouds, and links as solid bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import unknown_name
from ..mechanism.mechanism import Mechanism
from ..spatial.transforms import inverse

MANY = 64
"""Number of points from which the convex hull is used."""


def bounding_capsule(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Find a capsule (start, end, radius) that contains points (n, 3).

    Candidates for its axis are the principal axes of the points and the axes of their box, through the centre of
    their extent. The candidate of smallest volume is returned. The capsule contains all points, but it need not be
    the smallest one.
    """
    points = _outer(points)
    middle = points.mean(axis=0)
    directions = [*np.eye(3), *np.linalg.svd(points - middle, full_matrices=False)[2]]
    return min((_along(points, axis) for axis in directions), key=lambda capsule: _volume(*capsule))


def _outer(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull, which suffice for a bounding capsule; flat clouds are returned unchanged."""
    if len(points) < MANY:
        return points
    from scipy.spatial import (
        ConvexHull,
        QhullError,  # keeps the import of the package fast
    )

    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        return np.unique(points, axis=0)


def _along(points: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    along = points @ axis
    beside = points - along[:, None] * axis
    center = _middle_of_disc(beside)
    center = center - (center @ axis) * axis
    distance = np.linalg.norm(beside - center, axis=1)
    radius = float(distance.max())
    # A point is inside the round end at t if |along − t| ≤ √(radius² − distance²).
    reach = np.sqrt(np.maximum(radius**2 - distance**2, 0.0))
    low, high = float((along + reach).min()), float((along - reach).max())
    if low > high:
        low = high = 0.5 * (low + high)
        radius = float(np.linalg.norm(points - (center + low * axis), axis=1).max())
    return center + low * axis, center + high * axis, radius


def _middle_of_disc(points: np.ndarray, steps: int = 60) -> np.ndarray:
    """Approximate centre of the smallest enclosing disc (Bădoiu and Clarkson 2003)."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    best, least = center, np.inf
    for k in range(steps):
        distance = np.linalg.norm(points - center, axis=1)
        farthest = int(distance.argmax())
        if distance[farthest] < least:
            best, least = center, distance[farthest]
        center = center + (points[farthest] - center) / (k + 2)
    return best


def _volume(start: np.ndarray, end: np.ndarray, radius: float) -> float:
    return float(np.pi * radius**2 * (np.linalg.norm(end - start) + 4.0 / 3.0 * radius))


def link_bars(mechanism: Mechanism, named: Sequence[str] = ()) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """List (link, start, end) in link frames: bars longer than 1 µm, and a point for named links without bars."""
    for name in named:
        if name not in mechanism.link_names:
            raise unknown_name("link", name, mechanism.link_names)
    bars = []
    for i in range(mechanism.n_links):
        start = np.zeros(3) if i == 0 else inverse(mechanism.joint_of(i).T_joint_child)[:3, 3]
        ends = [mechanism.joint_of(c).T_parent_joint[:3, 3] for c in mechanism.tree.children(i)]
        if not ends:
            name = mechanism.link_names[i]
            ends = [np.zeros(3)] + [f.T_link_frame[:3, 3] for f in mechanism.frames if f.link == name]
        of_link = [(i, start, end) for end in ends if np.linalg.norm(end - start) > 1e-6]
        bars += of_link if of_link or mechanism.link_names[i] not in named else [(i, start, start)]
    return bars
