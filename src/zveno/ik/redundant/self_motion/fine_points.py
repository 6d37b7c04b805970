"""Points on and between those of curves of solutions, and how far each joint is outside its limits there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import TURN, IkProblem
from ...newton import Lanes
from .components import Component
from .curve_step import ON_CURVE, stepped, turns_within

FINER = 4
"""Points looked at for each of a curve, by cubic interpolation: they are 0.06 rad apart at most."""
GRAZING = 1e-6
"""An angle that comes to within this of a limit, rad, and turns there, leaves it open whether limits are kept."""
INTERPOLATED = 1e-4
"""The same where the place could not be found on the curve: the error of interpolation."""
AS_FAR = 1.05
"""Search distance ahead for that place, in distances between points."""
LOOKED_AT = 1e-3
"""Distance to a limit, rad, within which the place where a joint turns is found on the curve itself."""
NARROW = 0.03
"""A part shorter than this part of a step between points, some 1e-3 rad, is not told from none."""
NEARBY = 0.05
"""Largest excess of a joint, rad, at which limits may still be kept between two points."""
SLACK = 1e-9


class Fine(NamedTuple):
    """Points of several curves, one after another.

    Attributes:
        x: (p, 7).
        over: (p, 7) excess of joints over their limits; −∞ where these leave a whole turn, or are the strip's.
        first: index of the first point of each curve, and the number of all.
        before, after: (p,) neighbours; a point itself at an end of its curve.
        listed: (p,) solutions of slices, and turns.
        turn: (p,) points where the sliced joint turns.
        grazing: True if a joint may graze a limit.
    """

    x: np.ndarray
    over: np.ndarray
    first: np.ndarray
    before: np.ndarray
    after: np.ndarray
    listed: np.ndarray
    turn: np.ndarray
    grazing: bool


def fine_points(
    problem: IkProblem, lanes: Lanes, components: list[Component], coordinate: int, around: bool
) -> Fine:
    """Return points of curves and between them."""
    closed = np.array([component.closed for component in components])
    limited = problem.upper - problem.lower < TURN
    if not around:
        limited = limited & (np.arange(problem.n) != coordinate)
    curves = _curves(components, closed)
    points = _interpolated(problem, components, curves, limited)
    beyond, grazing = _extrema(problem, lanes, limited, curves, points)
    points = _with(points, beyond, _turns(problem, components, curves, limited))
    windows, touching = _windows(points, curves)
    points = _with(points, windows)
    chain = curves.chain_of(points.place)
    return Fine(points.x, points.over, *chain[:3], points.listed, points.turn, grazing or touching)


class _Chain(NamedTuple):
    """Neighbours among the points of several curves."""

    first: np.ndarray
    before: np.ndarray
    after: np.ndarray


class _Curves(NamedTuple):
    """The points x (n, 7) of all curves with their tangents, and the chords from each to the next one."""

    x: np.ndarray
    tangent: np.ndarray
    closed: np.ndarray
    chain: _Chain
    curve: np.ndarray
    """(n,) the curve of each point."""
    chord: np.ndarray
    length: np.ndarray

    def chain_of(self, place: np.ndarray) -> _Chain:
        """Find neighbours by places: the place of a curve point is its number, other points lie between."""
        return _chain(np.bincount(self.curve[place.astype(int)], minlength=len(self.closed)), self.closed)


class _Points(NamedTuple):
    """Points by their places on curves; see `Fine`."""

    x: np.ndarray
    over: np.ndarray
    place: np.ndarray
    listed: np.ndarray
    turn: np.ndarray


def _chain(sizes: np.ndarray, closed: np.ndarray) -> _Chain:
    first = np.concatenate([[0], np.cumsum(sizes)])
    before, after = np.arange(first[-1]) - 1, np.arange(first[-1]) + 1
    before[first[:-1]] = np.where(closed, first[1:] - 1, first[:-1])
    after[first[1:] - 1] = np.where(closed, first[:-1], first[1:] - 1)
    return _Chain(first, before, after)


def _curves(components: list[Component], closed: np.ndarray) -> _Curves:
    sizes = np.array([len(component.x) for component in components])
    x = np.concatenate([component.x for component in components])
    tangent = np.concatenate([component.tangent for component in components])
    chain = _chain(sizes, closed)
    chord = short(x[chain.after] - x)
    curve = np.repeat(np.arange(len(sizes)), sizes)
    return _Curves(x, tangent, closed, chain, curve, chord, np.linalg.norm(chord, axis=1)[:, None])


def _interpolated(problem: IkProblem, components: list[Component], curves: _Curves, limited: np.ndarray) -> _Points:
    """Interpolate all points of curves and between them by cubics."""
    after, n = curves.chain.after, len(curves.x)
    t = (np.arange(FINER) / FINER)[:, None]
    x = np.empty((n, FINER, problem.n))
    leaving, arriving = curves.length * curves.tangent, curves.length * curves.tangent[after]
    for k, at in enumerate(t[:, 0].tolist()):
        bend = at * (1 - at) * ((1 - at) * leaving - at * arriving)
        x[:, k] = curves.x + at * at * (3 - 2 * at) * curves.chord + bend
    kept = (after != np.arange(n))[:, None] | (t[:, 0] == 0)
    listed = np.zeros((n, FINER), bool)
    listed[:, 0] = np.concatenate([component.marked for component in components])
    x, place, listed = x[kept], (np.arange(n)[:, None] + t[:, 0])[kept], listed[kept]
    return _Points(x, _over(problem, x, limited), place, listed, np.zeros(len(x), bool))


def _turns(problem: IkProblem, components: list[Component], curves: _Curves, limited: np.ndarray) -> _Points:
    """Find the points where the sliced joint turns."""
    x = np.concatenate([component.turns for component in components])
    firsts = curves.chain.first[:-1]
    begun = np.concatenate([component.after + first for component, first in zip(components, firsts, strict=True)])
    length = np.maximum(curves.length[begun, 0], 1e-300)
    along = np.sum(short(x - curves.x[begun]) * curves.chord[begun], axis=1) / length**2
    every = np.ones(len(x), bool)
    return _Points(x, _over(problem, x, limited), begun + np.clip(along, 1e-9, 1 - 1e-9), every, every)


def _with(*sets: _Points) -> _Points:
    """Return points in the order of their places."""
    sets = tuple(points for points in sets if len(points.x))
    if len(sets) == 1:
        return sets[0]
    every = _Points(*[np.concatenate(parts) for parts in zip(*sets, strict=True)])
    order = np.argsort(every.place, kind="stable")
    return _Points(*[part[order] for part in every])


def _unlisted(x: np.ndarray, over: np.ndarray, place: np.ndarray) -> _Points:
    return _Points(x, over, place, np.zeros(len(x), bool), np.zeros(len(x), bool))


def _extrema(
    problem: IkProblem, lanes: Lanes, limited: np.ndarray, curves: _Curves, points: _Points
) -> tuple[_Points, bool]:
    """Find the points where joints turn beyond limits between samples; tell if one turns too near to a limit.

    The parabola through three neighbours finds them, where these are on one side of the limit and the vertex may
    not be; then they are found on the curve itself.
    """
    over, chain = points.over, curves.chain_of(points.place)
    with np.errstate(invalid="ignore"):
        back, ahead = over[chain.before], over[chain.after]
        curvature, slope = back - 2 * over + ahead, 0.5 * (ahead - back)
        extremum = (back * over > 0) & (ahead * over > 0) & (2 * np.abs(slope) <= np.abs(curvature))
        extremum &= curvature * over > 0
    own = np.arange(len(over))
    extremum[(chain.before == own) | (chain.after == own)] = False
    rows, joints = np.nonzero(extremum)
    value, bend, tilt = (part[rows, joints] for part in (over, curvature, slope))
    vertex, shift = value - 0.5 * tilt**2 / bend, -tilt / bend
    # Where another joint is outside its limits anyway, nothing changes.
    others = over[rows]
    others[np.arange(len(rows)), joints] = -np.inf
    asked = (others.max(axis=1, initial=-np.inf) < NEARBY) & ((vertex * value < 0) | (np.abs(vertex) < LOOKED_AT))
    rows, joints = rows[asked], joints[asked]
    shift, vertex, value = shift[asked], vertex[asked], value[asked]
    neighbour = np.where(shift < 0, chain.before[rows], chain.after[rows])
    x = points.x[rows] + np.abs(shift)[:, None] * short(points.x[neighbour] - points.x[rows])
    place = points.place[rows] + np.where(shift == 0, 1e-9, shift) / FINER
    curve = curves.curve[points.place[rows].astype(int)]
    place += np.where(place < curves.chain.first[curve], np.diff(curves.chain.first)[curve], 0)
    number = np.arange(len(rows))
    exact = np.zeros(len(rows), bool)
    if len(rows):
        # Between two points of the curve a joint turns if its rates there have opposite signs.
        begun = place.astype(int)
        start, tangent, step = curves.x[begun], curves.tangent[begun], AS_FAR * curves.length[begun, 0]
        reached = stepped(problem, lanes, start, tangent, step)
        changes = tangent[number, joints] * reached.tangent[number, joints] < 0
        exact = changes & (reached.squared < ON_CURVE)
        on = np.flatnonzero(exact)
        if len(on):
            x[on] = turns_within(problem, lanes, start[on], tangent[on], step[on], joints[on])[0]
            vertex[on] = _over(problem, x[on], limited)[np.arange(len(on)), joints[on]]
    beyond = _over(problem, x, limited)
    beyond[number, joints] = vertex
    crossed = vertex * value < 0
    grazing = bool(np.any(np.abs(vertex) < np.where(exact, GRAZING, INTERPOLATED)))
    return _unlisted(x[crossed], beyond[crossed], place[crossed]), grazing


def _windows(points: _Points, curves: _Curves) -> tuple[_Points, bool]:
    """Find the points where one joint comes inside before another leaves; tell if both happen at once.

    Between two points that are outside for different joints there may be a short part inside.
    """
    over, chain = points.over, curves.chain_of(points.place)
    out = over > SLACK
    beyond = out[chain.after]
    comes, leaves = out & ~beyond, ~out & beyond
    rows = np.flatnonzero(comes.any(axis=1) & leaves.any(axis=1) & ~(out & beyond).any(axis=1))
    after = chain.after[rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = over[rows] / (over[rows] - over[after])
    first = np.where(comes[rows], crossing, 0.0).max(axis=1, initial=0.0)
    last = np.where(leaves[rows], crossing, 1.0).min(axis=1, initial=1.0)
    narrow = bool(np.any(np.abs(last - first) < NARROW))
    wide = last > first
    rows, after, part = rows[wide], after[wide], 0.5 * (first + last)[wide, None]
    x = points.x[rows] + part * short(points.x[after] - points.x[rows])
    with np.errstate(invalid="ignore"):
        between = np.where(np.isfinite(over[rows]), (1 - part) * over[rows] + part * over[after], -np.inf)
    # The last point of a curve that is closed is followed by the first.
    around = np.diff(curves.chain.first)[curves.curve[points.place[rows].astype(int)]]
    gap = points.place[after] - points.place[rows]
    return _unlisted(x, between, points.place[rows] + part[:, 0] * (gap + np.where(gap < 0, around, 0))), narrow


def _over(problem: IkProblem, x: np.ndarray, limited: np.ndarray) -> np.ndarray:
    middle, half = middles(problem)
    return np.where(limited, np.abs(short(x - middle)) - half, -np.inf)


def middles(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle and half of the ranges of joints; 0 and π without limits."""
    ended = np.isfinite(problem.upper - problem.lower)
    lower, upper = np.where(ended, problem.lower, -np.pi), np.where(ended, problem.upper, np.pi)
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def short(d: np.ndarray) -> np.ndarray:
    """Return differences of angles the short way round."""
    return d - TURN * np.round(d / TURN)
