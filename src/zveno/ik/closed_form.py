"""Closed forms by canonical subproblems, where the geometry admits them: recognised, then solved in lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .closed_form_arms import REGIONAL, spherical_wrist, three_parallel
from .problem import Problem
from .six_revolute.compiled import compiled
from .six_revolute.polish import polish
from .six_revolute.route import targets
from .six_revolute.arm import merged
from .six_revolute.templates import FLIP, chain, rigid_inverse
from .solutions import Raw

TOLERANCE = 1e-9
"""Axes are parallel up to this angle, rad, and meet up to this distance over the arm's size; else the general method."""
EDGE = 1e-7
"""A margin down to minus this is taken for the edge of the workspace, and Newton's method decides."""


@dataclass(frozen=True, eq=False)
class Form:
    """A closed form that fits an arm.

    Attributes:
        name: for people.
        function: `spherical_wrist` or `three_parallel`.
        options: of the function.
        backwards: whether the arm is solved from its last joint to its first.
        h, a, e: axes (6, 3) of the arm, or of the arm walked backwards, with all angles zero.
        end: (4, 4) where the chain ends with all angles zero.
        links: L1 … L5, (5, 3, 4), and
        scale: by which all lengths have been multiplied.
    """

    name: str
    function: Callable
    options: tuple[tuple[str, str], ...]
    backwards: bool
    h: np.ndarray
    a: np.ndarray
    e: np.ndarray
    end: np.ndarray
    links: np.ndarray
    scale: float

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (n,) and solutions (n, 6) of targets X (k, 4, 4) in the arm's own lengths."""
        X = np.array(X)
        X[:, :3, 3] *= self.scale
        D = (FLIP @ rigid_inverse(X) @ FLIP if self.backwards else X) @ rigid_inverse(self.end)
        shapes = {"h": (6, 3), "a": (6, 3), "e": (6, 3), "R": (3, 3), "p": (3,)}
        kernel = compiled(self.function, shapes, **dict(self.options))
        q, margin = kernel(self.h, self.a, self.e, D[:, :3, :3], D[:, :3, 3])
        pose, branch = np.nonzero(margin > -EDGE)
        q = q[pose, branch]
        q, closed = polish(self.links, X[pose, :3], q[:, ::-1] if self.backwards else q, steps=30)
        return merged(pose[closed], q[closed])


class ClosedForm:
    """Arms of six revolute joints with a spherical wrist or shoulder, or three parallel axes."""

    name = "closed_form"

    def applies(self, problem: Problem) -> bool:
        """Six revolute joints of their own, a whole pose, and geometry that a closed form fits."""
        return (
            problem.kinds == "RRRRRR"
            and problem.simple
            and problem.task.is_pose
            and form_of(problem.constants[:6].tobytes()) is not None
        )

    def solve(self, problem: Problem, T: np.ndarray) -> Raw:
        """All solutions of poses (k, 4, 4)."""
        form = form_of(problem.constants[:6].tobytes())
        assert form is not None
        pose, q = form.solve(targets(problem, T))
        count = np.bincount(pose, minlength=len(T))
        x = np.full((len(T), max(count.max(initial=0), 1), 6), np.nan)
        x[pose, np.arange(len(pose)) - (np.cumsum(count) - count)[pose]] = q
        return Raw(x, count, np.ones(len(T), bool))

    def explain(self, problem: Problem) -> str:
        """Which closed form."""
        form = form_of(problem.constants[:6].tobytes())
        assert form is not None
        return f"Closed form by canonical subproblems: {form.name}. Eight branches, polished by Newton's method."


@lru_cache(maxsize=64)
def form_of(constants: bytes) -> Form | None:
    """The closed form that fits six links (6, 4, 4) given as bytes, or None."""
    L = np.frombuffer(constants).reshape(6, 4, 4).copy()
    L[0] = np.eye(4)
    size = np.linalg.norm(L[:, :3, 3], axis=1).sum()
    scale = 2.0 / size if size > 0 else 1.0
    L[:, :3, 3] *= scale
    reverse = np.concatenate([np.eye(4)[None], FLIP @ rigid_inverse(L[:0:-1]) @ FLIP])
    for links, backwards in ((L, False), (reverse, True)):
        h, a = _axes(links)
        found = _fits(h, a)
        if found is not None:
            name, function, options, a = found
            e = np.array([_across(axis) for axis in h])
            end = chain(links, np.zeros(6))
            where = " from the last joint to the first" if backwards else ""
            return Form(name + where, function, options, backwards, h, a, e, end, L[1:, :3].copy(), scale)
    return None


def _fits(h, a):
    """Name, function, options, and points on the axes with those that meet made equal."""
    wrist = _common([3, 4, 5], h, a)
    if wrist is not None and not _parallel(h[3], h[4]) and not _parallel(h[4], h[5]):
        a = np.concatenate([a[:3], [wrist] * 3])
        for name in REGIONAL:
            points = _regional(name, h, a)
            if points is not None:
                return f"spherical wrist, {name}", spherical_wrist, (("regional", name),), points
    meeting = _common([4, 5], h, a)
    if meeting is not None and _parallel(h[1], h[2]) and _parallel(h[2], h[3]) and not _parallel(h[4], h[5]):
        if not _parallel(h[0], h[1]) and not _parallel(h[3], h[4]):
            return "three parallel axes", three_parallel, (), np.concatenate([a[:4], [meeting] * 2])
    return None


def _regional(name: str, h, a):
    """Points on the axes if the first three fit a regional structure, None if not."""
    i, j = (0, 1) if name.startswith("first") else (1, 2)
    if name.endswith("parallel"):
        other = 2 if i == 0 else 0
        return a if _parallel(h[i], h[j]) and not _parallel(h[i], h[other]) else None
    point = _common([i, j], h, a)
    if point is None or _parallel(h[i], h[j]):
        return None
    a = a.copy()
    a[i] = a[j] = point
    return a


def _axes(L) -> tuple[np.ndarray, np.ndarray]:
    """Directions and points (6, 3) of the axes with all angles zero."""
    T, h, a = np.eye(4), [], []
    for i in range(6):
        T = T @ L[i]
        h.append(T[:3, 2])
        a.append(T[:3, 3])
    return np.array(h), np.array(a)


def _parallel(u, v) -> bool:
    return bool(np.linalg.norm(np.cross(u, v)) < TOLERANCE)


def _common(which, h, a) -> np.ndarray | None:
    """The point where axes meet, if they do."""
    projectors = [np.eye(3) - np.outer(h[i], h[i]) for i in which]
    A = np.sum(projectors, axis=0)
    if np.linalg.cond(A) > 1e12:
        return None
    point = np.linalg.solve(A, sum(P @ a[i] for P, i in zip(projectors, which, strict=True)))
    miss = max(np.linalg.norm(P @ (point - a[i])) for P, i in zip(projectors, which, strict=True))
    return point if miss < TOLERANCE else None


def _across(axis) -> np.ndarray:
    v = np.cross(axis, np.eye(3)[np.argmin(abs(axis))])
    return v / np.linalg.norm(v)


solver = ClosedForm()
