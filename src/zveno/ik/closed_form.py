"""Closed forms by canonical subproblems, where the geometry admits them: recognised, then solved in lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from .closed_form_arms import REGIONAL, spherical_wrist, three_parallel
from .closed_form_sliding import STRUCTURES, scara, sliding_wrist
from .problem import Problem
from .six_revolute.arm import merged
from .six_revolute.compiled import compiled
from .six_revolute.polish import polish
from .six_revolute.route import arm_of, as_raw
from .six_revolute.templates import FLIP, chain, rigid_inverse
from .solutions import Raw

TOLERANCE = 1e-9
"""Axes are parallel up to this angle, rad, and meet up to this distance, the links being 2 long together."""
MEETING = 1e-14
"""Branches meet up to this margin: there may be a family, of which a closed form knows only some points."""
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
        end_inverse: (4, 4) inverse of where the chain ends with all angles zero.
        links: L1 … L5, (5, 3, 4), and
        scale: (1,) by which all lengths have been multiplied.

    Of several stacked forms these arrays have a leading axis.
    """

    name: str
    function: Callable
    options: tuple[tuple[str, str], ...]
    backwards: bool
    h: np.ndarray
    a: np.ndarray
    e: np.ndarray
    end_inverse: np.ndarray
    links: np.ndarray
    scale: np.ndarray

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses (n,), solutions (n, 6) of targets X (k, 4, 4) in the arm's lengths; (k,) where branches meet."""
        X = np.array(X)
        X[:, :3, 3] *= self.scale
        D = (FLIP @ rigid_inverse(X) @ FLIP if self.backwards else X) @ self.end_inverse
        q, margin, gap = _kernel(self.function, 6, self.options)(self.h, self.a, self.e, D[:, :3, :3], D[:, :3, 3])
        meeting = (gap < MEETING).any(1)
        pose, branch = (margin > -EDGE).nonzero()
        q = q[pose, branch]
        links = self.links if self.links.ndim == 3 else self.links[pose]
        q, closed = polish(links, X[pose, :3], q[:, ::-1] if self.backwards else q, steps=30)
        if not closed.all():
            pose, q = pose[closed], q[closed]
        return *merged(pose, q), meeting

    def of(self, which: np.ndarray) -> Form:
        """Some of several stacked forms, perhaps repeatedly, one for each target."""
        return replace(self, **{name: getattr(self, name)[which] for name in _PER_ARM})

    def like(self, other: Form) -> bool:
        """Whether both are the same formula, for arms of other lengths."""
        return (self.function, self.options, self.backwards) == (other.function, other.options, other.backwards)


_PER_ARM = ("h", "a", "e", "end_inverse", "links", "scale")


def stacked(forms: list[Form]) -> Form:
    """Forms that are all `like` the first as one, for as many targets as there are forms."""
    return replace(forms[0], **{name: np.stack([getattr(form, name) for form in forms]) for name in _PER_ARM})


@cache
def _kernel(function: Callable, n: int, options: tuple):
    shapes = {"h": (n, 3), "a": (n, 3), "e": (n, 3), "R": (3, 3), "p": (3,)}
    return compiled(function, shapes, **dict(options))


