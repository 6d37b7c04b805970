"""Point positions, in the robot's world or seen from an unknown frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError
from .. import options
from .._start_values import StartData, frames_of_points
from ..base import KNOWN, POINT, Countable, Measurement, Mistake, Noise, Slot, frame_slot, point_frame


@dataclass(frozen=True, eq=False)
class Position(Measurement):
    """Position of the frame's origin or of points fixed in it. Readings: (n, 3) or (n, points, 3).

    Attributes:
        points: coordinates of the points in the frame, (k, 3), m; the origin if None.
        unknown_points: whether they are estimated, starting from `points`.
        reference: as for `Pose`.
    """

    points: ArrayLike | None = field(default=None, metadata=options.POINTS)
    unknown_points: bool = field(default=False, metadata=options.FLAG)
    reference: str | ArrayLike = field(default="world", metadata=options.WORD)

    kind = "position"
    n_data = 3
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("position", slice(0, 3), "m", 1e-4),)
    columns: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    metric: ClassVar[tuple[str, ...]] = columns
    looks_like = "a position: # kind = relative_position, or position if it is given in the robot's own world"
    in_robot_world = True
    of_point = True

    @property
    def left(self) -> Slot:
        """Measuring frame."""
        return frame_slot(self.reference, "reference")

    @property
    def right(self) -> tuple[Slot, ...]:
        """Measured points."""
        if self.points is None:
            return (Slot("point", POINT, np.eye(4)),) if self.unknown_points else (KNOWN,)
        points = np.atleast_2d(np.asarray(self.points, dtype=float))
        if points.ndim != 2 or points.shape[1] != 3:
            raise ShapeError(f"has shape {points.shape}", element="points", remedy="Give (k, 3) metres")
        free = POINT if self.unknown_points else ()
        return tuple(Slot(f"marker{k}", free, point_frame(p)) for k, p in enumerate(points, start=1))

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the position difference."""
        return P[:3, 3] - y

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the position."""
        return P[..., :3, 3]

    def with_settings(self, settings: Mapping[str, str], length: float = 1.0, file: str = "") -> Self:
        """Return the measurement with the points of a file as initial values, unless the file states otherwise."""
        said = {"unknown_points": "yes"} if "points" in settings else {}
        return super().with_settings(said | dict(settings), length, file)

    def with_several(self, count: int) -> Self:
        """Return the measurement with this number of unknown points."""
        if self.points is not None:
            return self
        return replace(self, points=np.zeros((count, 3)), unknown_points=True)

    def without_copies(self, y: np.ndarray) -> tuple[Measurement, np.ndarray, list[tuple[int, int]]]:
        """Remove points whose every reading copies another's: they would add no evidence."""
        if self.points is None or len(y) < 3:
            return self, y, []
        first = {y[:, k].tobytes(): k for k in reversed(range(y.shape[1]))}
        kept = sorted(first.values())
        copies = [(k, first[y[:, k].tobytes()]) for k in range(y.shape[1]) if k not in kept]
        if not copies:
            return self, y, []
        points = np.atleast_2d(np.asarray(self.points, dtype=float))[kept]
        return replace(self, points=points), y[:, kept], copies

    def mistakes(self) -> Iterator[Mistake]:
        """Generate the error of readings in a left-handed frame."""
        yield "positions were given in a left-handed frame", lambda y: y * [1.0, 1.0, -1.0]

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Find the measuring frame and the points, alternately."""
        return frames_of_points(rows)

    def countable(self) -> Countable | None:
        """Return the count data for one known point."""
        if len(self.right) > 1 or self.unknown_points:
            return None
        place = next(iter(self.right)).value
        return Countable(np.zeros(3) if place is None else place[:3, 3], bool(self.left.free))


@dataclass(frozen=True, eq=False)
class RelativePosition(Position):
    """Position seen from an unknown place."""

    reference: str | ArrayLike = field(default="tracker", metadata=options.WORD)

    kind = "relative_position"
    in_robot_world = False
