"""First values of unknown frames and targets in closed form, from poses of the nominal robot and readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import ZvenoError
from ...fit.triangle import triangle
from ...spatial.rotations import nearest_rotation
from ...spatial.transforms import inverse, transform
from .._kinematics import inverses


@dataclass(frozen=True, eq=False)
class StartData:
    """Complete rows of one campaign that place its unknown frames L and R.

    Attributes:
        T: poses (n, 4, 4) of the measured frame of the nominal robot.
        y: readings, (n, n_data).
        left, right: numbers (n,) of their frames L and R.
        frames: all frames as they are known so far, (frames, 4, 4).
        find_left: number of L where it is to be found, else None.
        find_right: numbers of frames R that are to be found.
        adjustable: numbers of frames R that are unknown, also those with a first value.
        target, posture: X (n, 4, 4) and the number of the posture of every row.
        numbers: constants of the instrument, (n, n_numbers), where it has any.
    """

    T: np.ndarray
    y: np.ndarray
    left: np.ndarray
    right: np.ndarray
    frames: np.ndarray
    find_left: int | None
    find_right: Sequence[int]
    adjustable: Sequence[int]
    target: np.ndarray
    posture: np.ndarray
    numbers: np.ndarray | None = None

    def seen(self, frames: np.ndarray) -> np.ndarray:
        """Return T R of every row."""
        return self.T @ frames[self.right]


def hand_eye(T: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find L and R with Y_i = L T_i R: rotations from one null vector, then translations by least squares.

    R_Lᵀ R_Y = R_T R_R is linear in the 18 entries of both rotations.
    """
    eye = np.eye(3)
    rows = [np.hstack([np.kron(eye, y[:3, :3].T), -np.kron(t[:3, :3], eye)]) for t, y in zip(T, Y, strict=True)]
    null = np.linalg.svd(triangle(np.concatenate(rows)))[2][-1]
    A, B = null[:9].reshape(3, 3), null[9:].reshape(3, 3)
    sign = np.sign(np.linalg.det(A)) or 1.0
    R_L, R_R = nearest_rotation(sign * A).T, nearest_rotation(sign * B)
    G = np.concatenate([np.hstack([eye, R_L @ t[:3, :3]]) for t in T])
    h = np.concatenate([y[:3, 3] - R_L @ t[:3, 3] for t, y in zip(T, Y, strict=True)])
    R = triangle(np.column_stack([G, h]))
    x = np.linalg.lstsq(R[:, :6], R[:, 6], rcond=None)[0]
    return transform(R_L, x[:3]), transform(R_R, x[3:])


def frames_of_poses(rows: StartData, Y: np.ndarray) -> dict[int, np.ndarray]:
    """Find L and R from readings of whole poses Y (n, 4, 4)."""
    frames = rows.frames
    if rows.find_left is not None and rows.find_right:
        return dict(zip((rows.find_left, rows.find_right[0]), hand_eye(rows.T, Y), strict=True))
    if rows.find_left is not None:
        return {rows.find_left: mean_frame(Y @ inverses(rows.seen(frames)))}
    if rows.find_right:
        return {rows.find_right[0]: mean_frame(inverses(frames[rows.left] @ rows.T) @ Y)}
    return {}


def frames_of_points(rows: StartData) -> dict[int, np.ndarray]:
    """Find L, and points fixed in the measured frame, from readings of positions, alternately."""
    if rows.find_left is None:
        return {}
    frames = rows.frames.copy()
    for _ in range(20 if rows.adjustable else 1):
        frames[rows.find_left] = aligned(rows.seen(frames)[:, :3, 3], rows.y)
        for number in rows.adjustable:
            rows_of_point = rows.right == number
            read = np.column_stack([rows.y[rows_of_point], np.ones(rows_of_point.sum())])[..., None]
            # The mean over postures of where the point was seen.
            at = inverses(frames[rows.left[rows_of_point]] @ rows.T[rows_of_point]) @ read
            frames[number, :3, 3] = at[:, :3, 0].mean(axis=0)
    return {number: frames[number] for number in (rows.find_left, *rows.adjustable)}


