"""Procedures П7 and П8 of document 004: a reusable table for systems F(α) = F_0, and refinement by dichotomy."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...io.results import registered
from ...progress import Progress
from ...scale.fold import On, fold
from ...scale.pieces import cut
from .coding import decode, encode
from .extrema import flat_extrema
from .grid import Grid
from .operators import Function, evaluated
from .ranges import PIECE, map_reduce

SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64)
"""Of a step to where a linear model meets the target: the whole one overshoots where the system is curved."""
FINE = 1e-6
"""A box of this share of the first is small enough for the slopes of the system, and rounding is still smaller."""
BOXES = 64
"""Boxes of П8 that a worker is given at a time."""
System = Callable[[np.ndarray], np.ndarray]
"""F(points (k, J)) → (k, V)."""


@dataclass(frozen=True, eq=False)
class ExtremumTable:
    """П7 as printed, for one parameter: extrema of F cut the line into pieces on which F is monotone.

    It belongs to F, not to the right-hand side: one table serves every F_0.
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
        on: On = "here",
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        piece: int = PIECE,
    ) -> ExtremumTable:
        """The table of a function of one parameter; the ends of the range are entries of it.

        `on`, `checkpoint`, `progress` and `piece` as in `extrema`; the maxima have a checkpoint beside that of the
        minima.
        """
        if grid.n_parameters != 1:
            raise ShapeError("this table is for one parameter", remedy="Use CellTable for several")
        extremal = []
        for kind in ("min", "max"):
            kept = checkpoint if checkpoint is None or kind == "min" else Path(checkpoint).with_suffix(".max.json")
            found = flat_extrema(grid, function, kind, on=on, checkpoint=kept, progress=progress, piece=piece)
            extremal.append(found.numbers)
        numbers = np.unique(np.concatenate([*extremal, [1, grid.size]]))
        return cls(grid, numbers, evaluated(function, grid.points(numbers)))

    def intervals(self, target: float) -> np.ndarray:
        """(k, 2) intervals of the parameter with F(α) = target inside, one solution each on a fine enough grid."""
        low, high = np.minimum(self.values[:-1], self.values[1:]), np.maximum(self.values[:-1], self.values[1:])
        hit = np.flatnonzero((low <= target) & (target <= high))
        ends = self.grid.points(self.numbers)[:, 0]
        return np.stack([ends[hit], ends[hit + 1]], axis=1)


@dataclass(frozen=True, eq=False)
class CellTable:
    """П7 in J dimensions: the least and greatest value of every F_v at the corners of every cell.

    A cell can hold a solution of F(α) = F_0 only if F_0 lies between them for all v, up to the curvature inside the
    cell, which `margin` (a fraction of the difference) allows for. One table serves every F_0.
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
        on: On = "here",
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        piece: int = PIECE,
    ) -> CellTable:
        """The table of a system on a grid whose nodes are the corners of cells (`Grid.by_count(…, ends=True)`).

        `on`, `checkpoint`, `progress` and `piece` as in `extrema`. The table holds all cells.
        """
        counts = grid.counts
        if min(counts) < 2:
            raise ShapeError("a cell needs two nodes in every parameter", element="grid")
        cells = tuple(count - 1 for count in counts)
        theta = decode(np.arange(1, int(np.prod(cells)) + 1), cells)
        work = _AtNodes(grid, system)
        nodes = np.concatenate(map_reduce(grid.size, work, operator.add, on, checkpoint, progress, piece))
        low: Any = None
        high: Any = None
        for corner in itertools.product((0, 1), repeat=len(counts)):
            value = nodes[encode(theta + np.array(corner), counts) - 1]
            low = value if low is None else np.minimum(low, value)
            high = value if high is None else np.maximum(high, value)
        return cls(grid, encode(theta, counts), low, high)

    def cells(self, target: Any, margin: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
        """(k, J) lower and (k, J) upper corners of the cells that may hold a solution."""
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


@registered
@dataclass(frozen=True, eq=False)
class Dichotomy:
    """Where a dichotomy ended.

    Attributes:
        alpha: (J,) the best point; always inside the box that was given.
        percent: its error in percent of |u_0|.
        iterations: number of scans.
        converged: the error is below what was asked for.
        reason: why it stopped.
        lower, upper: (J,) the last box.
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
    """П8, corrected: scan 3^J nodes of a box, go on with a box about the best of them, until the error is small.

    The points at which a linear model of the scanned values meets the target are tried as well: along a curved
    valley of |u − u_0| the nodes alone hardly move. The next box has the best point in its middle, as far as the
    given box allows; it is half as wide if no node was better than the best point so far.

    Args:
        system: u(points (k, J)) → (k, V).
        target: u_0, (V,).
        lower, upper: the box, (J,). Nothing outside it is evaluated.
        percent: δ_adm, in percent of |u_0|.
        iterations: number of scans at most.
        groups: parts of u that must each be below `percent` of their own length (document's δP and δS); all of u
            together if not given.
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
        raise ZvenoError("the system has no finite value in the box", element="system")
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
    on: On = "here",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    piece: int = BOXES,
) -> list[Dichotomy]:
    """П8 in each of many boxes, such as the cells of a table of П7: one `dichotomy` a box, in their order.

    Args:
        system, target, percent, iterations, groups: as in `dichotomy`.
        lower, upper: (k, J) corners of the boxes.
        on, checkpoint, progress: workers, a file to go on from, and a bar, as in `zveno.scale.fold`.
        piece: boxes that a worker is given at a time; it does not change the answer.
    """
    low, high = (np.atleast_2d(np.asarray(side, float)) for side in (lower, upper))
    if low.shape != high.shape or low.ndim != 2 or not low.size:
        raise ShapeError(f"have shapes {low.shape} and {high.shape}", element="boxes", remedy="Give (k, J) corners")
    parts = None if groups is None else tuple((part.start, part.stop, part.step) for part in groups)
    work = _InBoxes(system, np.atleast_1d(np.asarray(target, float)), low, high, percent, iterations, parts)
    return fold(work, cut(len(low), piece), operator.add, on, checkpoint, progress)


@dataclass(frozen=True, eq=False)
class _InBoxes:
    """Dichotomies of a range of boxes; groups as numbers, since slices cannot be hashed."""

    system: System
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    percent: float
    iterations: int
    groups: tuple[tuple[int | None, int | None, int | None], ...] | None

    def __call__(self, piece: tuple[int, int]) -> list[Dichotomy]:
        groups = None if self.groups is None else [slice(*part) for part in self.groups]
        asked = self.percent, self.iterations, groups
        boxes = [(self.lower[k], self.upper[k]) for k in range(*piece)]
        return [dichotomy(self.system, self.target, *box, *asked) for box in boxes]


def relative_error(target: ArrayLike, groups: Sequence[slice] | None = None) -> Callable[[np.ndarray], float]:
    """δ(u) = |u − u_0|/|u_0| in percent, the largest over the groups of components."""
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
    """Where the linear model of u (3^J, V) at nodes −1, 0, 1 meets the target, in half widths of the box, (r, J).

    Row k solves for the k + 1 directions that change u most, since the weakest may be curvature only; none if a
    value is not finite.
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
