"""Directions: two angles of an axis in every posture, and the tilt that an inclinometer reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError
from ....kernels.ops import atan2, cos, sin, sqrt, where
from ....spatial.rotations import z_to
from ....spatial.transforms import transform
from .. import options
from .._start_values import StartData, turn
from ..base import DIRECTION, KNOWN, Measurement, Mistake, Noise, Remark, Slot, Spelling, frame_slot

UNIT = 2e-3
"""Deviation from unit length below which it is rounding and not reported."""


@dataclass(frozen=True, eq=False)
class AxisDirection(Measurement):
    """Direction of an axis of the frame. Readings: (n, 3) unit vectors.

    Attributes:
        axis: in the frame, (3,).
        unknown_axis: whether it is estimated, starting from `axis`.
        reference: as for `Pose`.
    """

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=options.DIRECTION)
    unknown_axis: bool = field(default=False, metadata=options.FLAG)
    reference: str | ArrayLike = field(default="world", metadata=options.WORD)

    kind = "direction"
    n_data = 3
    noises: ClassVar[tuple[Noise, ...]] = (Noise("direction", slice(0, 2), "rad", 1e-3, slice(0, 3)),)
    columns: ClassVar[tuple[str, ...]] = ("ax", "ay", "az")
    spellings: ClassVar[tuple[Spelling, ...]] = (
        (r"(?:a|axis|n|normal|dir|direction)_?([xyz])", lambda m: f"a{m[1]}"),
    )
    looks_like = "a direction: # kind = direction"

    @property
    def left(self) -> Slot:
        """Measuring frame, of which only the orientation matters."""
        slot = frame_slot(self.reference, "reference")
        return slot if not slot.free else Slot(slot.label, (3, 4, 5))

    @property
    def right(self) -> tuple[Slot, ...]:
        """Frame with the axis along z."""
        axis = np.asarray(self.axis, dtype=float)
        if axis.shape != (3,) or not np.linalg.norm(axis) > 0:
            raise ShapeError("is not a direction", element="axis", remedy="Give three numbers")
        T = transform(z_to(axis / np.linalg.norm(axis)))
        return (Slot("axis", DIRECTION if self.unknown_axis else (), T),)

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the angle from the direction read to the predicted one, along two axes across the former."""
        return angle_across(y, P[:3, 2])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the direction."""
        return P[..., :3, 2]

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Return unit vectors; rows without a direction are left out."""
        y, remarks = super().data(y, n)
        read = np.isfinite(y).sum(axis=(1, 2))
        length = np.linalg.norm(y[:, 0], axis=1)
        off = (abs(length - 1.0) > UNIT) & (length > 0)
        remarks += [
            Remark((read > 0) & (read < 3), "have directions with a number missing, which leaves its sign open"),
            Remark(length == 0, "have directions of length zero"),
            Remark(off, f"have directions that are not unit vectors ({_range(length[off])} long)", left_out=False),
        ]
        usable = np.isfinite(length) & (length > 0)
        return np.where(usable, y[:, 0].T / np.where(usable, length, 1.0), np.nan).T[:, None], remarks

    def mistakes(self) -> Iterator[Mistake]:
        """Generate the error of a reversed axis."""
        yield "directions were the opposite", lambda y: -y

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Find the orientation of the measuring frame."""
        if rows.find_left is None:
            return {}
        return {rows.find_left: transform(turn(rows.seen(rows.frames)[:, :3, 2], rows.y))}


def angle_across(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the angle (2,) from the unit vector y to z, π at most, as a vector across y; entries may be traced.

    It lies in the plane orthogonal to y, along axes that are smooth but where y crosses the plane of its first two
    coordinates (Duff et al., Building an orthonormal basis, revisited, 2017). Towards the opposite of y every way
    round is as long, and derivatives along the circle would be unbounded: beyond 120° the first axis is taken.
    The sum of squares stays smooth.
    """
    side = where(y[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (side + y[2])
    b = y[0] * y[1] * a
    first = (1.0 + side * y[0] * y[0] * a) * z[0] + side * b * z[1] - side * y[0] * z[2]
    second = b * z[0] + (side + y[1] * y[1] * a) * z[1] - y[1] * z[2]
    c, squared = y[0] * z[0] + y[1] * z[1] + y[2] * z[2], first * first + second * second
    small = squared < 1e-12
    sine = sqrt(where(small, 1.0, squared))
    angle = where(small, where(c < 0.0, np.pi, 0.0), atan2(sine, c))
    scale = where(small, 1.0 + squared / 6.0, angle / sine)
    far = c < -0.5
    return np.array([where(far, angle, scale * first), where(far, 0.0, scale * second)])


def _range(lengths: np.ndarray) -> str:
    if not len(lengths):
        return ""
    low, high = f"{lengths.min():.3g}", f"{lengths.max():.3g}"
    return low if low == high else f"{low} to {high}"


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
