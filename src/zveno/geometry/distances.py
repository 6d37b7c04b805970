"""Distances of shapes: closest points of segments, and contact points, gaps and normals of pairs of shapes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.ops import abs as magnitude
from ..kernels.ops import greater, less, less_equal, maximum, minimum, sign, sqrt, where
from .shapes import Box, Capsule, Shape, Sphere

PARALLEL = 1e-12
"""Squared sine below which segments count as parallel; the first end of one is then used."""
NO_LENGTH = 1e-300
"""Minimum squared length, which avoids division by zero for points."""


def segment_distance(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """Shortest distance between segments a0–a1 and b0–b1, (...,) for points (..., 3)."""
    a, b = closest_points(a0, a1, b0, b1)
    return sqrt(_dot(a - b, a - b))


def closest_points(a0: Any, a1: Any, b0: Any, b1: Any) -> tuple[Any, Any]:
    """Closest points of the segments a0–a1 and b0–b1, (..., 3) each."""
    s, t = closest_shares(a0, a1, b0, b1)
    return a0 + np.expand_dims(s, -1) * (a1 - a0), b0 + np.expand_dims(t, -1) * (b1 - b0)


def closest_shares(a0: Any, a1: Any, b0: Any, b1: Any) -> tuple[Any, Any]:
    """Parameters s, t in [0, 1], (...), of the closest points of the segments a0–a1 and b0–b1."""
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    uw, vw = _dot(u, w), _dot(v, w)
    determinant = uu * vv - uv * uv
    parallel = less_equal(determinant, PARALLEL * uu * vv)
    s = where(parallel, 0.0, _within((uv * vw - vv * uw) / where(parallel, 1.0, determinant)))
    # The best t for this s, then the best s for the clamped t: sufficient, since the distance is convex in (s, t).
    t = _within((uv * s + vw) / maximum(vv, NO_LENGTH))
    return _within((uv * t - uw) / maximum(uu, NO_LENGTH)), t


def _within(share: Any) -> Any:
    return minimum(maximum(share, 0.0), 1.0)


def _dot(a: Any, b: Any) -> Any:
    return (a * b).sum(-1)


TINY = 1e-24
"""Added to squared distances, m², whose root is divided by."""
ROUNDS = 3
"""Number of projections between two rectangles that bring corners of two faces together."""


class Touch(NamedTuple):
    """Possible contact point of two bodies, in world axes."""

    gap: Any
    """m, negative where they penetrate"""
    normal: Any
    """(3,), from the second body or the ground to the first"""
    point: Any
    """(3,)"""


def touches_of_pair(
    first: Shape, T_first: Any, second: Shape | None, T_second: Any, element: str = "contact"
) -> list[Touch]:
    """Return the possible contact points of two shapes at poses (4, 4); refuse unsupported pairs."""
    meet = _PAIRS.get((type(first), type(second)))
    if meet is not None:
        return meet(first, T_first, second, T_second)
    swapped = _PAIRS.get((type(second), type(first)))
    if swapped is None:
        known = ", ".join(f"{a.__name__}–{b.__name__}" for a, b in _PAIRS)
        raise ModelError(
            f"{type(first).__name__} against {type(second).__name__} is not known",
            element=element,
            remedy=f"Known pairs: {known}",
        )
    return [Touch(gap, -normal, point) for gap, normal, point in swapped(second, T_second, first, T_first)]


def _balls(p: Any, r: float, q: Any, s: float) -> Touch:
    """Return the contact point of balls at p and q with the radii r and s."""
    apart = p - q
    distance = sqrt(apart @ apart + TINY)
    normal = apart * (1.0 / distance)
    gap = distance - (r + s)
    return Touch(gap, normal, p - normal * (r + 0.5 * gap))


def _spheres(first: Sphere, T_first: Any, second: Sphere, T_second: Any) -> list[Touch]:
    (a,), (b,) = first.balls(T_first), second.balls(T_second)
    return [_balls(a.center, a.radius, b.center, b.radius)]


def _ends(capsule: Capsule, T: Any) -> tuple[Any, Any]:
    start, end, _ = capsule.balls(T)
    return start.center, end.center


def _sphere_capsule(first: Sphere, T_first: Any, second: Capsule, T_second: Any) -> list[Touch]:
    (ball,) = first.balls(T_first)
    start, end = _ends(second, T_second)
    along = end - start
    share = minimum(maximum((ball.center - start) @ along / (along @ along + TINY), 0.0), 1.0)
    return [_balls(ball.center, ball.radius, start + along * share, float(second.radius))]


def _capsules(first: Capsule, T_first: Any, second: Capsule, T_second: Any) -> list[Touch]:
    """Return the nearest points of two segments (Ericson 2005, 5.1.9); for parallel ones, one of many."""
    (p, p_end), (q, q_end) = _ends(first, T_first), _ends(second, T_second)
    near, far = closest_points(p, p_end, q, q_end)
    return [_balls(near, float(first.radius), far, float(second.radius))]


def _sphere_box(first: Sphere, T_first: Any, second: Box, T_second: Any) -> list[Touch]:
    """Return the nearest point of the box; a centre inside it exits through the nearest face."""
    (ball,) = first.balls(T_first)
    T = T_second @ np.asarray(second.placement, dtype=float)
    R, half = T[:3, :3], second.half
    local = R.T @ (ball.center - T[:3, 3])
    clamped = np.array([minimum(maximum(x, -b), b) for x, b in zip(local, half, strict=True)])
    apart = local - clamped
    outside = apart @ apart
    depths = [b - magnitude(x) for x, b in zip(local, half, strict=True)]
    best, axis = depths[0], [1.0, 0.0, 0.0]
    for k in (1, 2):
        nearer = less(depths[k], best)
        axis = [where(nearer, float(j == k), entry) for j, entry in enumerate(axis)]
        best = where(nearer, depths[k], best)
    out = np.array([entry * where(less(x, 0.0), -1.0, 1.0) for entry, x in zip(axis, local, strict=True)])
    away = greater(outside, TINY)
    length = sqrt(outside + TINY)
    normal = R @ np.array([where(away, a / length, b) for a, b in zip(apart, out, strict=True)])
    gap = where(away, length, -best) - ball.radius
    return [Touch(gap, normal, ball.center - normal * (ball.radius + 0.5 * gap))]


class _Face(NamedTuple):
    """Face of a box: its middle, and two edges from there to its border."""

    middle: Any
    edges: tuple[Any, Any]
    """unit vectors (3,)"""
    halves: tuple[Any, Any]

    def nearest(self, p: Any) -> Any:
        """Return the point of the face that is nearest to p, (3,)."""
        point, apart = self.middle, p - self.middle
        for edge, half in zip(self.edges, self.halves, strict=True):
            point = point + edge * minimum(maximum(edge @ apart, -half), half)
        return point


def _boxes(first: Box, T_first: Any, second: Box, T_second: Any) -> list[Touch]:
    """Return four contact points between the two faces that face each other.

    The normal is that of the face of either box with the largest separation. From the corners of the first box's
    face, projections from one face to the other and back lead to nearest points of the two (von Neumann).
    """
    A, B = (T @ np.asarray(box.placement, dtype=float) for box, T in ((first, T_first), (second, T_second)))
    apart = A[:3, 3] - B[:3, 3]
    best: Any = -np.inf
    normal: Any = np.array([0.0, 0.0, 1.0])
    for axis in (*B[:3, :3].T, *A[:3, :3].T):
        reach = sum(
            half * magnitude(axis @ T[:3, k])
            for box, T in ((first, A), (second, B))
            for k, half in enumerate(box.half)
        )
        along = axis @ apart
        gap = magnitude(along) - reach
        wider = greater(gap, best + 1e-9)  # the first of two parallel faces, so that the normal does not jump
        side = where(less(along, 0.0), -1.0, 1.0)
        normal = np.array([where(wider, side * a, n) for a, n in zip(axis, normal, strict=True)])
        best = where(wider, gap, best)
    upper, lower = _face(A, first.half, -normal), _face(B, second.half, normal)
    touches = []
    for u, v in product((-1.0, 1.0), repeat=2):
        p = upper.middle + upper.edges[0] * (u * upper.halves[0]) + upper.edges[1] * (v * upper.halves[1])
        q = lower.nearest(p)
        for _ in range(ROUNDS):
            p = upper.nearest(q)
            q = lower.nearest(p)
        touches.append(Touch((p - q) @ normal, normal, 0.5 * (p + q)))
    return touches


def _face(T: Any, half: np.ndarray, direction: Any) -> _Face:
    """Return the face of a box at T whose normal is closest to a direction."""
    axes = T[:3, :3].T
    components = [axis @ direction for axis in axes]
    # Turn the axes so that the first one is across the face: one of three choices.
    across, edges, halves = axes[0], (axes[1], axes[2]), (half[1], half[2])
    component, depth = components[0], half[0]
    for k in (1, 2):
        more = greater(magnitude(components[k]), magnitude(component) + 1e-9)
        i, j = (k + 1) % 3, (k + 2) % 3
        across, depth = _chosen(more, axes[k], across), where(more, half[k], depth)
        edges = (_chosen(more, axes[i], edges[0]), _chosen(more, axes[j], edges[1]))
        halves = (where(more, half[i], halves[0]), where(more, half[j], halves[1]))
        component = where(more, components[k], component)
    return _Face(T[:3, 3] + across * (depth * sign(component)), edges, halves)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    return np.array([where(condition, x, y) for x, y in zip(a, b, strict=True)])


_PAIRS: dict[Any, Callable[..., list[Touch]]] = {
    (Sphere, Sphere): _spheres,
    (Sphere, Capsule): _sphere_capsule,
    (Capsule, Capsule): _capsules,
    (Sphere, Box): _sphere_box,
    (Box, Box): _boxes,
}
