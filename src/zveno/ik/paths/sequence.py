"""The best way through layers of solutions, by dynamic programming."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..ik_problem import IkProblem

JUMP = 1e6
"""What a jump costs: more than any path without one."""


class Sequence(NamedTuple):
    """Rows chosen in every layer (None in empty ones), where it jumps, and the cost without jumps."""

    rows: list[int | None]
    jumps: list[int]
    cost: float


def best_sequence(
    problem: IkProblem, layers: list[np.ndarray], largest: float, start=None, step: Callable | None = None
) -> Sequence:
    """One row of every layer (s_k, n): fewest steps above `largest` in any coordinate, then least sum of squares.

    A joint that turns without limits may go either way round; others must really move from one value to the other.

    Args:
        problem: the chain.
        layers: solutions of every pose, in chain units.
        largest: longer steps are jumps.
        start: what the first should be near.
        step: (a, b) → a − b (..., m) of rows, broadcast, where that is not the difference of coordinates.
    """
    of = step or (lambda a, b: difference(problem, a, b))
    filled = [k for k, layer in enumerate(layers) if len(layer)]
    rows: list[int | None] = [None] * len(layers)
    if not filled:
        return Sequence(rows, [], float("nan"))
    first = layers[filled[0]]
    total = np.zeros(len(first)) if start is None else np.sum(of(first, start) ** 2, axis=-1)
    came: list[np.ndarray] = []
    for before, now in itertools.pairwise(filled):
        d = of(layers[now][None], layers[before][:, None])
        apart = np.max(np.abs(d), axis=2) > largest
        # A layer in between without solutions has to be jumped over.
        edge = np.where(apart | (now > before + 1), JUMP, np.sum(d * d, axis=2))
        through = total[:, None] + edge
        best = np.argmin(through, axis=0)
        came.append(best)
        total = through[best, np.arange(len(best))]
    row = int(np.argmin(total))
    for place in range(len(filled) - 1, -1, -1):
        rows[filled[place]] = row
        row = int(came[place - 1][row]) if place else row
    jumps, cost = [], 0.0
    for before, now in itertools.pairwise(filled):
        d = of(layers[now][rows[now]], layers[before][rows[before]])
        if np.max(np.abs(d)) > largest or now > before + 1:
            jumps.append(before)
        else:
            cost += float(d @ d)
    return Sequence(rows, jumps, cost)


def difference(problem: IkProblem, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a − b, the short way round where a joint turns without limits."""
    d = a - b
    endless = problem.turning & np.isinf(problem.upper) & np.isinf(problem.lower)
    return d - np.where(endless, 2 * np.pi * np.round(d / (2 * np.pi)), 0.0)
