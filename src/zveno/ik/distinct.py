"""Which of many converged points are the same solution."""

from __future__ import annotations

import numpy as np

from ..kernels.math import abs as absolute
from ..kernels.math import cos, floor, maximum, sin
from .compiled import kernel_of
from .problem import TURN, Problem

SAME = 1e-5
"""Solutions nearer than this in every coordinate (radians, or lengths over `length`) are one."""


def distinct(problem: Problem, pose: np.ndarray, x: np.ndarray, tolerance: float = SAME) -> np.ndarray:
    """Indices, in order of poses, of one representative of every solution.

    Args:
        problem: the chain.
        pose: (s,) which pose each point solves.
        x: (s, n) points, in chain units.
        tolerance: nearer points are the same.
    """
    if not len(pose):
        return np.zeros(0, int)
    key = _key_kernel(problem)(x)
    order = np.lexsort((key, pose))
    new = np.ones(len(order), bool)
    gap = key[order[1:]] - key[order[:-1]] > tolerance * _weights(problem).sum()
    new[1:] = (pose[order[1:]] != pose[order[:-1]]) | gap
    head = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    found = order[new | ~near(problem, x[order], x[head], tolerance)]
    # Few are left: all pairs of a pose are compared.
    keep = np.ones(len(found), bool)
    for shift in range(1, int(np.bincount(pose[found] - pose[found].min()).max())):
        pair = np.flatnonzero(pose[found[shift:]] == pose[found[:-shift]])
        same = near(problem, x[found[pair + shift]], x[found[pair]], tolerance)
        keep[pair[same] + shift] = False
    return found[keep]


def near(problem: Problem, a: np.ndarray, b: np.ndarray, tolerance: float = SAME) -> np.ndarray:
    """Whether points (..., n) in chain units are the same, whole turns aside."""

    def apart(a, b):
        largest = 0.0
        for k in range(problem.n):
            d = a[k] - b[k]
            if problem.turning[k]:
                d = d - TURN * floor(d * (1.0 / TURN) + 0.5)
            largest = absolute(d) if k == 0 else maximum(largest, absolute(d))
        return largest

    return kernel_of(problem, "ik_apart", apart, {"a": (problem.n,), "b": (problem.n,)})(a, b) <= tolerance


def _weights(problem: Problem) -> np.ndarray:
    return 1.0 + np.sqrt(np.arange(2, 2 + problem.n))


def _key_kernel(problem: Problem):
    """A smooth scalar, blind to whole turns, that tells most solutions apart and puts equal ones side by side."""
    weights = _weights(problem)

    def key(x):
        parts = [sin(x[k] + 0.3) + 0.7 * cos(x[k]) if problem.turning[k] else x[k] for k in range(problem.n)]
        return sum(w * part for w, part in zip(weights.tolist(), parts, strict=True))

    return kernel_of(problem, "ik_key", key, {"x": (problem.n,)})
