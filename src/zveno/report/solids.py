"""Simple solids and meshes: surfaces of revolution, and triangle meshes shared by many parts."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..spatial.rotations import z_to
from ..spatial.transforms import transform


class Instance(NamedTuple):
    """Placement of a copy of a shared shape: its points are T @ (scale · p)."""

    key: Hashable
    """Key that is equal for all parts that share the shape."""
    T: np.ndarray
    """Pose, (4, 4)."""
    scale: np.ndarray
    """Scale factors, (3,)."""


class Mesh(NamedTuple):
    """Triangles whose corners are counter-clockwise seen from outside."""

    vertices: np.ndarray
    """Corners, (n, 3)."""
    faces: np.ndarray
    """Corner indices of the triangles, (m, 3)."""
    T: np.ndarray = np.eye(4)
    """Pose of the mesh."""
    scale: np.ndarray = np.ones(3)
    """Scale factors of its axes; placed points are T @ (scale · vertex)."""

    def facets(self) -> np.ndarray:
        """Triangles as quadrilaterals whose last two corners coincide, (m, 4, 3)."""
        points = (self.scale * self.vertices) @ self.T[:3, :3].T + self.T[:3, 3]
        corners = self.faces if np.prod(self.scale) > 0 else self.faces[:, ::-1]
        return points[corners[:, [0, 1, 2, 2]]]

    def moved(self, T: np.ndarray) -> Mesh:
        """Return the mesh moved by a transform, (4, 4)."""
        return self._replace(T=T @ self.T)

    def instance(self) -> Instance:
        """Shared mesh at the origin, and the placement of this copy."""
        return Instance(("mesh", id(self.vertices)), self.T, self.scale)

    def unit_mesh(self, most_sides: int = 64) -> Mesh:
        """Shared mesh of all copies; `most_sides` is ignored."""
        return Mesh(self.vertices, self.faces)

    def without_slivers(self) -> Mesh:
        """Remove triangles with two coincident corners."""
        corners = self.vertices[self.faces]
        long = [np.abs(corners[:, a] - corners[:, b]).max(axis=1) > 1e-12 for a, b in ((0, 1), (1, 2), (2, 0))]
        return self._replace(faces=self.faces[np.all(long, axis=0)])


def box(T: np.ndarray, size: np.ndarray) -> Mesh:
    """Build a box centred on the origin of T with edges of the given lengths, (3,)."""
    return Mesh(*_CUBE, T, size)


def _cube() -> tuple[np.ndarray, np.ndarray]:
    """Unit cube; every side has its own corners, so that the edges stay sharp."""
    square = 0.5 * np.array([[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]], dtype=float)
    sides = [np.roll(sign * square, axis, axis=1)[::sign] for axis in range(3) for sign in (1, -1)]
    corners = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return np.concatenate(sides), corners.reshape(-1, 3)


_CUBE = _cube()


SHARP = np.radians(25.0)
"""Minimum angle between profile segments that makes a sharp edge, rad."""
ROUND = 8
"""Number of sides above which solids are shaded as round."""


class Solid(NamedTuple):
    """Surface of revolution of a profile about an axis."""

    origin: np.ndarray
    """Point on the axis, (3,)."""
    axis: np.ndarray
    """Unit direction, (3,)."""
    profile: np.ndarray
    """Pairs of position along the axis and radius, (k, 2), from one end to the other."""
    sides: int = 20
    """Number of facets around the axis; 4 makes a square prism."""

    def facets(self) -> np.ndarray:
        """Quadrilaterals (n, 4, 3) whose corners are counter-clockwise seen from outside."""
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

    def moved(self, T: np.ndarray) -> Solid:
        """Return the solid moved by a transform, (4, 4)."""
        return self._replace(origin=T[:3, :3] @ self.origin + T[:3, 3], axis=T[:3, :3] @ self.axis)

    def instance(self) -> Instance:
        """Shared solid of length and radius 1, and the placement and scale of this one."""
        low, length, radius = self._extent()
        unit = (self.profile - (low, 0.0)) / (length, radius)
        key = (self.sides, *np.round(unit, 9).ravel().tolist())
        T = transform(z_to(self.axis), self.origin + low * self.axis)
        return Instance(key, T, np.array([radius, radius, length]))

    def unit_mesh(self, most_sides: int = 64) -> Mesh:
        """Build the triangles of the shared solid; corners are duplicated at sharp edges of the profile."""
        if ROUND < most_sides < self.sides:
            return self._replace(sides=most_sides).unit_mesh()
        low, length, radius = self._extent()
        profile = (self.profile - (low, 0.0)) / (length, radius)
        plain = Solid(np.zeros(3), np.array([0.0, 0.0, 1.0]), profile, self.sides)
        vertices, faces, first = [], [], 0
        for run in _smooth_runs(self.profile):
            facets = plain._replace(profile=profile[run]).facets()
            if self.sides > ROUND:
                quads = _ring_numbers(run.stop - run.start, self.sides)
                corners = np.zeros((quads.max() + 1, 3))
                corners[quads] = facets
            else:
                corners, quads = facets.reshape(-1, 3), np.arange(4 * len(facets)).reshape(-1, 4)
            vertices.append(corners)
            faces += [first + quads[:, [0, 1, 2]], first + quads[:, [0, 2, 3]]]
            first += len(corners)
        return Mesh(np.concatenate(vertices), np.concatenate(faces)).without_slivers()

    def _extent(self) -> tuple[float, float, float]:
        """Start along the axis, length and radius, m."""
        low, high = float(self.profile[:, 0].min()), float(self.profile[:, 0].max())
        return low, max(high - low, 1e-12), max(float(self.profile[:, 1].max()), 1e-12)


def _ring_numbers(rings: int, sides: int) -> np.ndarray:
    """Corner indices of the facets between rings of points, (n, 4), in the order of `Solid.facets`."""
    number = np.arange(rings * sides).reshape(rings, sides)
    following = np.roll(number, -1, axis=1)
    return np.stack([number[:-1], following[:-1], following[1:], number[1:]], axis=2).reshape(-1, 4)


def _smooth_runs(profile: np.ndarray) -> list[slice]:
    """Slices of a profile's points between its sharp edges."""
    ways = np.diff(profile, axis=0)
    ways = ways / np.maximum(np.linalg.norm(ways, axis=1), 1e-30)[:, None]
    edges = 1 + np.flatnonzero((ways[:-1] * ways[1:]).sum(axis=1) < np.cos(SHARP))
    return [slice(a, b + 1) for a, b in pairwise([0, *edges.tolist(), len(profile) - 1])]


