"""Order of steps: the one with the shortest path of the centre of mass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ..errors import ZvenoError
from .support import nearest_supported, stability_margin, support_polygon

ALL_ORDERS = 6
"""Largest number of feet for which every order is tried; beyond, the foot with the shortest shift is next."""


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
        best = min(ways, key=lambda order: ways[order])
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
        foot = min(known, key=lambda i: float(np.linalg.norm(known[i] - center)))
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
