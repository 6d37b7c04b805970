"""One step along a curve of solutions: ahead along its tangent, back onto it, and the tangent there."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ....kernels.builder import Builder
from ....kernels.compile import compiled_structured
from ....kernels.ops import sqrt
from ...ik_problem import IkProblem
from ...newton import LEAST_DAMPING, Lanes, damped_step
from ...pose_error import error

CORRECTIONS = 3
ON_CURVE = 1e-18
"""Squared error before the last correction of a step, which squares it again."""
TURNED = 1e-12
"""Rate of a joint along a curve at which it counts as turning."""


class Stepped(NamedTuple):
    """End points of n steps."""

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
    """Take steps of lengths `ahead` (n,) from points x (n, 7) of the curves of a pose.

    Args:
        problem: the chain.
        lanes: one pose.
        x, tangent, ahead: start points, tangents and lengths of the steps.
        moving: (n, 7) zeros for joints that corrections leave alone, ones for others, which all are if None.
    """
    moving = np.ones(problem.n) if moving is None else moving
    with np.errstate(all="ignore"):  # a lane that diverges does not concern the others
        row = _kernel(problem)(x, tangent, ahead, moving, lanes.targets[0], lanes.tool)
    n = problem.n
    return Stepped(row[:, :n], row[:, n : 2 * n], row[:, 2 * n], row[:, 2 * n + 1], row[:, 2 * n + 2])


def tangents(problem: IkProblem, lanes: Lanes, x: np.ndarray, coordinate: int) -> np.ndarray:
    """Return tangents (n, 7) at points x (n, 7) of curves, in the direction in which a coordinate grows."""
    towards = np.zeros_like(x)
    towards[:, coordinate] = 1.0
    for _ in range(2):  # once more, since the first is inexact where the coordinate hardly grows
        towards = stepped(problem, lanes, x, towards, np.zeros(len(x))).tangent
    return towards


def held_at(problem: IkProblem, lanes: Lanes, start: np.ndarray, joint: Any, calls: int) -> tuple[Any, Any]:
    """Find solutions next to points (n, 7), one joint each (n,) kept, and squared errors (n,)."""
    moving = np.ones_like(start)
    moving[np.arange(len(start)), joint] = 0.0
    x, still, squared = start, np.zeros(len(start)), np.zeros(len(start))
    for _ in range(calls):
        x, _, squared, _, _ = stepped(problem, lanes, x, moving, still, moving)
    return x, squared


def turns_within(problem: IkProblem, lanes: Lanes, x: Any, tangent: Any, ahead: Any, joint: Any) -> Any:
    """Find the reversal of joints (n,) within steps: points (n, 7) and tangents, by regula falsi (Illinois)."""
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
    return compiled_structured(one_step, problem, name="ik_curve_step")


def one_step(program: Builder, problem: IkProblem) -> None:
    """Write row (17,) of a step: point, tangent, squared error, cosine and correction as in `Stepped`."""
    n = problem.n
    x, tangent, ahead, moving = (
        program.input(name, shape, width)
        for name, shape, width in (("x", (n,), n), ("tangent", (n,), n), ("ahead", (), 1), ("moving", (n,), n))
    )
    target, tool = program.input("target", (3, 4), 12), program.input("tool", (3, 4), 12)
    row = program.output("row", (2 * n + 3,), 2 * n + 3)
    at, squared = program.scratch("at", 1, n), program.scratch("squared", 1, 1)
    at[0] = program.step(_predicted, x[0], tangent[0], ahead[0])
    with program.each(CORRECTIONS):
        at[0], squared[0] = program.step(partial(corrected, problem), at[0], target[0], tool[0], moving[0])
    row[0] = program.step(
        partial(_told, problem), x[0], tangent[0], ahead[0], at[0], squared[0], target[0], tool[0]
    )


def _predicted(x: Any, tangent: Any, ahead: Any) -> Any:
    return x + ahead[0] * tangent


def corrected(problem: IkProblem, x: Any, target: Any, tool: Any, moving: Any = None) -> Any:
    """Return x brought nearer to the pose by the joints that move, and the squared error before."""
    at = error(problem, x, target.reshape(3, 4), tool.reshape(3, 4))
    if moving is None:
        return x - damped_step(at.J, at.e, LEAST_DAMPING), at.squared
    J = [column * free for column, free in zip(at.J, moving, strict=True)]
    return x - moving * damped_step(J, at.e, LEAST_DAMPING), at.squared


def _told(problem: IkProblem, begun: Any, tangent: Any, ahead: Any, x: Any, squared: Any, target: Any, tool: Any):
    predicted = _predicted(begun, tangent, ahead)
    along, cosine, off = ended(problem, predicted, x, tangent, target.reshape(3, 4), tool.reshape(3, 4))
    return np.array([*x, *along, squared[0], cosine, off])


def ended(problem: IkProblem, predicted: Any, x: Any, tangent: Any, target: Any, tool: Any) -> tuple[Any, Any, Any]:
    """Return the tangent at x, the cosine of its angle to the one before, and the distance from the prediction."""
    J = error(problem, x, target, tool).J
    moved = sum(column * rate for column, rate in zip(J, tangent, strict=True))
    along = tangent - damped_step(J, moved, LEAST_DAMPING)
    cosine, off = sqrt(along @ along), x - predicted
    return along / cosine, cosine, sqrt(off @ off)
