"""Touches of a plane: a granite table, a touch probe, a dial gauge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError
from ....spatial.rotations import z_to
from ....spatial.transforms import transform
from .. import options
from ..base import PLANE, Countable, Measurement, Noise, Slot, Spelling, known_first, stays_plane


@dataclass(frozen=True, eq=False)
class Plane(Measurement):
    """Contact of a point with a plane. No readings, or (n,) heights above it, m.

    Attributes:
        normal, offset: of a known plane normal · p = offset in the world; unknown if None.
        group_planes: whether every group of postures has its own plane; if None, where there are several groups.
        planes: of known planes by group, normal and offset, four numbers; those of other groups are estimated.
    """

    normal: ArrayLike | None = field(default=None, metadata=options.DIRECTION)
    offset: float = field(default=0.0, metadata=options.METRES)
    group_planes: bool | None = field(default=None, metadata=options.FLAG)
    planes: Mapping[str, ArrayLike] = field(default_factory=dict, metadata=options.by_name(4, lengths=slice(3, 4)))

    kind = "plane"
    n_data = 1
    linear = True
    noises: ClassVar[tuple[Noise, ...]] = (Noise("height", slice(0, 1), "m", 1e-4),)
    implicit = True
    optional_columns: ClassVar[tuple[str, ...]] = ("height",)
    metric: ClassVar[tuple[str, ...]] = optional_columns
    spellings: ClassVar[tuple[Spelling, ...]] = ((r"(?:h|height)", lambda m: "height"),)
    of_point = True

    @property
    def targets(self) -> tuple[Slot, ...]:
        """Plane, as a frame with its normal along z."""
        if self.normal is None:
            return (Slot("plane", PLANE),)
        return (Slot("plane", (), _plane(self.normal, self.offset, "normal")),)

    @property
    def grouped(self) -> Slot | None:
        """One plane per group."""
        return Slot("plane", PLANE) if self.group_planes or self.planes else None

    def target_of(self, group: str) -> Slot:
        """Return the plane of a group."""
        slot = super().target_of(group)
        if group not in self.planes:
            return slot
        numbers = np.asarray(self.planes[group], dtype=float).ravel()
        element = f"planes, {group}"
        if numbers.shape != (4,):
            raise ShapeError("is not a plane", element=element, remedy="Give its normal and its offset, 4 numbers")
        return Slot(slot.label, (), _plane(numbers[:3], float(numbers[3]), element))

    def with_groups(self, groups: Iterable[str]) -> Self:
        """Return the measurement with one plane per group if there are several groups and no other setting."""
        if self.group_planes is None and self.normal is None and len(set(groups)) > 1:
            return replace(self, group_planes=True)
        return self

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the height of the point above the plane."""
        return np.array([X[:3, 2] @ (P[:3, 3] - X[:3, 3]) - y[0]])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the height."""
        return np.sum(X[..., :3, 2] * (P[..., :3, 3] - X[..., :3, 3]), axis=-1)[..., None]

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Find the plane nearest to the points."""
        center = p.mean(axis=0)
        return transform(z_to(np.linalg.svd(p - center)[2][-1]), center)

    def new_groups(self, places: int) -> tuple[str, ...]:
        """Return group names, known planes first."""
        return known_first(self.planes, super().new_groups(places))

    def countable(self) -> Countable:
        """Return the count data of the point that touches."""
        return Countable.of(self)

    def shown(self, groups: Iterable[str]) -> np.ndarray:
        """Return the conditions of known planes."""
        slots = self.targets if self.grouped is None else [self.target_of(group) for group in dict.fromkeys(groups)]
        known = [slot.value for slot in slots if not slot.free]
        return np.concatenate([np.zeros((0, 7)), *(stays_plane(T) for T in known if T is not None)])


def _plane(normal: ArrayLike, offset: float, element: str) -> np.ndarray:
    """Return the frame of the plane normal · p = offset, with its normal along z."""
    n = np.asarray(normal, dtype=float)
    length = np.linalg.norm(n)
    if n.shape != (3,) or not length > 0:
        raise ShapeError("is not a direction", element=element, remedy="Give three numbers")
    n = n / length
    return transform(z_to(n), n * offset / length)
