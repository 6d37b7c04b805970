"""Passing a singularity between two poses of a path, without leaving the path.

Where a path goes exactly through a singular pose, solutions are analytic functions of the way on either side: a
wrist that aligns goes on with its fifth angle on the other side of zero. The motion is integrated from both poses
to the place where det J vanishes. If both ends solve the pose there and are the same configuration, or on one
continuum with solutions all along between them, the two halves are one motion; the tool rests while the arm moves
along the continuum. A path that only comes near the singularity fails this test: what lies between the two ends
misses the pose by more than a solution may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...spatial import transforms
from ...spatial.rotations import log
from .._judge import EXACT
from ..ik_problem import TURN
from .follow import LONGEST, Follower, whole_turns

PIECES = 8
"""Steps of the integration from pose to pose."""
MOST_STEPS = 4 * PIECES
AT_REST = 2.0
"""The motion along a continuum is at most this times the motion between it and the pose before or after."""
SINGULAR, SINGULAR_SOLUTION = 1e-6, 1e-4
"""Least singular values (lengths in units of `length`) below which the singularity is reached, and below which a
solution may be at one: its coordinates, known to half the digits at a double root, tell no more."""
SHARE, STEPS, NEAR = 0.75, 60, 48
"""A singular place is approached in steps that leave this share of the distance, so many of them, of which those
after the first `NEAR` may fail. Near folds, angles change as the root of the distance."""
_SHORTEST = 1e-11
_BETWEEN = np.arange(9)[:, None] / 8


class Crossing(NamedTuple):
    """A configuration of the next pose that a motion through a singularity leads to."""

    number: int
    """Index of the state among those of the next pose."""
    state: np.ndarray
    """(n_q,) the same with whole turns as the motion makes them."""
    place: float
    """Share of the way at which the pose is singular."""
    through: np.ndarray
    """(2, n_q) the configurations between which the arm moves there while the frame rests."""


class _Way:
    """Poses between the poses k and k + 1 of a path, by a constant twist."""

    def __init__(self, follower: Follower, k: int):
        self.follower, self.start = follower, follower.T[k]
        D = transforms.inverse(follower.T[k]) @ follower.T[k + 1]
        self.twist = transforms.log(log(D[:3, :3]), D[:3, 3])

    def at(self, place: float) -> np.ndarray:
        """Return the pose at a place from 0 to 1, (1, 4, 4)."""
        return (self.start @ transforms.exp(self.twist * place))[None]

    def step(self, x: np.ndarray, place: float) -> tuple[np.ndarray, bool]:
        """Follow the configuration x to a place, and tell if that succeeded."""
        after, good = self.follower.step(self.at(place), x[None])
        return after[0], bool(good[0])

    def determinant(self, x: np.ndarray, place: float) -> float:
        """Return det J of the task's error."""
        return float(np.linalg.det(self.follower.error(x[None], self.at(place))[1][0]))


def crossing(follower: Follower, k: int, x: np.ndarray, after: np.ndarray) -> Crossing | None:
    """Find the crossing of a singularity by a configuration x (n_q,) of pose k that could not be followed.

    Args:
        follower: of a chain with as many coordinates as equations.
        k: number of the pose.
        x: the configuration.
        after: configurations (s, n_q) of pose k + 1.
    """
    if not len(after) or not follower.square:
        return None
    way = _Way(follower, k)
    singular = np.flatnonzero(follower.least_singular(k + 1, after) < SINGULAR_SOLUTION)
    if len(singular):
        end = _approached(way, x, 0.0, 1.0)
        arrived = None if end is None else _reached(way, 1.0, end, after[singular], follower.difference(end, x))
        if arrived is not None:
            return arrived._replace(number=int(singular[arrived.number]))
    at_start = follower.least_singular(k, x[None])[0] < SINGULAR
    # The motion goes through the singularity, it does not turn back.
    beyond = np.flatnonzero(at_start | (follower.signs(k + 1, after) * follower.signs(k, x[None]) < 0))
    if not any(_nearest_first(follower, x, after[beyond])):
        return None
    meeting = (0.0, x) if at_start else _singular_place(way, x)
    if meeting is None:
        return None
    place, before = meeting
    for number, end in _nearest_first(follower, before, after[beyond]):
        behind = _approached(way, end, 1.0, place)
        if behind is not None and _joined(way, place, before, behind, follower.difference(end, behind)):
            return Crossing(int(beyond[number]), end, place, np.stack([before, behind]))
    return None


def _reached(way: _Way, place: float, x: np.ndarray, states: np.ndarray, motion: np.ndarray) -> Crossing | None:
    """Find the first of the states (s, n_q) of a singular pose that x can be joined to."""
    for number, end in _nearest_first(way.follower, x, states):
        if _joined(way, place, x, end, motion):
            return Crossing(number, end, place, np.stack([x, end]))
    return None


def _nearest_first(follower: Follower, x: np.ndarray, states: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield numbers of the states (s, n_q) within `LONGEST` of x, and the states without whole turns between."""
    ends = states + TURN * whole_turns(follower.periodic, x - states)
    far = np.abs(follower.difference(ends, x)).max(axis=1, initial=0.0)
    for number in np.argsort(far, kind="stable"):
        if far[number] <= LONGEST:
            yield int(number), ends[number]


def _singular_place(way: _Way, x: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Find the first place where det J vanishes on the branch of x, by secants, and the configuration there."""
    place, value = 0.0, way.determinant(x, 0.0)
    slope = 0.0
    for _ in range(MOST_STEPS):
        ahead = -value / slope if slope * value < 0 else np.inf
        length = min(ahead, 1.0 / PIECES)
        if place + length > 1.0 + 1e-9:
            return None
        moved, good = way.step(x, place + length)
        if not good:
            return None
        now = way.determinant(moved, place + length)
        if ahead <= length and abs(length) < _SHORTEST:
            return place + length, moved
        slope = (now - value) / length
        if now * value > 0:
            place, value, x = place + length, now, moved
        if value == 0.0 or now == 0.0:
            return place + (length if now == 0.0 else 0.0), moved
    return None


def _approached(way: _Way, x: np.ndarray, begin: float, end: float) -> np.ndarray | None:
    """Follow the configuration x from one place nearly to another; return None if that fails."""
    for number in range(1, STEPS + 1):
        nearer, good = way.step(x, end + (begin - end) * SHARE**number)
        if not good:
            return x if number > NEAR else None
        x = nearer
    return x


def _joined(way: _Way, place: float, a: np.ndarray, b: np.ndarray, motion: np.ndarray) -> bool:
    """Return True if a and b, and all between them, solve the pose at a place."""
    follower, longest, d = way.follower, np.abs(motion).max(), way.follower.difference(b, a)
    if np.abs(d).max() > AT_REST * longest:
        return False
    start = follower.moved(np.repeat(a[None], len(_BETWEEN), axis=0), _BETWEEN * d)
    points, T = start, np.repeat(way.at(place), len(_BETWEEN), axis=0)
    for _ in range(3):
        e, J = follower.error(points, T)
        points = follower.moved(points, -np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-3), e))
    strayed = np.abs(follower.difference(points, start)).max()
    return bool(strayed <= 0.1 * longest and np.abs(follower.error(points, T)[0]).max() <= EXACT)
