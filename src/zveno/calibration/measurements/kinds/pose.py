"""Poses: of a tracker, relative ones, and those between a camera and a board."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError, unknown_name
from ....kernels.ops import atan2, sqrt, where
from ....spatial.rotations import from_quaternion, is_rotation, to_quaternion
from ..._kinematics import inverses
from .. import options
from .._start_values import StartData, frames_of_poses
from ..base import ALL_SIX, Countable, Measurement, Mistake, Noise, Remark, Slot, frame_slot


@dataclass(frozen=True, eq=False)
class PoseReadings(Measurement):
    """Base of kinds that read poses: (n, 4, 4), or (n, 7) as x y z qw qx qy qz."""

    n_data = 12
    noises: ClassVar[tuple[Noise, ...]] = (
        Noise("position", slice(0, 3), "m", 1e-4),
        Noise("rotation", slice(3, 6), "rad", 1e-3, slice(3, 12)),
    )
    columns: ClassVar[tuple[str, ...]] = ("x", "y", "z", "qw", "qx", "qy", "qz")
    metric: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the position difference, and the rotation vector from the read to the predicted orientation."""
        R = y[3:].reshape(3, 3).T @ P[:3, :3]
        return np.concatenate([P[:3, 3] - y[:3], rotation_vector(R)])

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray | None) -> np.ndarray:
        """Return position and rotation matrix, (..., 12)."""
        return np.concatenate([P[..., :3, 3], P[..., :3, :3].reshape(*P.shape[:-2], 9)], axis=-1)

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Convert (n, 4, 4), (n, 7) or (n, 12) to (n, 1, 12)."""
        rows, remarks = poses_as_rows(y, n)
        return super().data(rows, n)[0], remarks

    def filled(self, y: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return the readings with the identity for missing orientations."""
        filled = super().filled(y, missing)
        filled[missing[:, 3:].any(axis=1), 3:] = np.eye(3).ravel()
        return filled

    def mistakes(self) -> Iterator[Mistake]:
        """Generate errors of quaternion order and of inverted poses."""
        yield "quaternions were x y z w", lambda y: _turned(y, _reordered)
        yield "orientations were those of the inverse", lambda y: _turned(y, lambda R: np.swapaxes(R, 1, 2))
        yield "poses were those of the inverse", lambda y: PoseReadings.reading(inverses(as_transforms(y)), None)

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Find the measuring frame, and the frame mounted on the robot."""
        return frames_of_poses(rows, as_transforms(rows.y))


@dataclass(frozen=True, eq=False)
class Pose(PoseReadings):
    """Position and orientation of the frame. Readings: (n, 4, 4), or (n, 7) as x y z qw qx qy qz.

    Attributes:
        reference: "world" if poses are given in the robot's world, whose base parameters then are found; another
            word for an unknown frame of that name; or the (4, 4) pose of the world in the measuring frame.
    """

    reference: str | ArrayLike = field(default="world", metadata=options.WORD)

    kind = "pose"
    looks_like = "a pose: # kind = relative_pose, or pose if it is given in the robot's own world"
    lesser = "position"
    in_robot_world = True

    @property
    def left(self) -> Slot:
        """Measuring frame."""
        return frame_slot(self.reference, "reference")

    def countable(self) -> Countable | None:
        """Return the count data of poses."""
        return Countable(None, bool(self.left.free))


@dataclass(frozen=True, eq=False)
class RelativePose(Pose):
    """Position and orientation of the frame, seen from an unknown place."""

    reference: str | ArrayLike = field(default="tracker", metadata=options.WORD)

    kind = "relative_pose"
    lesser = "relative_position"
    in_robot_world = False


def as_transforms(y: np.ndarray) -> np.ndarray:
    """Return readings (n, 12) as transforms (n, 4, 4)."""
    T = np.tile(np.eye(4), (len(y), 1, 1))
    T[:, :3, 3], T[:, :3, :3] = y[:, :3], y[:, 3:].reshape(-1, 3, 3)
    return T


def _turned(y: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the readings with transformed rotations."""
    return np.concatenate([y[:, :3], function(y[:, 3:].reshape(-1, 3, 3)).reshape(-1, 9)], axis=1)


def _reordered(R: np.ndarray) -> np.ndarray:
    return np.array([from_quaternion(to_quaternion(rotation)[[3, 0, 1, 2]]) for rotation in R])


