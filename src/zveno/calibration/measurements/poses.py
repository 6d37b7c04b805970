"""Whole poses: of the tool from a tracker, or of a marker board from a camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError, unknown_name
from ...kernels.math import atan2, select, sqrt
from ...spatial.rotations import from_quaternion, is_rotation
from ..model.batches import inverses
from .base import ALL_SIX, Measurement, Noise, Remark, Slot, frame_slot

POSE_NOISES = (Noise("position", slice(0, 3), "m"), Noise("rotation", slice(3, 6), "rad", slice(3, 12)))


@dataclass(frozen=True, eq=False)
class Pose(Measurement):
    """Position and orientation of the frame. Readings: (n, 4, 4), or (n, 7) as x y z qw qx qy qz.

    Attributes:
        reference: "world" if poses are given in the robot's world, whose base parameters then are found; another
            word for an unknown frame of that name; or the (4, 4) pose of the world in the measuring frame.
    """

    reference: Any = "world"

    kind = "pose"
    n_data = 12
    noises = POSE_NOISES
    columns = ("x", "y", "z", "qw", "qx", "qy", "qz")

    @property
    def left(self) -> Slot:
        """The measuring frame."""
        return frame_slot(self.reference, "reference")

    @staticmethod
    def residual(P, X, y):
        """Difference of positions, and the rotation vector from the orientation read to the predicted one."""
        R = y[3:].reshape(3, 3).T @ P[:3, :3]
        return np.concatenate([P[:3, 3] - y[:3], rotation_vector(R)])

    @staticmethod
    def reading(P, X):
        """Position and rotation matrix, (..., 12)."""
        return np.concatenate([P[..., :3, 3], P[..., :3, :3].reshape(*P.shape[:-2], 9)], axis=-1)

    def data(self, y, n):
        """From (n, 4, 4), (n, 7) or (n, 12) to (n, 1, 12)."""
        rows, remarks = poses_as_rows(y, n)
        return super().data(rows, n)[0], remarks


@dataclass(frozen=True, eq=False)
class RelativePose(Pose):
    """Position and orientation of the frame, seen from a place that is not known."""

    reference: Any = "tracker"
    kind = "relative_pose"


@dataclass(frozen=True, eq=False)
class Camera(Measurement):
    """Poses between a camera and a marker board, one of them on the robot and the other in the world.

    Attributes:
        mount: "hand" if the camera is on the robot (eye in hand), "world" if it stands beside it (eye to hand).
        gives: "camera" if readings are poses of the camera in the board's frame, "board" the other way round.
        board, camera: names, or a (4, 4) pose where known: of what stands in the world as the world seen from it,
            of what is on the robot as its pose in the frame.
    """

    mount: str = "hand"
    gives: str = "camera"
    board: Any = "board"
    camera: Any = "camera"

    kind = "camera"
    n_data = 12
    noises = POSE_NOISES
    columns = Pose.columns

    def __post_init__(self):
        for what, value, known in (
            ("mount", self.mount, ("hand", "world")),
            ("gives", self.gives, ("camera", "board")),
        ):
            if value not in known:
                raise unknown_name(what, value, known)

    @property
    def left(self) -> Slot:
        """What stands in the world."""
        return self._slot("board" if self.mount == "hand" else "camera")

    @property
    def right(self) -> tuple[Slot, ...]:
        """What is on the robot."""
        return (self._slot("camera" if self.mount == "hand" else "board"),)

    def _slot(self, which: str) -> Slot:
        given = getattr(self, which)
        return Slot(given, ALL_SIX, None, True) if isinstance(given, str) else frame_slot(given, which)

    residual = staticmethod(Pose.residual)
    reading = staticmethod(Pose.reading)

    def data(self, y, n):
        """Turned round so that it is what moves, seen from what stands."""
        rows, remarks = poses_as_rows(y, n)
        poses = super().data(rows, n)[0]
        moving = "camera" if self.mount == "hand" else "board"
        if self.gives == moving:
            return poses, remarks
        T = np.zeros((n, 4, 4))
        T[:, :3, 3], T[:, :3, :3], T[:, 3, 3] = poses[:, 0, :3], poses[:, 0, 3:].reshape(n, 3, 3), 1.0
        return self.reading(inverses(T), None)[:, None], remarks


def poses_as_rows(y, n: int) -> tuple[Any, list[Remark]]:
    """Poses (n, 4, 4) or (n, 7) as positions and rotation matrices, (n, 12), anything else as it is; rows without a
    proper orientation are left out, unless all are like that."""
    try:
        array = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        return y, []
    if array.shape == (n, 7):
        norms = np.linalg.norm(array[:, 3:], axis=1)
        bad = abs(norms - 1.0) > 1e-3
        if bad.any() and bad.sum() == np.isfinite(norms).sum():
            raise ShapeError(
                f"the quaternion (wxyz) of row {np.flatnonzero(bad)[0] + 1} has norm {norms[bad][0]:.4g}",
                element="y",
                remedy="Give unit quaternions qw qx qy qz",
            )
        norms[bad] = np.nan
        R = np.array([from_quaternion(one) for one in array[:, 3:] / norms[:, None]])
        rows = np.concatenate([array[:, :3], R.reshape(n, 9)], axis=1)
        return np.where(bad[:, None], np.nan, rows), [Remark(bad, "have quaternions whose norm is not one")]
    if array.shape == (n, 4, 4):
        given = np.isfinite(array[:, :3, :3]).all(axis=(1, 2))
        bad = given & np.array([not is_rotation(T[:3, :3], 1e-4) for T in array])
        if bad.any() and bad.sum() == given.sum():
            raise ShapeError(f"the rotation of row {np.flatnonzero(bad)[0] + 1} is not orthonormal", element="y")
        rows = Pose.reading(array, None)
        return np.where(bad[:, None], np.nan, rows), [Remark(bad, "have rotations that are not orthonormal")]
    return y, []


def rotation_vector(R):
    """Rotation vector of a rotation matrix, smooth up to just below π; entries may be traced.

    At π, where R is symmetric, the axis is the direction of the largest column of R + 1 = 2aaᵀ: a frame turned by
    half a turn must not look as if it were in place.
    """
    s = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    c = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    squared = s @ s
    small = squared < 1e-12
    sine = sqrt(select(small, 1.0, squared))
    vector = select(small, 1.0 + squared / 6.0, atan2(sine, c) / sine) * s
    a = _largest_column(R)
    half = select(small, select(c < 0.0, np.pi, 0.0), 0.0) / sqrt(a @ a)
    return np.array([select(half > 0.0, half * x, own) for x, own in zip(a, vector, strict=True)])


def _largest_column(R):
    """The column of R + 1 with the largest diagonal."""
    first, second = R[0, 0] < R[1, 1], select(R[0, 0] < R[1, 1], R[1, 1], R[0, 0]) < R[2, 2]
    one = np.eye(3)
    columns = [[R[i, k] + one[i, k] for i in range(3)] for k in range(3)]
    return np.array([select(second, z, select(first, y, x)) for x, y, z in zip(*columns, strict=True)])
