"""Ball bar: a rod of one length between a ball on the tool and a fixed one, or one on another frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ZvenoError
from ....kernels.ops import maximum, sqrt
from .. import options
from ..base import KNOWN, POINT, SAME_SIZE, Countable, Measurement, Noise, Number, Slot, point_frame, stays_point

IMAGINED = 0.3
"""Length, m, of an imagined bar."""
SHORTEST = 1e-9
"""Distance, m, below which a direction is undefined."""


@dataclass(frozen=True, eq=False)
class BallBar(Measurement):
    """Contact of a point at one distance from a fixed centre, in all postures. Nothing is read.

    Postures of one group share a centre; the bar is the same for all. With `seen_from` the centre is fixed in
    another frame of the robot: the bar of a known length between two arms.

    Attributes:
        length: of the bar, m; estimated if None.
        centre: where it stands in the world, (3,), if that is known, for postures without a group.
        point: the point of the frame, (3,); its origin if None.
    """

    length: float | None = field(default=None, metadata=options.METRES)
    centre: ArrayLike | None = field(default=None, metadata=options.POINT)
    point: ArrayLike | None = field(default=None, metadata=options.POINT)

    kind = "ball_bar"
    n_data = 1
    n_numbers = 1
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("length", slice(0, 1), "m", 1e-4),)
    implicit = True
    group_columns: ClassVar[tuple[str, ...]] = ("group",)
    of_point = True

    def __post_init__(self) -> None:
        if self.length is not None and not self.length > 0:
            raise ZvenoError(f"a ball bar of {self.length} m is none", element="length", remedy="Give metres")

    @property
    def right(self) -> tuple[Slot, ...]:
        """Measured point."""
        return (KNOWN,) if self.point is None else (Slot("point", (), point_frame(self.point)),)

    @property
    def grouped(self) -> Slot:
        """One centre per group."""
        return Slot("centre", POINT)

    def target_of(self, group: str) -> Slot:
        """Return the centre of a group."""
        if self.centre is not None and not group:
            return Slot("centre", (), point_frame(self.centre))
        return super().target_of(group)

    @property
    def numbers_label(self) -> str:
        """Name of the bar."""
        return "bar"

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Length of the bar."""
        known = self.length is not None
        return (Number("length", self.length if self.length is not None else IMAGINED, "m", not known, known),)

    @property
    def shows_scale(self) -> bool:
        """True if the length is known."""
        return self.length is not None

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return the distance less the length of the bar."""
        d = P[:3, 3] - X[:3, 3]
        return np.array([sqrt(maximum(d @ d, SHORTEST**2)) - c[0][0] - y[0]])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return the difference between the distance and the length of the bar."""
        return np.linalg.norm(P[..., :3, 3] - X[..., :3, 3], axis=-1)[..., None] - c[0][..., :1]

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Find the centre of the sphere nearest to the points: |p|² = 2 c·p + (length² − |c|²) is linear."""
        middle = p.mean(axis=0)
        g = p - middle
        A = np.column_stack([2.0 * g, np.ones(len(g))])
        return point_frame(middle + np.linalg.lstsq(A, np.sum(g**2, axis=1), rcond=1e-6)[0][:3])

    def first_numbers(self, P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the median distance."""
        return np.array([np.median(np.linalg.norm(P[:, :3, 3] - X[:, :3, 3], axis=1))])

    def countable(self) -> Countable:
        """Return the count data of the point at one end."""
        return Countable.of(self)

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return the conditions of a known length and a known centre."""
        known = [SAME_SIZE] if self.length is not None else []
        known += [stays_point(self.centre)] if self.centre is not None and "" in set(groups) else []
        return np.concatenate([np.zeros((0, 7)), *known])
