"""Curves of poses: lines, circles, splines through way-points, approach and retreat, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from ...errors import ShapeError
from ...spatial.rotations import about_axis_by
from ...spatial.transforms import is_transform, transform
from .follow import between


@dataclass(frozen=True, eq=False, repr=False)
class PosePath:
    """Poses (N, 4, 4) along a curve; `a + b` goes on from the end of a to the end of b.

    Make one with `line`, `circle` or `spline`, and lengthen it with `with_approach` and `with_retreat`.
    """

    poses: np.ndarray

    def __repr__(self) -> str:
        length = np.linalg.norm(np.diff(self.poses[:, :3, 3], axis=0), axis=1).sum()
        return f"<PosePath: {len(self.poses)} poses over {length:.4g} m>"

    @classmethod
    def line(cls, T_start: ArrayLike, T_end: ArrayLike, n: int = 50) -> PosePath:
        """Make n poses from one to another along a straight line, the rotation about one axis at an even rate."""
        A, B = _pose(T_start, "T_start"), _pose(T_end, "T_end")
        s = np.linspace(0.0, 1.0, _count(n))
        turned = _between_rotations(A[:3, :3], B[:3, :3], s)
        return cls(_joined(turned, A[:3, 3] + s[:, None] * (B[:3, 3] - A[:3, 3])))

    @classmethod
    def screw(cls, T_start: ArrayLike, T_end: ArrayLike, n: int = 50) -> PosePath:
        """Make n poses from one to another by a constant twist: the shortest screw motion."""
        return cls(between(_pose(T_start, "T_start"), _pose(T_end, "T_end"), _count(n) - 1))

    @classmethod
    def circle(
        cls,
        T_start: ArrayLike,
        center: ArrayLike,
        axis: ArrayLike,
        angle: float = 2 * np.pi,
        n: int = 50,
        *,
        turn: bool = False,
    ) -> PosePath:
        """Make n poses about an axis through a centre, both in the frame of the poses, from a first pose.

        Args:
            T_start: the first pose.
            center, axis: (3,) m, and a direction.
            angle: rad, counter-clockwise about the axis.
            n: number of poses.
            turn: True if the tool turns with the circle; otherwise it keeps its orientation.
        """
        A, c, a = _pose(T_start, "T_start"), _vector(center, "center"), _vector(axis, "axis")
        if not np.linalg.norm(a) > 0:
            raise ShapeError("has no direction", element="axis", remedy="Give three numbers that are not all zero")
        turns = np.stack([about_axis_by(a / np.linalg.norm(a), t) for t in np.linspace(0.0, angle, _count(n))])
        R = turns @ A[:3, :3] if turn else np.broadcast_to(A[:3, :3], turns.shape)
        return cls(_joined(R, c + turns @ (A[:3, 3] - c)))

    @classmethod
    def spline(cls, waypoints: Sequence[np.ndarray], n: int = 50) -> PosePath:
        """Make n poses on a smooth curve through poses (k, 4, 4): cubic splines of position and rotation.

        The parameter is the distance between neighbouring way-points, turns counted as 0.2 m a radian.
        """
        T = np.stack([_pose(waypoint, f"waypoints[{k}]") for k, waypoint in enumerate(waypoints)])
        if len(T) < 2:
            raise ShapeError("must be at least two", element="waypoints")
        turns = Rotation.from_matrix(T[:, :3, :3])
        angles = (turns[:-1].inv() * turns[1:]).magnitude()
        gaps = np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1) + 0.2 * angles
        if not (gaps > 0).all():
            raise ShapeError("two neighbours are the same", element="waypoints", remedy="Leave one of them out")
        s = np.concatenate([[0.0], np.cumsum(gaps)])
        at = np.linspace(0.0, s[-1], _count(n))
        R = RotationSpline(s, turns)(at).as_matrix()
        return cls(_joined(R, CubicSpline(s, T[:, :3, 3], bc_type="natural")(at)))

    def with_approach(self, distance: float, n: int = 10) -> PosePath:
        """Add an approach along the tool's z axis from `distance` m before the first pose."""
        first = self.poses[0]
        return PosePath.line(first @ transform(None, np.array([0.0, 0.0, -distance])), first, n + 1) + self

    def with_retreat(self, distance: float, n: int = 10) -> PosePath:
        """Add a retreat along the tool's z axis by `distance` m from the last pose."""
        last = self.poses[-1]
        return self + PosePath.line(last, last @ transform(None, np.array([0.0, 0.0, -distance])), n + 1)

    def __add__(self, other: PosePath) -> PosePath:
        """Concatenate two paths; a pose they share is kept once."""
        same = np.abs(self.poses[-1] - other.poses[0]).max() < 1e-12
        return PosePath(np.concatenate([self.poses, other.poses[1:] if same else other.poses]))

    def __len__(self) -> int:
        return len(self.poses)


def _pose(T, name: str) -> np.ndarray:
    try:
        T = np.asarray(T, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of numbers", element=name) from None
    if not is_transform(T, 1e-6):
        raise ShapeError("is not a rigid transform (4, 4)", element=name)
    return T


def _vector(value, name: str) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ShapeError("is not three finite numbers", element=name)
    return array


def _count(n: int) -> int:
    if n < 2:
        raise ShapeError(f"is {n}", element="n", remedy="Give at least 2 poses")
    return int(n)


def _between_rotations(A: np.ndarray, B: np.ndarray, s: np.ndarray) -> np.ndarray:
    w = Rotation.from_matrix(A.T @ B).as_rotvec()
    return A @ Rotation.from_rotvec(s[:, None] * w).as_matrix()


def _joined(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    T = np.zeros((len(p), 4, 4))
    T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = R, p, 1.0
    return T