def poses_as_rows(y: ArrayLike | None, n: int) -> tuple[ArrayLike | None, list[Remark]]:
    """Return poses (n, 4, 4) or (n, 7) as positions and rotation matrices, (n, 12), any other input unchanged; rows
    without a proper orientation are left out, unless all are improper."""
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
        R = np.array([from_quaternion(quaternion) for quaternion in array[:, 3:] / norms[:, None]])
        rows = np.concatenate([array[:, :3], R.reshape(n, 9)], axis=1)
        return np.where(bad[:, None], np.nan, rows), [Remark(bad, "have quaternions whose norm is not one")]
    if array.shape == (n, 4, 4):
        given = np.isfinite(array[:, :3, :3]).all(axis=(1, 2))
        bad = given & np.array([not is_rotation(T[:3, :3], 1e-4) for T in array])
        if bad.any() and bad.sum() == given.sum():
            raise ShapeError(
                f"the rotation of row {np.flatnonzero(bad)[0] + 1} is not orthonormal",
                element="y",
                remedy="Give rotations whose columns are unit vectors at right angles",
            )
        rows = PoseReadings.reading(array, None)
        return np.where(bad[:, None], np.nan, rows), [Remark(bad, "have rotations that are not orthonormal")]
    return y, []


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector of a rotation matrix, smooth up to just below π; entries may be traced.

    At π, where R is symmetric, the axis is the direction of the largest column of R + 1 = 2aaᵀ: a frame turned by
    half a turn must not look as if it were in place.
    """
    s = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    c = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    squared = s @ s
    small = squared < 1e-12
    sine = sqrt(where(small, 1.0, squared))
    vector = where(small, 1.0 + squared / 6.0, atan2(sine, c) / sine) * s
    a = _largest_column(R)
    half = where(small, where(c < 0.0, np.pi, 0.0), 0.0) / sqrt(a @ a)
    return np.array([where(half > 0.0, half * x, small_angle) for x, small_angle in zip(a, vector, strict=True)])


def _largest_column(R):
    """Return the column of R + 1 with the largest diagonal."""
    first, second = R[0, 0] < R[1, 1], where(R[0, 0] < R[1, 1], R[1, 1], R[0, 0]) < R[2, 2]
    identity = np.eye(3)
    columns = [[R[i, k] + identity[i, k] for i in range(3)] for k in range(3)]
    return np.array([where(second, z, where(first, y, x)) for x, y, z in zip(*columns, strict=True)])


@dataclass(frozen=True, eq=False)
class Camera(PoseReadings):
    """Poses between a camera and a marker board, one of them on the robot and the other in the world.

    Attributes:
        mount: "hand" if the camera is on the robot (eye in hand), "world" if it stands beside it (eye to hand).
        gives: "camera" if readings are poses of the camera in the board's frame, "board" if they are
            poses of the board in the camera's frame, as vision libraries return them.
        board, camera: names, or a (4, 4) pose where known: of what stands in the world as the world seen from it,
            of what is on the robot as its pose in the frame.
    """

    mount: Literal["hand", "world"] = field(default="hand", metadata=options.one_of("hand", "world"))
    gives: Literal["camera", "board"] = field(default="camera", metadata=options.one_of("camera", "board"))
    board: str | ArrayLike = field(default="board", metadata=options.WORD)
    camera: str | ArrayLike = field(default="camera", metadata=options.WORD)

    kind = "camera"
    lesser = "relative_position"

    def __post_init__(self) -> None:
        for option, value, known in (
            ("mount", self.mount, ("hand", "world")),
            ("gives", self.gives, ("camera", "board")),
        ):
            if value not in known:
                raise unknown_name(option, value, known)

    @property
    def left(self) -> Slot:
        """Frame that is fixed in the world: the board or the camera."""
        return self._slot("board" if self.mount == "hand" else "camera")

    @property
    def right(self) -> tuple[Slot, ...]:
        """Frame that is on the robot: the camera or the board."""
        return (self._slot("camera" if self.mount == "hand" else "board"),)

    def _slot(self, which: str) -> Slot:
        given = getattr(self, which)
        return Slot(given, ALL_SIX, None, True) if isinstance(given, str) else frame_slot(given, which)

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Return the readings as poses of the moving frame seen from the fixed one."""
        poses, remarks = super().data(y, n)
        moving = "camera" if self.mount == "hand" else "board"
        if self.gives == moving:
            return poses, remarks
        return self.reading(inverses(as_transforms(poses[:, 0])), None)[:, None], remarks

    def countable(self) -> Countable | None:
        """Return the count data of poses; frames of camera and board are wanted."""
        return Countable(None, False)
