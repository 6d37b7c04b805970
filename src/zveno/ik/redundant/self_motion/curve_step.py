"""One step along a curve of solutions: ahead along its tangent, back onto it, and the tangent there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....kernels.door import compiled
from ....kernels.math import sqrt
from ...ik_problem import IkProblem
from ...newton import LEAST_DAMPING, Lanes, damped_step
from ...pose_error import error

CORRECTIONS = 3
TURNED = 1e-12
"""Rate of a joint along a curve at which it counts as turning."""


class Stepped(NamedTuple):
    """Where n steps arrived."""

    x: np.ndarray
    """(n, 7)."""
    tangent: np.ndarray
    """(n, 7), of length 1."""
    squared: np.ndarray
    """(n,) squared error of the pose before the last correction."""
    cosine: np.ndarray
    """(n,) of the angle between the tangents before and after."""
    corrected: np.ndarray
    """(n,) distance from where the tangent pointed."""


def stepped(problem: IkProblem, lanes: Lanes, x: Any, tangent: Any, ahead: Any, moving: Any = None) -> Stepped:
    """Steps of lengths `ahead` (n,) from points x (n, 7) of the curves of a pose.

    Args:
        problem: the chain.
        lanes: one pose.
        x, tangent, ahead: where the steps begin, and how far they go.
        moving: (n, 7) zeros for joints that corrections leave alone, ones for others, which all are if None.
    """
    moving = np.ones(problem.n) if moving is None else moving
    with np.errstate(all="ignore"):  # a lane that diverges does not concern the others
        row = _kernel(problem)(x, tangent, ahead, moving, lanes.targets[0], lanes.tool)
    n = problem.n
    return Stepped(row[:, :n], row[:, n : 2 * n], row[:, 2 * n], row[:, 2 * n + 1], row[:, 2 * n + 2])


def tangents(problem: IkProblem, lanes: Lanes, x: np.ndarray, coordinate: int) -> np.ndarray:
    """(n, 7) at points x (n, 7) of curves, the way on which a coordinate grows."""
    towards = np.zeros_like(x)
    towards[:, coordinate] = 1.0
    for _ in range(2):  # once more, since the first is inexact where the coordinate hardly grows
        towards = stepped(problem, lanes, x, towards, np.zeros(len(x))).tangent
    return towards


def held_at(problem: IkProblem, lanes: Lanes, start: np.ndarray, joint: Any, calls: int) -> tuple[Any, Any]:
    """Solutions next to points (n, 7), with one joint each (n,) left where it is, and squared errors (n,)."""
    moving = np.ones_like(start)
    moving[np.arange(len(start)), joint] = 0.0
    x, still, squared = start, np.zeros(len(start)), np.zeros(len(start))
    for _ in range(calls):
        x, _, squared, _, _ = stepped(problem, lanes, x, moving, still, moving)
    return x, squared


def turns_within(problem: IkProblem, lanes: Lanes, x: Any, tangent: Any, ahead: Any, joint: Any):
    """(n, 7) where joints (n,) turn within steps that turn them, and tangents: by regula falsi (Illinois)."""
    rows = np.arange(len(x))
    low, high = np.zeros(len(x)), ahead.copy()
    rate_low = tangent[rows, joint]
    rate_high = stepped(problem, lanes, x, tangent, high).tangent[rows, joint]
    at, along = x, tangent
    side = np.zeros(len(x))
    for _ in range(12):
        span = rate_high - rate_low
        middle = np.where(span != 0, low - rate_low * (high - low) / np.where(span == 0, 1.0, span), low)
        new = stepped(problem, lanes, x, tangent, middle)
        # What is there stays there, so that it does not depend on what else is in the batch.
        there = (np.abs(along[rows, joint]) < TURNED)[:, None]
        at, along = np.where(there, at, new.x), np.where(there, along, new.tangent)
        rate: np.ndarray = along[rows, joint]
        if np.abs(rate).max(initial=0.0) < TURNED:
            break
        left: np.ndarray = rate * rate_low > 0
        rate_high = np.where(left & (side > 0), 0.5 * rate_high, rate_high)
        rate_low = np.where(~left & (side < 0), 0.5 * rate_low, rate_low)
        low, rate_low = np.where(left, middle, low), np.where(left, rate, rate_low)
        high, rate_high = np.where(left, high, middle), np.where(left, rate_high, rate)
        side = np.where(left, 1.0, -1.0)
    return at, along


@lru_cache(maxsize=32)
def _kernel(problem: IkProblem) -> Any:
    n = (problem.n,)
    inputs = {"x": n, "tangent": n, "ahead": (), "moving": n, "target": (3, 4), "tool": (3, 4)}
    return compiled(_step, inputs, constants=(problem,), name="ik_curve_step")


def _step(problem: IkProblem, x, tangent, ahead, moving, target, tool):
    predicted = x + ahead * tangent
    x, squared = predicted, 0.0
    for _ in range(CORRECTIONS):
        task_error = error(problem, x, target, tool)
        squared = task_error.squared
        J = [column * free for column, free in zip(task_error.J, moving, strict=True)]
        x = x - moving * damped_step(J, task_error.e, LEAST_DAMPING)
    along, cosine, corrected = ended(problem, predicted, x, tangent, target, tool)
    return np.array([*x, *along, squared, cosine, corrected])


def ended(problem: IkProblem, predicted: Any, x: Any, tangent: Any, target: Any, tool: Any) -> tuple[Any, Any, Any]:
    """The tangent at x, the cosine of the angle to the one before, and the distance from what was predicted."""
    J = error(problem, x, target, tool).J
    moved = sum(column * rate for column, rate in zip(J, tangent, strict=True))
    along = tangent - damped_step(J, moved, LEAST_DAMPING)
    cosine, off = sqrt(along @ along), x - predicted
    return along / cosine, cosine, sqrt(off @ off)
