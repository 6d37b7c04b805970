"""Time-optimal passing times of a joint path, with joint velocities and accelerations inside limits.

Between rests the path is a cubic spline q(s), parametrised by its chord length s. It passes through the
configurations of the poses; where it would leave limits between them, it also passes through others that were
followed there. With x = ṡ² and u = s̈, limits are linear in (x, u):
|q'_j| √x ≤ v_j and |q'_j u + q''_j x| ≤ a_j. A pass backwards finds the greatest x from which the rest can still be
reached, one forwards the greatest x that can be attained (time-optimal path parametrisation by reachability, Pham
and Pham 2018). Limits hold on all of every interval of the grid, several between neighbouring poses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from ...errors import ZvenoError
from .._whole_body.box_limits import acceleration_limits, velocity_limits
from .crossings import crossing
from .follow import Follower
from .interruptions import Interruption
from .joint_path import Motion
from .strands import named_limits

MOST = 32
"""Pieces from one pose to the next, at most, between which a spline has knots where it would leave limits."""
BETWEEN = 8
"""Points of the grid from one knot to the next."""
BEYOND = 1e-6
"""Largest excess of the spline over a limit, rad or m."""
MOST_SAMPLES = 10_000_000
_TINY = 1e-12


class Timing(NamedTuple):
    """A timed motion.

    Attributes:
        times, velocity: (N,) and (N, n_q) at the poses; NaN where a pose has no configuration.
        motion: between the poses too.
        broken: by the pose before: where no spline between two poses stays inside limits.
    """

    times: np.ndarray
    velocity: np.ndarray
    motion: Motion
    broken: dict[int, Interruption]


class _Part(NamedTuple):
    """A continuous part: knots q (m, n_q), their chord lengths s (m,) from the first, and places (m,) in poses."""

    q: np.ndarray
    s: np.ndarray
    place: np.ndarray


def timed(
    follower: Follower, states: np.ndarray, jumps: tuple[int, ...], velocity: Any, acceleration: Any
) -> Timing:
    """Compute the fastest motion through configurations (N, n_q), at rest at both ends of every continuous part.

    From part to part, all joints move straight from rest to rest.

    Args:
        follower: of the chain along the poses.
        states: configurations, NaN where there is none.
        jumps: numbers of the poses after which the motion is broken.
        velocity: largest velocities, (n_v,), one number, or True for the model's; None for no limit.
        acceleration: the same of accelerations.
    """
    mechanism = follower.problem.mechanism
    if mechanism.n_q != mechanism.n_v:
        raise ZvenoError(
            f"{mechanism.name} has joints whose velocities are not the rates of q",
            element="velocity",
            remedy="Leave velocity and acceleration out, and time the path yourself",
        )
    v = velocity_limits(mechanism, False if velocity is None else velocity)
    a = acceleration_limits(mechanism, acceleration)
    parts, broken = _parts(follower, states, jumps)
    times, rates = np.full(len(states), np.nan), np.full_like(states, np.nan)
    sections: list[tuple[np.ndarray, ...]] = []
    now = 0.0
    for number, part in enumerate(parts):
        if number:
            straight = np.stack([parts[number - 1].q[-1], part.q[0]])
            sections.append((straight, *_from_rest_to_rest(straight[1] - straight[0], v, a)))
            now += _passed(*sections[-1][2:])[-1]
        moving = np.diff(part.s, prepend=-1.0) > _TINY
        s, q = part.s[moving], part.q[moving]
        grid, rate = _timed_part(s, q, v, a)
        poses = np.flatnonzero(part.place % 1.0 == 0.0)
        at = BETWEEN * (np.cumsum(moving)[poses] - 1)
        rows = part.place[poses].astype(int)
        times[rows] = now + _passed(grid, rate)[at]
        rates[rows] = _spline(s, q)(grid[at], 1) * rate[at, None] if len(s) > 1 else 0.0
        sections.append((q, s, grid, rate))
        now += _passed(grid, rate)[-1]
    return Timing(times, rates, _motion(sections, states.shape[1]), broken)


def _motion(sections: list[tuple[np.ndarray, ...]], n_q: int) -> Motion:
    """Join sections (knots, their chord lengths, grid, rates) end to end."""
    knots, s, grid, rate = (
        zip(*sections, strict=True) if sections else (((np.zeros((0, n_q)),), *[(np.zeros(0),)] * 3))
    )
    sizes = [(len(own), len(points)) for own, points in zip(knots, grid, strict=True)]
    first = np.concatenate([np.zeros((1, 2), int), np.cumsum(sizes, axis=0)])
    return Motion(np.concatenate(knots), np.concatenate(s), np.concatenate(grid), np.concatenate(rate), first)


def sampled(motion: Motion, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return t (n,), q, v and a (n, n_q) of a motion at a rate, Hz, or a little more, its last moment included."""
    if not (np.isfinite(rate) and rate > 0.0):
        raise ZvenoError(f"is {rate}", element="rate", remedy="Give samples per second, above zero")
    sections = list(_sections(motion))
    ends = np.cumsum([_passed(grid, speed)[-1] for _, _, grid, speed in sections])
    if ends[-1] * rate > MOST_SAMPLES:
        raise ZvenoError(
            f"a motion of {ends[-1]:.4g} s has more than {MOST_SAMPLES} samples",
            element="rate",
            remedy="Give a lower rate",
        )
    t = np.linspace(0.0, ends[-1], int(np.ceil(ends[-1] * rate - 1e-9)) + 1)
    own = np.minimum(np.searchsorted(ends, t), len(ends) - 1)
    q, v, a = np.zeros((3, len(t), motion.knots.shape[1]))
    for number, (knots, s, grid, speed) in enumerate(sections):
        rows = np.flatnonzero(own == number)
        if len(s) < 2:
            q[rows] = knots[0]
            continue
        passed = _passed(grid, speed)
        late = np.clip(t[rows] - (ends[number] - passed[-1]), 0.0, passed[-1])
        k = np.clip(np.searchsorted(passed, late, side="right") - 1, 0, len(grid) - 2)
        duration = passed[k + 1] - passed[k]
        u = np.where(duration > 0.0, (speed[k + 1] - speed[k]) / np.where(duration > 0.0, duration, 1.0), 0.0)
        late = late - passed[k]
        faster, place = speed[k] + u * late, np.minimum(grid[k] + (speed[k] + 0.5 * u * late) * late, s[-1])
        spline = _spline(s, knots)
        first = spline(place, 1)
        q[rows], v[rows] = spline(place), first * faster[:, None]
        a[rows] = spline(place, 2) * faster[:, None] ** 2 + first * u[:, None]
    return t, q, v, a


