"""Denavit–Hartenberg frames of a serial chain from the common normals of its axes (standard convention)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..mechanism import Joint
from ..spatial.rotations import elementary as rotation
from ..spatial.transforms import inverse, transform
from ..spatial.vectors import cross

PARALLEL = 1e-12
"""Largest sine of the angle between parallel axes."""
ROUNDING = 2e-15


@dataclass(frozen=True)
class Row:
    """Row of a standard table, metres and radians."""

    theta: float
    d: float
    a: float
    alpha: float

    def transform(self) -> np.ndarray:
        """Return Rz(θ) Tz(d) Tx(a) Rx(α)."""
        turned = transform(rotation("z", self.theta), np.array([0.0, 0.0, self.d]))
        return turned @ transform(rotation("x", self.alpha), np.array([self.a, 0.0, 0.0]))


def standard_rows(joints: list[Joint], T_last_link: np.ndarray) -> tuple[np.ndarray, list[Row]]:
    """Return the pose of frame 0 in the world and one row for every joint of a chain at q = 0.

    Args:
        joints: revolute, continuous and prismatic joints from the base outward; fixed ones already merged.
        T_last_link: desired end of the last row, relative to the last moved joint frame; if no row can reach it,
            the last row is zero.
    """
    frame, rows = np.eye(4), []
    walk = np.eye(4)
    T_world_first = np.eye(4)
    for k, joint in enumerate(joints):
        walk = walk @ joint.T_parent_joint
        direction = walk[:3, :3] @ np.asarray(joint.type.parameters()["axis"])
        point = walk[:3, 3]
        if k == 0:
            T_world_first = frame = _first_frame(direction, point)
        else:
            # Only the direction of a sliding joint matters, so its axis goes through the frame before it.
            row = _row_to_axis(frame, direction, None if joint.type.sigma == 0 else point)
            rows.append(row)
            frame = frame @ row.transform()
        walk = walk @ joint.T_joint_child
    rows.append(row_of(inverse(frame) @ walk @ T_last_link) or Row(0.0, 0.0, 0.0, 0.0))
    return T_world_first, rows


def row_of(T: np.ndarray) -> Row | None:
    """Return the row whose transform is T, or None: x must cross the old z axis at a right angle."""
    if abs(T[2, 0]) > ROUNDING:
        return None
    theta = _clean_angle(math.atan2(T[1, 0], T[0, 0]))
    row = Row(
        theta,
        _clean(T[2, 3]),
        _clean(T[0, 3] * math.cos(theta) + T[1, 3] * math.sin(theta)),
        _clean_angle(math.atan2(T[2, 1], T[2, 2])),
    )
    scale = max(1.0, abs(T[:3, 3]).max())
    return row if abs(row.transform() - T).max() <= 10 * ROUNDING * scale else None


def _first_frame(direction, point) -> np.ndarray:
    """Return frame 0: the world's if the first axis is its z axis, else at the axis' point nearest the origin."""
    z = direction
    foot = point - (point @ z) * z
    if abs(foot).max() <= ROUNDING and abs(z - [0.0, 0.0, 1.0]).max() <= ROUNDING:
        return np.eye(4)
    side = np.eye(3)[0] if abs(z[0]) < 0.9 else np.eye(3)[1]
    x = side - (side @ z) * z
    x = x / np.linalg.norm(x)
    return transform(np.stack([x, cross(z, x), z], axis=1), foot)


def _row_to_axis(frame: np.ndarray, direction, point) -> Row:
    """Return the row from a frame to the one on the next axis, whose x lies along the common normal.

    Of the two directions of x, the one nearer to the old x is taken, so that offsets stay small and existing tables
    are reproduced, negative lengths included.
    """
    w = frame[:3, :3].T @ direction
    p = np.zeros(3) if point is None else frame[:3, :3].T @ (point - frame[:3, 3])
    across = math.hypot(w[0], w[1])
    if across > PARALLEL:
        x = np.array([-w[1], w[0]]) / across  # along z × w
        # The foot on the old z axis: p + s w meets the plane of z and x where its part along w's shadow vanishes.
        s = -(p[0] * w[0] + p[1] * w[1]) / across**2
        d = p[2] + s * w[2]
    else:
        reach = math.hypot(p[0], p[1])
        x = p[:2] / reach if reach > ROUNDING else np.array([1.0, 0.0])
        d = 0.0
    if x[0] < -ROUNDING or (abs(x[0]) <= ROUNDING and x[1] < 0):
        x = -x
    theta = _clean_angle(math.atan2(x[1], x[0]))
    a = p[0] * x[0] + p[1] * x[1]
    alpha = _clean_angle(math.atan2(x[0] * -w[1] + x[1] * w[0], w[2]))
    return Row(theta, _clean(d), _clean(a), alpha)


def _clean(length: float) -> float:
    return 0.0 if abs(length) <= ROUNDING else float(length)


def _clean_angle(angle: float) -> float:
    exact = round(angle / (math.pi / 12)) * math.pi / 12
    return exact if abs(angle - exact) <= ROUNDING else angle
