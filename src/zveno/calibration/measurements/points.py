"""Points: positions, distances, contact with a plane, a socket or two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from ...kernels.math import sqrt
from ...spatial.rotations import z_to
from ...spatial.transforms import transform
from .base import KNOWN, PLANE, POINT, Measurement, Noise, Slot, frame_slot, point_frame


@dataclass(frozen=True, eq=False)
class Position(Measurement):
    """Position of the frame's origin or of points fixed in it. Readings: (n, 3) or (n, points, 3).

    Attributes:
        points: coordinates of the points in the frame, (k, 3), m; the origin if None.
        unknown_points: whether they are estimated, starting from `points`.
        reference: as for `Pose`.
    """

    points: Any = None
    unknown_points: bool = False
    reference: Any = "world"

    kind = "position"
    n_data = 3
    noises = (Noise("position", slice(0, 3), "m"),)
    columns = ("x", "y", "z")

    @property
    def left(self) -> Slot:
        """The measuring frame."""
        return frame_slot(self.reference, "reference")

    @property
    def right(self) -> tuple[Slot, ...]:
        """The points."""
        if self.points is None:
            return (Slot("point", POINT, np.eye(4)),) if self.unknown_points else (KNOWN,)
        points = np.atleast_2d(np.asarray(self.points, dtype=float))
        if points.ndim != 2 or points.shape[1] != 3:
            raise ShapeError(f"has shape {points.shape}", element="points", remedy="Give (k, 3) metres")
        free = POINT if self.unknown_points else ()
        return tuple(Slot(f"marker{k}", free, point_frame(p)) for k, p in enumerate(points, start=1))

    @staticmethod
    def residual(P, X, y):
        """Difference of positions."""
        return P[:3, 3] - y

    @staticmethod
    def reading(P, X):
        """Position."""
        return P[..., :3, 3]


@dataclass(frozen=True, eq=False)
class RelativePosition(Position):
    """Position seen from a place that is not known."""

    reference: Any = "tracker"
    kind = "relative_position"


@dataclass(frozen=True, eq=False)
class Distance(Measurement):
    """Distances from the frame's origin to one or several centres. Readings: (n,) or (n, centres), m.

    Attributes:
        centres: (k, 3) known positions in the world, or the number of unknown ones.
        point: the point of the frame, (3,); its origin if None.
    """

    centres: Any = 1
    point: Any = None

    kind = "distance"
    n_data = 1
    noises = (Noise("distance", slice(0, 1), "m"),)
    columns = ("d",)

    @property
    def right(self) -> tuple[Slot, ...]:
        """The point."""
        return (KNOWN,) if self.point is None else (Slot("point", (), point_frame(self.point)),)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """The centres."""
        if np.ndim(self.centres) == 0:
            return tuple(Slot(f"centre{k}", POINT) for k in range(1, int(self.centres) + 1))
        known = np.atleast_2d(np.asarray(self.centres, dtype=float))
        return tuple(Slot(f"centre{k}", (), point_frame(c)) for k, c in enumerate(known, start=1))

    @staticmethod
    def residual(P, X, y):
        """Predicted distance less the one read."""
        d = P[:3, 3] - X[:3, 3]
        return np.array([sqrt(d @ d) - y[0]])

    @staticmethod
    def reading(P, X):
        """The distance."""
        return np.linalg.norm(P[..., :3, 3] - X[..., :3, 3], axis=-1)[..., None]


@dataclass(frozen=True, eq=False)
class Plane(Measurement):
    """The point touches a plane. No readings, or (n,) heights above it, m.

    Attributes:
        normal, offset: of a known plane normal · p = offset in the world; unknown if None.
        group_planes: whether every group of postures has its own unknown plane.
    """

    normal: Any = None
    offset: float = 0.0
    group_planes: bool = False

    kind = "plane"
    n_data = 1
    noises = (Noise("height", slice(0, 1), "m"),)
    implicit = True

    @property
    def targets(self) -> tuple[Slot, ...]:
        """The plane, as a frame with its normal along z."""
        if self.normal is None:
            return (Slot("plane", PLANE),)
        n = np.asarray(self.normal, dtype=float)
        length = np.linalg.norm(n)
        if n.shape != (3,) or not length > 0:
            raise ShapeError("is not a direction", element="normal", remedy="Give three numbers")
        n = n / length
        return (Slot("plane", (), transform(z_to(n), n * self.offset / length)),)

    @property
    def grouped(self) -> Slot | None:
        """One plane a group."""
        return Slot("plane", PLANE) if self.group_planes else None

    @staticmethod
    def residual(P, X, y):
        """Height of the point above the plane."""
        return np.array([X[:3, 2] @ (P[:3, 3] - X[:3, 3]) - y[0]])

    @staticmethod
    def reading(P, X):
        """The height."""
        return np.sum(X[..., :3, 2] * (P[..., :3, 3] - X[..., :3, 3]), axis=-1)[..., None]


@dataclass(frozen=True, eq=False)
class FixedPoint(Measurement):
    """The point sits in a socket whose place is not known, touched from many postures. Nothing is read.

    Postures of one group share a socket.
    """

    kind = "point"
    n_data = 3
    noises = (Noise("position", slice(0, 3), "m"),)
    implicit = True

    @property
    def grouped(self) -> Slot:
        """One socket a group."""
        return Slot("socket", POINT)

    @staticmethod
    def residual(P, X, y):
        """From the socket to the point."""
        return P[:3, 3] - X[:3, 3] - y

    @staticmethod
    def reading(P, X):
        """Where the point is from the socket."""
        return P[..., :3, 3] - X[..., :3, 3]


@dataclass(frozen=True, eq=False)
class Sockets(FixedPoint):
    """Two sockets a known distance apart at every place. Groups are named `place/hole`.

    Attributes:
        distance: between the two sockets of a place, m.
        sigma_distance: how well it is known, m.
    """

    distance: float = 0.05
    sigma_distance: float = 1e-4

    kind = "sockets"

    def __post_init__(self):
        if not (self.distance > 0 and self.sigma_distance > 0):
            raise ZvenoError("the distance of the sockets and its sigma must be positive")

    def constraints(self, groups):
        """Both sockets of a place."""
        places: dict[str, list[str]] = {}
        for group in dict.fromkeys(groups):
            places.setdefault(group.rpartition("/")[0], []).append(group)
        return [
            (a, b, self.distance, self.sigma_distance)
            for found in places.values()
            for i, a in enumerate(found)
            for b in found[i + 1 : i + 2]
        ]
