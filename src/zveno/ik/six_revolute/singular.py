"""Solutions where the Jacobian is singular: double roots told from families, families walked along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .compiled import compiled
from .polish import loop_error, polish

SINGULAR = 1e-6
"""Ratio of singular values of the Jacobian below which a direction counts as free."""
STRIDE = 0.1
"""Distance between samples of a family, rad."""
LONGEST = 400
"""Samples of a family at most."""
SAME_TO_TOLERANCE = 1e-20
"""Squared error up to which a point between two solutions is a solution too, so that they are one."""
_TURN = 2 * np.pi


@dataclass(frozen=True, eq=False)
class Family:
    """A continuum of solutions of one target: samples (s, 6) in order, of the given dimension."""

    pose: int
    dimension: int
    q: np.ndarray
    closed: bool


def short(d):
    """Differences of angles the short way round."""
    return d - _TURN * np.round(d / _TURN)


def freedom(L, X, q):
    """Kernels of the Jacobian at q (n, 6): singular values (n, 6) over the greatest, and right vectors (n, 6, 6)."""
    _, J, _ = compiled(loop_error, {"L": (5, 3, 4), "X": (3, 4), "q": (6,)})(L, X, q)
    _, s, V = np.linalg.svd(J)
    return s / s[:, :1], V


def resolve(L, X, pose, q):
    """Sort out singular solutions of targets X (k, 3, 4).

    Args:
        L: links (5, 3, 4).
        X: targets.
        pose, q: solutions (n,), (n, 6), in order of their poses.

    Returns:
        pose, q of isolated solutions, double ones once; (n,) their multiplicity, 1 or 2 for "at least 2"; families.
    """
    s, V = freedom(L, X[pose], q)
    left = s[:, -1] < SINGULAR
    double = np.zeros(len(q), bool)
    gone = np.zeros(len(q), bool)
    families: list[Family] = []
    while left.any():
        seeds = np.nonzero(left)[0]
        seeds = seeds[np.r_[True, pose[seeds][1:] != pose[seeds][:-1]]]  # one a pose
        directions = [_directions(V[i][s[i] < SINGULAR]) for i in seeds]
        owner = np.repeat(seeds, [len(d) for d in directions])
        moved = _moved(L, X, pose[owner], q[owner], np.concatenate(directions))
        left[seeds] = False
        walkers = []
        for i in seeds:
            steps = moved[owner == i]
            steps = steps[np.isfinite(steps[:, 0])]
            if len(steps):
                sizes = np.linalg.svd(steps / STRIDE, compute_uv=False)
                walkers.append((i, steps[0], int(np.sum(sizes > 0.3 * sizes[0]))))
            else:
                double[i] = True
        for (i, _, dimension), (curve, closed) in zip(walkers, _walk(L, X, pose, q, walkers), strict=True):
            families.append(Family(int(pose[i]), dimension, curve, closed))
            mates = np.nonzero((pose == pose[i]) & ~gone)[0]
            d = np.linalg.norm(short(q[mates, None] - curve), axis=2).min(1)
            on_curve = mates[(d < 0.75 * STRIDE) & (s[mates, -1] < SINGULAR)]
            gone[on_curve] = gone[i] = True
            left[on_curve] = False
    return *_merge_double(L, X, pose, q, double, gone), families


def _directions(kernel: np.ndarray) -> np.ndarray:
    """Both senses of a single direction, or eight directions of a plane, or of the first plane of more."""
    if len(kernel) == 1:
        return np.concatenate([kernel, -kernel])
    angle = np.arange(8) * np.pi / 4 + 0.2
    return np.cos(angle)[:, None] * kernel[-1] + np.sin(angle)[:, None] * kernel[-2]


def _moved(L, X, pose, q, direction) -> np.ndarray:
    """Displacements (n, 6) to solutions about a stride away along directions; NaN where there are none."""
    there, closed = polish(L, X[pose], q + STRIDE * direction, steps=30)
    d = short(there - q)
    size = np.linalg.norm(d, axis=1)
    s, _ = freedom(L, X[pose], there)
    family = closed & (size > STRIDE / 2) & (size < 2 * STRIDE) & (s[:, -1] < SINGULAR)
    return np.where(family[:, None], d, np.nan)


def _walk(L, X, pose, q, walkers) -> list[tuple[np.ndarray, bool]]:
    """Samples along the curves from several solutions, all at once, and whether each returned to its start."""
    if not walkers:
        return []
    start = np.array([q[i] for i, _, _ in walkers])
    step = np.array([d for _, d, _ in walkers])
    own = X[pose[[i for i, _, _ in walkers]]]
    curves = [[point] for point in start]
    closed = np.zeros(len(walkers), bool)
    now = start + step
    active = np.arange(len(walkers))
    for count in range(1, LONGEST):
        for i in active:
            curves[i].append(now[i])
        back = np.linalg.norm(short(now[active] - start[active]), axis=1) < 0.75 * STRIDE
        closed[active] = back & (count > 2)
        active = active[~closed[active]]
        if not len(active):
            break
        step = step / np.linalg.norm(step, axis=1, keepdims=True) * STRIDE
        following, fine = polish(L, own[active], now[active] + step[active], steps=20)
        step[active], now[active] = following - now[active], following
        active = active[fine & (np.linalg.norm(step[active], axis=1) < 3 * STRIDE)]
    return [(np.array(curve), bool(c)) for curve, c in zip(curves, closed, strict=True)]


def _merge_double(L, X, pose, q, double, gone):
    """Double roots come as one point or as two close ones; two are one where the point between them closes too."""
    kernel = compiled(loop_error, {"L": (5, 3, 4), "X": (3, 4), "q": (6,)})
    q = q.copy()
    for i in np.nonzero(double)[0]:
        if gone[i]:
            continue
        mates = np.nonzero((pose == pose[i]) & ~gone)[0]
        mates = mates[mates != i]
        d = short(q[mates] - q[i])
        near = abs(d).max(1) < 0.02
        mates, middle = mates[near], q[i] + d[near] / 2
        _, _, square = kernel(L, X[pose[i]], middle)
        same = square < SAME_TO_TOLERANCE
        gone[mates[same]] = True
        if same.any():
            q[i] = middle[same][0]
    return pose[~gone], q[~gone], np.where(double[~gone], 2, 1)
