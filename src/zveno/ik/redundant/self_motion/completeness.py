"""Completeness of solution curves: every turn of the sliced joint must belong to a known curve.

A curve that no slice meets lies between two slices, so the sliced joint s turns on it, at least twice. There the
plane curve F(s, u) = 0 of any projection has F_u = 0. All such points are known (`plane_curves`); those where a
known curve turns are accounted for. Some places stay ambiguous, as where two curves cross in one
projection. An unknown curve can hide only where every projection is ambiguous at the same s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...clock import time_is_over
from ...ik_problem import TURN
from .plane_curves import Turning, turning_points
from .projections import Projection

SAME = 1e-5
"""Distance, rad, within which a turning point of a projection is that of a curve."""
WIDENED = 1e-5
"""Added to intervals of s that are left in doubt."""


MOST_INTERVALS = 48
"""Largest number that one projection may leave in doubt; of more, those with the smallest gaps are joined."""
MOST_ASKED = 8
"""Largest number of intervals in doubt that are examined one by one."""


class Unknown(NamedTuple):
    """Turns that known curves do not account for.

    Attributes:
        intervals: (d, 2) of s that may hold turns of unknown curves; none if all curves are known.
        slices: values of s at which an unknown curve would be met.
    """

    intervals: np.ndarray
    slices: np.ndarray


def unknown_turns(
    projections: tuple[Projection, ...], T: np.ndarray, turns: np.ndarray, interval: tuple[float, float]
) -> Unknown:
    """Find turns at a pose T (4, 4), with s in an interval, that are not among those (t, 7) of known curves."""
    left = np.array([interval], float)
    slices: list[np.ndarray] = []
    for projection in projections:
        if not len(left) or time_is_over():
            break
        known = projection.angles(turns)
        sign = projection.sign
        found = turning_points(projection.curve(T), np.sort(sign * left, axis=1))
        accounted = _accounted(found, known, projection.sheets)
        new = ~accounted & _within(sign * found.points[:, 0], left)
        if not slices:
            slices.append(_where_met(sign * found.points[new, 0], sign * found.side[new]))
        points = np.stack([found.points[new, 0] - SAME, found.points[new, 0] + SAME], axis=1)
        left = _merged(np.sort(sign * np.concatenate([points, found.doubtful]), axis=1))
    if len(left) and len(projections) and len(left) <= MOST_ASKED:
        first, sign = projections[0], projections[0].sign
        left = left[[first.may_turn(T, *np.sort(sign * between)) for between in left]]
    return Unknown(left, np.concatenate([np.zeros(0), *slices]))


def _accounted(found: Turning, known: np.ndarray, sheets: int) -> np.ndarray:
    """Return True (t,) if as many known turns as sheets lie at turning points of a plane curve."""
    d = found.points[:, None] - known[None]
    near = np.abs(d - TURN * np.round(d / TURN)).max(axis=2, initial=0.0) < SAME
    return near.sum(axis=1) == sheets


def _within(s: np.ndarray, intervals: np.ndarray) -> np.ndarray:
    """Return True (t,) if values lie in one of the intervals (d, 2), modulo 2π."""
    middle, half = intervals.mean(axis=1), 0.5 * (intervals[:, 1] - intervals[:, 0])
    d = s[:, None] - middle
    return (np.abs(d - TURN * np.round(d / TURN)) <= half + SAME).any(axis=1)


def _where_met(s: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return s halfway between turns (t,) that may be the lowest and the highest s of one curve."""
    values = []
    for low in s[side > 0]:
        above = s[(side < 0) & (s > low)]
        values.append(0.5 * (low + above.min()) if len(above) else low + 1e-2)
    return np.array(values)


def _merged(intervals: np.ndarray) -> np.ndarray:
    """Widen intervals (n, 2) a little and merge those that touch; if too many are left, merge the nearest."""
    if not len(intervals):
        return intervals
    order = np.argsort(intervals[:, 0], kind="stable")
    low = intervals[order, 0] - WIDENED
    high = np.maximum.accumulate(intervals[order, 1]) + WIDENED
    gap = low[1:] - high[:-1]
    least = max(0.0, np.sort(gap)[-MOST_INTERVALS]) if len(gap) >= MOST_INTERVALS else 0.0
    apart = np.flatnonzero(gap > least)
    return np.stack([low[np.r_[0, apart + 1]], high[np.r_[apart, len(high) - 1]]], axis=1)
