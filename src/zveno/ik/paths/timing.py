"""Time-optimal passing times of a joint path, with joint velocities and accelerations inside limits.

Between rests the path is a cubic spline q(s) of its own length. With x = ṡ² and u = s̈, limits are linear in (x, u):
|q'_j| √x ≤ v_j and |q'_j u + q''_j x| ≤ a_j. A pass backwards finds the greatest x from which the rest can still be
reached, a pass forwards the greatest x that can be attained (time-optimal path parametrisation by reachability,
Pham and Pham 2018). Limits hold on all of every interval of the grid, several between neighbouring poses.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from ...errors import ShapeError, ZvenoError
from ...mechanism import Mechanism
from .._whole_body.box_limits import model_velocities

BETWEEN = 8
"""Points of the grid from one pose to the next."""
_TINY = 1e-12


class Timing(NamedTuple):
    """Times (N,) and joint velocities (N, n_q) at the poses; NaN where a pose has no configuration."""

    times: np.ndarray
    velocity: np.ndarray


def timed(mechanism: Mechanism, q: np.ndarray, jumps: tuple[int, ...], velocity: Any, acceleration: Any) -> Timing:
    """Compute the fastest motion through configurations (N, n_q), at rest at both ends of every continuous part.

    From part to part, all joints move straight from rest to rest.

    Args:
        mechanism: the robot, for its velocity limits.
        q: configurations, NaN where there is none.
        jumps: numbers of the poses after which the motion is broken.
        velocity: largest velocities, (n_q,), one number, or True for the model's; None for no limit.
        acceleration: the same of accelerations.
    """
    if mechanism.n_q != mechanism.n_v:
        raise ZvenoError(
            f"{mechanism.name} has joints whose velocities are not the rates of q",
            element="velocity",
            remedy="Leave velocity and acceleration out, and time the path yourself",
        )
    if velocity is True:
        velocity = model_velocities(mechanism)
    v, a = (
        _limits(limit, mechanism.n_q, name)
        for limit, name in ((velocity, "velocity"), (acceleration, "acceleration"))
    )
    times, rates = np.full(len(q), np.nan), np.full_like(q, np.nan)
    now, last = 0.0, None
    for part in _parts(q, jumps):
        if last is not None:
            now += _from_rest_to_rest(abs(q[part[0]] - last), v, a)
        t, dq = _timed_part(q[part], v, a)
        times[part], rates[part] = now + t, dq
        now, last = times[part[-1]], q[part[-1]]
    return Timing(times, rates)


def _from_rest_to_rest(distance: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """Return the time in which all joints go these distances straight on, each within its limits."""
    moving = distance > 0
    distance, v, a = distance[moving], v[moving], a[moving]
    if (np.isinf(v) & np.isinf(a)).any():
        raise _unlimited()
    with np.errstate(divide="ignore", invalid="ignore"):
        ramp = np.where(np.isinf(a), 0.0, v / a)  # the time to full speed
        peaked = np.isinf(v) | (distance / v < ramp)
        seconds = np.where(peaked, 2.0 * np.sqrt(distance / a), distance / v + ramp)
    return float(seconds.max(initial=0.0))


def _unlimited() -> ZvenoError:
    return ZvenoError(
        "nothing limits the motion",
        element="velocity",
        remedy="Give velocity or acceleration limits of all joints",
    )


def _limits(given, n: int, name: str) -> np.ndarray:
    if given is None or given is False:
        return np.full(n, np.inf)
    try:
        array = np.broadcast_to(np.asarray(given, dtype=float), (n,))
    except (TypeError, ValueError):
        raise ShapeError(f"is not one number or {n}", element=name) from None
    if not (array > 0).all():
        raise ShapeError("must be positive", element=name, remedy=f"Give one number or {n}")
    return array


def _parts(q: np.ndarray, jumps: tuple[int, ...]) -> list[np.ndarray]:
    """Return numbers of the poses of every continuous part."""
    parts: list[list[int]] = []
    for k in range(len(q)):
        if np.isnan(q[k]).any():
            continue
        if parts and parts[-1][-1] == k - 1 and k - 1 not in jumps:
            parts[-1].append(k)
        else:
            parts.append([k])
    return [np.array(part) for part in parts]


def _timed_part(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute times (N,) and velocities (N, n) of one continuous part, from rest to rest."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    moving = np.concatenate([[True], np.diff(s) > _TINY])
    times, rates = np.zeros(len(q)), np.zeros_like(q)
    if moving.sum() < 2:
        return times, rates
    knots = s[moving]
    spline = CubicSpline(knots, q[moving], bc_type="natural" if len(knots) > 2 else "not-a-knot")
    grid = np.concatenate(
        [*(np.linspace(l, r, BETWEEN, endpoint=False) for l, r in itertools.pairwise(knots)), knots[-1:]]
    )
    first, second = spline(grid, 1), spline(grid, 2)
    x = _greatest(first, second, np.diff(grid), v, a)
    root = np.sqrt(x)
    if not np.isfinite(x).all():
        raise _unlimited()
    t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(grid) / np.maximum(root[1:] + root[:-1], _TINY))])
    at = np.flatnonzero(moving)
    times[at], rates[at] = t[::BETWEEN], (first * root[:, None])[::BETWEEN]
    for k in np.flatnonzero(~moving):
        times[k], rates[k] = times[k - 1], rates[k - 1]
    return times, rates


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
