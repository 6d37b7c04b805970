"""Parts of curves of solutions that limits leave: cut where joints reach limits, ends included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import TURN, IkProblem
from ...newton import Lanes
from .components import Component
from .curve_step import held_at
from .fine_points import SLACK, Fine, fine_points, middles, short

ENDING = 8
"""Calls of three corrections each with which an end is brought to its limit."""
AT_END = 1e-20
"""Squared error there."""
NEAR_END = 0.1
"""Largest distance of an end from its expected place, rad."""


class Part(NamedTuple):
    """A curve of solutions inside limits.

    Attributes:
        x: (m, 7) solutions on it in order: its ends, points where the sliced joint turns, those of slices.
        closed: True if it has no ends.
        ends: the joint and the limit at each end; a joint is −1 where nothing is known to end it.
        turns: (m,) True for points of x where the sliced joint turns.
        interval: least and greatest value of the sliced joint.
    """

    x: np.ndarray
    closed: bool
    ends: tuple[tuple[int, str], ...]
    turns: np.ndarray
    interval: tuple[float, float]


class Cut(NamedTuple):
    """Parts of curves, and whether a joint grazes a limit, so that they may be more or fewer."""

    parts: list[Part]
    grazing: bool


class _End(NamedTuple):
    """End of a part: a joint, −1 if unknown, its limit, and the solution there, if it is a new point."""

    joint: int
    limit: str
    x: np.ndarray | None


def inside_limits(
    problem: IkProblem, lanes: Lanes, components: list[Component], coordinate: int, around: bool
) -> Cut:
    """Cut curves to the parts inside the limits of a problem.

    Args:
        problem: the chain with its limits.
        lanes: the pose.
        components: its curves.
        coordinate: the sliced joint; unless it goes round, the curves end at its limits.
        around: True if it goes round.
    """
    if not components:
        return Cut([], False)
    fine = fine_points(problem, lanes, components, coordinate, around)
    inside = fine.over.max(axis=1, initial=-np.inf) <= SLACK
    runs, parts = [], []
    for number, component in enumerate(components):
        own = np.arange(fine.first[number], fine.first[number + 1])
        within = inside[own]
        if within.all():
            ends = () if component.closed else tuple(_strip_end(problem, component, coordinate, k) for k in (0, -1))
            runs.append((number, own, ends))
            continue
        if component.closed:
            start = int(np.argmin(within))
            own, within = np.roll(own, -start), np.roll(within, -start)
        edges = np.flatnonzero(within[1:] != within[:-1]) + 1
        for run in np.split(own, edges):
            if inside[run[0]]:
                runs.append((number, run, None))
    asked = [
        (int(run[-last]), step)
        for number, run, ends in runs
        if ends is None
        for last, step in ((0, -1), (1, 1))
        if _goes_on(fine, components[number], number, int(run[-last]), step)
    ]
    found = dict(zip(asked, _ends(problem, lanes, fine, asked), strict=True))
    for number, run, ends in runs:
        if ends is None:
            ends = tuple(
                found.get((int(run[-last]), step)) or _strip_end(problem, components[number], coordinate, -last)
                for last, step in ((0, -1), (1, 1))
            )
        parts.append(_part(fine, run, ends, components[number].closed and not ends, coordinate))
    return Cut(parts, fine.grazing)


def _goes_on(fine: Fine, component: Component, number: int, here: int, step: int) -> bool:
    """Return True if a curve goes on beyond a point."""
    return component.closed or fine.first[number] <= here + step < fine.first[number + 1]


def _part(fine: Fine, run: np.ndarray, ends: tuple[_End, ...], closed: bool, coordinate: int) -> Part:
    """Return the part through a run of points inside limits."""
    angle = fine.x[run, coordinate]
    s = angle.copy()
    s[1:] = angle[0] + np.cumsum(short(angle[1:] - angle[:-1]))
    listed = fine.listed[run]
    rows = run[listed]
    x, turns, values = [fine.x[rows]], [fine.turn[rows]], [s[listed]]
    for k, end in enumerate(ends):
        if end.x is not None:
            place = len(x) if k else 0
            x.insert(place, end.x[None])
            turns.insert(place, np.zeros(1, bool))
            values.append(s[[-k]] + short(end.x[[coordinate]] - angle[-k]))
    # The sliced joint is least and greatest at ends and turns, if it does not go round.
    reached = np.concatenate(values)
    low, high = float(reached.min()), float(reached.max())
    interval = (low, low + TURN) if closed and abs(s[-1] - s[0]) > 0.5 * TURN else (low, high)
    told = tuple((end.joint, end.limit) for end in ends)
    return Part(np.concatenate(x), closed, told, np.concatenate(turns), interval)


def _ends(problem: IkProblem, lanes: Lanes, fine: Fine, asked: list[tuple[int, int]]) -> list[_End]:
    """Find the ends of parts between a point inside and the one before (−1) or after it (1), which is outside."""
    ends = [_End(-1, "", None)] * len(asked)
    if not asked:
        return ends
    here = np.array([point for point, _ in asked])
    beyond = np.array([(fine.after if step > 0 else fine.before)[point] for point, step in asked])
    a, b = fine.over[here], fine.over[beyond]
    with np.errstate(invalid="ignore"):
        part = np.where(b > SLACK, np.clip(-a / np.maximum(b - a, 1e-300), 0.0, 1.0), np.inf)
    chord, order = short(fine.x[beyond] - fine.x[here]), np.argsort(part, axis=1, kind="stable")
    middle, half = middles(problem)
    left = np.arange(len(asked))
    for attempt in range(problem.n):
        joint = order[left, attempt]
        at = part[left, joint]
        left, joint, at = left[np.isfinite(at)], joint[np.isfinite(at)], at[np.isfinite(at)]
        if not len(left):
            break
        start, rows = fine.x[here[left]] + at[:, None] * chord[left], np.arange(len(left))
        above = short(start[rows, joint] - middle[joint]) > 0
        limit = middle[joint] + np.where(above, half[joint], -half[joint])
        start[rows, joint] += short(limit - start[rows, joint])
        x, squared = held_at(problem, lanes, start, joint, ENDING)
        good = (squared < AT_END) & (np.abs(x - start).max(axis=1) < NEAR_END)
        good[good] = problem.inside(problem.wrapped(x[good]))
        for k in np.flatnonzero(good):
            ends[left[k]] = _End(int(joint[k]), "upper" if above[k] else "lower", x[k])
        left = left[~good]
    return ends


def _strip_end(problem: IkProblem, component: Component, coordinate: int, place: int) -> _End:
    """Return the limit of the sliced joint at which an open curve ends; unknown if it was lost before."""
    s = component.x[place, coordinate]
    for side, limit in (("lower", problem.lower[coordinate]), ("upper", problem.upper[coordinate])):
        if abs(s - limit) < SLACK:
            return _End(coordinate, side, None)
    return _End(-1, "", None)
