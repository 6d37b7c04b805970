"""Initial values of a camera's and a board's frame from images: poses of the board, or all images of one marker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import ZvenoError
from ...spatial.rotations import nearest_rotation
from ...spatial.transforms import inverse, transform
from ..model.batches import inverses
from .start_values import StartData, frames_of_poses

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
