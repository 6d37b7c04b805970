"""Checking the poses asked for."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ShapeError, ZvenoWarning
from ..spatial.rotations import nearest_rotation
from .problem import Problem

LOOSE, EXACT = 1e-6, 1e-12
"""A rotation further than `LOOSE` from orthonormal is refused; beyond `EXACT` it is made exact, with a warning."""


def checked_targets(problem: Problem, T, name: str = "T_world_tool") -> tuple[np.ndarray, tuple[int, ...]]:
    """Targets as (k, 4, 4) of exact rotations, and the batch shape. Points (..., 3) will do for a position task."""
    try:
        T = np.array(T, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element=name) from None
    if (
        not problem.task.rotation
        and not problem.task.axis
        and T.ndim >= 1
        and T.shape[-1] == 3
        and T.shape[-2:] != (4, 4)
    ):
        points, T = T, np.zeros((*T.shape[:-1], 4, 4))
        T[...] = np.eye(4)
        T[..., :3, 3] = points
    if T.ndim < 2 or T.shape[-2:] != (4, 4):
        raise ShapeError(f"has shape {T.shape}", element=name, remedy="Give poses (..., 4, 4)")
    batch, T = T.shape[:-2], T.reshape(-1, 4, 4)
    if not np.isfinite(T).all():
        bad = int(np.flatnonzero(~np.isfinite(T).all(axis=(1, 2)))[0])
        raise ShapeError(f"pose {bad} holds NaN or infinity", element=name)
    if len(T) and np.max(np.abs(T[:, 3] - (0, 0, 0, 1))) > LOOSE:
        raise ShapeError("the last row of a pose is not 0 0 0 1", element=name, remedy="Give rigid transforms")
    R = T[:, :3, :3]
    off = np.max(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)), axis=(1, 2)) if len(T) else np.zeros(0)
    off = np.where(np.linalg.det(R) > 0, off, np.inf) if len(T) else off
    if len(T) and off.max() > LOOSE:
        bad = int(np.argmax(off > LOOSE))
        raise ShapeError(
            f"the rotation of pose {bad} is not one (RᵀR differs from 1 by {off[bad]:.2g})",
            element=name,
            remedy="Columns must be orthonormal and right-handed; see zveno.spatial.rotations.nearest_rotation",
        )
    loose = np.flatnonzero(off > EXACT)
    for i in loose:
        T[i, :3, :3] = nearest_rotation(R[i])
    if len(loose) and off.max() > 1e-9:
        warnings.warn(
            f"{len(loose)} rotation(s) were off by up to {off.max():.1e} and have been made orthonormal",
            ZvenoWarning,
            stacklevel=4,
        )
    T[:, 3] = (0, 0, 0, 1)
    return T, batch
