"""Fixed point, touched while the robot moves: a ball in a socket, a tip on a tip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import POINT, Countable, Measurement, Noise, Slot


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
