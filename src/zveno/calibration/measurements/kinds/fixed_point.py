"""A point that stays where it is while the robot moves: a ball in a socket, a tip on a tip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import POINT, Countable, Measurement, Noise, Slot, point_frame


@dataclass(frozen=True, eq=False)
class FixedPoint(Measurement):
    """The point sits in a socket whose place is not known, touched from many postures. Nothing is read.

    Postures of one group share a socket.
    """

    kind = "point"
    n_data = 3
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("position", slice(0, 3), "m", 1e-4),)
    implicit = True
    group_columns: ClassVar[tuple[str, ...]] = ("group",)
    looks_like = "contacts: # kind = point, plane, line or ball_bar"
    instrument = "contact"
    of_point = True
    described = "touches of one socket"

    @property
    def grouped(self) -> Slot:
        """One socket a group."""
        return Slot("socket", POINT)

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """From the socket to the point."""
        return P[:3, 3] - X[:3, 3] - y

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Where the point is from the socket."""
        return P[..., :3, 3] - X[..., :3, 3]

    def imagined_targets(self, points: np.ndarray, goals: np.ndarray) -> list[np.ndarray]:
        """One socket."""
        return [point_frame(goals[0])]

    def countable(self) -> Countable:
        """The point that touches."""
        return Countable.of(self)

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Nothing: sockets are where they are found."""
        return np.zeros((0, 7))
