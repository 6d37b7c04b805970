"""Procedures П7 and П8 of document 004: a reusable table for systems F(α) = F_0, and refinement by dichotomy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from .coding import decode, encode
from .extrema import flat_extrema
from .grid import Grid
from .operators import Function, evaluated

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
    def of(cls, grid: Grid, function: Function) -> ExtremumTable:
        """The table of a function of one parameter; the ends of the range are entries of it."""
        if grid.n_parameters != 1:
            raise ShapeError("this table is for one parameter", remedy="Use CellTable for several")
        found = [flat_extrema(grid, function, kind).numbers for kind in ("min", "max")]
        numbers = np.unique(np.concatenate([*found, [1, grid.size]]))
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
    def of(cls, grid: Grid, system: System) -> CellTable:
        """The table of a system on a grid whose nodes are the corners of cells (`Grid.by_count(…, ends=True)`)."""
        counts = grid.counts
        if min(counts) < 2:
            raise ShapeError("a cell needs two nodes in every parameter", element="grid")
        cells = tuple(count - 1 for count in counts)
        theta = decode(np.arange(1, int(np.prod(cells)) + 1), cells)
        nodes = np.asarray(system(grid.range_points(1, grid.size + 1)))
        if nodes.ndim != 2 or len(nodes) != grid.size:
            raise ShapeError("the system must return (k, V) values for points (k, J)")
        low: Any = None
        high: Any = None
        for corner in itertools.product((0, 1), repeat=len(counts)):
            value = nodes[encode(theta + np.array(corner), counts) - 1]
            low = value if low is None else np.minimum(low, value)
            high = value if high is None else np.maximum(high, value)
        return cls(grid, encode(theta, counts), low, high)

    def cells(self, target, margin: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
        """(k, J) lower and (k, J) upper corners of the cells that may hold a solution."""
        slack = margin * (self.high - self.low)
        hit = np.all((self.low - slack <= target) & (target <= self.high + slack), axis=1)
        lower = self.grid.points(self.numbers[hit])
        return lower, lower + self.grid.step


@dataclass(frozen=True, eq=False)
class Dichotomy:
    """Where a dichotomy ended: the best point, its error in percent of |u_0|, and how many scans it took."""

    alpha: np.ndarray
    percent: float
    iterations: int
    converged: bool
    lower: np.ndarray
    upper: np.ndarray


def dichotomy(
    system: System,
    target,
    lower,
    upper,
    percent: float = 1e-3,
    rule: str = "centred",
    iterations: int = 60,
    shift: float = 1e-15,
    groups: Sequence[slice] | None = None,
) -> Dichotomy:
    """П8: scan 3^J nodes of the box, keep half of every side, repeat, until the error is below `percent` of |u_0|.

    Args:
        system: u(points (k, J)) → (k, V).
        target: u_0, (V,).
        lower, upper: the box, (J,).
        percent: δ_adm, in percent.
        rule: "centred": the next box has the best node in its middle, and is half as wide if it was in the middle
            already, so that a minimum near a cut is not lost. "printed": the document's rule; a best node in the
            middle of a side is decided by moving all parameters by `shift`, a unit of the last place, which rarely
            finds the way.
        iterations: how many scans at most.
        shift: γ = E of the printed rule.
        groups: parts of u that must each be below `percent` of their own length (document's δP and δS); all of u
            together if not given.
    """
    if rule not in ("centred", "printed"):
        raise ZvenoError(f"{rule!r} is neither 'centred' nor 'printed'", element="rule")
    target = np.asarray(target, float)
    low, high = (np.array(np.atleast_1d(side), float) for side in (lower, upper))
    groups = [slice(None)] if groups is None else list(groups)
    best, alpha, scans = np.inf, (low + high) / 2, 0

    def error(u: np.ndarray) -> float:
        return max(float(np.linalg.norm((u - target)[g]) / np.linalg.norm(target[g]) * 100.0) for g in groups)

    for scans in range(1, iterations + 1):
        grid = Grid.by_count(low, high, np.full(len(low), 2), ends=True)
        nodes = grid.range_points(1, grid.size + 1)
        u = np.asarray(system(nodes))
        f = np.linalg.norm(u - target, axis=1)
        k = int(np.argmin(f))
        theta = decode(k + 1, grid.counts)
        better = rule == "printed" or f[k] < best
        if better:
            best, alpha = float(f[k]), nodes[k]
        found = error(u[k])
        if found <= percent:
            return Dichotomy(nodes[k], found, scans, True, low, high)
        half = (high - low) / 2
        if rule == "centred":
            size = half if better and np.any(theta != 2) else half / 2
            low, high = alpha - size, alpha + size
            continue
        moved = float(np.linalg.norm(np.asarray(system(nodes[k : k + 1] + shift))[0] - target))
        second = (theta == 3) | ((theta == 2) & (not f[k] < moved))
        low = np.where(second, low + half, low)
        high = low + half
    return Dichotomy(alpha, error(np.asarray(system(alpha[None]))[0]), scans, False, low, high)
