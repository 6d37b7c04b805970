"""Checks of the requested poses."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoWarning
from ..io.elementary import constant_transform, is_elementary_text
from ..io.expressions import Place, Units
from ..kernels.compile import compiled
from ..kernels.ops import abs as absolute
from ..kernels.ops import less, where
from ..spatial.rotations import from_quaternion
from ..spatial.vectors import cross, real_array
from .ik_problem import IkProblem
from .newton import Lanes

LOOSE, EXACT = 2e-3, 1e-12
"""A rotation further than `LOOSE` from orthonormal is refused: matrices printed with three or four digits are
nearer. Beyond `EXACT` it is made exact, with a warning where that is more than rounding."""
_POLAR_STEPS, _POSE, _FLOAT = 3, (4, 4), np.dtype(float)
FORMS = (
    "poses (..., 4, 4) or (..., 3, 4), rows x y z qw qx qy qz (..., 7), a pair (positions, quaternions), "
    'or texts such as "Tx(0.4) Ry(90deg)"'
)


class Targets(NamedTuple):
    """Requested poses, checked."""

    T: np.ndarray
    """(k, 4, 4), exact rotations."""
    lanes: Lanes
    """The same in the form of solvers in lanes."""
    batch: tuple[int, ...]
    """Shape in which they were given."""


def poses_asked(problem: IkProblem, T: ArrayLike, name: str = "target") -> np.ndarray:
    """Return poses (..., 4, 4) in doubles from any of `FORMS`, or from points (..., 3) for a position task.

    Numbers of few digits are made rigid here; doubles are checked later.
    """
    if type(T) is np.ndarray and T.dtype == _FLOAT and T.shape[-2:] == _POSE:
        return T
    poses = pose_array(T, name, points=not problem.task.rotation and not problem.task.axis)
    dtype = getattr(T, "dtype", poses.dtype)
    if dtype != poses.dtype:
        return made_exact(poses, name, float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0)
    return poses


def checked_targets(problem: IkProblem, T: ArrayLike, name: str = "target") -> Targets:
    """Check targets of a problem, in any of `FORMS`. A position task also takes points (..., 3)."""
    poses = poses_asked(problem, T, name)
    poses = poses.copy() if poses is T else poses  # the caller may change its own array
    batch, T = poses.shape[:-2], poses.reshape(-1, 4, 4)
    seen, off = placed(problem, T)
    if not (off.max() if len(off) else 0.0) <= EXACT:
        T = made_exact(T, name)
        seen, _ = placed(problem, T)
    return Targets(T, Lanes(seen, problem.tool), batch)


def pose_array(given: ArrayLike, name: str = "target", points: bool = False) -> np.ndarray:
    """Return a new array (..., 4, 4) from any of `FORMS`; also from points (..., 3) if `points`."""
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
        return real_array(given)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element=name) from None


def _rotations(wxyz: np.ndarray, name: str) -> np.ndarray:
    """Return rotations (..., 3, 3) of quaternions (..., 4), which must be unit to three digits."""
    norm = np.linalg.norm(wxyz, axis=-1)
    if not (abs(norm - 1.0) <= LOOSE).all():
        raise ShapeError("a quaternion is not of length 1", element=name, remedy="Give unit quaternions, wxyz")
    flat = (wxyz / norm[..., None]).reshape(-1, 4)
    return np.array([from_quaternion(quaternion) for quaternion in flat]).reshape(*wxyz.shape[:-1], 3, 3)


def place(T: Any, first: Any, scale: Any) -> Any:
    """Return the target (3, 4) seen through `first` (3, 4), lengths scaled, and the rigidity error of T (4, 4).

    The measure is 1 or more for reflections, and not a number, or infinite, where an entry is.
    """
    R, p = T[:3, :3], T[:3, 3]
    seen = np.concatenate([first[:, :3] @ R, ((first[:, :3] @ p + first[:, 3]) * scale)[:, None]], axis=1)
    off = sum(absolute(R[:, i] @ R[:, j] - float(i == j)) for i in range(3) for j in range(i + 1))
    row = sum(absolute(T[3, j] - float(j == 3)) for j in range(4))
    size = absolute(p[0]) + absolute(p[1]) + absolute(p[2])
    off = off + 1e30 * row + 1e-300 * size
    return seen, where(less(R[:, 0] @ cross(R[:, 1], R[:, 2]), 0.0), off + 1.0, off)


def placed(problem: IkProblem, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return targets (..., 3, 4) in solvers' form, and deviations of poses (..., 4, 4) from rigid, see `place`."""
    return _kernel()(T, *problem.placement)


@cache
def _kernel():
    return compiled(place, {"T": (4, 4), "first": (3, 4), "scale": ()})


def made_exact(T: np.ndarray, name: str, epsilon: float = 0.0) -> np.ndarray:
    """Replace nearly exact rotations of poses (..., 4, 4) by the nearest exact ones; raise if not rigid.

    A warning is given where that is more than rounding, of size `epsilon` if numbers had fewer digits.
    """
    rigid, off = _polar_kernel()(T)
    if not off.size or off.max() <= 16.0 * epsilon:
        return rigid
    off = _deviations(T.reshape(-1, 4, 4), name).reshape(T.shape[:-2])
    worst = float(off.max())
    if worst > 1e-9:
        warnings.warn(
            f"{int((off > EXACT).sum())} rotation(s) were off by up to {worst:.1e} and have been made orthonormal",
            ZvenoWarning,
            stacklevel=5,
        )
    exact = np.where(off[..., None, None] > EXACT, rigid, T)
    exact[..., 3, :] = rigid[..., 3, :]
    return exact


def polar(T: Any) -> Any:
    """Return T (4, 4) with the nearest rotation, and the deviation from orthonormal, as in `place`.

    Newton's and Schulz's iteration: the number of digits doubles with every step.
    """
    _, off = place(T, np.eye(4)[:3], 1.0)
    R = T[:3, :3]
    for _ in range(_POLAR_STEPS):
        R = 0.5 * (R @ (3.0 * np.eye(3) - R.T @ R))
    rigid = np.concatenate([np.concatenate([R, T[:3, 3:]], axis=1), np.eye(4)[3:]])
    return rigid, off


@cache
def _polar_kernel():
    return compiled(polar, {"T": (4, 4)}, name="ik_polar")


def _deviations(T: np.ndarray, name: str) -> np.ndarray:
    """Return deviations (k,) of rotations of poses (k, 4, 4) from orthonormal; raise for the first non-rotation."""
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
    return off
