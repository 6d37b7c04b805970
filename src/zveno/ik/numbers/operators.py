"""Operators П1 to П4 of document 004: which numbers are admissible, and the range compressed to them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...progress import Progress
from ...scale.fold import On
from .grid import Grid
from .ranges import PIECE, map_reduce

Function = Callable[[np.ndarray], np.ndarray]
"""A function of points (k, J) that returns (k,) values."""
Bounds = tuple[Function, float, float]
"""A function with its lower and upper bound."""
Mask = Callable[[int, int], np.ndarray]
"""ζ over a range of numbers: (start, stop) → booleans (stop − start,)."""


def compiled(function: Callable[..., Any], J: int, name: str = "objective") -> Function:
    """A function of one point (J,), traced and compiled, as a function of points (k, J).

    The function computes with `zveno.kernels.math` and NumPy operators, as every algorithm of zveno does.
    """
    from ...kernels.door import compiled_program
    from ...kernels.trace import trace

    return compiled_program(trace(function, {"alpha": (J,)}, name=name))


def values(grid: Grid, function: Function, start: int = 1, stop: int | None = None) -> np.ndarray:
    """f(i) for the numbers start … stop − 1, the whole grid if not given."""
    return evaluated(function, grid.range_points(start, grid.size + 1 if stop is None else stop))


def evaluated(function: Function, points: np.ndarray) -> np.ndarray:
    """f at points (k, J), checked to be one value a point."""
    values = np.asarray(function(points))
    if values.shape != points.shape[:1]:
        raise ShapeError(
            f"the function returned shape {values.shape} for points of shape {points.shape}",
            remedy="Return one value a point: f(points (k, J)) → (k,)",
        )
    return values


def admissible(
    grid: Grid,
    constraints: Iterable[Bounds] = (),
    objectives: Iterable[Bounds] = (),
    others: Iterable[Function] = (),
) -> Mask:
    """ζ of formulas (3) to (5): 1 where lower ≤ φ(α) ≤ upper for every function, and all `others` hold.

    With constraints alone this is П1, with objectives alone П2, with both П3. Later functions are only evaluated
    where the earlier ones hold, so put the cheap and the tight ones first.
    """
    return _Admissible(grid, (*constraints, *objectives), tuple(others))


@dataclass(frozen=True, eq=False)
class _Admissible:
    """ζ as a value, so that it can be sent to other processes."""

    grid: Grid
    bounded: tuple[Bounds, ...]
    others: tuple[Function, ...]

    def __call__(self, start: int, stop: int) -> np.ndarray:
        points = self.grid.range_points(start, stop)
        alive = np.arange(len(points))
        for function, low, high in self.bounded:
            values = evaluated(function, points[alive])
            alive = alive[(values >= low) & (values <= high)]
        for function in self.others:
            alive = alive[evaluated(function, points[alive]).astype(bool)]
        zeta = np.zeros(len(points), bool)
        zeta[alive] = True
        return zeta


@dataclass(frozen=True, eq=False)
class Compressed:
    """The admissible numbers i_s, s = 1 … Σ, in order: the compressed range of definition."""

    grid: Grid
    numbers: np.ndarray

    @property
    def size(self) -> int:
        """Σ."""
        return len(self.numbers)

    @property
    def coefficient(self) -> float:
        """K_c = I/Σ: how many times fewer numbers are left."""
        return self.grid.size / self.size if self.size else float("inf")

    def points(self, s: Any = None) -> np.ndarray:
        """Parameters of the s-th admissible numbers (counted from 1), all of them if not given."""
        return self.grid.points(self.numbers if s is None else self.numbers[np.asarray(s) - 1])

    def compress(self, constraints: Sequence[Bounds]) -> Compressed:
        """Compressed further by more constraints: trick 3 of document 004, one constraint after the other."""
        kept = self.numbers
        for function, low, high in constraints:
            values = evaluated(function, self.grid.points(kept))
            kept = kept[(values >= low) & (values <= high)]
        return Compressed(self.grid, kept)


def compress(
    grid: Grid,
    mask: Mask,
    *,
    on: On = "here",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> Compressed:
    """П4: only the numbers where ζ = 1. Memory grows with Σ, not with I.

    Args:
        grid: the grid.
        mask: ζ, from `admissible`.
        on, checkpoint, progress: workers, a file to go on from, and a bar, as in `zveno.scale.fold`.
        piece: numbers that a worker is given at a time; it does not change the answer.
    """
    pieces = map_reduce(grid.size, _Kept(mask), operator.add, on, checkpoint, progress, piece)
    return Compressed(grid, np.concatenate(pieces))


@dataclass(frozen=True, eq=False)
class _Kept:
    mask: Mask

    def __call__(self, start: int, stop: int) -> list[np.ndarray]:
        return [_numbers(start, np.flatnonzero(self.mask(start, stop)))]


def _numbers(start: int, offsets: np.ndarray) -> np.ndarray:
    if start <= 2**62:
        return start + offsets
    return np.array([start + int(k) for k in offsets], dtype=object)
