"""Distances to fixed points: a ball bar, a wire encoder, a ranging instrument."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ....kernels.ops import sqrt
from .. import options
from .._start_values import sphere_centre
from ..base import KNOWN, POINT, Measurement, Noise, Slot, Spelling, point_frame


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
    columns: ClassVar[tuple[str, ...]] = ("d",)
    metric: ClassVar[tuple[str, ...]] = columns
    spellings: ClassVar[tuple[Spelling, ...]] = (
        (r"(?:d|dist|distance|range|length)_?(\d*)", lambda m: f"d{m[1]}"),
    )
    looks_like = "a distance: # kind = distance"
    of_point = True

    @property
    def right(self) -> tuple[Slot, ...]:
        """Measured point."""
        return (KNOWN,) if self.point is None else (Slot("point", (), point_frame(self.point)),)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """Centres."""
        if np.ndim(self.centres) == 0:
            return tuple(Slot(f"centre{k}", POINT) for k in range(1, int(np.asarray(self.centres)) + 1))
        known = np.atleast_2d(np.asarray(self.centres, dtype=float))
        return tuple(Slot(f"centre{k}", (), point_frame(c)) for k, c in enumerate(known, start=1))

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the predicted distance less the one read."""
        d = P[:3, 3] - X[:3, 3]
        return np.array([sqrt(d @ d) - y[0]])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the distance."""
        return np.linalg.norm(P[..., :3, 3] - X[..., :3, 3], axis=-1)[..., None]

    def with_several(self, count: int) -> Self:
        """Return the measurement with this number of unknown centres."""
        return replace(self, centres=count) if np.ndim(self.centres) == 0 else self

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Find the common centre of spheres about the points."""
        return point_frame(sphere_centre(p, y[:, 0]))
