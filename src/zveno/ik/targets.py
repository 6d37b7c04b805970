"""Checking the poses asked for."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoWarning
from ..io.elementary import constant_transform, is_elementary_text
from ..io.text import Place
from ..io.units import Units
from ..kernels.door import compiled
from ..kernels.math import abs as absolute
from ..kernels.math import less, select
from ..spatial.rotations import from_quaternion, nearest_rotation
from ..spatial.vectors import cross
from .ik_problem import IkProblem
from .newton import Lanes

LOOSE, EXACT = 2e-3, 1e-12
"""A rotation further than `LOOSE` from orthonormal is refused: matrices printed with three or four digits are
nearer. Beyond `EXACT` it is made exact, with a warning where that is more than rounding."""
FORMS = (
    "poses (..., 4, 4) or (..., 3, 4), rows x y z qw qx qy qz (..., 7), a pair (positions, quaternions), "
    'or texts such as "Tx(0.4) Ry(90deg)"'
)


class Targets(NamedTuple):
    """Poses asked for, checked."""

    T: np.ndarray
    """(k, 4, 4), exact rotations."""
    lanes: Lanes
    """The same as solvers in lanes want them."""
    batch: tuple[int, ...]
    """Shape in which they were given."""


def checked_targets(problem: IkProblem, T: ArrayLike, name: str = "T_world_tool") -> Targets:
    """Targets of a problem, in any of `FORMS`. Points (..., 3) will do for a position task."""
    T = pose_array(T, name, points=not problem.task.rotation and not problem.task.axis)
    batch, T = T.shape[:-2], T.reshape(-1, 4, 4)
    placed, off = _placed(problem, T)
    if not (off.max() if len(off) else 0.0) <= EXACT:
        _made_exact(T, name)
        placed, _ = _placed(problem, T)
    return Targets(T, Lanes(placed, problem.tool), batch)


def pose_array(given: ArrayLike, name: str = "T_world_tool", points: bool = False) -> np.ndarray:
    """(..., 4, 4), a new array, from any of `FORMS`; from points (..., 3) too, where these will do."""
    if isinstance(given, str) and is_elementary_text(given):
        return constant_transform(given, Units(), Place(None, name), snap=True, notes=[])
    if (
        isinstance(given, list | tuple)
        and given
        and all(isinstance(text, str) and is_elementary_text(text) for text in given)
    ):
        return np.array([pose_array(text, name) for text in given])
    if isinstance(given, tuple) and len(given) == 2 and np.shape(given[0])[-1:] == (3,):
        p, quaternion = (_numbers(part, name) for part in given)
        if quaternion.shape[-1:] == (4,):
            lead = np.broadcast_shapes(p.shape[:-1], quaternion.shape[:-1])
            given = np.concatenate(
                [np.broadcast_to(p, (*lead, 3)), np.broadcast_to(quaternion, (*lead, 4))], axis=-1
            )
    array = _numbers(given, name)
    shape = array.shape
    if shape[-2:] == (4, 4):
        return array
    T = np.zeros((*shape[: -2 if shape[-2:] == (3, 4) else -1], 4, 4))
    T[...] = np.eye(4)
    if shape[-2:] == (3, 4):
        T[..., :3, :] = array
    elif shape[-1:] == (7,):
        T[..., :3, :3], T[..., :3, 3] = _rotations(array[..., 3:], name), array[..., :3]
    elif shape[-1:] == (3,) and points:
        T[..., :3, 3] = array
    else:
        raise ShapeError(f"has shape {shape}", element=name, remedy=f"Give {FORMS}")
    return T


def _numbers(given, name: str) -> np.ndarray:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element=name) from None


def _rotations(wxyz: np.ndarray, name: str) -> np.ndarray:
    """Rotations (..., 3, 3) of quaternions (..., 4), which must be unit to three digits."""
    norm = np.linalg.norm(wxyz, axis=-1)
    if not (abs(norm - 1.0) <= LOOSE).all():
        raise ShapeError("a quaternion is not of length 1", element=name, remedy="Give unit quaternions, wxyz")
    flat = (wxyz / norm[..., None]).reshape(-1, 4)
    return np.array([from_quaternion(quaternion) for quaternion in flat]).reshape(*wxyz.shape[:-1], 3, 3)


def place(T: Any, first: Any, scale: Any) -> Any:
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
    if np.max(np.abs(T[:, 3] - (0, 0, 0, 1))) > 1e-6:
        raise ShapeError("the last row of a pose is not 0 0 0 1", element=name, remedy="Give rigid transforms")
    R = T[:, :3, :3]
    off = np.max(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)), axis=(1, 2))
    off = np.where(np.linalg.det(R) > 0, off, np.inf)
    if off.max() > LOOSE:
        bad = int(np.argmax(off > LOOSE))
        raise ShapeError(
            f"the rotation of pose {bad} is not one (RᵀR differs from 1 by {off[bad]:.2g})",
            element=name,
            remedy="Columns must be orthonormal to three digits, and right-handed",
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
