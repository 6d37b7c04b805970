"""Static walking: order of steps; shift the centre of mass, lift a foot, carry it, lower it until it touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import ZvenoError
from ._torques import Felt, Torques
from ._walker import GRAVITY, Swing, Walker, check_gait, smooth, stride_of
from .support import nearest_supported, stability_margin, support_polygon

CENTER = (60.0, 16.0)
"""Gains, 1/s² and 1/s, of the centre of mass."""
SETTLE = 0.15
"""Settling time of a shift, s."""
NEAR = 0.02
"""Largest error of the centre of mass, m, at which a foot is lifted."""
SHORTEST_SHIFT, LONGEST_SHIFT = 0.3, 3.0
"""Shortest and longest duration of a shift whose time is not given, s."""
STEEPEST = 10.0 / np.sqrt(3.0)
"""Largest second derivative of the polynomial from 0 to 1."""
PATIENCE = 2.0
"""Time, s, after which a shift that does not arrive is abandoned, and the foot is lifted anyway."""
MOST_MARGIN = 0.05
"""Margin, m, that suffices on a wide support."""
SHARE = 0.8
"""Share of the largest margin of a support polygon that the centre of mass is brought to."""


@dataclass(frozen=True)
class StaticGait:
    """Static walk on ground that may differ from the expected one.

    Attributes:
        stride: (x, y), m in world axes, by which every foot steps per cycle; if None, a fifth of the height of the
            centre of mass, in the initial heading of the body.
        steps: number of steps in all.
        order: names of the feet in the order of their steps; if None, the order with the shortest path of the
            centre of mass.
        clearance: of the lifted foot, m; a tenth of that height if None.
        below: depth below the expected ground down to which a foot searches for it, m.
        shift_time: s, of the centre of mass to its next position; if None, so long that the pressure stays within
            the margin.
        swing_time: s; a foot comes down from the middle of it on, until it touches. 2.7 √(height/g) if None.
        descent: m/s.
    """

    stride: Sequence[float] | None = None
    steps: int = 8
    order: Sequence[str] | None = None
    clearance: float | None = None
    below: float = 0.06
    shift_time: float | None = None
    swing_time: float | None = None
    descent: float = 0.18

    @property
    def words(self) -> str:
        """Name in reports."""
        return "static"

    def sized(self, height: float, ahead: Sequence[float] = (1.0, 0.0)) -> StaticGait:
        """Return the gait with missing values chosen for the height of the centre of mass, m, and heading."""
        return replace(
            self,
            stride=stride_of(self.stride, 0.2 * height, ahead),
            clearance=0.1 * height if self.clearance is None else self.clearance,
            swing_time=2.7 * float(np.sqrt(height / GRAVITY)) if self.swing_time is None else self.swing_time,
        )

    def walker(self, *machine: Any) -> StaticWalker:
        """Return the walker of this gait for one robot."""
        return StaticWalker(self, *machine)


class StaticWalker(Walker):
    """Static walk in progress."""

    def __init__(self, gait: StaticGait, *machine: Any):
        super().__init__(*machine)
        self.gait: StaticGait = gait.sized(self.above, self.ahead[:, 0].tolist())
        gait = self.gait
        assert gait.clearance is not None  # chosen by `sized`
        assert gait.swing_time is not None
        self.clearance: float = gait.clearance
        self.swing_time: float = gait.swing_time
        check_gait(gait, "clearance", "swing_time", "descent")
        if gait.shift_time is not None:
            check_gait(gait, "shift_time")
        self.stride: np.ndarray = np.asarray(gait.stride, dtype=float)
        # The body does not move while a foot steps: feet are up to half a stride before or behind it.
        self.check_reach(float(np.linalg.norm(self.stride)), 0.5, self.q_start)
        names = [foot.frame for foot in self.feet]
        footprint = self._footprint(self.start)
        if gait.order is None:
            narrowest = min(self._margin(footprint, k) for k in range(len(names)))
            self.order: tuple[int, ...] = foot_order(footprint, names, self.stride, 0.5 * narrowest)
        else:
            self.order = checked_order(gait.order, names)
        self.swing: Swing | None = None
        self.began, self.foot = 0.0, self.order[0]
        self.center_from: np.ndarray = self.start.center[:2].copy()
        self.goal: np.ndarray = self._goal(footprint)
        self.shift_time: float = self._shift_time(footprint)

    def step(self, t: float, q: np.ndarray, v: np.ndarray, loads: np.ndarray) -> Torques:
        """Return the torques of the phase; start the next phase once its time, position or touch is reached."""
        at = self.torques.felt(q, v)
        s = t - self.began
        if self.swing is None:
            place, speed, acceleration = self._shifting(s)
            ready = s > self.shift_time + SETTLE and np.linalg.norm(at.center[:2] - self.goal) < NEAR
            if (ready or s > self.shift_time + PATIENCE) and not self.done:
                self._lift(t, at)
        else:
            place, speed, acceleration = self.goal, np.zeros(2), np.zeros(2)
            if self.touched(self.foot, s / self.swing_time, loads, 0.5):
                self._put_down(t, at)
        swings = {}
        if self.swing is not None:
            swings[self.foot] = self.swing.at(t - self.began)
        kp, kd = CENTER
        rate = at.rate[:2]
        center = acceleration + kp * (place - at.center[:2]) + kd * (speed - rate)
        return self.torques_for(at, q, v, center, swings)

    @property
    def longest(self) -> float:
        """Longest duration of the walk, s."""
        gait = self.gait
        fall = (self.clearance + gait.below) / gait.descent
        return gait.steps * (LONGEST_SHIFT + 0.5 * PATIENCE + self.swing_time + fall) + 2.0

    # --- phases

    def _shifting(self, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        T = self.shift_time
        a, rate, second = smooth(s / T)
        way = self.goal - self.center_from
        return self.center_from + a * way, way * (rate / T), way * (second / T**2)

    def _lift(self, t: float, at: Felt) -> None:
        k, gait = self.foot, self.gait
        begin = at.feet[k, :3, 3].copy()
        near = self.nearest_standing(k)
        # Relative to a standing foot, since the estimate of the world position drifts. The n-th step of f
        # feet leads to n/f strides from the start, so that feet pass each other.
        last = max((i + 1 for i, (_, foot, _) in enumerate(self.footholds) if foot == near), default=0)
        ahead = (len(self.footholds) + 1 - last) / len(self.feet) * self.stride
        goal = self.placed[near, :2] + self.home[k, :2] - self.home[near, :2] + ahead
        goal = self.level_place(k, goal)
        ground = self.ground_at(goal, near)
        top = max(begin[2], ground, self.highest_on(begin, goal)) + self.clearance
        self.swing = Swing(
            begin, goal, top, ground, self.swing_time, 0.45, (0.15, 0.75), gait.descent, ground - gait.below, True
        )
        self.standing[k] = False
        self.began: float = t

    def _put_down(self, t: float, at: Felt) -> None:
        k = self.foot
        self.standing[k] = True
        self.placed[k] = at.feet[k, :3, 3]
        self.footholds.append((t, k, self.placed[k].copy()))
        self.swing, self.began = None, t
        self.done: bool = len(self.footholds) >= self.gait.steps
        self.center_from = at.center[:2].copy()
        self.foot: int = self.order[len(self.footholds) % len(self.order)]
        footprint = self._footprint(at)
        self.goal = footprint.center if self.done else self._goal(footprint)
        self.shift_time = self._shift_time(footprint)

    # --- support

    def _footprint(self, at: Felt) -> Footprint:
        points = tuple(
            (foot.points @ T[:3, :3].T + T[:3, 3])[:, :2] for foot, T in zip(self.feet, at.feet, strict=True)
        )
        return Footprint(points, self.placed[:, :2].mean(axis=0) + self.offset)

    def _shift_time(self, footprint: Footprint) -> float:
        """Return the shift time, s, for which the pressure offset a z/g at acceleration a is within the margin."""
        if self.gait.shift_time is not None:
            return self.gait.shift_time
        way = float(np.linalg.norm(self.goal - self.center_from))
        lead = STEEPEST * way * self.above / GRAVITY / max(self._margin(footprint, self.foot), 0.01)
        return float(np.clip(np.sqrt(lead), SHORTEST_SHIFT, LONGEST_SHIFT))

    def _margin(self, footprint: Footprint, foot: int) -> float:
        return min(MOST_MARGIN, SHARE * widest_margin(footprint.without(foot)))

    def _goal(self, footprint: Footprint) -> np.ndarray:
        """Return the goal of the centre of mass while the foot steps: nearest to the middle of its own path."""
        wanted = footprint.center + 0.5 * self.stride / len(self.feet)
        place = nearest_supported(footprint.without(self.foot), wanted, self._margin(footprint, self.foot))
        return footprint.without(self.foot).mean(axis=0) if place is None else place


K = TypeVar("K")
ALL_ORDERS = 6
"""Largest number of feet for which every order is tried; beyond, the foot with the shortest shift is next."""


SAME_LENGTH = 1e-9
"""Difference of lengths, m, below which paths are equal."""


class Footprint(NamedTuple):
    """Contact points of the feet, seen from above."""

    points: tuple[np.ndarray, ...]
    """of every foot, (k, 2) each"""
    center: np.ndarray
    """centre of mass if it moved with the feet, (2,)"""

    def without(self, foot: int) -> np.ndarray:
        """Return the support polygon while a foot is in the air."""
        return support_polygon(np.concatenate([p for i, p in enumerate(self.points) if i != foot]))

    def moved(self, foot: int, by: np.ndarray) -> Footprint:
        """Return the footprint after a foot has stepped; the centre moves by its share."""
        points = tuple(p + by if i == foot else p for i, p in enumerate(self.points))
        return Footprint(points, self.center + by / len(points))


def supported_center(print_: Footprint, foot: int, by: np.ndarray, margin: float) -> np.ndarray | None:
    """Return the centre of mass while a foot steps: nearest to the middle of its own path with that margin."""
    return nearest_supported(print_.without(foot), print_.center + 0.5 * by / len(print_.points), margin)


def foot_order(start: Footprint, names: Sequence[str], stride: np.ndarray, margin: float) -> tuple[int, ...]:
    """Find an order of all feet for one cycle of steps by `stride` (2,) each.

    For up to six feet it is the order with the shortest path of the centre of mass. The order is kept in all
    cycles, so the path includes the return to the first position of the next cycle.
    """
    n = len(names)
    if n <= ALL_ORDERS:
        ways = {order: _way(start, order, stride, margin) for order in permutations(range(n))}
        best = _first_shortest(ways)
        if np.isfinite(ways[best]):
            return best
    else:
        best = _greedy(start, stride, margin)
        if best is not None:
            return best
    widest = {name: widest_margin(start.without(i)) for i, name in enumerate(names)}
    worst = min(widest, key=lambda name: widest[name])
    raise ZvenoError(
        f"with {worst} in the air the largest margin is {max(widest[worst], 0.0):.3f} m, "
        f"and {margin:.3f} m are asked for",
        element="margin",
        remedy="Place the feet further apart, give a shorter stride or a smaller margin",
    )


def _first_shortest(lengths: dict[K, float]) -> K:
    """Return the first of the equally short ones: rounding would choose otherwise in another heading."""
    shortest = min(lengths.values())
    return next(key for key, length in lengths.items() if length <= shortest + SAME_LENGTH)


def checked_order(order: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the feet in an order of names; raise an error unless every foot occurs once."""
    numbers = tuple(list(names).index(name) for name in order if name in names)
    if sorted(numbers) != list(range(len(names))) or len(order) != len(names):
        raise ZvenoError(
            f"is {', '.join(map(str, order))}", element="order", remedy=f"Name each once: {', '.join(names)}"
        )
    return numbers


