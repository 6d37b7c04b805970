"""Short tour through the postures: nearest neighbour, then 2-opt and moves of short segments."""

from __future__ import annotations

import numpy as np

from ...robot_functions import RobotFunctions


def travel_times(robot: RobotFunctions, q: np.ndarray) -> np.ndarray:
    """Return the times (n, n) of the slowest joint, s; without a velocity limit at 1 rad/s or 1 m/s."""
    mechanism = robot.mechanism
    speed = np.ones(robot.n_v)
    for name in robot.joint_names:
        limit = np.asarray(mechanism.joint(name).limits.velocity, dtype=float)
        speed[mechanism.v_slices[name]] = np.where(np.isfinite(limit) & (limit > 0), limit, 1.0)
    if robot.n_q == robot.n_v:
        moved = q[:, None] - q[None]
    else:
        moved = robot.difference(q[:, None], q[None])
    return np.max(abs(moved) / speed, axis=-1)


def tour_length(D: np.ndarray, order: np.ndarray) -> float:
    """Return the length of the open tour through `order`."""
    return float(D[order[:-1], order[1:]].sum())


def short_tour(D: np.ndarray, start: int | None = None, rounds: int = 60) -> np.ndarray:
    """Return an order of all n places with a short open tour; `start` stays first if given.

    Args:
        D: distances, (n, n), symmetric.
        start: the place to begin with; any if None.
        rounds: sweeps of improvement at most.
    """
    n = len(D)
    if n < 3:
        return np.arange(n) if start is None else np.r_[start, np.setdiff1d(np.arange(n), [start])].astype(int)
    firsts = [start] if start is not None else list(range(0, n, max(1, n // 8)))
    tours = [_improved(D, _nearest(D, first), start is not None, rounds) for first in firsts]
    return min(tours, key=lambda order: tour_length(D, order))


def _nearest(D: np.ndarray, first: int) -> np.ndarray:
    left = np.ones(len(D), dtype=bool)
    order = [first]
    left[first] = False
    while left.any():
        open_places = np.flatnonzero(left)
        order.append(int(open_places[np.argmin(D[order[-1], open_places])]))
        left[order[-1]] = False
    return np.array(order)


def _improved(D: np.ndarray, order: np.ndarray, fixed_start: bool, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        before = tour_length(D, order)
        order = _moved_pieces(D, _two_opt(D, order, fixed_start), fixed_start)
        if tour_length(D, order) >= before - 1e-12:
            break
    return order


def _two_opt(D: np.ndarray, order: np.ndarray, fixed_start: bool) -> np.ndarray:
    """Reverse the segment i … j wherever that shortens the tour; ends of the tour have no edge to pay for."""
    n = len(order)
    for i in range(1 if fixed_start else 0, n - 1):
        j = np.arange(i + 1, n)
        before = D[order[i - 1], order[i]] if i else 0.0
        after = D[order[i - 1], order[j]] if i else 0.0
        out = np.zeros(len(j))
        into = np.zeros(len(j))
        inner = j < n - 1
        out[inner] = D[order[j[inner]], order[j[inner] + 1]]
        into[inner] = D[order[i], order[j[inner] + 1]]
        change = after + into - before - out
        best = int(np.argmin(change))
        if change[best] < -1e-12:
            order = np.r_[order[:i], order[i : j[best] + 1][::-1], order[j[best] + 1 :]]
    return order


def _moved_pieces(D: np.ndarray, order: np.ndarray, fixed_start: bool) -> np.ndarray:
    """Move pieces of one to three places to where they make the tour shortest."""
    for size in (1, 2, 3):
        for i in range(1 if fixed_start else 0, len(order) - size + 1):
            piece, rest = order[i : i + size], np.r_[order[:i], order[i + size :]]
            if len(rest) < 2:
                continue
            base = tour_length(D, rest)
            now = tour_length(D, order) - base - tour_length(D, piece)
            for turned in (piece, piece[::-1]):
                first, last = turned[0], turned[-1]
                gap = D[rest[:-1], first] + D[last, rest[1:]] - D[rest[:-1], rest[1:]]
                ends = np.r_[np.inf if fixed_start else D[last, rest[0]], gap, D[rest[-1], first]]
                best = int(np.argmin(ends))
                if ends[best] < now - 1e-12:
                    order = np.r_[rest[:best], turned, rest[best:]]
                    break
    return order