def revolved(origin: Any, axis: Any, profile: Any, sides: int = 20) -> Solid:
    """Build a surface of revolution; see `Solid`."""
    return Solid(np.asarray(origin, float), np.asarray(axis, float), np.asarray(profile, float), sides)


def bar(start: Any, end: Any, radius: float, end_radius: float | None = None, sides: int = 32) -> Solid:
    """Build a round bar between two points, tapered if `end_radius` is given."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    end_radius = radius if end_radius is None else end_radius
    return revolved(start, axis, [(0.0, 0.0), (0.0, radius), (length, end_radius), (length, 0.0)], sides)


def drum(center: Any, axis: Any, radius: float, half_length: float) -> Solid:
    """Build a cylinder with bevelled edges, centred on a point."""
    bevel = 0.14 * min(radius, half_length)
    half = [(half_length - bevel, radius), (half_length, radius - bevel), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=48)


def prism(center: Any, axis: Any, radius: float, half_length: float) -> Solid:
    """Build a square prism, centred on a point."""
    half = [(half_length, radius), (half_length, 0.0)]
    return revolved(center, axis, [(-s, r) for s, r in reversed(half)] + half, sides=4)


def ball(center: Any, radius: float, sides: int = 32) -> Solid:
    """Build a sphere."""
    turn = np.linspace(0.0, np.pi, 17)
    profile = radius * np.stack([-np.cos(turn), np.sin(turn)], axis=-1)
    return revolved(center, (0.0, 0.0, 1.0), profile, sides)


def arrow(start: Any, end: Any, radius: float) -> Solid:
    """Build a thin bar with a conical head at its end."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    head = min(7.0 * radius, 0.4 * length)
    profile = [(0.0, 0.0), (0.0, radius), (length - head, radius), (length - head, 2.6 * radius), (length, 0.0)]
    return revolved(start, (end - start) / length, profile, sides=24)


def trail(points: Any, radius: float) -> list[Solid]:
    """Build thin bars through a sequence of points, (k, 3)."""
    return [bar(a, b, radius, sides=12) for a, b in pairwise(points)]
