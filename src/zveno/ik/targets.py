"""Checking the poses asked for."""

from __future__ import annotations

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np

from ..errors import ShapeError, ZvenoWarning
from ..kernels.door import compiled
from ..kernels.math import abs as absolute
from ..kernels.math import less, select
from ..spatial.rotations import nearest_rotation
from ..spatial.vectors import cross
from .ik_problem import IkProblem
from .newton import Lanes

LOOSE, EXACT = 1e-6, 1e-12
"""A rotation further than `LOOSE` from orthonormal is refused; beyond `EXACT` it is made exact, with a warning."""


class Targets(NamedTuple):
    """Poses asked for, checked."""

    T: np.ndarray
    """(k, 4, 4), exact rotations."""
    lanes: Lanes
    """The same as solvers in lanes want them."""
    batch: tuple[int, ...]
    """Shape in which they were given."""


def checked_targets(problem: IkProblem, T, name: str = "T_world_tool") -> Targets:
    """Targets of a problem. Points (..., 3) will do for a position task."""
    try:
        T = np.array(T, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element=name) from None
    shape = T.shape
    if shape[-2:] != (4, 4):
        points_will_do = not problem.task.rotation and not problem.task.axis
        if len(shape) < 1 or shape[-1] != 3 or not points_will_do:
            raise ShapeError(f"has shape {shape}", element=name, remedy="Give poses (..., 4, 4)")
        points, T = T, np.zeros((*shape[:-1], 4, 4))
        T[...] = np.eye(4)
        T[..., :3, 3] = points
    batch, T = T.shape[:-2], T.reshape(-1, 4, 4)
    placed, off = _placed(problem, T)
    if not (off.max() if len(off) else 0.0) <= EXACT:
        _made_exact(T, name)
        placed, _ = _placed(problem, T)
    return Targets(T, Lanes(placed, problem.tool), batch)


def place(T, first, scale):
    """The target (3, 4) seen through `first` (3, 4), lengths scaled, and how far T (4, 4) is from rigid.

    The measure is 1 or more for reflections, and not a number, or infinite, where an entry is.
    """
    R, p = T[:3, :3], T[:3, 3]
    seen = np.concatenate([first[:, :3] @ R, ((first[:, :3] @ p + first[:, 3]) * scale)[:, None]], axis=1)
    off = sum(absolute(R[:, i] @ R[:, j] - float(i == j)) for i in range(3) for j in range(i + 1))
    row = sum(absolute(T[3, j] - float(j == 3)) for j in range(4))
    size = absolute(p[0]) + absolute(p[1]) + absolute(p[2])
    off = off + 1e30 * row + 1e-300 * size
    return seen, select(less(R[:, 0] @ cross(R[:, 1], R[:, 2]), 0.0), off + 1.0, off)


def _placed(problem: IkProblem, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _kernel()(T, *problem.placement)


@cache
def _kernel():
    return compiled(place, {"T": (4, 4), "first": (3, 4), "scale": ()})


def _made_exact(T: np.ndarray, name: str):
    """T (k, 4, 4) made rigid in place where it nearly is; refused with the reason where it is not."""
    if not np.isfinite(T).all():
        bad = int(np.flatnonzero(~np.isfinite(T).all(axis=(1, 2)))[0])
        raise ShapeError(f"pose {bad} holds NaN or infinity", element=name)
    if np.max(np.abs(T[:, 3] - (0, 0, 0, 1))) > LOOSE:
        raise ShapeError("the last row of a pose is not 0 0 0 1", element=name, remedy="Give rigid transforms")
    R = T[:, :3, :3]
    off = np.max(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)), axis=(1, 2))
    off = np.where(np.linalg.det(R) > 0, off, np.inf)
    if off.max() > LOOSE:
        bad = int(np.argmax(off > LOOSE))
        raise ShapeError(
            f"the rotation of pose {bad} is not one (RᵀR differs from 1 by {off[bad]:.2g})",
            element=name,
            remedy="Columns must be orthonormal and right-handed; see zveno.rotations.nearest_rotation",
        )
    loose = np.flatnonzero(off > EXACT)
    for i in loose:
        T[i, :3, :3] = nearest_rotation(R[i])
    if len(loose) and off.max() > 1e-9:
        warnings.warn(
            f"{len(loose)} rotation(s) were off by up to {off.max():.1e} and have been made orthonormal",
            ZvenoWarning,
            stacklevel=5,
        )
    T[:, 3] = (0, 0, 0, 1)
