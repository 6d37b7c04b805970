"""Pairs of sockets a known distance apart, moved to several places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ....errors import ZvenoError
from .. import options
from ..base import SAME_SIZE
from .fixed_point import FixedPoint


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
