"""Repeated solutions among many converged points."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from ...kernels.ops import abs as absolute
from ...kernels.ops import floor, maximum
from ..ik_problem import TURN, IkProblem
from .judgement import mark, spread_of_marks

SAME = 1e-5
"""Solutions nearer than this in every coordinate (radians, or lengths over `length`) are one."""


def distinct(
    problem: IkProblem, pose: np.ndarray, x: np.ndarray, tolerance: float = SAME, marks: np.ndarray | None = None
) -> np.ndarray:
    """Return indices, in order of poses, of one representative per solution: of a pose the same in any batch.

    Args:
        problem: the chain.
        pose: (s,) index of the pose each point solves.
        x: (s, n) points, in chain units.
        tolerance: nearer points are the same.
        marks: (s,) of the points, if they are known; see `zveno.ik.checks.judgement.mark`.
    """
    if len(pose) < 2:
        return np.arange(len(pose))
    values: np.ndarray = _mark_kernel(problem.base)(x) if marks is None else marks
    order = np.lexsort((values, pose))
    values, pose = values[order], pose[order]
    furthest = tolerance * spread_of_marks(problem.n)
    apart = (values[1:] - values[:-1] > furthest) | (pose[1:] != pose[:-1])
    if apart.all():
        return order
    new = np.ones(len(order), bool)
    new[1:] = apart
    head = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    left = (new | ~near(problem, x[order], x[head], tolerance)).nonzero()[0]
    firsts, values, pose = order[left], values[left], pose[left]
    keep = np.ones(len(firsts), bool)
    for shift in range(1, len(firsts)):
        close = (values[shift:] - values[:-shift] <= furthest) & (pose[shift:] == pose[:-shift])
        pair = close.nonzero()[0]
        if not len(pair):
            break  # marks of those further on differ by more
        same = near(problem, x[firsts[pair + shift]], x[firsts[pair]], tolerance)
        keep[pair[same] + shift] = False
    return firsts[keep]


def ranked(pose: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return keys that sort by pose and then by value; the keys of two poses differ by at least 1."""
    return values + pose * (values.max() - values.min() + 1.0)


def near(problem: IkProblem, a: np.ndarray, b: np.ndarray, tolerance: float = SAME) -> np.ndarray:
    """Return True where points (..., n) in chain units are the same, modulo 2π."""
    return apart(problem, a, b) <= tolerance


def apart(problem: IkProblem, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the greatest differences (...) of points (..., n) in chain units in any coordinate, modulo 2π."""
    return _apart_kernel(problem.base)(a, b)


def _apart(problem: IkProblem, a: Any, b: Any) -> Any:
    largest = 0.0
    for k in range(problem.n):
        d = a[k] - b[k]
        if problem.turning[k]:
            d = d - TURN * floor(d * (1.0 / TURN) + 0.5)
        largest = absolute(d) if k == 0 else maximum(largest, absolute(d))
    return largest


@lru_cache(maxsize=64)
def _apart_kernel(problem: IkProblem):
    return compiled(_apart, {"a": (problem.n,), "b": (problem.n,)}, constants=(problem,), name="ik_apart")


@lru_cache(maxsize=64)
def _mark_kernel(problem: IkProblem):
    return compiled(mark, {"x": (problem.n,)}, constants=(problem,), name="ik_mark")
