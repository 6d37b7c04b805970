"""Curves of solutions, and the parts of them that limits leave, sampled in order."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..ik_problem import TURN, IkProblem

SAMPLE = 16
"""Points kept of a curve."""


class Curve(NamedTuple):
    """A curve of solutions, in the chain's units, limits of turning coordinates disregarded."""

    x: np.ndarray
    """(s, n), in order; neighbours are at most `spacing` apart."""
    closed: bool
    dimension: int
    spacing: float
    direction: np.ndarray | None = None
    """(n,) of −1, 0 and 1 where the curve is x[0] + t · direction, a whole turn of t."""


def within_limits(problem: IkProblem, curve: Curve) -> tuple[list[tuple[np.ndarray, bool]], bool]:
    """Return the parts of a curve that limits leave, (points, closed) each, at most `SAMPLE` points; and certainty.

    A straight curve is cut exactly. Of another, a part shorter than its spacing may go unseen: then it is not
    certain that nothing else is inside.
    """
    if curve.direction is not None:
        return _straight_parts(problem, curve), True
    x = problem.in_units(problem.wrapped(problem.from_units(curve.x)))
    inside = problem.inside(problem.from_units(x))
    if inside.all():
        return [(_spread(x), curve.closed)], True
    lower, upper = problem.box
    # A coordinate that stays outside its limits by more than it can move between neighbours is never inside.
    excluded = (np.maximum(lower - x, x - upper).min(axis=0) > 2 * curve.spacing).any()
    if curve.closed:
        first = int(np.argmin(inside))
        x, inside = np.roll(x, -first, axis=0), np.roll(inside, -first)
    runs = np.split(np.arange(len(x)), np.flatnonzero(np.diff(inside)) + 1)
    parts = [(_spread(x[run]), False) for run in runs if inside[run[0]]]
    return parts, bool(excluded)


def _straight_parts(problem: IkProblem, curve: Curve) -> list[tuple[np.ndarray, bool]]:
    """Sample the ranges of t in which x[0] + t · direction is within limits, modulo 2π."""
    start, direction = curve.x[0], curve.direction
    assert direction is not None
    lower, upper = problem.box
    ends = [0.0]
    for k in np.flatnonzero(direction):
        if upper[k] - lower[k] < TURN:
            ends += [float((limit - start[k]) * direction[k]) for limit in (lower[k], upper[k])]
    ends = sorted({end % TURN for end in ends})
    parts: list[list[float]] = []
    ranges = list(zip(ends, [*ends[1:], ends[0] + TURN], strict=True))
    tried = np.array([*ends, *(0.5 * (low + high) for low, high in ranges)])
    inside = problem.inside(problem.wrapped(problem.from_units(start + tried[:, None] * direction))).tolist()
    for (low, high), middle_is_inside in zip(ranges, inside[len(ends) :], strict=True):
        if not middle_is_inside:
            continue
        if parts and parts[-1][1] == low:
            parts[-1][1] = high
        else:
            parts.append([low, high])
    if len(parts) > 1 and parts[0][0] + TURN == parts[-1][1]:
        parts[0][0] = parts.pop()[0] - TURN
    parts += [
        [t, t]  # a joint that its limits hold at one value
        for t, end_is_inside in zip(ends, inside, strict=False)
        if end_is_inside and not any(low <= t + turn <= high for low, high in parts for turn in (-TURN, 0.0, TURN))
    ]
    sampled = []
    for low, high in parts:
        closed = high - low >= TURN
        t = np.linspace(low, high, SAMPLE if high > low else 1, endpoint=not closed)
        x = problem.wrapped(problem.from_units(start + t[:, None] * direction))
        sampled.append((problem.in_units(x).clip(*problem.box), closed))
    return sampled


def _spread(points: np.ndarray) -> np.ndarray:
    """Return at most `SAMPLE` points of a path, spread evenly; they are points of the path, so still solutions."""
    return points[_evenly(len(points))]


@lru_cache(maxsize=64)
def _evenly(n: int) -> np.ndarray:
    """Return at most `SAMPLE` numbers below n, spread evenly, the first and the last among them."""
    return np.round(np.linspace(0, n - 1, min(SAMPLE, n))).astype(int)  # steps of 1 or more: each number once
