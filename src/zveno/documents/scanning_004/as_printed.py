"""Procedures of document 004 as they are printed, where `zveno.ik.numbers` has a corrected form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...ik.numbers import Dichotomy, Grid, decode, flat_extrema
from ...ik.numbers.unimodal import System, relative_error


class Cost(NamedTuple):
    """Additions and multiplications (with divisions) of a computation."""

    additions: int
    multiplications: int


def printed_encoding_cost(J: int) -> Cost:
    """Of formula (1), as the document states it."""
    return Cost(2 * J - 2, J * (J - 1) // 2)


def printed_decoding_cost(J: int, numbers: int) -> Cost:
    """Of formula (2) for all numbers, as the document states it."""
    return Cost(J * (3 * numbers + 1) - 1, 2 * J * numbers)


class Counted:
    """A whole number that counts the operations done with it, in one list [additions, multiplications]."""

    def __init__(self, value: int, done: list[int]) -> None:
        self.value: int = value
        self.done: list[int] = done

    def _new(self, value: int, kind: int) -> Counted:
        self.done[kind] += 1
        return Counted(value, self.done)

    def __add__(self, other: Counted) -> Counted:
        return self._new(self.value + other.value, 0)

    def __sub__(self, other: Counted) -> Counted:
        return self._new(self.value - other.value, 0)

    def __mul__(self, other: Counted) -> Counted:
        return self._new(self.value * other.value, 1)

    def __floordiv__(self, other: Counted) -> Counted:
        return self._new(self.value // other.value, 1)


def counted_encoding(theta: Sequence[int], radices: Sequence[int]) -> tuple[int, Cost]:
    """i(θ) by formula (1), term by term as it is written, and the operations that this takes."""
    done = [0, 0]
    local, sizes, unit = [Counted(x, done) for x in theta], [Counted(x, done) for x in radices], Counted(1, done)
    number = local[0]
    for j in range(1, len(local)):
        term = sizes[0]
        for radix in sizes[1:j]:
            term = term * radix
        number = number + term * (local[j] - unit)
    return number.value, Cost(*done)


def counted_decoding(numbers: Sequence[int], radices: Sequence[int]) -> tuple[list[list[int]], Cost]:
    """θ(i) of numbers by formula (2), and its operations if each K_j − 1 and its quotient are formed once."""
    done = [0, 0]
    sizes, unit = [Counted(x, done) for x in radices], Counted(1, done)
    decoded = []
    for i in numbers:
        K, theta = Counted(i, done), []
        for radix in sizes:
            quotient = (K - unit) // radix
            theta.append((K - radix * quotient).value)
            K = unit + quotient
        decoded.append(theta)
    return decoded, Cost(*done)


def printed_dichotomy(
    system: System,
    target: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    percent: float = 1e-3,
    iterations: int = 60,
    shift: float = 1e-15,
    groups: Sequence[slice] | None = None,
) -> Dichotomy:
    """П8: scan 3^J nodes of the box and keep the half of every side on which the best node is.

    A best node in the middle of a side is decided by moving all parameters by `shift`, a unit of the last place
    (γ = E), so that rounding decides. Arguments as for `zveno.ik.numbers.dichotomy`.
    """
    error = relative_error(target, groups)
    target = np.asarray(target, float)
    low, high = (np.array(np.atleast_1d(side), float) for side in (lower, upper))
    node, percent_left, scans = (low + high) / 2, np.inf, 0
    for scans in range(1, iterations + 1):
        grid = Grid.by_count(low, high, 2, ends=True)
        nodes = grid.range_points(1, grid.size + 1)
        u = np.asarray(system(nodes))
        distance = np.linalg.norm(u - target, axis=1)
        k = int(np.argmin(distance))
        node, percent_left = nodes[k], error(u[k])
        if percent_left <= percent:
            return Dichotomy(node, percent_left, scans, True, "the error is small enough", low, high)
        theta = decode(k + 1, grid.counts)
        moved = float(np.linalg.norm(np.asarray(system(nodes[k : k + 1] + shift))[0] - target))
        second = (theta == 3) | ((theta == 2) & (not distance[k] < moved))
        half = (high - low) / 2
        low = np.where(second, low + half, low)
        high = low + half
    return Dichotomy(node, percent_left, scans, False, f"stopped after {iterations} scans", low, high)


def printed_intervals(grid: Grid, system: System, target: ArrayLike) -> np.ndarray:
    """П7 for several equations: (k, 2, J) corners of the intervals it keeps for F(α) = F_0.

    Extrema of every F_v in the row of numbers make its table; F_0v picks neighbouring entries that enclose it; kept
    are the pairs of numbers that every table gives.
    """
    pairs = []
    for v, value in enumerate(np.asarray(target, float)):

        def component(points: np.ndarray, v: int = v) -> np.ndarray:
            return system(points)[:, v]

        numbers = np.unique(
            np.concatenate([flat_extrema(grid, component, kind).numbers for kind in ("min", "max")])
        )
        entries = component(grid.points(numbers))
        low, high = np.minimum(entries[:-1], entries[1:]), np.maximum(entries[:-1], entries[1:])
        enclosing = np.flatnonzero((low <= value) & (value <= high))
        pairs.append({(int(numbers[s]), int(numbers[s + 1])) for s in enclosing})
    kept = sorted(set.intersection(*pairs))
    return grid.points(np.array(kept, dtype=int).reshape(-1, 2))
