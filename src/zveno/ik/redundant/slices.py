"""Redundant chains: the set of solutions cut into slices, each solved completely, and joined into curves."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import ShapeError, unknown_name
from .._judge import SINGULAR, Judgement, jacobians
from .._rows import apart, distinct
from ..clock import time_is_over
from ..ik_problem import IkProblem
from ..newton import CONVERGED, Lanes, lanes_of, newton
from ..scan import ACCEPTED, ITERATIONS, STRAGGLERS, _ranked
from ..scan_table import Table, table_of

SURVIVORS = 64
"""Numbers that start an iteration in every slice; solutions of neighbouring slices start more."""
LINK = 1.0
"""Solutions of neighbouring slices further apart than this, in radians, are on different curves."""


class Sliced(NamedTuple):
    """Solutions of k poses at values of the redundant coordinate."""

    pose: np.ndarray
    slice: np.ndarray
    x: np.ndarray
    """(s, n), chain units."""


def named_coordinate(problem: IkProblem, name: str) -> int:
    """Return the coordinate of the joint that the user names."""
    known = {step.joint: step.coordinate for step in problem.steps}
    if name not in known:
        raise unknown_name("joint of this chain", name, known)
    return known[name]


def slice_values(problem: IkProblem, coordinate: int, count: int) -> np.ndarray:
    """Return `count` values over the range of a coordinate; both limits are among them unless it goes round."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ShapeError(
            f"{count!r} is not a number of samples", element="samples", remedy="Give a whole number from 1"
        )
    lower, upper = problem.span[0][coordinate], problem.span[1][coordinate]
    if np.isinf(problem.upper[coordinate] - problem.lower[coordinate]):
        return lower + (upper - lower) * np.arange(count) / count
    return np.linspace(lower, upper, count)


@lru_cache(maxsize=8)
def _tables(problem: IkProblem, coordinate: int, values: tuple[float, ...]) -> tuple[Table, ...]:
    return tuple(table_of(problem, frozen=((coordinate, value / problem.units[coordinate]),)) for value in values)


def solve_slices(problem: IkProblem, T: np.ndarray, coordinate: int, values: np.ndarray) -> Sliced:
    """Find all solutions of k poses (k, 4, 4) with one coordinate at each of the values."""
    lanes = lanes_of(problem, T)
    pose, cut, seeds = [], [], []
    for s, table in enumerate(_tables(problem, coordinate, tuple(values.tolist()))):
        if s and time_is_over():
            break
        count = min(SURVIVORS, table.size)
        point = _ranked(table.distances(lanes), [count])[:, :count]
        of = np.repeat(np.arange(len(T)), count)
        pose.append(of)
        cut.append(np.full(len(of), s))
        seeds.append(table.seeds(lanes, of, point.ravel()))
    refined = _refined(problem, lanes, coordinate, np.concatenate(pose), np.concatenate(cut), np.concatenate(seeds))
    # Every solution, moved into the neighbouring slices, is a start there.
    around = np.isinf(problem.upper[coordinate] - problem.lower[coordinate])
    both = [refined]
    for shift in (1, -1):
        target = refined.slice + shift
        ok = np.ones(len(target), bool) if around else (target >= 0) & (target < len(values))
        target = target[ok] % len(values)
        x = refined.x[ok].copy()
        x[:, coordinate] = values[target] / problem.units[coordinate]
        both.append(_refined(problem, lanes, coordinate, refined.pose[ok], target, x))
    return _unique(problem, len(values), *(np.concatenate(parts) for parts in zip(*both, strict=True)))


def _refined(problem: IkProblem, lanes: Lanes, coordinate: int, pose, cut, seeds) -> Sliced:
    x, squared = newton(problem, seeds, lanes.targets[pose], lanes.tool, ITERATIONS, frozen=(coordinate,))
    slow = np.flatnonzero((squared < STRAGGLERS) & (squared >= CONVERGED))
    if len(slow):
        targets = lanes.targets[pose[slow]]
        x[slow], squared[slow] = newton(problem, x[slow], targets, lanes.tool, ITERATIONS, frozen=(coordinate,))
    x = problem.wrapped(x * problem.units) / problem.units
    good = (squared < ACCEPTED) & problem.inside(x * problem.units)
    return _unique(problem, int(cut.max(initial=0)) + 1, pose[good], cut[good], x[good])


def _unique(problem: IkProblem, slices: int, pose, cut, x) -> Sliced:
    keep = distinct(problem, pose * slices + cut, x)
    return Sliced(pose[keep], cut[keep], x[keep])


Curves = dict[int, list[tuple[np.ndarray, bool]]]
"""Curves by pose: indices of solutions in order, and whether it closes."""


def linked(problem: IkProblem, sliced: Sliced, slices: int, around: bool) -> Curves:
    """Link the solutions of every pose to curves through the slices.

    A solution continues in the solution of the next slice that is nearest to it, if each is the other's nearest.
    """
    following = _following(problem, sliced, slices, around)
    has_one_before = np.zeros(len(following), bool)
    has_one_before[following[following >= 0]] = True
    curves: Curves = {}
    after, seen, pose = following.tolist(), [False] * len(following), sliced.pose.tolist()
    for head in (*(~has_one_before).nonzero()[0].tolist(), *range(len(after))):
        if seen[head]:
            continue
        chain, row = [], head
        while row >= 0 and not seen[row]:
            seen[row] = True
            chain.append(row)
            row = after[row]
        curves.setdefault(pose[head], []).append((np.array(chain), row == head and len(chain) > 2))
    return dict(sorted(curves.items()))


def _following(problem: IkProblem, sliced: Sliced, slices: int, around: bool) -> np.ndarray:
    """Return (s,) the index of the solution in the next slice in which each continues, −1 if in none."""
    rows = np.arange(len(sliced.x))
    group = sliced.pose * slices + sliced.slice  # they are in this order
    count = np.bincount(group, minlength=int(group.max(initial=0)) + slices)
    first = np.cumsum(count) - count
    is_last = sliced.slice == slices - 1
    following = group + 1 - slices * is_last
    n = np.where(is_last & ~(around and slices > 2), 0, count[following])
    here = rows.repeat(n)
    there = first[following[here]] + np.arange(len(here)) - (np.cumsum(n) - n)[here]
    gap = apart(problem, sliced.x[here], sliced.x[there])
    nearest, nearest_back = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
    np.minimum.at(nearest, here, gap)
    np.minimum.at(nearest_back, there, gap)
    mutual = ((gap == nearest[here]) & (gap == nearest_back[there]) & (gap < LINK)).nonzero()[0]
    out, before = np.full(len(rows), -1), np.full(len(rows), -1)
    before[there[mutual[::-1]]] = here[mutual[::-1]]  # of several as near the first
    joined = (before >= 0).nonzero()[0]
    out[before[joined[::-1]]] = joined[::-1]
    return out


def free_dimension(problem: IkProblem, lanes: Lanes, pose: np.ndarray, rows: Judgement) -> int:
    """Return the commonest dimension of the self-motion at solutions."""
    if not len(pose) or 2 * (rows.least[:64] > SINGULAR).sum() > len(pose[:64]):
        return problem.redundancy
    J = jacobians(problem, rows.x[:64], lanes, pose[:64])
    dimensions = problem.n - np.sum(np.linalg.svd(J, compute_uv=False) > SINGULAR, axis=-1)
    return int(np.bincount(dimensions).argmax())
