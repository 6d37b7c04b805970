"""Operators П1 to П4 of document 004: which numbers are admissible, and the range compressed to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError
from .grid import Grid
from .ranges import CHUNK, map_reduce

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
    bounded = [*constraints, *objectives]
    extra = list(others)

    def mask(start: int, stop: int) -> np.ndarray:
        points = grid.range_points(start, stop)
        alive = np.arange(len(points))
        for function, low, high in bounded:
            values = evaluated(function, points[alive])
            alive = alive[(values >= low) & (values <= high)]
        for function in extra:
            alive = alive[evaluated(function, points[alive]).astype(bool)]
        zeta = np.zeros(len(points), bool)
        zeta[alive] = True
        return zeta

    return mask


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


def compress(grid: Grid, mask: Mask, parts: int = 1, chunk: int = CHUNK) -> Compressed:
    """П4: only the numbers where ζ = 1. Memory grows with Σ, not with I."""

    def work(start: int, stop: int) -> list[np.ndarray]:
        return [_numbers(start, np.flatnonzero(mask(start, stop)))]

    pieces = map_reduce(grid.size, work, lambda a, b: a + b, parts, chunk)
    return Compressed(grid, np.concatenate(pieces))


def _numbers(start: int, offsets: np.ndarray) -> np.ndarray:
    if start <= 2**62:
        return start + offsets
    return np.array([start + int(k) for k in offsets], dtype=object)
