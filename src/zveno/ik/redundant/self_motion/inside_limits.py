"""Parts of curves of solutions that limits leave: cut where joints reach limits, ends included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import TURN, IkProblem
from ...newton import Lanes, newton
from .components import Component

FINER = 4
"""Points looked at between those of a curve, by cubic interpolation: they are 0.06 rad apart at most."""
GRAZING = 1e-6
"""An angle that comes to within this of a limit, rad, and turns there, leaves it open whether limits are kept."""
NARROW = 0.03
"""A part shorter than this part of a step between points, some 1e-3 rad, is not told from none."""
NEARBY = 0.05
"""How far outside its limits a joint may be for them to be kept, rad, between two points."""
SLACK = 1e-9


class Part(NamedTuple):
    """A curve of solutions inside limits.

    Attributes:
        x: (m, 7) solutions on it in order: its ends, points where the sliced joint turns, those of slices.
        closed: whether it has no ends.
        ends: the joint and the limit at each end; a joint is −1 where nothing is known to end it.
        turns: (m,) which of x are points where the sliced joint turns.
        interval: least and greatest value of the sliced joint.
    """

    x: np.ndarray
    closed: bool
    ends: tuple[tuple[int, str], ...]
    turns: np.ndarray
    interval: tuple[float, float]


class Cut(NamedTuple):
    """Parts of one curve, and whether a joint grazes a limit, so that they may be more or fewer."""

    parts: list[Part]
    grazing: bool


class _Fine(NamedTuple):
    """Interpolated points x (p, 7) of a curve, and their places on it: a point of the curve has a whole number."""

    x: np.ndarray
    place: np.ndarray
    over: np.ndarray
    """(p, 7) how far each joint is outside its limits; −∞ where these leave a whole turn, or are the strip's."""


def inside_limits(
    problem: IkProblem, lanes: Lanes, pose: int, component: Component, coordinate: int, around: bool
) -> Cut:
    """The parts of a curve that the limits of a problem leave.

    Args:
        problem: the chain with its limits.
        lanes: the poses.
        pose: the curve's.
        component: the curve.
        coordinate: the sliced joint; unless it goes round, the curve ends at its limits.
        around: whether it goes round.
    """
    fine, grazing = _fine(problem, component, coordinate, around)
    inside = fine.over.max(axis=1) <= SLACK
    key_x = np.concatenate([component.x[component.marked], component.turns])
    key_place = np.concatenate([np.flatnonzero(component.marked), _places(problem, fine, component.turns)])
    is_turn = np.arange(len(key_x)) >= component.marked.sum()
    n = len(inside)
    if inside.all():
        order = np.argsort(key_place, kind="stable")
        ends = () if component.closed else _strip_ends(problem, component, coordinate)
        values = _values(fine, np.arange(n), coordinate, component.turns)
        return Cut([Part(key_x[order], component.closed, ends, is_turn[order], _interval(values))], grazing)
    if component.closed:
        first = int(np.argmin(inside))
        order = (np.arange(n) + first) % n
    else:
        order = np.arange(n)
    runs = np.split(order, np.flatnonzero(np.diff(inside[order])) + 1)
    parts = []
    for run in runs:
        if inside[run[0]]:
            keys = key_x, key_place, is_turn
            parts.append(_part(problem, lanes, pose, component, coordinate, fine, run, keys))
    return Cut(parts, grazing)


def _part(problem, lanes, pose, component: Component, coordinate: int, fine: _Fine, run, keys) -> Part:
    """The part through a run of points inside limits."""
    key_x, key_place, is_turn = keys
    n, total = len(fine.x), len(component.x)
    low, high = fine.place[run[0]], fine.place[run[-1]] + (total if run[-1] < run[0] else 0.0)
    ahead = (key_place - low) % total if component.closed else key_place - low
    member = (ahead >= 0) & (ahead <= high - low)
    rows = np.flatnonzero(member)[np.argsort(ahead[member], kind="stable")]
    x, turns = [key_x[rows]], [is_turn[rows]]
    ends, reached = [], [key_x[rows[is_turn[rows]]]]
    for here, step in ((run[0], -1), (run[-1], 1)):
        beyond = here + step
        if not component.closed and not 0 <= beyond < n:
            ends.append(_strip_end(problem, component, coordinate, last=step > 0))
            continue
        joint, limit, at = _end(problem, lanes, pose, fine, here, beyond % n)
        ends.append((joint, limit))
        if at is not None:
            x.insert(0 if step < 0 else len(x), at[None])
            turns.insert(0 if step < 0 else len(turns), np.zeros(1, bool))
            reached.append(at[None])
    interval = _interval(_values(fine, run, coordinate, np.concatenate(reached)))
    return Part(np.concatenate(x), False, tuple(ends), np.concatenate(turns), interval)


