"""Operators on ranges of numbers, in chunks on any executor; results do not depend on the partition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from .._executor import cut, map_pieces
from ..errors import ShapeError
from ..progress import Progress
from .grid import Grid

CHUNK = 1 << 15
"""Number of points evaluated at once."""
PIECE = 1 << 22
"""Number of points per worker task: a tenth of a second to some seconds of work."""

A = TypeVar("A")


def chunks(start: int, stop: int, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Split [start, stop) into ranges of at most `chunk` numbers."""
    while start < stop:
        yield start, min(start + chunk, stop)
        start += chunk


@dataclass(frozen=True)
class InChunks:
    """Function that applies `work(start, stop)` to a range chunk by chunk and merges from left to right."""

    work: Callable[[int, int], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, piece: tuple[int, int]) -> Any:
        """Compute the merged result of a range (start, stop)."""
        answers = (self.work(start, stop) for start, stop in chunks(*piece))
        total = next(answers)
        for answer in answers:
            total = self.merge(total, answer)
        return total


def map_reduce(
    size: int,
    work: Callable[[int, int], A],
    merge: Callable[[A, A], A],
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> A:
    """Apply `work(start, stop)` to the numbers 1 … size and merge from left to right: trick 4 of document 004.

    The result of `merge` must not depend on the partition of the range. Other arguments as in `map_pieces`.
    """
    pieces = cut(size, piece, first=1)
    return reduce(merge, map_pieces(InChunks(work, merge), pieces, executor=executor, progress=progress))


Function = Callable[[np.ndarray], np.ndarray]
"""Function of points (k, J) that returns (k,) values."""
Bounds = tuple[Function, float, float]
"""Function with its lower and upper bound."""
Mask = Callable[[int, int], np.ndarray]
"""Mask ζ over a range of numbers: (start, stop) → booleans (stop − start,)."""


def compile_function(function: Callable[..., Any], J: int, name: str = "objective") -> Function:
    """Compile a function of one point (J,) into a function of points (k, J).

    The function must be traceable: it computes with `zveno.ops` and NumPy operators.
    """
    from ..kernels.compile import compiled_program
    from ..kernels.trace import trace

    return compiled_program(trace(function, {"alpha": (J,)}, name=name))


def evaluate(grid: Grid, function: Function, start: int = 1, stop: int | None = None) -> np.ndarray:
    """Evaluate f(i) for the numbers start … stop − 1, by default for the whole grid."""
    return evaluated(function, grid.range_points(start, grid.size + 1 if stop is None else stop))


def evaluated(function: Function, points: np.ndarray) -> np.ndarray:
    """Evaluate f at points (k, J) and check that it returns one value per point."""
    values = np.asarray(function(points))
    if values.shape != points.shape[:1]:
        raise ShapeError(
            f"the function returned shape {values.shape} for points of shape {points.shape}",
            remedy="Return one value per point: f(points (k, J)) → (k,)",
        )
    return values


def admissible(
    grid: Grid,
    constraints: Iterable[Bounds] = (),
    objectives: Iterable[Bounds] = (),
    others: Iterable[Function] = (),
) -> Mask:
    """Build the mask ζ of formulas (3) to (5): 1 if lower ≤ φ(α) ≤ upper for every function, and all `others` hold.

    With constraints alone this is П1, with objectives alone П2, with both П3. Later functions are only evaluated
    at points where the earlier ones hold, so put cheap and tight functions first.
    """
    return _Admissible(grid, (*constraints, *objectives), tuple(others))


@dataclass(frozen=True, eq=False)
class _Admissible:
    """Mask ζ as an object that can be pickled for other processes."""

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
    """Admissible numbers i_s, s = 1 … Σ, in order: the compressed range of definition."""

    grid: Grid
    numbers: np.ndarray

    @property
    def size(self) -> int:
        """Number Σ of admissible numbers."""
        return len(self.numbers)

    @property
    def coefficient(self) -> float:
        """Compression ratio K_c = I/Σ."""
        return self.grid.size / self.size if self.size else float("inf")

    def points(self, s: Any = None) -> np.ndarray:
        """Parameters of the s-th admissible numbers (counted from 1), by default of all."""
        return self.grid.points(self.numbers if s is None else self.numbers[np.asarray(s) - 1])

    def compress(self, constraints: Sequence[Bounds]) -> Compressed:
        """Compress further with more constraints: trick 3 of document 004, one constraint after the other."""
        kept = self.numbers
        for function, low, high in constraints:
            values = evaluated(function, self.grid.points(kept))
            kept = kept[(values >= low) & (values <= high)]
        return Compressed(self.grid, kept)


def compress(
    grid: Grid,
    mask: Mask,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> Compressed:
    """Collect the numbers with ζ = 1: П4. Memory grows with Σ, not with I.

    Args:
        grid: the grid.
        mask: ζ, from `admissible`.
        executor: any `concurrent.futures.Executor` that shares the range; this process if None.
        progress: True to show a bar, or a function of (done, total).
        piece: chunk of numbers per worker; it does not change the result.
    """
    pieces = map_reduce(grid.size, _Kept(mask), operator.add, executor, progress, piece)
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
