"""The coarse grid of a chain as a table: poses of all its numbers, and which of them come near a target.

Dimension reduction (document 004, trick 2, formulas (14) and (15)) takes the first joint, and for whole poses the last
one, out of the scan: whatever the others do, their best values follow in closed form. What is left to compare are
quantities that neither of them changes, the functional constraints of trick 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..kernels.math import atan2, cos, sin, sqrt
from ..spatial.vectors import cross
from .compiled import kernel_of
from .numbers import Grid
from .problem import Problem
from .refine import Lanes
from .residual import error, walk

SIZES = (1, 64, 576, 1728, 4096, 7776)
"""Numbers in the table by how many coordinates are scanned; the last one for more."""
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Table:
    """Grid points of a chain with the vectors that are compared with a target's.

    Attributes:
        grid: the grid of the scanned coordinates.
        scanned: which coordinates those are.
        first, last: whether the first and last coordinate are solved for, not scanned.
        x: (N, n) grid points in chain units; coordinates that are not scanned are 0.
        vectors: (N, 9): a point, and two directions.
    """

    grid: Grid
    scanned: tuple[int, ...]
    first: bool
    last: bool
    x: np.ndarray
    vectors: np.ndarray

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.x)


@lru_cache(maxsize=32)
def table_of(problem: Problem, density: float = 1.0, frozen: tuple[int, ...] = ()) -> Table:
    """The table of a chain within its limits, `density` times the usual number of points."""
    first, last = _solvable_ends(problem, frozen)
    scanned = tuple(
        k for k in range(problem.n) if k not in frozen and not (first and k == 0) and not (last and k == problem.n - 1)
    )
    lower, upper = (side[list(scanned)] / problem.units[list(scanned)] for side in problem.span)
    wanted = SIZES[min(len(scanned), len(SIZES) - 1)] * density
    grid = Grid.by_count(lower, upper, _counts(upper - lower, wanted), centred=True) if scanned else None
    x = np.zeros((1 if grid is None else min(grid.size, int(4 * wanted)), problem.n))
    if grid is None:
        grid = Grid(np.zeros(1), np.zeros(1), (1,))
    elif grid.size <= len(x):
        x[:, scanned] = grid.range_points(1, grid.size + 1)
    else:
        # Too many to visit: numbers spread evenly over the range, in every coordinate.
        numbers = [1 + int(grid.size * ((s * _GOLDEN) % 1.0)) for s in range(len(x))]
        x[:, scanned] = grid.points(np.array(numbers, dtype=object if grid.size > 2**62 else np.int64))
    return Table(grid, scanned, first, last, x, np.zeros((0, 9)))


def _solvable_ends(problem: Problem, frozen: tuple[int, ...]) -> tuple[bool, bool]:
    """Whether the first and the last coordinate can be solved from the others."""
    task, steps = problem.task, problem.steps
    if len(task.position) not in (0, 3) or len(task.rotation) not in (0, 3):
        return False, False
    times = [sum(step.coordinate == k for step in steps) for k in range(problem.n)]

    def own(step, k: int) -> bool:
        return step.coordinate == k and times[k] == 1 and step.factor == 1.0 and k not in frozen

    first = own(steps[0], 0) and (steps[0].kind == "R" or (steps[0].kind == "P" and len(task.position) == 3))
    last = task.is_pose and not task.axis and own(steps[-1], problem.n - 1) and steps[-1].kind == "R" and problem.n > 2
    return first, last


def _counts(spans: np.ndarray, wanted: float) -> np.ndarray:
    """Values a coordinate, in proportion to the spans, with a product near `wanted`."""
    low, high = 1e-6, max(float(spans.max()), 1e-6) * 2
    for _ in range(60):
        step = (low * high) ** 0.5
        if np.prod(np.maximum(1.0, np.round(spans / step))) > wanted:
            low = step
        else:
            high = step
    return np.maximum(1, np.round(spans / high)).astype(int)