def sphere_centre(p: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Find c with |p_i − c| = d_i by linear least squares: differences of the squared equations.

    Points that lie nearly in a plane leave two mirror images; the one the data prefer is taken.
    """
    center = p.mean(axis=0)
    g, radius = p - center, d**2
    rhs = 0.5 * (np.sum(g**2, axis=1) - radius)
    U, s, Vt = np.linalg.svd(g, full_matrices=False)
    c = Vt.T @ ((U.T @ (rhs - rhs.mean())) / np.where(s > 1e-6 * s[0], s, np.inf))

    def misfit(x):
        return np.linalg.norm(np.linalg.norm(g - x, axis=1) - d)

    height = np.sqrt(max(0.0, float(np.mean(radius) - np.mean(np.sum((g - c) ** 2, axis=1)))))
    choices = [c, c + height * Vt[-1], c - height * Vt[-1]]
    return center + min(choices, key=misfit)


def aligned(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the proper rigid transform nearest to b_i = T a_i (never a reflection)."""
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    R = turn(a - ca, b - cb)
    return transform(R, cb - R @ ca)


def turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation nearest to b_i = R a_i."""
    return nearest_rotation(b.T @ a)


def mean_frame(T: np.ndarray) -> np.ndarray:
    """Return the rotation nearest to all, and the median of the origins."""
    return transform(nearest_rotation(T[:, :3, :3].sum(axis=0)), np.median(T[:, :3, 3], axis=0))


FEWEST = 22
"""Minimum number of images of one marker to place camera and marker: an image gives 2 of 38 equations."""


def frames_of_boards(rows: StartData, in_hand: bool) -> dict[int, np.ndarray]:
    """Find L and R from the pose of the board in every image that shows at least four points of it."""
    rays = _rays(rows)
    _, image = np.unique(rows.T.reshape(len(rows.T), 16), axis=0, return_inverse=True)
    first, poses = [], []
    for k in range(int(image.max(initial=-1)) + 1):
        at = np.flatnonzero(image.ravel() == k)
        points = rows.target[at, :3, 3]
        if len(np.unique(points, axis=0)) >= 4:
            pose = board_pose(points, rays[at])
            if pose is not None:
                first.append(at[0])
                poses.append(pose)
    if len(poses) < 3:
        raise ZvenoError(
            f"only {len(poses)} images show four points of the board or more: the camera cannot be placed",
            remedy="Measure more images of the whole board, or give the frames of camera and board",
        )
    Y = np.array(poses)
    whole = replace(
        rows, T=rows.T[first], y=rows.y[first], left=rows.left[first], right=rows.right[first], target=Y, posture=Y
    )
    return frames_of_poses(whole, inverses(Y) if in_hand else Y)


def frames_of_marker(rows: StartData, in_hand: bool) -> dict[int, np.ndarray]:
    """Find L and R from images of one marker.

    M A_i m ~ ray_i, with the pose M (3, 4) of the camera and the place m (4,) of the marker, is linear in their
    products; A_i is T_i, or its inverse where the camera is on the hand. Its last row leaves 39 of the 48 products.
    """
    if rows.find_left is None or not rows.find_right or len(rows.T) < FEWEST:
        raise ZvenoError(
            f"{len(rows.T)} images of one marker do not place camera and marker",
            remedy=f"Measure at least {FEWEST}, use a board of four points or more, or give both frames",
        )
    rays = _rays(rows)
    A = inverses(rows.T) if in_hand else rows.T
    # (M A m)_k = Σ R_kj A_jl m_l + t_k m_4
    lifted = np.column_stack([A[:, :3].reshape(len(A), 12), np.ones(len(A))])
    zero = np.zeros_like(lifted)
    u, v = rays[:, :1], rays[:, 1:2]
    equations = np.concatenate([np.hstack([lifted, zero, -u * lifted]), np.hstack([zero, lifted, -v * lifted])])
    equations = equations / np.linalg.norm(equations, axis=1, keepdims=True)
    null = np.linalg.svd(equations)[2][-1].reshape(3, 13)
    U, s, Vt = np.linalg.svd(null[:, :12].reshape(9, 4))
    R, m = (s[0] * Vt[0, 3] * U[:, 0]).reshape(3, 3), Vt[0, :3] / Vt[0, 3]
    size = float(np.cbrt(np.linalg.det(R))) or 1.0
    camera = transform(nearest_rotation(R / size), null[:, 12] / size)
    if in_hand:
        return {rows.find_left: transform(None, -m), rows.find_right[0]: inverse(camera)}
    return {rows.find_left: camera, rows.find_right[0]: transform(None, m)}


def board_pose(points: np.ndarray, rays: np.ndarray) -> np.ndarray | None:
    """Compute the pose (4, 4) of a board in the camera's frame from its points (n, 3) and their rays (n, 2), x/z
    and y/z.

    Points in a plane give a homography, whose columns are two axes and the origin; others the whole projection.
    """
    middle = points.mean(axis=0)
    _, s, Vt = np.linalg.svd(points - middle)
    if s[1] < 1e-6 * s[0]:
        return None
    plane = np.array([Vt[0], Vt[1], np.cross(Vt[0], Vt[1])])
    local = (points - middle) @ plane.T / s[0]
    flat = s[2] < 1e-6 * s[0] or len(points) < 6
    seen = np.column_stack([local[:, :2] if flat else local, np.ones(len(points))])
    zero = np.zeros_like(seen)
    equations = np.concatenate(
        [np.hstack([seen, zero, -rays[:, :1] * seen]), np.hstack([zero, seen, -rays[:, 1:] * seen])]
    )
    H = np.linalg.svd(equations)[2][-1].reshape(3, -1)
    if (H @ seen.mean(axis=0))[2] < 0:
        H = -H
    if flat:
        size = 0.5 * (np.linalg.norm(H[:, 0]) + np.linalg.norm(H[:, 1]))
        H = H / max(size, 1e-300)
        R = nearest_rotation(np.column_stack([H[:, 0], H[:, 1], np.cross(H[:, 0], H[:, 1])]))
    else:
        size = float(np.cbrt(np.linalg.det(H[:, :3])))
        if not size > 0:
            return None
        H = H / size
        R = nearest_rotation(H[:, :3])
    # x_camera = R plane (x − middle) + t, lengths in units of s[0]
    return transform(R @ plane, s[0] * H[:, -1] - R @ plane @ middle)


def _rays(rows: StartData) -> np.ndarray:
    """Return x/z and y/z (n, 2) of the readings, with distortion removed by a few fixed-point steps."""
    assert rows.numbers is not None
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = rows.numbers.T[1:]
    seen = np.stack([(rows.y[:, 0] - cx) / fx, (rows.y[:, 1] - cy) / fy])
    x, y = seen
    for _ in range(8):
        r = x * x + y * y
        radial = 1.0 + r * (k1 + r * (k2 + r * k3))
        dx, dy = 2.0 * p1 * x * y + p2 * (r + 2.0 * x * x), p1 * (r + 2.0 * y * y) + 2.0 * p2 * x * y
        x, y = (seen[0] - dx) / radial, (seen[1] - dy) / radial
    return np.stack([x, y], axis=1)
