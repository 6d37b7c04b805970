"""Contact shapes: spheres and points, capsules, boxes, wheels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.ops import sqrt
from ..mechanism.joints import unit_axis
from ..spatial.transforms import is_transform

Vector = Sequence[float] | np.ndarray
FLAT = 1e-12
"""Added to the squared length of the direction down a wheel, which is zero if the wheel lies flat."""


class Ball(NamedTuple):
    """A sphere in the world."""

    center: Any
    """(3,), m"""
    radius: float


@dataclass(frozen=True, eq=False)
class Sphere:
    """Sphere fixed on a frame; with the radius 0, a point.

    Attributes:
        radius: m, 0 or more.
        center: in the frame, (3,), m.
    """

    radius: float = 0.0
    center: Vector = (0.0, 0.0, 0.0)

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        return ("sphere", float(self.radius), *_numbers(self.center))

    def check(self, element: str) -> None:
        """Raise an error unless the size is valid."""
        _check(element, (self.radius,), self.center)

    def balls(self, T: Any) -> list[Ball]:
        """Return the sphere, on a frame at T (4, 4)."""
        return [Ball(_moved(T, self.center), float(self.radius))]


@dataclass(frozen=True, eq=False)
class Capsule:
    """Capsule: all points within `radius` of a segment. On uneven ground, its two ends and its middle may touch.

    Attributes:
        radius: m.
        start, end: of the segment, in the frame, (3,), m.
    """

    radius: float
    start: Vector
    end: Vector

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        return ("capsule", float(self.radius), *_numbers(self.start), *_numbers(self.end))

    def check(self, element: str) -> None:
        """Raise an error unless the size is valid."""
        _check(element, (self.radius,), self.start, self.end)

    def balls(self, T: Any) -> list[Ball]:
        """Return the balls at the two ends and in the middle."""
        ends = np.array([self.start, self.end], dtype=float)
        return [Ball(_moved(T, center), float(self.radius)) for center in (*ends, ends.mean(axis=0))]


@dataclass(frozen=True, eq=False)
class Box:
    """Box whose eight corners touch the ground.

    Attributes:
        size: lengths of its edges, (3,), m.
        placement: T_frame_box, (4, 4), of its centre and axes.
    """

    size: Vector
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        return ("box", *_numbers(self.size), *_numbers(self.placement))

    def check(self, element: str) -> None:
        """Raise an error unless the size is valid."""
        _check(element, tuple(_numbers(self.size)))
        if len(_numbers(self.size)) != 3 or not min(_numbers(self.size)) > 0:
            raise ModelError(f"a box has edges {tuple(self.size)}", element=element, remedy="Give three lengths, m")
        if not is_transform(self.placement):
            raise ModelError(
                "the placement of its box is no (4, 4) transform",
                element=element,
                remedy="Give T_frame_box, a rigid transform",
            )

    @property
    def half(self) -> np.ndarray:
        """Half the edge lengths, (3,)."""
        return 0.5 * np.asarray(self.size, dtype=float)

    def balls(self, T: Any) -> list[Ball]:
        """Return the corners."""
        placed = T @ np.asarray(self.placement, dtype=float)
        return [Ball(_moved(placed, np.array(sign) * self.half), 0.0) for sign in product((-1.0, 1.0), repeat=3)]


@dataclass(frozen=True, eq=False)
class Wheel:
    """Disc, or cylinder with two rims, that rolls: the lowest point of every rim touches the ground.

    Attributes:
        radius: m.
        axis: in the frame, (3,).
        width: between the rims, m; 0 for a disc.
        center: in the frame, (3,), m.
    """

    radius: float
    axis: Vector = (0.0, 1.0, 0.0)
    width: float = 0.0
    center: Vector = (0.0, 0.0, 0.0)

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        numbers = float(self.radius), float(self.width)
        return ("wheel", *numbers, *_numbers(unit_axis(self.axis)), *_numbers(self.center))

    def check(self, element: str) -> None:
        """Raise an error unless the size is valid."""
        _check(element, (self.radius, self.width), self.center)
        unit_axis(self.axis)

    def hubs(self, T: Any) -> list[Any]:
        """Return the centres of the rims in the world, (3,) each."""
        axis, middle = unit_axis(self.axis), np.asarray(self.center, dtype=float)
        offsets = (-0.5 * self.width, 0.5 * self.width) if self.width else (0.0,)
        return [_moved(T, middle + offset * axis) for offset in offsets]

    def lowest(self, T: Any, hub: Any, normal: Any) -> Any:
        """Return the point of a rim that is farthest against the ground normal, (3,)."""
        axis = T[:3, :3] @ unit_axis(self.axis)
        down = axis * (normal @ axis) - normal
        return hub + down * (self.radius / sqrt(down @ down + FLAT))


Shape = Sphere | Capsule | Box | Wheel


def _moved(T: Any, point: Any) -> Any:
    return T[:3, 3] + T[:3, :3] @ np.asarray(point, dtype=float)


def _numbers(values: Any) -> list[float]:
    return np.asarray(values, dtype=float).ravel().tolist()


def _check(element: str, sizes: tuple[float, ...], *points: Any) -> None:
    if not all(np.isfinite(size) and size >= 0 for size in sizes):
        raise ModelError(f"a shape has the sizes {sizes}", element=element, remedy="Give metres, 0 or more")
    for point in points:
        if np.shape(point) != (3,) or not np.isfinite(np.asarray(point, dtype=float)).all():
            raise ModelError(
                f"{point!r} is not a point of a shape", element=element, remedy="Give three numbers, m"
            )
