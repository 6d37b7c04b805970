"""Operators П5 and П6 of document 004: all extrema and the global extremum over admissible numbers."""

from __future__ import annotations

import itertools
import operator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..progress import Progress
from .grid import Grid, decode
from .operators import PIECE, Function, Mask, _numbers, evaluated, map_reduce


@dataclass(frozen=True, eq=False)
class Extrema:
    """Numbers of extrema in increasing order, and their values."""

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
    *,
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> Extrema:
    """Find numbers whose value is the smallest (or largest) among their neighbours in the grid: П5 in J dimensions.

    Of equal neighbours the smallest number counts, as in the document. The test of a number depends on its own
    neighbours only, so the result does not depend on the partition of the range. Neighbours are evaluated again,
    and only while the number can still be an extremum.

    Args:
        grid: the grid.
        function: f(points (k, J)) → (k,).
        kind: "min" or "max".
        mask: ζ; extrema of the whole function that are not admissible are omitted.
        neighbours: "all" 3^J − 1 neighbours, or the 2J neighbours along the "axes".
        periodic: parameters (from 0) whose last value is adjacent to the first.
        executor: any `concurrent.futures.Executor` that shares the range; this process if None.
        progress: True to show a bar, or a function of (done, total).
        piece: chunk of numbers per worker; it does not change the result.
    """
    around = np.zeros(grid.n_parameters, bool)
    around[list(periodic)] = True
    offsets = _offsets(grid.n_parameters, neighbours)
    work = _LeastOfNeighbours(grid, function, _sign(kind), mask, tuple(offsets), around)
    return _concatenate(map_reduce(grid.size, work, operator.add, executor, progress, piece))


@dataclass(frozen=True, eq=False)
class _LeastOfNeighbours:
    grid: Grid
    function: Function
    sign: float
    mask: Mask | None
    offsets: tuple[np.ndarray, ...]
    around: np.ndarray

    def __call__(self, start: int, stop: int) -> list[tuple[np.ndarray, np.ndarray]]:
        grid, sign, counts = self.grid, self.sign, np.array(self.grid.counts)
        numbers = _numbers(start, np.arange(stop - start))
        values = sign * evaluated(self.function, grid.range_points(start, stop))
        alive = _admissible_numbers(self.mask, start, stop)
        theta = decode(numbers, grid.counts) - 1
        for offset in self.offsets:
            if not len(alive):
                break
            near = theta[alive] + offset
            wrapped = np.where(self.around, near % counts, near)
            inside = np.all((wrapped >= 0) & (wrapped < counts), axis=1)
            value = np.full(len(alive), np.inf)
            points = grid.lower + grid.step * wrapped[inside].astype(float)
            value[inside] = sign * evaluated(self.function, points)
            # The neighbour's number is smaller if the last parameter that differs is smaller.
            smaller = _smaller(wrapped, theta[alive])
            mine = values[alive]
            alive = alive[np.where(smaller, value > mine, value >= mine)]
        return [(numbers[alive], sign * values[alive])]


def flat_extrema(
    grid: Grid,
    function: Function,
    kind: str = "min",
    mask: Mask | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> Extrema:
    """Compare every number with its two neighbours in the sequence of numbers: П5 as printed, formula (6).

    The test is f(i − 1) > f(i) ≤ f(i + 1), one-sided at the ends. It is correct for J = 1. In more dimensions it
    does not find the extrema of the function (it finds 21 for a paraboloid on 21 × 21 points). Arguments as in
    `extrema`.
    """
    work = _LeastInRow(grid, function, _sign(kind), mask)
    return _concatenate(map_reduce(grid.size, work, operator.add, executor, progress, piece))


@dataclass(frozen=True, eq=False)
class _LeastInRow:
    grid: Grid
    function: Function
    sign: float
    mask: Mask | None

    def __call__(self, start: int, stop: int) -> list[tuple[np.ndarray, np.ndarray]]:
        numbers = np.arange(start, stop)
        values = self.sign * evaluated(self.function, self.grid.range_points(start, stop))
        alive = _admissible_numbers(self.mask, start, stop)
        for offset in (1, -1):
            near = numbers[alive] + offset
            inside = (near >= 1) & (near <= self.grid.size)
            value = np.full(len(alive), np.inf)
            value[inside] = self.sign * evaluated(self.function, self.grid.points(near[inside]))
            alive = alive[value > values[alive] if offset < 0 else value >= values[alive]]
        return [(numbers[alive], self.sign * values[alive])]


def global_extremum(
    grid: Grid,
    function: Function,
    kind: str = "min",
    mask: Mask | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> Extrema:
    """Find all admissible numbers at which the function has its smallest (or largest) value: П6, formula (7).

    Arguments as in `extrema`.
    """
    sign = _sign(kind)
    work = _Least(grid, function, sign, mask)
    best, numbers = map_reduce(grid.size, work, _lesser, executor, progress, piece)
    if best == np.inf:
        raise ZvenoError("no number is admissible", remedy="Widen the constraints or refine the grid")
    extremal = np.concatenate(numbers)
    return Extrema(extremal, np.full(len(extremal), sign * best))


@dataclass(frozen=True, eq=False)
class _Least:
    """Smallest value over a range, and its numbers."""

    grid: Grid
    function: Function
    sign: float
    mask: Mask | None

    def __call__(self, start: int, stop: int) -> tuple[float, list[np.ndarray]]:
        alive = _admissible_numbers(self.mask, start, stop)
        whole = self.mask is None
        points = self.grid.range_points(start, stop) if whole else self.grid.points(_numbers(start, alive))
        value = self.sign * evaluated(self.function, points)
        if not len(value):
            return np.inf, []
        best = float(value.min())
        if np.isnan(best):
            value[np.isnan(value)] = np.inf
            best = float(value.min())
        return best, [_numbers(start, alive[value == best])]


def _lesser(a: tuple[float, list[np.ndarray]], b: tuple[float, list[np.ndarray]]) -> tuple[float, list[np.ndarray]]:
    if a[0] == b[0]:
        return a[0], a[1] + b[1]
    return a if a[0] < b[0] else b


def _concatenate(pieces: list[tuple[np.ndarray, np.ndarray]]) -> Extrema:
    return Extrema(np.concatenate([n for n, _ in pieces]), np.concatenate([v for _, v in pieces]))


def _admissible_numbers(mask: Mask | None, start: int, stop: int) -> np.ndarray:
    return np.arange(stop - start) if mask is None else np.flatnonzero(mask(start, stop))


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
        raise ZvenoError(f"must be 'all' or 'axes', got {neighbours!r}", element="neighbours")
    diagonal = [np.array(o) for o in itertools.product((-1, 0, 1), repeat=J) if np.count_nonzero(o) > 1]
    return axes + diagonal


def _sign(kind: str) -> float:
    if kind not in ("min", "max"):
        raise ZvenoError(f"must be 'min' or 'max', got {kind!r}", element="kind")
    return 1.0 if kind == "min" else -1.0