def _sections(motion: Motion) -> Iterator[tuple[np.ndarray, ...]]:
    for (knot, point), (next_knot, next_point) in itertools.pairwise(motion.first.tolist()):
        own, points = slice(knot, next_knot), slice(point, next_point)
        yield motion.knots[own], motion.s[own], motion.grid[points], motion.rate[points]


def _spline(s: np.ndarray, q: np.ndarray) -> CubicSpline:
    return CubicSpline(s, q, bc_type="natural" if len(s) > 2 else "not-a-knot")


def _passed(grid: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return the times (g,) at which places of a grid are passed, from 0 on; s̈ is constant between."""
    return np.concatenate([[0.0], np.cumsum(2.0 * np.diff(grid) / np.maximum(rate[1:] + rate[:-1], _TINY))])


def _from_rest_to_rest(d: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return s (2,) at the ends of a straight line d (n,), and the grid (4,) and rates of the motion along it."""
    length = float(np.linalg.norm(d))
    share = abs(d[d != 0.0]) / length
    fastest, steepest = (v[d != 0.0] / share).min(initial=np.inf), (a[d != 0.0] / share).min(initial=np.inf)
    top = min(float(fastest), float(np.sqrt(steepest * length))) if length else 0.0
    if np.isinf(top):
        raise _unlimited()
    ramp = min(0.5 * top * top / float(steepest), 0.5 * length)
    return np.array([0.0, length]), np.array([0.0, ramp, length - ramp, length]), np.array([0.0, top, top, 0.0])


def _unlimited() -> ZvenoError:
    return ZvenoError(
        "nothing limits the motion",
        element="velocity",
        remedy="Give velocity or acceleration limits of all joints",
    )


def _parts(
    follower: Follower, states: np.ndarray, jumps: tuple[int, ...]
) -> tuple[list[_Part], dict[int, Interruption]]:
    """Return the parts between jumps, with more knots where a spline leaves limits, ended where none helps."""
    pieces, broken = np.ones(len(states), int), dict[int, Interruption]()
    while True:
        parts = [_part(follower, states, run, pieces[run[:-1]]) for run in _runs(states, {*jumps, *broken})]
        beyond = {int(place): (place % 1.0, why) for part in parts for place, why in _beyond(follower, part)}
        if not beyond:
            return parts, broken
        for k, (fraction, why) in beyond.items():
            if pieces[k] < MOST:
                pieces[k] *= 2
            else:
                broken[k] = Interruption(fraction, why)


def _runs(states: np.ndarray, jumps: set[int]) -> list[np.ndarray]:
    """Return numbers of the poses of every continuous part."""
    known = np.flatnonzero(~np.isnan(states[:, 0]))
    ends = [i for i, k in enumerate(known[:-1].tolist(), start=1) if k in jumps or known[i] != k + 1]
    return [run for run in np.split(known, ends) if len(run)]


def _part(follower: Follower, states: np.ndarray, run: np.ndarray, pieces: np.ndarray) -> _Part:
    """Return the part through the poses of a run (r,), with knots that cut the way between into pieces (r − 1,)."""
    q, place = [states[run]], [run.astype(float)]
    for count in np.unique(pieces[pieces > 1]).tolist():
        k = run[:-1][pieces == count]
        between, fine = follower.places(k, states[k], count, states[k + 1])
        q.append(between[1:-1, fine].reshape(-1, states.shape[1]))
        place.append((k[fine] + np.arange(1, count)[:, None] / count).ravel())
        for i in k[~fine].tolist():
            met = crossing(follower, i, states[i], states[i + 1][None])
            if met is not None:
                q.append(met.through)
                place.append(i + np.array([met.place, met.place]).clip(1e-9, 1.0 - 1e-9))
    places = np.concatenate(place)
    order = np.argsort(places, kind="stable")
    knots = np.concatenate(q)[order]
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(knots, axis=0), axis=1))])
    return _Part(knots, s, places[order])