def _way(print_: Footprint, order: Sequence[int], stride: np.ndarray, margin: float) -> float:
    """Return the path length of the centre of mass over a cycle, m; infinite if it is not supported."""
    places = []
    for foot in order:
        place = supported_center(print_, foot, stride, margin)
        if place is None:
            return np.inf
        places.append(place)
        print_ = print_.moved(foot, stride)
    places.append(places[0] + stride)
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def _greedy(print_: Footprint, stride: np.ndarray, margin: float) -> tuple[int, ...] | None:
    order: list[int] = []
    center = print_.center
    while len(order) < len(print_.points):
        places = {
            foot: supported_center(print_, foot, stride, margin)
            for foot in range(len(print_.points))
            if foot not in order
        }
        known = {foot: place for foot, place in places.items() if place is not None}
        if not known:
            return None
        shifts = {foot: float(np.linalg.norm(place - center)) for foot, place in known.items()}
        foot = _first_shortest(shifts)
        order.append(foot)
        center, print_ = known[foot], print_.moved(foot, stride)
    return tuple(order)


def widest_margin(polygon: np.ndarray) -> float:
    """Compute the largest margin of any point of the polygon, by bisection."""
    low, high = 0.0, float(np.ptp(polygon, axis=0).max())
    middle = polygon.mean(axis=0)
    if nearest_supported(polygon, middle, 0.0) is None:
        return float(stability_margin(polygon, middle))
    for _ in range(40):
        half = 0.5 * (low + high)
        low, high = (half, high) if nearest_supported(polygon, middle, half) is not None else (low, half)
    return low
