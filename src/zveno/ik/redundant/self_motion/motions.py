"""The self-motions of a pose: curves through the solutions of slices, and possible gaps."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...clock import OVER, time_is_over
from ...ik_problem import TURN, IkProblem
from ...newton import lanes_of
from .. import seven_revolute
from ..slices import Sliced
from .completeness import unknown_turns
from .components import Component, traced
from .projections import projections_of

ROUNDS = 3
"""Times that slices are added where curves may have been missed."""
Span = tuple[float, float, bool]
"""Values of the sliced joint between which curves are followed, and whether these go round."""


class Motions(NamedTuple):
    """The self-motions of one pose: curves within the range of the sliced joint, and possible gaps."""

    components: list[Component]
    nodes: np.ndarray
    """(s, 7) solutions of slices."""
    doubt: str
    """Reason why curves may be missing; empty if none is."""


def motions_of(problem: IkProblem, T: np.ndarray, k: int, slices: int) -> Motions:
    """Find the self-motions of a pose T (4, 4) with joint k sliced, with more slices where some may be missed."""
    free, lanes = without_limits(problem), lanes_of(problem, T[None])
    low, high, around = range_of(problem, k)
    # Round values, at which the geometry of slices is special, are avoided where no limit asks for them.
    values = low + (high - low) * (np.arange(slices) + seven_revolute.GENERIC) / slices
    values = values if around else np.linspace(low, high, slices)
    nodes = seven_revolute.solve_slices(free, T[None], k, values)
    unknown = None
    for _ in range(ROUNDS):
        components, whole = traced(free, lanes, k, values, around, nodes)
        if time_is_over():
            return Motions(components, nodes.x, OVER)
        if not whole:
            return Motions(components, nodes.x, "a curve could not be followed from slice to slice")
        turns = np.concatenate([np.zeros((0, free.n)), *(component.turns for component in components)])
        unknown = unknown_turns(projections_of(free, k), T, turns, (low, high))
        if not len(unknown.intervals):
            return Motions(components, nodes.x, "")
        asked = unknown.slices[(unknown.slices > low) & (unknown.slices < high)]
        new = np.array(sorted(set(asked.tolist()) - set(values.tolist())))
        if not len(new):
            break
        values, nodes = _with_slices(free, T, k, values, nodes, new)
    else:
        components, _ = traced(free, lanes, k, values, around, nodes)
    assert unknown is not None
    where = ", ".join(f"{0.5 * (a + b):.4g}" for a, b in unknown.intervals[:3])
    return Motions(components, nodes.x, f"curves may turn unseen near {where} rad of the sliced joint")


def _with_slices(free: IkProblem, T: np.ndarray, k: int, values, nodes: Sliced, new: np.ndarray):
    """Add slices to values and solutions of slices."""
    more = seven_revolute.solve_slices(free, T[None], k, new)
    every = np.concatenate([values, new])
    order = np.argsort(every)
    rank = np.argsort(order)
    cut = np.concatenate([rank[nodes.slice], rank[len(values) + more.slice]])
    x = np.concatenate([nodes.x, more.x])
    by_slice = np.argsort(cut, kind="stable")
    return every[order], Sliced(np.zeros(len(x), int), cut[by_slice], x[by_slice])


def range_of(problem: IkProblem, coordinate: int) -> Span:
    """Return the range in which the curves of a problem are followed."""
    low, high = float(problem.span[0][coordinate]), float(problem.span[1][coordinate])
    around = bool(problem.upper[coordinate] - problem.lower[coordinate] >= TURN)
    return (low, low + TURN, True) if around else (low, high, False)


@lru_cache(maxsize=32)
def without_limits(problem: IkProblem) -> IkProblem:
    """Return the problem with all joints free, cached."""
    return problem.without_limits()


@lru_cache(maxsize=32)
def without_range(problem: IkProblem, coordinate: int) -> IkProblem:
    """Return the problem with the sliced joint free."""
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[coordinate], upper[coordinate] = -np.inf, np.inf
    return replace(problem, lower=lower, upper=upper)
