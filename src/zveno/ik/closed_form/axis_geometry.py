"""What is special about the axes of an arm, up to a tolerance: which are parallel, which meet, and where."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""Axes are parallel up to this angle, rad, and meet up to this distance, the links being 2 long together."""


def axes(L: Any) -> tuple[np.ndarray, np.ndarray]:
    """Directions and points (n, 3) of the axes with all coordinates zero."""
    T, h, a = np.eye(4), [], []
    for link in L:
        T = T @ link
        h.append(T[:3, 2])
        a.append(T[:3, 3])
    return np.array(h), np.array(a)


def parallel(u: Any, v: Any) -> bool:
    """Whether directions are, opposite ones included."""
    return bool(np.linalg.norm(np.cross(u, v)) < TOLERANCE)


def meeting_point(which: Any, h: Any, a: Any) -> np.ndarray | None:
    """The point where axes meet, if they do."""
    projectors = [np.eye(3) - np.outer(h[i], h[i]) for i in which]
    A = np.sum(projectors, axis=0)
    if np.linalg.cond(A) > 1e12:
        return None
    point = np.linalg.solve(A, sum(P @ a[i] for P, i in zip(projectors, which, strict=True)))
    miss = max(np.linalg.norm(P @ (point - a[i])) for P, i in zip(projectors, which, strict=True))
    return point if miss < TOLERANCE else None


def across(axis: Any) -> np.ndarray:
    """A unit vector across an axis."""
    v = np.cross(axis, np.eye(3)[np.argmin(abs(axis))])
    return v / np.linalg.norm(v)