def _fine(problem: IkProblem, component: Component, coordinate: int, around: bool) -> tuple[_Fine, bool]:
    """Points of a curve and between them, and whether a joint may graze a limit."""
    x, tangent = component.x, component.tangent
    following = np.roll(x, -1, axis=0) if component.closed else x[1:]
    after = np.roll(tangent, -1, axis=0) if component.closed else tangent[1:]
    x, before = x[: len(following)], tangent[: len(following)]
    chord = _short(following - x)
    length = np.linalg.norm(chord, axis=1)[:, None]
    t = (np.arange(FINER) / FINER)[:, None, None]
    between = x + t * t * (3 - 2 * t) * chord + length * t * (1 - t) * ((1 - t) * before - t * after)
    points = between.transpose(1, 0, 2).reshape(-1, problem.n)
    place = np.arange(len(points)) / FINER
    if not component.closed:
        points, place = np.concatenate([points, component.x[-1:]]), np.append(place, len(component.x) - 1)
    limited = problem.upper - problem.lower < TURN
    if not around:
        limited = limited & (np.arange(problem.n) != coordinate)
    over = _over(problem, points, limited)
    grazing, extra = _extrema(over, component.closed)
    if len(extra):
        # A limit is passed and passed back between two points: the point between them shows it.
        at, shift = extra[:, 0].astype(int), extra[:, 1]
        points, place, over, rows = _with_points(points, place, over, at, shift)
        over[rows, extra[:, 2].astype(int)] = extra[:, 3]
    touching, at, shift = _windows(over, component.closed)
    if len(at):
        points, place, over, _ = _with_points(points, place, over, at, shift)
    return _Fine(points, place, over), grazing or touching


def _with_points(points: np.ndarray, place: np.ndarray, over: np.ndarray, at: np.ndarray, shift: np.ndarray):
    """Points, places and excesses with more of them, parts `shift` of the way to a neighbour, and their rows."""
    other = (at + np.sign(shift).astype(int)) % len(points)
    part = np.abs(shift)[:, None]
    order = np.argsort(np.concatenate([np.arange(len(points)), at + shift]), kind="stable")
    new = points[at] + part * _short(points[other] - points[at])
    with np.errstate(invalid="ignore"):
        beyond = np.where(np.isfinite(over[at]), (1 - part) * over[at] + part * over[other], -np.inf)
    points, over = np.concatenate([points, new])[order], np.concatenate([over, beyond])[order]
    place = np.concatenate([place, place[at] + shift / FINER])[order]
    return points, place, over, np.argsort(order)[-len(at) :]


def _windows(over: np.ndarray, closed: bool) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether one joint comes inside just as another leaves, and where (points, parts of a step) it does so before.

    Between two points that are outside for different joints there may be a short part inside.
    """
    ahead = np.roll(over, -1, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = over / (over - ahead)
    comes, leaves = (over > SLACK) & (ahead <= SLACK), (over <= SLACK) & (ahead > SLACK)
    stays = ((over > SLACK) & (ahead > SLACK)).any(axis=1)
    first = np.where(comes, crossing, 0.0).max(axis=1)
    last = np.where(leaves, crossing, 1.0).min(axis=1)
    both = np.asarray(comes.any(axis=1) & leaves.any(axis=1) & ~stays)
    if not closed:
        both[-1] = False
    at = np.flatnonzero(both & (last > first))
    return bool(np.any(both & (np.abs(last - first) < NARROW))), at, 0.5 * (first + last)[at]


def _over(problem: IkProblem, x: np.ndarray, limited: np.ndarray) -> np.ndarray:
    middle, half = _middle(problem)
    return np.where(limited, np.abs(_short(x - middle)) - half, -np.inf)


def _middle(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half of the ranges of joints; 0 and π without limits."""
    ended = np.isfinite(problem.upper - problem.lower)
    lower, upper = np.where(ended, problem.lower, -np.pi), np.where(ended, problem.upper, np.pi)
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _extrema(over: np.ndarray, closed: bool) -> tuple[bool, np.ndarray]:
    """Whether an extremum is too near to a limit, and rows (point, shift, joint, value) of those beyond one.

    By the parabola through three neighbours, where these are on one side of the limit and the vertex may not be.
    """
    with np.errstate(invalid="ignore"):
        back, ahead = np.roll(over, 1, axis=0), np.roll(over, -1, axis=0)
        curvature, slope = back - 2 * over + ahead, 0.5 * (ahead - back)
        same = (np.sign(back) == np.sign(over)) & (np.sign(ahead) == np.sign(over))
        extremum = same & (np.abs(slope) <= np.abs(curvature) * 0.5) & (curvature * over > 0)
        vertex = over - 0.5 * slope**2 / np.where(curvature == 0, 1.0, curvature)
    # Where another joint is outside its limits anyway, nothing changes.
    second, worst = np.sort(over, axis=1)[:, -2:].T[:, :, None]
    extremum &= np.isfinite(over) & (np.where(over == worst, second, worst) < NEARBY)
    if not closed:
        extremum[[0, -1]] = False
    grazing = bool(np.any(extremum & (np.abs(vertex) < GRAZING)))
    rows, joints = np.nonzero(extremum & (vertex * over < 0))
    shift = np.clip(-slope / np.where(curvature == 0, 1.0, curvature), -0.5, 0.5)[rows, joints]
    return grazing, np.stack([rows, np.where(shift == 0, 1e-9, shift), joints, vertex[rows, joints]], axis=1)


