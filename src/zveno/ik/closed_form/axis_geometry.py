"""Special geometry of the axes of an arm, up to a tolerance: parallel axes, and axes that meet."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

TOLERANCE = 1e-13
"""Axes are parallel up to this angle, rad, and meet up to this distance, the links being 2 long together.

It is rounding of a model: an arm that is off by more has other solutions near its singularities, and more."""
_UNIT = np.eye(3)


def axes(L: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return directions and points (n, 3) of the axes with all coordinates zero."""
    T, h, a = np.eye(4), [], []
    for link in L:
        T = T @ link
        h.append(T[:3, 2])
        a.append(T[:3, 3])
    return np.array(h), np.array(a)


def parallel(u: Any, v: Any) -> bool:
    """Return True if directions are parallel, opposite ones included."""
    return _norm(_cross(u, v)) < TOLERANCE


def meeting_point(which: Any, h: Any, a: Any) -> np.ndarray | None:
    """Return the point where axes meet, if they do."""
    directions = h[which]
    projectors = _UNIT - directions[:, :, None] * directions[:, None, :]
    A = projectors.sum(axis=0)
    greatest, _, least = np.linalg.svd(A, compute_uv=False)
    if greatest > 1e12 * least:
        return None
    point = np.linalg.solve(A, sum(P @ a[i] for P, i in zip(projectors, which, strict=True)))
    miss = max(_norm(P @ (point - a[i])) for P, i in zip(projectors, which, strict=True))
    return point if miss < TOLERANCE else None


def across(axis: Any) -> np.ndarray:
    """Return a unit vector across an axis."""
    v = _cross(axis, _UNIT[np.argmin(abs(axis))])
    return v / _norm(v)


def _cross(u: Any, v: Any) -> np.ndarray:
    """Return u × v: a first answer needs a hundred of them, and NumPy's takes ten times as long."""
    (a, b, c), (x, y, z) = u, v
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def _norm(v: np.ndarray) -> float:
    return sqrt(v.dot(v))
