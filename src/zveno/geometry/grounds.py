"""Grounds: a plane, steps, or a height field. `nearest` is traced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.ops import equal, floor, greater, less, logical_and, maximum, minimum, sqrt, where
from ..mechanism.joints import unit_axis

TINY = 1e-300


class Nearest(NamedTuple):
    """Distance and normal of the ground at a point."""

    distance: Any
    """m, negative inside the ground"""
    normal: Any
    """(3,), away from the ground"""


@dataclass(frozen=True, eq=False)
class GroundPlane:
    """Half-space below a plane.

    Attributes:
        normal: in world axes, away from the ground.
        height: of the plane along the normal, m.
    """

    normal: Sequence[float] | np.ndarray = (0.0, 0.0, 1.0)
    height: float = 0.0
    flat = True

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        return ("plane", *unit_axis(self.normal).tolist(), float(self.height))

    def check(self, element: str) -> None:
        """Raise an error unless normal and height define a plane."""
        unit_axis(self.normal)
        if not np.isfinite(self.height):
            raise ModelError(f"the height of its plane is {self.height}", element=element, remedy="Give metres")

    def nearest(self, p: Any, cell: Any = None) -> Nearest:
        """Return the foot of the perpendicular."""
        normal = unit_axis(self.normal)
        return Nearest(normal @ p - float(self.height), normal)


@dataclass(frozen=True, eq=False)
class GroundSteps:
    """Level ground with vertical steps along one horizontal direction.

    Attributes:
        edges: where the height changes, along the direction, increasing, m.
        heights: of the ground before the first edge, between the edges, and behind the last one, m.
        direction: horizontal, (2,).
    """

    edges: Sequence[float]
    heights: Sequence[float]
    direction: Sequence[float] = (1.0, 0.0)
    flat = False

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        numbers = (*self.edges, *self.heights, *self.direction)
        return ("steps", len(self.edges), *(float(x) for x in numbers))

    def check(self, element: str) -> None:
        """Refuse edges that do not increase, and holes."""
        edges, heights = np.asarray(self.edges, dtype=float), np.asarray(self.heights, dtype=float)
        if len(heights) != len(edges) + 1 or not (np.diff(edges) > 0).all():
            raise ModelError(
                f"{len(edges)} edges and {len(heights)} heights are not steps",
                element=element,
                remedy="Give increasing edges and one height more than edges",
            )
        refuse_holes(np.concatenate([edges, heights]), element)
        if not np.linalg.norm(np.asarray(self.direction, dtype=float)) > 0:
            raise ModelError("its steps have no direction", element=element, remedy="Give two numbers, not both 0")

    def nearest(self, p: Any, cell: Any = None) -> Nearest:
        """Return the nearest tread, riser or edge; inside the ground, the nearest exit."""
        direction = np.asarray(self.direction, dtype=float)
        direction = direction / np.linalg.norm(direction)
        x, z = direction @ p[:2], p[2]
        bounds = [-np.inf, *map(float, self.edges), np.inf]
        heights = [float(height) for height in self.heights]
        distance, along, up = np.inf, 0.0, 1.0
        for k, height in enumerate(heights):
            side, rise = _side(x, bounds[k], bounds[k + 1]), z - height
            depth, turned = _way_out(k, x, z, bounds, heights)
            above = maximum(rise, 0.0)
            corner = sqrt(side * side + above * above + TINY)
            beside = greater(side * side, 0.0)
            here = where(beside, corner, depth)
            nearer = less(here, distance)
            distance = where(nearer, here, distance)
            along = where(nearer, where(beside, side / corner, turned), along)
            level = where(greater(turned * turned, 0.5), 0.0, 1.0)
            up = where(nearer, where(beside, above / corner, level), up)
        return Nearest(distance, np.array([direction[0] * along, direction[1] * along, up]))


def _way_out(k: int, x: Any, z: Any, bounds: list[float], heights: list[float]) -> tuple[Any, Any]:
    """Return (signed distance, direction along the steps) of a point above or inside the k-th block."""
    rise = z - heights[k]
    depth, turned = rise, 0.0
    for edge, neighbour, sign in ((k, k - 1, -1.0), (k + 1, k + 1, 1.0)):
        if not 0 <= neighbour < len(heights) or heights[neighbour] >= heights[k]:
            continue
        sideways = sign * (x - bounds[edge])  # negative inside
        open_there = logical_and(less(rise, 0.0), greater(z, heights[neighbour]))
        nearer = logical_and(open_there, greater(sideways, depth))
        depth, turned = where(nearer, sideways, depth), where(nearer, sign, turned)
    return depth, turned


def _side(x: Any, left: float, right: float) -> Any:
    """Return the signed distance of x from an interval, negative on the left."""
    side: Any = 0.0
    if np.isfinite(left):
        side = side + minimum(x - left, 0.0)
    if np.isfinite(right):
        side = side + maximum(x - right, 0.0)
    return side


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights on a grid, bilinear in between; level beyond its border.

    Attributes:
        heights: (n_x, n_y), m, at least 2 × 2.
        spacing: of the grid along x and y, m.
        origin: x and y of heights[0, 0], m.
    """

    heights: np.ndarray
    spacing: Sequence[float] = (0.1, 0.1)
    origin: Sequence[float] = (0.0, 0.0)
    flat = False

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code; the heights themselves are data."""
        numbers = (*np.shape(self.heights), *self.spacing, *self.origin)
        return ("heights", *(float(x) for x in numbers))

    def check(self, element: str) -> None:
        """Refuse grids without cells, and holes."""
        heights = np.asarray(self.heights, dtype=float)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ModelError(
                f"its field of heights has the shape {heights.shape}", element=element, remedy="Give (n_x, n_y)"
            )
        refuse_holes(heights, element)
        if len(self.spacing) != 2 or not min(self.spacing) > 0:
            raise ModelError(
                f"the spacing of its heights is {tuple(self.spacing)}",
                element=element,
                remedy="Give two positive lengths, m",
            )

    @property
    def cells(self) -> np.ndarray:
        """Heights of the four corners of every cell, (n_cells, 4): (0, 0), (1, 0), (0, 1), (1, 1)."""
        z = np.asarray(self.heights, dtype=float)
        corners = z[:-1, :-1], z[1:, :-1], z[:-1, 1:], z[1:, 1:]
        return np.stack([corner.ravel() for corner in corners], axis=1)

    def number(self, p: Any) -> Any:
        """Return the index of the cell below a point."""
        i, j, *_ = self._place(p)
        return i * float(np.shape(self.heights)[1] - 1) + j

    def _place(self, p: Any) -> tuple[Any, ...]:
        """Return (i, j, x, y, in x, in y): the cell, the position in it, 0 to 1, and whether the grid covers it."""
        place = []
        for k, n in enumerate(np.shape(self.heights)):
            along = (p[k] - float(self.origin[k])) / float(self.spacing[k])
            inside = minimum(maximum(along, 0.0), float(n - 1))
            first = minimum(floor(inside), float(n - 2))
            place.append((first, inside - first, where(equal(inside, along), 1.0, 0.0)))
        (i, x, in_x), (j, y, in_y) = place
        return i, j, x, y, in_x, in_y

    def nearest(self, p: Any, cell: Any = None) -> Nearest:
        """Return the ground straight below, with its slope; `cell` are the heights of its corners, (4,)."""
        _, _, x, y, in_x, in_y = self._place(p)
        a, b, c, d = cell
        twist = a - b - c + d
        height = a + (b - a) * x + (c - a) * y + twist * x * y
        slope_x = in_x * (b - a + twist * y) / float(self.spacing[0])
        slope_y = in_y * (c - a + twist * x) / float(self.spacing[1])
        share = 1.0 / sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
        return Nearest((p[2] - height) * share, np.array([-slope_x * share, -slope_y * share, share]))


Ground = GroundPlane | GroundSteps | HeightField


def refuse_holes(heights: np.ndarray, element: str) -> None:
    """Raise an error if a height is NaN or infinite."""
    if not np.isfinite(heights).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(heights))[0])
        raise ModelError(
            f"its ground has a hole: {heights[at]} at {at}", element=element, remedy="Fill it with a finite height"
        )