def _end(problem: IkProblem, lanes: Lanes, pose: int, fine: _Fine, here: int, beyond: int):
    """The joint and the limit that end a part between a point inside and one beyond, and the solution there."""
    a, b = fine.over[here], fine.over[beyond]
    outside = np.flatnonzero(b > SLACK)
    part = np.clip(-a[outside] / np.maximum(b[outside] - a[outside], 1e-300), 0.0, 1.0)
    chord = _short(fine.x[beyond] - fine.x[here])
    middle, half = _middle(problem)
    for k in np.argsort(part):
        joint = int(outside[k])
        start = fine.x[here] + part[k] * chord
        above = _short(start[joint] - middle[joint]) > 0
        start[joint] += _short(middle[joint] + (half[joint] if above else -half[joint]) - start[joint])
        at, squared = newton(problem, start[None], lanes.targets[[pose]], lanes.tool, 24, frozen=(joint,))
        if squared[0] < 1e-20 and np.abs(at[0] - start).max() < 0.1 and problem.inside(problem.wrapped(at))[0]:
            return joint, "upper" if above else "lower", at[0]
    return -1, "", None


def _strip_ends(problem: IkProblem, component: Component, coordinate: int) -> tuple[tuple[int, str], ...]:
    return tuple(_strip_end(problem, component, coordinate, last) for last in (False, True))


def _strip_end(problem: IkProblem, component: Component, coordinate: int, last: bool) -> tuple[int, str]:
    """The limit of the sliced joint at which a curve that is not closed ends; −1 if it was lost before."""
    s = component.x[-1 if last else 0, coordinate]
    for side, limit in (("lower", problem.lower[coordinate]), ("upper", problem.upper[coordinate])):
        if abs(s - limit) < SLACK:
            return coordinate, side
    return -1, ""


def _places(problem: IkProblem, fine: _Fine, x: np.ndarray) -> np.ndarray:
    """(t,) places of points (t, 7) of the curve: of what is nearest to them."""
    if not len(x):
        return np.zeros(0)
    off = np.abs(problem.difference(fine.x[None], x[:, None])).max(axis=2)
    return fine.place[np.argmin(off, axis=1)]


def _short(d: np.ndarray) -> np.ndarray:
    """Differences of angles the short way round."""
    return d - TURN * np.round(d / TURN)


def _values(fine: _Fine, run: np.ndarray, coordinate: int, others: np.ndarray) -> np.ndarray:
    """Values of a joint, without jumps, at points of a run in order, and at others (t, 7) next to some of them."""
    own = fine.x[run]
    angle = own[:, coordinate]
    s = angle[0] + np.concatenate([[0.0], np.cumsum(_short(np.diff(angle)))])
    near = [int(np.argmin(np.abs(_short(own - x)).max(axis=1))) for x in others]
    return np.concatenate([s, s[near] + _short(others[:, coordinate] - angle[near])]) if near else s


def _interval(s: np.ndarray) -> tuple[float, float]:
    low, high = float(s.min()), float(s.max())
    return (low, low + TURN) if high - low > TURN - 0.3 else (low, high)
