"""Closed forms of arms with sliding joints, and of three joints that bring a point to a point: which one fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from ..six_revolute.templates import rigid_inverse
from .axis_geometry import across, axes, meeting_point, parallel
from .point_forms import PointForm, point_form
from .sliding_arms import STRUCTURES, scara, sliding_wrist
from .subproblems import turned
from .turns_then_slides import turns_then_slides

MEETING = 1e-14
"""Branches meet up to this margin: there may be a family, of which a closed form knows only some points."""
REAL = -1e-12
"""A branch with a margin above this exists; if Newton's method does not close it, that must not go unsaid."""
EDGE = 1e-7
"""A margin down to minus this is taken for the edge of the workspace, and Newton's method decides."""
REACHED = 1e-14
"""Squared error of a pose, relative to its size, up to which an arm of fewer joints is taken to reach it."""


@cache
def branch_kernel(function: Callable[..., Any], n: int, options: tuple[Any, ...]) -> Any:
    """Return the kernel of a function of axes and a displacement."""
    shapes = {"h": (n, 3), "a": (n, 3), "e": (n, 3), "R": (3, 3), "p": (3,)}
    return compiled(function, shapes, options=dict(options))


@dataclass(frozen=True, eq=False)
class SlidingForm:
    """A closed form of an arm with sliding joints: a function of axes and of the displacement of the last link.

    Attributes:
        name: for people.
        function: gives branches, margins and, some of them, errors.
        options: of the function.
        h, a, e: axes (n, 3) with all coordinates zero, and unit vectors across them.
        end_inverse: (4, 4) inverse of where the chain ends with all coordinates zero.
    """

    name: str
    function: Callable[..., Any]
    options: tuple[tuple[str, str | int], ...]
    h: np.ndarray
    a: np.ndarray
    e: np.ndarray
    end_inverse: np.ndarray

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return poses (n,) and solutions (n, joints) of targets X (k, 4, 4), and where branches meet."""
        D = X @ self.end_inverse
        kernel = branch_kernel(self.function, len(self.h), self.options)
        x, margin, gap, *error = kernel(self.h, self.a, self.e, D[:, :3, :3], D[:, :3, 3])
        good = margin > -EDGE
        if error:
            size = 1.0 + (D[:, :3, 3] ** 2).sum(1) + (self.a**2).sum()
            good &= error[0] < REACHED * size[:, None]
        pose, branch = good.nonzero()
        return pose, x[pose, branch], (gap < MEETING).any(1)


@dataclass(frozen=True, eq=False)
class WristForm:
    """Three joints of any kind and geometry, and a wrist whose axes meet in the point that these move."""

    name: str
    region: PointForm
    h: np.ndarray
    e: np.ndarray
    end_inverse: np.ndarray


@dataclass(frozen=True, eq=False)
class PointsForm:
    """Three joints that bring a point to a point in any orientation."""

    name: str
    region: PointForm


@lru_cache(maxsize=64)
def points_form_of(kinds: str, constants: bytes) -> PointsForm | None:
    """Return the form of three joints for a position task, C0 … C3 given as bytes, or None."""
    if len(kinds) != 3 or not set(kinds) <= {"R", "P"}:
        return None
    L = np.frombuffer(constants).reshape(-1, 4, 4).copy()
    L[0] = np.eye(4)
    h, a = axes(L)
    region = point_form(kinds, h[:3], a[:3], a[3])
    names = {"R": "turn", "P": "slide"}
    parts = ", ".join(names[kind] for kind in kinds)
    return None if region is None else PointsForm(f"a point by {parts}, zeros of one polynomial", region)


@lru_cache(maxsize=64)
def sliding_form_of(kinds: str, constants: bytes) -> SlidingForm | WristForm | None:
    """Return the closed form that fits an arm with prismatic joints, C0 … of all joints given as bytes, or None."""
    if "P" not in kinds or not set(kinds) <= {"R", "P"} or not 3 <= len(kinds) <= 6:
        return None
    L = np.frombuffer(constants).reshape(-1, 4, 4).copy()
    L[0] = np.eye(4)
    h, a = axes(L)
    e = np.array([across(axis) for axis in h])
    end = L[0]
    for link in L[1:]:
        end = end @ link
    end = rigid_inverse(end)
    size = max(np.linalg.norm(L[:, :3, 3], axis=1).sum(), 1e-12)
    if sorted(kinds) == ["P", "R", "R", "R"] and all(parallel(h[0], axis) for axis in h[1:]):
        slide = kinds.index("P")
        return SlidingForm("three parallel axes and a slide along them", scara, (("slide", slide),), h, a, e, end)
    wrist = meeting_point([3, 4, 5], h, a / size) if kinds[3:] == "RRR" and len(kinds) == 6 else None
    if wrist is None or parallel(h[3], h[4]) or parallel(h[4], h[5]):
        if _turns_determined(kinds, h):
            name = f"{kinds.count('R') or 'no'} turns from the rotation, then {kinds.count('P')} slides"
            return SlidingForm(name, turns_then_slides, (("kinds", kinds),), h, a, e, end)
        return None
    a = np.concatenate([a[:3], [wrist * size] * 3])
    for name, (pattern, _) in STRUCTURES.items():
        points = _sliding_structure(name, h, a, size) if pattern == kinds[:3] else None
        if points is not None:
            return SlidingForm(f"{name}, spherical wrist", sliding_wrist, (("structure", name),), h, points, e, end)
    region = point_form(kinds[:3], h[:3], a[:3], a[3])
    return None if region is None else WristForm(f"{kinds[:3]} of any geometry, spherical wrist", region, h, e, end)


def _turns_determined(kinds: str, h) -> bool:
    """Return True if the rotation determines the turns, and these the slides, in general."""
    turning = [i for i, kind in enumerate(kinds) if kind == "R"]
    slides = [i for i, kind in enumerate(kinds) if kind == "P"]
    if len(turning) > 3 or len(slides) > 3 or any(parallel(h[i], h[j]) for i, j in pairwise(turning)):
        return False
    rng = np.random.default_rng(0)
    for angles in rng.uniform(-3, 3, (3, len(kinds))):
        directions = []
        for i in slides:
            d = h[i]
            for j in reversed([j for j in turning if j < i]):
                d = turned(h[j], (np.cos(angles[j]), np.sin(angles[j])), d)
            directions.append(d)
        if np.linalg.svd(np.array(directions), compute_uv=False)[-1] > 1e-6:
            return True
    return False


def _sliding_structure(name: str, h, a, size: float):
    """Return points on the axes if the first three joints have the structure, None if not."""
    if name.startswith("three"):
        return a if abs(np.linalg.det(h[:3])) > 1e-6 else None
    if name.startswith("one"):
        return a if np.hypot(h[0] @ h[1], h[0] @ h[2]) > 1e-6 and not parallel(h[1], h[2]) else None
    if name.startswith("two parallel"):
        return a if parallel(h[0], h[1]) and abs(h[0] @ h[2]) > 1e-6 else None
    point = None if parallel(h[0], h[1]) else meeting_point([0, 1], h, a / size)
    return None if point is None else np.concatenate([[point * size] * 2, a[2:]])
