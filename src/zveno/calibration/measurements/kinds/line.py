"""Touches of a straight line: a taut wire, an edge, a laser beam that a detector on the tool follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError
from ....spatial.rotations import z_to
from ....spatial.transforms import transform
from .. import options
from ..base import Countable, Measurement, Noise, Slot, known_first, stays_line

LINE = (0, 1, 3, 4)
"""Displacements of a line: across it, and its direction."""


@dataclass(frozen=True, eq=False)
class Line(Measurement):
    """Contact of a point with a straight line, touched from many postures. Nothing is read. Postures of one group
    share a line.

    Attributes:
        lines: of known lines by group, a point and the direction, six numbers; others are estimated. The group of
            postures that have none is "".
    """

    lines: Mapping[str, ArrayLike] = field(default_factory=dict, metadata=options.by_name(6, lengths=slice(3)))

    kind = "line"
    n_data = 2
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("across", slice(0, 2), "m", 1e-4),)
    implicit = True
    group_columns: ClassVar[tuple[str, ...]] = ("group",)
    of_point = True

    @property
    def grouped(self) -> Slot:
        """One line per group, as a frame with the line along z."""
        return Slot("line", LINE)

    def target_of(self, group: str) -> Slot:
        """Return the line of a group."""
        slot = super().target_of(group)
        if group not in self.lines:
            return slot
        numbers = np.asarray(self.lines[group], dtype=float)
        if numbers.shape != (6,) or not np.linalg.norm(numbers[3:]) > 0:
            raise ShapeError("is not a line", element=f"lines, {group}", remedy="Give a point and a direction")
        return Slot(slot.label, (), transform(z_to(numbers[3:] / np.linalg.norm(numbers[3:])), numbers[:3]))

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the vector from the line to the point, along two axes across it."""
        d = P[:3, 3] - X[:3, 3]
        return np.array([X[:3, 0] @ d - y[0], X[:3, 1] @ d - y[1]])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the position of the point relative to the line."""
        d = P[..., :3, 3] - X[..., :3, 3]
        return np.stack([np.sum(X[..., :3, k] * d, axis=-1) for k in range(2)], axis=-1)

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Find the line nearest to the points."""
        center = p.mean(axis=0)
        return transform(z_to(np.linalg.svd(p - center)[2][0]), center)

    def new_groups(self, places: int) -> tuple[str, ...]:
        """Return group names, known lines first."""
        return known_first(self.lines, super().new_groups(places))

    def countable(self) -> Countable:
        """Return the count data of the point that touches."""
        return Countable.of(self)

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return the conditions of known lines."""
        known = [self.target_of(group).value for group in dict.fromkeys(groups) if group in self.lines]
        return np.concatenate([np.zeros((0, 7)), *(stays_line(T) for T in known if T is not None)])
