"""Seven revolute joints: one is held at many values, and each slice is an arm of six, solved completely."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .problem import Problem
from .six_revolute.arm import Arm
from .six_revolute.route import arm_of, explained, ranges
from .six_revolute.templates import rigid_inverse
from .slices import Sliced

GENERIC = 0.3819
"""Where in its range the held joint is put while a template is chosen: no angle that geometry makes special."""


def applies(problem: Problem, coordinate: int) -> bool:
    """Seven revolute joints of their own, a whole pose, and a joint without which six still reach poses."""
    return (
        problem.kinds == "RRRRRRR"
        and problem.simple
        and problem.task.is_pose
        and _generic(problem, coordinate).solvable
    )


def solve_slices(problem: Problem, T: np.ndarray, coordinate: int, values: np.ndarray) -> Sliced:
    """All solutions of k poses (k, 4, 4) with one joint at each of the values, inside limits.

    All slices of all poses are one batch: the arms differ in one link, which the kernels take as an input. Where a
    value is special, so that the template chosen for the others is of no use, the slice is set up by itself.
    """
    values = np.asarray(values, float)
    first, links, last, arms = _slices(problem, coordinate, tuple(values.tolist()))
    n, k = len(values), len(T)
    cut, pose = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    X = first[cut] @ T[pose] @ last[cut]
    allowed = ranges(problem)
    if allowed is not None:
        allowed = allowed[:coordinate] + allowed[coordinate + 1 :]
    found = (arms if k == 1 else arms.of(cut)).solve(X, allowed)
    rows, q = found.pose, found.q
    for s in np.unique(cut[~found.sure]):
        own = np.flatnonzero((cut == s) & ~found.sure)
        arm = arm_of(links[s].tobytes())
        if arm.solvable:
            more = arm.solve(X[own], allowed)
            keep = ~np.isin(rows, own)
            rows, q = np.r_[rows[keep], own[more.pose]], np.concatenate([q[keep], more.q])
    x = np.insert(q, coordinate, values[cut[rows]], axis=1)
    x = problem.wrapped(x)
    x[:, coordinate] = values[cut[rows]]
    inside = problem.inside(x)
    rows, x = rows[inside], x[inside]
    order = np.lexsort((cut[rows], pose[rows]))
    return Sliced(pose[rows][order], cut[rows][order], x[order])


def explain(problem: Problem, coordinate: int, slices: int) -> str:
    """The route of slices, in sentences."""
    names = [step.joint for step in problem.steps]
    rest = names[:coordinate] + names[coordinate + 1 :]
    return f"{names[coordinate]} is held at {slices} values; each slice is an arm of six joints. " + explained(
        _generic(problem, coordinate), rest
    )


def held(problem: Problem, coordinate: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arms of six with a joint held at values (n,): first transforms, links and last transforms, (n, ...)."""
    C = np.broadcast_to(problem.constants, (len(values), 8, 4, 4))
    Z = np.zeros((len(values), 4, 4))
    Z[:, 0, 0] = Z[:, 1, 1] = np.cos(values)
    Z[:, 1, 0], Z[:, 0, 1] = np.sin(values), -np.sin(values)
    Z[:, 2, 2] = Z[:, 3, 3] = 1.0
    joined = C[:, coordinate] @ Z @ C[:, coordinate + 1]
    C = np.concatenate([C[:, :coordinate], joined[:, None], C[:, coordinate + 2 :]], axis=1)
    return C[:, 0], C[:, :6], C[:, 6]


@lru_cache(maxsize=32)
def _generic(problem: Problem, coordinate: int) -> Arm:
    """The arm with the joint held at an angle without special meaning."""
    lower, upper = problem.span[0][coordinate], problem.span[1][coordinate]
    return Arm(held(problem, coordinate, np.array([lower + GENERIC * (upper - lower)]))[1][0])


@lru_cache(maxsize=8)
def _slices(problem: Problem, coordinate: int, values: tuple[float, ...]):
    """Inverses of first and last transforms, links, and the arms of all slices."""
    first, links, last = held(problem, coordinate, np.array(values))
    return rigid_inverse(first), links, rigid_inverse(last), _generic(problem, coordinate).on(links)
