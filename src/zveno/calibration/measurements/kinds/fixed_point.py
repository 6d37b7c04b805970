"""Contacts of a point with a fixed point: a ball in sockets, a tip on the tip of another arm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ZvenoError
from .. import options
from ..base import KNOWN, POINT, SAME_SIZE, Countable, Measurement, Noise, Slot, point_frame, stays_point


@dataclass(frozen=True, eq=False)
class FixedPoint(Measurement):
    """Contact of a point with a socket at an unknown place, touched from many postures. Nothing is read.

    Postures of one group share a socket.
    """

    kind = "point"
    n_data = 3
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("position", slice(0, 3), "m", 1e-4),)
    implicit = True
    group_columns: ClassVar[tuple[str, ...]] = ("group",)
    looks_like = "contacts: # kind = point, plane, line or ball_bar"
    of_point = True

    @property
    def grouped(self) -> Slot:
        """One socket per group."""
        return Slot("socket", POINT)

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the vector from the socket to the point."""
        return P[:3, 3] - X[:3, 3] - y

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the position of the point relative to the socket."""
        return P[..., :3, 3] - X[..., :3, 3]

    def countable(self) -> Countable:
        """Return the count data of the point that touches."""
        return Countable.of(self)

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return no conditions: the places of sockets are unknown."""
        return np.zeros((0, 7))


@dataclass(frozen=True, eq=False)
class Sockets(FixedPoint):
    """Two sockets a known distance apart at every place. Groups are named `place/hole`.

    Attributes:
        distance: between the two sockets of a place, m.
        sigma_distance: how well it is known, m.
    """

    distance: float = field(default=0.05, metadata=options.METRES)
    sigma_distance: float = field(default=1e-4, metadata=options.METRES)

    kind = "sockets"
    group_columns: ClassVar[tuple[str, ...]] = ("place", "hole")
    looks_like = "contacts: # kind = sockets"
    holes: ClassVar[tuple[str, ...]] = ("/hole1", "/hole2")

    def __post_init__(self) -> None:
        if not (self.distance > 0 and self.sigma_distance > 0):
            raise ZvenoError("the distance of the sockets and its sigma must be positive")

    def constraints(self, groups: list[str]) -> list[tuple[str, str, float, float]]:
        """Return the pair of sockets of every place with their distance."""
        places: dict[str, list[str]] = {}
        for group in dict.fromkeys(groups):
            places.setdefault(self.place_of(group), []).append(group)
        return [
            (a, b, self.distance, self.sigma_distance)
            for sockets in places.values()
            for i, a in enumerate(sockets)
            for b in sockets[i + 1 : i + 2]
        ]

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return the condition of their distance, which determines the robot's size."""
        return SAME_SIZE


@dataclass(frozen=True, eq=False)
class SelfTouch(FixedPoint):
    """Contact of a point of the frame with one of another frame of the robot (`seen_from`; the base if None).
    Nothing is read. Where their distance is known, and not zero, it is a ball bar (`BallBar`, with `seen_from`).

    Attributes:
        point: the point of the frame, (3,); its origin if None.
        target: the point of the other frame, (3,); its origin if None.
        unknown_target: whether it is estimated; every group of postures then has its own. If None, it is estimated
            where it is a point of the base that is not given.
    """

    point: ArrayLike | None = field(default=None, metadata=options.POINT)
    target: ArrayLike | None = field(default=None, metadata=options.POINT)
    unknown_target: bool | None = field(default=None, metadata=options.FLAG)

    kind = "self_touch"
    group_columns: ClassVar[tuple[str, ...]] = ()
    looks_like = ""

    @property
    def right(self) -> tuple[Slot, ...]:
        """Measured point."""
        return (KNOWN,) if self.point is None else (Slot("point", (), point_frame(self.point)),)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """Point of the other frame."""
        return (Slot("touched", (), point_frame(np.zeros(3) if self.target is None else self.target)),)

    @property
    def grouped(self) -> Slot | None:  # type: ignore[override]
        """One point per group, where it is not known."""
        return None if self._known else Slot("touched", POINT)

    @property
    def shows_scale(self) -> bool:
        """True if the touched point is known: both points then define a known length."""
        return self._known

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return the conditions of a known point of the other frame."""
        return stays_point(np.zeros(3) if self.target is None else self.target) if self._known else np.zeros((0, 7))

    @property
    def _known(self) -> bool:
        if self.unknown_target is None:
            return self.seen_from is not None or self.target is not None
        return not self.unknown_target
