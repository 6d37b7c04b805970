"""Redundant chains: the set of solutions cut into slices, each solved completely, and joined into curves."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import ShapeError, unknown_name
from ..checks.distinct import distinct
from ..checks.judgement import SINGULAR, jacobians
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


def linked(
    problem: IkProblem, sliced: Sliced, pose: int, slices: int, around: bool
) -> list[tuple[np.ndarray, bool]]:
    """Link the solutions of one pose to curves through the slices: indices into `sliced` in order, and if closed.

    A solution continues in the solution of the next slice that is nearest to it, if each is the other's nearest.
    """
    rows = np.flatnonzero(sliced.pose == pose)
    by_slice = [rows[sliced.slice[rows] == s] for s in range(slices)]
    following: dict[int, int] = {}
    for s in range(slices if around and slices > 2 else slices - 1):
        here, there = by_slice[s], by_slice[(s + 1) % slices]
        if not len(here) or not len(there):
            continue
        d = problem.difference((sliced.x[here] * problem.units)[:, None], (sliced.x[there] * problem.units)[None])
        gap = np.max(np.abs(d), axis=2)
        to, back = np.argmin(gap, axis=1), np.argmin(gap, axis=0)
        for i, j in enumerate(to):
            if back[j] == i and gap[i, j] < LINK:
                following[int(here[i])] = int(there[j])
    preceding = set(following.values())
    curves, seen = [], set()
    heads = [int(i) for i in rows if int(i) not in preceding]
    for head in heads + [int(i) for i in rows]:
        if head in seen:
            continue
        chain = [head]
        seen.add(head)
        while chain[-1] in following and following[chain[-1]] not in seen:
            chain.append(following[chain[-1]])
            seen.add(chain[-1])
        curves.append((np.array(chain), following.get(chain[-1]) == head and len(chain) > 2))
    return curves


def free_dimension(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray) -> int:
    """Return the commonest dimension of the self-motion at solutions x (s, n)."""
    if not len(x):
        return problem.redundancy
    J = jacobians(problem, x[:64], lanes, pose[:64])
    dimensions = problem.n - np.sum(np.linalg.svd(J, compute_uv=False) > SINGULAR, axis=-1)
    return int(np.bincount(dimensions).argmax())
