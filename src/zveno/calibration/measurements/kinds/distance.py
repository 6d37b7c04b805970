"""Distances to fixed points: a ball bar, a wire encoder, a ranging instrument."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ....kernels.math import sqrt
from .. import options
from ..base import KNOWN, POINT, Measurement, Noise, Slot, Spelling, point_frame
from ..start_values import sphere_centre


@dataclass(frozen=True, eq=False)
class Distance(Measurement):
    """Distances from the frame's origin to one or several centres. Readings: (n,) or (n, centres), m.

    Attributes:
        centres: (k, 3) known positions in the world, or the number of unknown ones.
        point: the point of the frame, (3,); its origin if None.
    """

    centres: int | ArrayLike = field(default=1, metadata=options.POINTS)
    point: ArrayLike | None = field(default=None, metadata=options.POINT)

    kind = "distance"
    n_data = 1
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("distance", slice(0, 1), "m", 1e-4),)
    columns = metric = ("d",)
    spellings: ClassVar[tuple[Spelling, ...]] = (
        (r"(?:d|dist|distance|range|length)_?(\d*)", lambda m: f"d{m[1]}"),
    )
    looks_like = "a distance: # kind = distance"
    instrument = "distance"
    of_point = True
    described = "distances to one unknown point"

    @property
    def right(self) -> tuple[Slot, ...]:
        """The point."""
        return (KNOWN,) if self.point is None else (Slot("point", (), point_frame(self.point)),)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """The centres."""
        if np.ndim(self.centres) == 0:
            return tuple(Slot(f"centre{k}", POINT) for k in range(1, int(np.asarray(self.centres)) + 1))
        known = np.atleast_2d(np.asarray(self.centres, dtype=float))
        return tuple(Slot(f"centre{k}", (), point_frame(c)) for k, c in enumerate(known, start=1))

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Predicted distance less the one read."""
        d = P[:3, 3] - X[:3, 3]
        return np.array([sqrt(d @ d) - y[0]])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The distance."""
        return np.linalg.norm(P[..., :3, 3] - X[..., :3, 3], axis=-1)[..., None]

    def with_several(self, count: int) -> Self:
        """As many unknown centres."""
        return replace(self, centres=count) if np.ndim(self.centres) == 0 else self

    def imagined_targets(self, points: np.ndarray, goals: np.ndarray) -> list[np.ndarray]:
        """A centre at the edge of where the point gets."""
        return [point_frame(points.mean(axis=0) + 0.5 * np.ptp(points, axis=0) * [1.0, 1.0, -1.0])]

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The centre of spheres about the points."""
        return point_frame(sphere_centre(p, y[:, 0]))
