"""Operators П5 and П6 of document 004: all extrema, and the global one, over admissible numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ZvenoError
from .coding import decode
from .grid import Grid
from .operators import Function, Mask, _numbers, evaluated
from .ranges import CHUNK, map_reduce


@dataclass(frozen=True, eq=False)
class Extrema:
    """Numbers with extrema, in increasing order, and the values there."""

    numbers: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)


def extrema(
    grid: Grid,
    function: Function,
    kind: str = "min",
    mask: Mask | None = None,
    neighbours: str = "all",
    periodic: Any = (),
    parts: int = 1,
    chunk: int = CHUNK,
) -> Extrema:
    """П5 in J dimensions: numbers whose value is the least (or greatest) among their neighbours in the grid.

    Of equal neighbours the smallest number counts, as in the document. Each verdict depends on the number's own
    neighbours only, so that chunks and parts cannot change it; neighbours are evaluated again where they are
    needed, and only while the number can still be an extremum.

    Args:
        grid: the grid.
        function: f(points (k, J)) → (k,).
        kind: "min" or "max".
        mask: ζ; extrema of the whole function that are not admissible are left out.
        neighbours: "all" 3^J − 1 of them, or the 2J along the "axes".
        periodic: parameters (from 0) whose last value neighbours the first.
        parts, chunk: how the range is cut.
    """
    sign = _sign(kind)
    offsets = _offsets(grid.n_parameters, neighbours)
    counts = np.array(grid.counts)
    around = np.zeros(grid.n_parameters, bool)
    around[list(periodic)] = True

    def work(start: int, stop: int) -> list[tuple[np.ndarray, np.ndarray]]:
        numbers = _numbers(start, np.arange(stop - start))
        values = sign * evaluated(function, grid.range_points(start, stop))
        alive = np.arange(len(values)) if mask is None else np.flatnonzero(mask(start, stop))
        theta = decode(numbers, grid.counts) - 1
        for offset in offsets:
            if not len(alive):
                break
            near = theta[alive] + offset
            wrapped = np.where(around, near % counts, near)
            there = np.all((wrapped >= 0) & (wrapped < counts), axis=1)
            value = np.full(len(alive), np.inf)
            points = grid.lower + grid.step * wrapped[there].astype(float)
            value[there] = sign * evaluated(function, points)
            # The neighbour's number is smaller if the last parameter that differs is smaller.
            smaller = _smaller(wrapped, theta[alive])
            mine = values[alive]
            alive = alive[np.where(smaller, value > mine, value >= mine)]
        return [(numbers[alive], sign * values[alive])]

    pieces = map_reduce(grid.size, work, lambda a, b: a + b, parts, chunk)
    return Extrema(np.concatenate([n for n, _ in pieces]), np.concatenate([v for _, v in pieces]))


def flat_extrema(grid: Grid, function: Function, kind: str = "min", mask: Mask | None = None) -> Extrema:
    """П5 as printed, formula (6): a number against its two neighbours in the row of numbers.

    f(i − 1) > f(i) ≤ f(i + 1), one-sided at the ends. In more than one dimension this is not a test for extrema of
    the function (a paraboloid on 21 × 21 points has 21); it is the printed variant, and right for J = 1.
    """
    sign = _sign(kind)
    offsets = [np.array([1]), np.array([-1])]

    def work(start: int, stop: int) -> list[tuple[np.ndarray, np.ndarray]]:
        numbers = np.arange(start, stop)
        values = sign * evaluated(function, grid.range_points(start, stop))
        alive = np.arange(len(values)) if mask is None else np.flatnonzero(mask(start, stop))
        for offset in offsets:
            near = numbers[alive] + offset
            there = (near >= 1) & (near <= grid.size)
            value = np.full(len(alive), np.inf)
            value[there] = sign * evaluated(function, grid.points(near[there]))
            alive = alive[value > values[alive] if offset < 0 else value >= values[alive]]
        return [(numbers[alive], sign * values[alive])]

    pieces = map_reduce(grid.size, work, lambda a, b: a + b)
    return Extrema(np.concatenate([n for n, _ in pieces]), np.concatenate([v for _, v in pieces]))


def global_extremum(
    grid: Grid, function: Function, kind: str = "min", mask: Mask | None = None, parts: int = 1, chunk: int = CHUNK
) -> Extrema:
    """П6, formula (7): all admissible numbers at which the function has its least (or greatest) value."""
    sign = _sign(kind)

    def work(start: int, stop: int) -> tuple[float, list[np.ndarray]]:
        alive = np.arange(stop - start) if mask is None else np.flatnonzero(mask(start, stop))
        points = grid.points(_numbers(start, alive)) if mask is not None else grid.range_points(start, stop)
        value = sign * evaluated(function, points)
        if not len(value):
            return np.inf, []
        best = float(value.min())
        if np.isnan(best):
            value[np.isnan(value)] = np.inf
            best = float(value.min())
        return best, [_numbers(start, alive[value == best])]

    def merge(a, b):
        if a[0] == b[0]:
            return a[0], a[1] + b[1]
        return a if a[0] < b[0] else b

    best, numbers = map_reduce(grid.size, work, merge, parts, chunk)
    if best == np.inf:
        raise ZvenoError("no number is admissible", remedy="Widen the constraints or refine the grid")
    extremal = np.concatenate(numbers)
    return Extrema(extremal, np.full(len(extremal), sign * best))


def _smaller(near: np.ndarray, theta: np.ndarray) -> np.ndarray:
    different = near != theta
    last = different.shape[1] - 1 - np.argmax(different[:, ::-1], axis=1)
    rows = np.arange(len(near))
    return near[rows, last] < theta[rows, last]


def _offsets(J: int, neighbours: str) -> list[np.ndarray]:
    axes = [sign * row for row in np.eye(J, dtype=int) for sign in (1, -1)]
    if neighbours == "axes":
        return axes
    if neighbours != "all":
        raise ZvenoError(f"{neighbours!r} is neither 'all' nor 'axes'", element="neighbours")
    diagonal = [np.array(o) for o in itertools.product((-1, 0, 1), repeat=J) if np.count_nonzero(o) > 1]
    return axes + diagonal


def _sign(kind: str) -> float:
    if kind not in ("min", "max"):
        raise ZvenoError(f"{kind!r} is neither 'min' nor 'max'", element="kind")
    return 1.0 if kind == "min" else -1.0