def _beyond(follower: Follower, part: _Part) -> Iterator[tuple[float, str]]:
    """Yield places of a part where its spline exceeds limits, and the names of these limits."""
    moving = np.diff(part.s, prepend=-1.0) > _TINY
    s, q, place = part.s[moving], part.q[moving], part.place[moving]
    if len(s) < 2:
        return
    spline, h, (lower, upper) = _spline(s, q), np.diff(s)[:, None] / 3.0, follower.box
    slope = spline(s, 1)
    # A cubic lies in the hull of its control points.
    hull = np.stack([q[:-1], q[:-1] + h * slope[:-1], q[1:] - h * slope[1:], q[1:]])
    doubtful = ((hull > upper + BEYOND) | (hull < lower - BEYOND)).any(axis=(0, 2))
    share = np.linspace(0.0, 1.0, MOST + 1)
    for i in np.flatnonzero(doubtful).tolist():
        x = spline(s[i] + share * (s[i + 1] - s[i]))
        over = (x > upper + BEYOND) | (x < lower - BEYOND)
        if over.any():
            first = share[np.argmax(over.any(axis=1))] * (place[i + 1] - place[i])
            yield (
                float(np.clip(place[i] + first, np.floor(place[i]), np.ceil(place[i + 1]) - 1e-9)),
                named_limits(follower, np.flatnonzero(over.any(axis=0))),
            )


