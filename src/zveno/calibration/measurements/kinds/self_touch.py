"""Robot that touches itself, or its second arm: two of its frames coincide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import options
from ..base import KNOWN, POINT, Slot, point_frame, stays_point
from .fixed_point import FixedPoint


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
