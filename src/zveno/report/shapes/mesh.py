"""Triangles of a surface, and a shape that many parts share."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np


class Instance(NamedTuple):
    """Where a copy of a shared shape stands: its points are T @ (scale · p)."""

    key: Hashable
    """the same for all parts that share the shape"""
    T: np.ndarray
    """(4, 4)"""
    scale: np.ndarray
    """(3,)"""


class Mesh(NamedTuple):
    """Triangles whose corners go counter-clockwise seen from outside."""

    vertices: np.ndarray
    """(n, 3)"""
    faces: np.ndarray
    """numbers of corners, (m, 3)"""
    T: np.ndarray = np.eye(4)
    """where it stands"""
    scale: np.ndarray = np.ones(3)
    """of its axes; at its place, points are T @ (scale · vertex)"""

    def facets(self) -> np.ndarray:
        """(m, 4, 3): triangles as quadrilaterals whose last two corners are the same."""
        points = (self.scale * self.vertices) @ self.T[:3, :3].T + self.T[:3, 3]
        corners = self.faces if np.prod(self.scale) > 0 else self.faces[:, ::-1]
        return points[corners[:, [0, 1, 2, 2]]]

    def moved(self, T: np.ndarray) -> Mesh:
        """The same mesh carried along by a transform, (4, 4)."""
        return self._replace(T=T @ self.T)

    def instance(self) -> Instance:
        """The mesh at the origin, which copies share, and where this one is."""
        return Instance(("mesh", id(self.vertices)), self.T, self.scale)

    def unit_mesh(self, most_sides: int = 64) -> Mesh:
        """The mesh that copies share, whatever its number of sides."""
        return Mesh(self.vertices, self.faces)

    def without_slivers(self) -> Mesh:
        """Without triangles that have two corners in one place."""
        corners = self.vertices[self.faces]
        long = [np.abs(corners[:, a] - corners[:, b]).max(axis=1) > 1e-12 for a, b in ((0, 1), (1, 2), (2, 0))]
        return self._replace(faces=self.faces[np.all(long, axis=0)])


def box(T: np.ndarray, size: np.ndarray) -> Mesh:
    """A box centred on the origin of T with edges of the given lengths, (3,)."""
    return Mesh(*_CUBE, T, size)


def _cube() -> tuple[np.ndarray, np.ndarray]:
    """A cube of edge 1; every side has corners of its own, so that its edges stay sharp."""
    square = 0.5 * np.array([[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]], dtype=float)
    sides = [np.roll(sign * square, axis, axis=1)[::sign] for axis in range(3) for sign in (1, -1)]
    corners = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return np.concatenate(sides), corners.reshape(-1, 3)


_CUBE = _cube()