def _timed_part(s: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid along a part with knots q at chord lengths s, and ṡ on the grid, from rest to rest."""
    if len(s) < 2:
        return np.zeros(1), np.zeros(1)
    spline = _spline(s, q)
    grid = np.append((s[:-1, None] + np.diff(s)[:, None] * np.arange(BETWEEN) / BETWEEN).ravel(), s[-1])
    x = _greatest(spline(grid, 1), spline(grid, 2), np.diff(grid), v, a)
    if not np.isfinite(x).all():
        raise _unlimited()
    return grid, np.sqrt(x)


def _greatest(first: np.ndarray, second: np.ndarray, steps: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Compute the greatest x = ṡ² at every point of the grid.

    Velocities are limited by the greatest |q'| of every interval. Accelerations are limited at both of its ends,
    with room for what they are beyond that between; u is constant there: q' u + q'' x at the first, and the same
    with x + 2 Δ u at the other.
    """
    peaks = _peaks(first, second, steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        on_intervals = np.min(np.where(peaks > _TINY, (v / peaks) ** 2, np.inf), axis=1)
    fastest = np.minimum(np.append(on_intervals, np.inf), np.append(np.inf, on_intervals))
    by_u = np.concatenate([first[:-1], first[1:] + 2.0 * steps[:, None] * second[1:]], axis=1)
    by_x = np.concatenate([second[:-1], second[1:]], axis=1)
    # Between the ends the acceleration is a parabola in s, beyond its chord by at most 5/8 of the step times the
    # change of q'' times |u|.
    off = np.tile(0.625 * steps[:, None] * abs(np.diff(second, axis=0)), 2)
    by_u, by_x = np.concatenate([by_u - off, by_u + off], axis=1), np.tile(by_x, 2)
    bounds = np.tile(a, 4)
    n = len(first)
    reach = np.zeros(n)  # the last point is at rest
    for k in range(n - 2, -1, -1):
        reach[k] = _controllable(by_u[k], by_x[k], bounds, fastest[k], reach[k + 1], steps[k])
    x = np.zeros(n)
    for k in range(n - 1):
        u = _greatest_u(by_u[k], by_x[k], bounds, x[k])
        x[k + 1] = min(reach[k + 1], max(0.0, x[k] + 2.0 * steps[k] * u))
    return x


def _peaks(first: np.ndarray, second: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the greatest |q'| of every grid interval, (intervals, n): at its ends, or where q'' vanishes."""
    at, after = second[:-1], second[1:]
    turns = at * after < 0
    place = np.where(turns, at / np.where(turns, at - after, 1.0), 0.0)
    top = first[:-1] + steps[:, None] * place * (at + 0.5 * (after - at) * place)
    return np.maximum(np.maximum(abs(first[:-1]), abs(first[1:])), abs(top))


def _controllable(p: np.ndarray, c: np.ndarray, a: np.ndarray, most: float, following: float, step: float) -> float:
    """Return the greatest x for which some u keeps |p u + c x| ≤ a and 0 ≤ x + 2 step u ≤ the x that follows.

    Every limit is u between two straight lines in x; every pair of a lower and an upper line bounds x.
    """
    limited = np.isfinite(a)
    p, c, a = p[limited], c[limited], a[limited]
    moving = abs(p) > _TINY
    still = a[~moving] / np.maximum(abs(c[~moving]), _TINY)
    size, slope = abs(p[moving]), -c[moving] / p[moving]
    half = 1.0 / (2.0 * step)
    low, low_slope = np.append(-a[moving] / size, 0.0), np.append(slope, -half)
    high, high_slope = np.append(a[moving] / size, following * half), np.append(slope, -half)
    rise, room = low_slope[:, None] - high_slope[None], high[None] - low[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.where(rise > _TINY, room / rise, np.inf)
    return max(0.0, min(most, still.min(initial=np.inf), bounds.min(initial=np.inf)))


def _greatest_u(p: np.ndarray, c: np.ndarray, a: np.ndarray, x: float) -> float:
    """Return the greatest u with |p u + c x| ≤ a; infinite without a limit."""
    limited = (abs(p) > _TINY) & np.isfinite(a)
    if not limited.any():
        return np.inf
    return float(((a[limited] - np.sign(p[limited]) * c[limited] * x) / abs(p[limited])).min())
