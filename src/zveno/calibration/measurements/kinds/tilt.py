"""Tool tilt: an inclinometer or accelerometer at rest, which needs no external equipment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ....kernels.ops import atan2, cos, sin, sqrt
from ....spatial.transforms import transform
from .. import options
from .._start_values import StartData, turn
from ..base import KNOWN, Measurement, Mistake, Noise, Slot, Spelling
from .direction import angle_across


@dataclass(frozen=True, eq=False)
class Tilt(Measurement):
    """Direction of up, seen from the frame. Readings: (n, 2) rad, the frame turned about x by the first angle and
    then, with it, about y by the second: up is (−sin b, sin a cos b, cos a cos b) in the frame's axes.

    The world's z axis points up. Lengths, and rotations about the vertical, are not observable.

    Attributes:
        unknown_mount: whether the orientation of the instrument in the frame is estimated.
    """

    unknown_mount: bool = field(default=False, metadata=options.FLAG)

    kind = "tilt"
    n_data = 2
    noises: ClassVar[tuple[Noise, ...]] = (Noise("tilt", slice(0, 2), "rad", 1e-3, slice(0, 2)),)
    columns: ClassVar[tuple[str, ...]] = ("tilt_x", "tilt_y")
    angular: ClassVar[tuple[str, ...]] = columns
    spellings: ClassVar[tuple[Spelling, ...]] = ((r"(?:tilt|incl|inclination)_?([xy])", lambda m: f"tilt_{m[1]}"),)
    looks_like = "readings of an inclinometer: # kind = tilt"

    @property
    def right(self) -> tuple[Slot, ...]:
        """Instrument on the robot."""
        return (Slot("instrument", (3, 4, 5)) if self.unknown_mount else KNOWN,)

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the angle from up as read to up as predicted, along two axes across the former."""
        up = np.array([-sin(y[1]), sin(y[0]) * cos(y[1]), cos(y[0]) * cos(y[1])])
        return angle_across(up, P[2, :3])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return both angles."""
        x, y, z = P[..., 2, 0], P[..., 2, 1], P[..., 2, 2]
        return np.stack([atan2(y, z), atan2(-x, sqrt(y * y + z * z))], axis=-1)

    def mistakes(self) -> Iterator[Mistake]:
        """Generate errors of swapped or reversed instrument axes."""
        yield "the axes of the inclinometer were swapped", lambda y: y[:, ::-1]
        yield "tilts had the opposite sign", lambda y: -y

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Find the orientation of the instrument."""
        if not rows.find_right:
            return {}
        a, b = rows.y.T
        read = np.stack([-np.sin(b), np.sin(a) * np.cos(b), np.cos(a) * np.cos(b)], axis=1)
        return {rows.find_right[0]: transform(turn(read, rows.T[:, 2, :3]))}
