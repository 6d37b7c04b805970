"""Closed-form initial values of unknown frames and targets, from poses of the nominal robot and readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...fit.triangle import triangle
from ...spatial.rotations import nearest_rotation
from ...spatial.transforms import transform
from ..model.batches import inverses


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
