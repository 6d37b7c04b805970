"""Procedures П7 and П8 of document 004: reusable tables for systems F(α) = F_0, and refinement by dichotomy."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._executor import cut, map_pieces
from ..errors import ShapeError, ZvenoError
from ..progress import Progress
from .extrema import flat_extrema
from .grid import Grid, decode, encode
from .operators import PIECE, Function, evaluated, map_reduce

SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64)
"""Fractions of the step to the zero of the linear model that are tried: the full step overshoots with curvature."""
FINE = 1e-6
"""Relative box size that is small enough for derivatives of the system and still above rounding."""
BOXES = 64
"""Number of boxes of П8 per worker task."""
System = Callable[[np.ndarray], np.ndarray]
"""System F(points (k, J)) → (k, V)."""


@dataclass(frozen=True, eq=False)
class ExtremumTable:
    """Table of П7 as printed, for one parameter: the extrema of F bound intervals on which F is monotone.

    The table does not depend on the right-hand side: one table serves every F_0.
    """

    grid: Grid
    numbers: np.ndarray
    values: np.ndarray

    @classmethod
    def of(
        cls,
        grid: Grid,
        function: Function,
        *,
        executor: Executor | None = None,
        progress: Progress = None,
        piece: int = PIECE,
    ) -> ExtremumTable:
        """Build the table of a function of one parameter; it includes the ends of the range.

        `executor`, `progress` and `piece` as in `extrema`.
        """
        if grid.n_parameters != 1:
            raise ShapeError("this table requires a grid of one parameter", remedy="Use CellTable for several")
        extremal = []
        for kind in ("min", "max"):
            extrema = flat_extrema(grid, function, kind, executor=executor, progress=progress, piece=piece)
            extremal.append(extrema.numbers)
        numbers = np.unique(np.concatenate([*extremal, [1, grid.size]]))
        return cls(grid, numbers, evaluated(function, grid.points(numbers)))

    def intervals(self, target: float) -> np.ndarray:
        """Intervals (k, 2) of the parameter that contain F(α) = target, one solution each on a fine enough grid."""
        low, high = np.minimum(self.values[:-1], self.values[1:]), np.maximum(self.values[:-1], self.values[1:])
        hit = np.flatnonzero((low <= target) & (target <= high))
        ends = self.grid.points(self.numbers)[:, 0]
        return np.stack([ends[hit], ends[hit + 1]], axis=1)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Table of П7 in J dimensions: the smallest and largest value of every F_v at the corners of every cell.

    A cell can contain a solution of F(α) = F_0 only if F_0 lies between them for all v. `margin`, a fraction of the
    difference, allows for curvature inside the cell. One table serves every F_0.
    """

    grid: Grid
    numbers: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(
        cls,
        grid: Grid,
        system: System,
        *,
        executor: Executor | None = None,
        progress: Progress = None,
        piece: int = PIECE,
    ) -> CellTable:
        """Build the table of a system on a grid whose nodes are cell corners (`Grid.by_count(…, ends=True)`).

        `executor`, `progress` and `piece` as in `extrema`. The table holds all cells.
        """
        counts = grid.counts
        if min(counts) < 2:
            raise ShapeError("the grid must have at least two nodes per parameter", element="grid")
        cells = tuple(count - 1 for count in counts)
        theta = decode(np.arange(1, int(np.prod(cells)) + 1), cells)
        work = _AtNodes(grid, system)
        nodes = np.concatenate(map_reduce(grid.size, work, operator.add, executor, progress, piece))
        low: Any = None
        high: Any = None
        for corner in itertools.product((0, 1), repeat=len(counts)):
            value = nodes[encode(theta + np.array(corner), counts) - 1]
            low = value if low is None else np.minimum(low, value)
            high = value if high is None else np.maximum(high, value)
        return cls(grid, encode(theta, counts), low, high)

    def cells(self, target: Any, margin: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners, (k, J) each, of the cells that may contain a solution."""
        slack = margin * (self.high - self.low)
        hit = np.all((self.low - slack <= target) & (target <= self.high + slack), axis=1)
        lower = self.grid.points(self.numbers[hit])
        return lower, lower + self.grid.step


@dataclass(frozen=True, eq=False)
class _AtNodes:
    """Values (k, V) of a system at a range of nodes."""

    grid: Grid
    system: System

    def __call__(self, start: int, stop: int) -> list[np.ndarray]:
        nodes = np.asarray(self.system(self.grid.range_points(start, stop)))
        if nodes.ndim != 2 or len(nodes) != stop - start:
            raise ShapeError("the system must return (k, V) values for points (k, J)")
        return [nodes]


@dataclass(frozen=True, eq=False)
class Dichotomy:
    """Result of a dichotomy.

    Attributes:
        alpha: (J,) best point, always inside the given box.
        percent: error of the best point in percent of |u_0|.
        iterations: number of scans.
        converged: True if the error is below the tolerance.
        reason: reason for stopping.
        lower, upper: (J,) last box.
    """

    alpha: np.ndarray
    percent: float
    iterations: int
    converged: bool
    reason: str
    lower: np.ndarray
    upper: np.ndarray


def dichotomy(
    system: System,
    target: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    percent: float = 1e-3,
    iterations: int = 60,
    groups: Sequence[slice] | None = None,
) -> Dichotomy:
    """Scan 3^J nodes of a box and continue with a box about the best node until the error is small: П8, corrected.

    The zeros of a linear model of the scanned values are tried as well, because along a curved valley of |u − u_0|
    the nodes alone make little progress. The next box is centred on the best point, as far as the given box allows.
    It is half as wide if no node improved on the best point so far.

    Args:
        system: u(points (k, J)) → (k, V).
        target: u_0, (V,).
        lower, upper: the box, (J,). Nothing outside it is evaluated.
        percent: δ_adm, in percent of |u_0|.
        iterations: maximum number of scans.
        groups: parts of u whose errors must each be below `percent` of their own norm (the document's δP and δS);
            one group if not given.
    """
    error = relative_error(target, groups)
    target = np.atleast_1d(np.asarray(target, float))
    first, last = (np.array(np.atleast_1d(side), float) for side in (lower, upper))
    low, half = first, (last - first) / 2
    alpha, least, least_error, scans, reason = low + half, np.inf, np.inf, 0, f"stopped after {iterations} scans"
    for scans in range(1, iterations + 1):
        grid = Grid.by_count(low, low + 2 * half, 2, ends=True)
        nodes = np.clip(grid.range_points(1, grid.size + 1), first, last)
        u = np.asarray(system(nodes), float)
        steps = np.concatenate([share * _linear_zeros(u, target) for share in SHARES])
        crossings = np.clip(low + half * (1.0 + steps), first, last)
        nodes, u = np.concatenate([nodes, crossings]), np.concatenate([u, np.asarray(system(crossings), float)])
        distance = np.linalg.norm(u - target, axis=1)
        distance[~np.isfinite(distance)] = np.inf
        k = int(np.argmin(distance))
        better, at_node = distance[k] < least, k < grid.size
        if better:
            alpha, least, least_error = nodes[k], distance[k], error(u[k])
            if least_error <= percent:
                return Dichotomy(alpha, least_error, scans, True, "the error is small enough", low, low + 2 * half)
        if np.all(half <= np.spacing(np.maximum(abs(first), abs(last)))):
            reason = "the box is as small as rounding allows"
            break
        if not better or (not at_node and np.any(half > FINE * (last - first))):
            half = half / 2
        low = np.clip(alpha - half, first, last - 2 * half)
    if not np.isfinite(least):
        raise ZvenoError(
            "the system has no finite value in the box",
            element="system",
            remedy="Give a box in which the system is defined",
        )
    if np.any((alpha == first) | (alpha == last)):
        reason += "; the best point is on the edge of the box, so the solution may be outside"
    return Dichotomy(alpha, least_error, scans, False, reason, low, low + 2 * half)


def dichotomies(
    system: System,
    target: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    percent: float = 1e-3,
    iterations: int = 60,
    groups: Sequence[slice] | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = BOXES,
) -> list[Dichotomy]:
    """Run one `dichotomy` per box (П8), for example in the cells of a table of П7, in the order of the boxes.

    Args:
        system, target, percent, iterations, groups: as in `dichotomy`.
        lower, upper: (k, J) corners of the boxes.
        executor: any `concurrent.futures.Executor` that shares the boxes; this process if None.
        progress: True to show a bar, or a function of (done, total).
        piece: number of boxes per worker task; it does not change the result.
    """
    low, high = (np.atleast_2d(np.asarray(side, float)) for side in (lower, upper))
    if low.shape != high.shape or low.ndim != 2 or not low.size:
        raise ShapeError(f"corners must both have shape (k, J), got {low.shape} and {high.shape}", element="boxes")
    work = _InBoxes(system, np.atleast_1d(np.asarray(target, float)), percent, iterations, groups)
    pieces = [(low[a:b], high[a:b]) for a, b in cut(len(low), piece)]
    return [result for part in map_pieces(work, pieces, executor=executor, progress=progress) for result in part]


@dataclass(frozen=True, eq=False)
class _InBoxes:
    """Function that runs the dichotomies of some boxes."""

    system: System
    target: np.ndarray
    percent: float
    iterations: int
    groups: Sequence[slice] | None

    def __call__(self, piece: tuple[np.ndarray, np.ndarray]) -> list[Dichotomy]:
        asked = self.percent, self.iterations, self.groups
        return [dichotomy(self.system, self.target, low, high, *asked) for low, high in zip(*piece, strict=True)]


def relative_error(target: ArrayLike, groups: Sequence[slice] | None = None) -> Callable[[np.ndarray], float]:
    """Function δ(u) = |u − u_0|/|u_0| in percent, the maximum over the groups of components."""
    target = np.atleast_1d(np.asarray(target, float))
    parts = [slice(None)] if groups is None else list(groups)
    sizes = [float(np.linalg.norm(target[part])) for part in parts]
    if not all(sizes) or not np.isfinite(sizes).all():
        remedy = "Add a constant to the equations, on both sides"
        raise ZvenoError(
            "an error in percent needs values that are finite and not zero", element="target", remedy=remedy
        )

    def error(u: np.ndarray) -> float:
        miss = np.asarray(u) - target
        return max(
            100.0 * float(np.linalg.norm(miss[part])) / size for part, size in zip(parts, sizes, strict=True)
        )

    return error


def _linear_zeros(u: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Zeros of the linear model of u (3^J, V) at nodes −1, 0, 1, in half widths of the box, (r, J).

    Row k solves for the k + 1 directions that change u most, because the weakest may be curvature only. There are
    no rows if a value is not finite.
    """
    n = round(np.log(len(u)) / np.log(3))
    if not np.isfinite(u).all():
        return np.zeros((0, n))
    offsets = decode(np.arange(1, len(u) + 1), (3,) * n) - 2.0
    slopes = offsets.T @ u / (2 * 3 ** (n - 1))
    left, s, right = np.linalg.svd(slopes, full_matrices=False)
    rank = int(np.count_nonzero(s > 1e-12 * s[0]))
    along = (right[:rank] @ (target - u.mean(axis=0))) / s[:rank]
    return np.cumsum(along[:, None] * left.T[:rank], axis=0)