@dataclass(frozen=True, eq=False)
class SlidingForm:
    """A closed form of an arm with sliding joints; fields as those of `Form`."""

    name: str
    function: Callable
    options: tuple[tuple[str, str | int], ...]
    h: np.ndarray
    a: np.ndarray
    e: np.ndarray
    end_inverse: np.ndarray

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses (n,) and solutions (n, joints) of targets X (k, 4, 4), and where branches meet."""
        D = X @ self.end_inverse
        kernel = _kernel(self.function, len(self.h), self.options)
        x, margin, gap = kernel(self.h, self.a, self.e, D[:, :3, :3], D[:, :3, 3])
        pose, branch = (margin > -EDGE).nonzero()
        return pose, x[pose, branch], (gap < MEETING).any(1)


class ClosedForm:
    """Arms that canonical subproblems solve: wrists or shoulders whose axes meet, parallel axes, SCARA."""

    name = "closed_form"

    def applies(self, problem: Problem) -> bool:
        """Joints of their own, a whole pose, and geometry that a closed form fits."""
        return problem.simple and problem.task.is_pose and _form(problem) is not None

    def solve(self, problem: Problem, T: np.ndarray) -> Raw:
        """All solutions of poses (k, 4, 4). Where branches meet, the general method has its say too."""
        before, after = problem.end_transforms
        X = before @ T @ after
        if problem.kinds == "RRRRRR":
            return as_raw(*all_solutions(problem.constants[:6].tobytes(), X))
        form = _form(problem)
        assert form is not None
        pose, q, meeting = form.solve(X)
        return as_raw(pose, q, ~meeting)

    def explain(self, problem: Problem) -> str:
        """Which closed form."""
        form = _form(problem)
        assert form is not None
        return f"Closed form by canonical subproblems: {form.name}."


def all_solutions(links: bytes, X: np.ndarray, allowed=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses (n,) and solutions (n, 6) of an arm of six links for targets X (k, 4, 4); (k,) whether complete.

    By the closed form if the arm has one; by the general method if not, and where branches of a closed form meet.
    """
    form = form_of(links)
    if form is None:
        found = arm_of(links).solve(X, allowed)
        return found.pose, found.q, found.sure
    pose, q, meeting = form.solve(X)
    complete = ~meeting
    if meeting.any():
        arm = arm_of(links)
        if arm.solvable:
            more = arm.solve(X[meeting], allowed)
            complete[meeting] = more.sure
            pose = np.concatenate([pose, meeting.nonzero()[0][more.pose]])
            pose, q = merged(pose, np.concatenate([q, more.q]))
    return pose, q, complete


def _form(problem: Problem) -> Form | SlidingForm | None:
    if problem.kinds == "RRRRRR":
        return form_of(problem.constants[:6].tobytes())
    return sliding_form_of(problem.kinds, problem.constants[:-1].tobytes())


@lru_cache(maxsize=64)
def sliding_form_of(kinds: str, constants: bytes) -> SlidingForm | None:
    """The closed form that fits an arm with sliding joints, C0 … of all joints given as bytes, or None."""
    if "P" not in kinds or set(kinds) != {"R", "P"} or len(kinds) not in (4, 6):
        return None
    L = np.frombuffer(constants).reshape(-1, 4, 4).copy()
    L[0] = np.eye(4)
    h, a = _axes(L)
    e = np.array([_across(axis) for axis in h])
    end = L[0]
    for link in L[1:]:
        end = end @ link
    end = rigid_inverse(end)
    size = max(np.linalg.norm(L[:, :3, 3], axis=1).sum(), 1e-12)
    if sorted(kinds) == ["P", "R", "R", "R"] and all(_parallel(h[0], axis) for axis in h[1:]):
        slide = kinds.index("P")
        return SlidingForm("three parallel axes and a slide along them", scara, (("slide", slide),), h, a, e, end)
    wrist = _common([3, 4, 5], h, a / size) if kinds[3:] == "RRR" and len(kinds) == 6 else None
    if wrist is None or _parallel(h[3], h[4]) or _parallel(h[4], h[5]):
        return None
    a = np.concatenate([a[:3], [wrist * size] * 3])
    for name, (pattern, _) in STRUCTURES.items():
        points = _sliding_structure(name, h, a, size) if pattern == kinds[:3] else None
        if points is not None:
            return SlidingForm(f"{name}, spherical wrist", sliding_wrist, (("structure", name),), h, points, e, end)
    return None


def _sliding_structure(name: str, h, a, size: float):
    """Points on the axes if the first three joints have the structure, None if not."""
    if name.startswith("three"):
        return a if abs(np.linalg.det(h[:3])) > 1e-6 else None
    if name.startswith("one"):
        return a if np.hypot(h[0] @ h[1], h[0] @ h[2]) > 1e-6 and not _parallel(h[1], h[2]) else None
    if name.startswith("two parallel"):
        return a if _parallel(h[0], h[1]) and abs(h[0] @ h[2]) > 1e-6 else None
    point = None if _parallel(h[0], h[1]) else _common([0, 1], h, a / size)
    return None if point is None else np.concatenate([[point * size] * 2, a[2:]])


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
            end = rigid_inverse(chain(links, np.zeros(6)))
            where = " from the last joint to the first" if backwards else ""
            return Form(
                name + where, function, options, backwards, h, a, e, end, L[1:, :3].copy(), np.array([scale])
            )
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
    parallel = [_parallel(h[i], h[i + 1]) for i in range(5)]
    if meeting is not None and parallel == [False, True, True, False, False]:
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
    """Directions and points (n, 3) of the axes with all coordinates zero."""
    T, h, a = np.eye(4), [], []
    for link in L:
        T = T @ link
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
