"""All real roots of a trigonometric polynomial in a program: cells, those to be split on a stack, Newton's method.

The tests of a cell are those of `zveno.ik.six_revolute.roots`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....kernels.builder import Builder, Rows, Value
from ....kernels.ops import abs as absolute
from ....kernels.ops import equal, less, less_equal, logical_and, logical_not, logical_or, minimum, where
from ....kernels.program import Variable
from ...six_revolute import roots
from ..program import as_it_is

HALF_CELL = np.pi / roots.CELLS
"""Half the width of a cell of the grid, rad."""
N_DERIVATIVES = 4
"""p itself and three more."""
PIECES = 4
MOST_WAITING = 40
"""Cells that wait to be split, at most."""
MOST_SPLITS = 100
"""Cells that are split, at most; random poses need three on average and fewer than eighty."""
MOST_ROOTS = 2 * roots.DEGREE
MOST_NEWTON = 20
"""Calls of `NEWTON_STEPS` bracketed steps each: sixty halvings at worst."""
NEWTON_STEPS = 3
SETTLED = 1e-9
"""A last step shorter than this, rad, is enough: solutions are polished afterwards."""
EDGE = 1e-7
"""A root so near the end of its cell, rad, may be found in the next one too."""


class Cells(NamedTuple):
    """Cells that hold one root each.

    Attributes:
        cells: rows of the middle, half the width, and where to look first.
        count: their number.
        doubt: True if there may be other roots.
    """

    cells: Rows
    count: Rows
    doubt: Rows


def isolate(program: Builder, c: Rows, in_doubt: bool = False) -> Cells:
    """Write cells with the roots of the polynomial c (one row); if `in_doubt`, also where some may be missing."""
    grid = program.table("grid", [_powers(y) for y in HALF_CELL * (2 * np.arange(roots.CELLS // 2) + 1)])
    pieces = program.table("pieces", (2.0 * np.arange(PIECES) + 1.0 - PIECES)[:, None])
    place = _Places(program)
    place.counts[0] = program.step(none_yet, c[0])
    middle, derivatives = program.scratch("middle", 2, 1), program.scratch("derivatives", 2, N_DERIVATIVES)
    with program.each(roots.CELLS // 2) as i:
        middle[0, 2], derivatives[0, 2] = program.step(on_both_sides, c[0], grid[i])
        for side in (0, 1):
            place(program.step(of_grid, c[0], middle[side], derivatives[side], place.counts[0]))
    cell, waiting, last = (
        program.scratch("cell", 1, 2),
        program.scratch("waiting", 1, 1),
        program.scratch("last", 1, 1),
    )
    waiting[0] = program.step(partial(is_waiting, in_doubt), place.counts[0])
    with program.repeat_while(waiting, MOST_SPLITS):
        last[0], place.counts[0] = program.step(popped, place.counts[0])
        cell[0] = program.step(as_it_is, place.stack[last.lane()])
        with program.each(PIECES) as i:
            place(program.step(piece_classified, c[0], cell[0], pieces[i], place.counts[0]))
        waiting[0] = program.step(partial(is_waiting, in_doubt), place.counts[0])
    count, doubt = program.scratch("n_cells", 1, 1), program.scratch("doubt", 1, 1)
    count[0], doubt[0] = program.step(counted, place.counts[0])
    return Cells(place.cells, count, doubt)


class _Places:
    """Destinations of cells: the stack of those to be split, the list of those with one root, or neither."""

    def __init__(self, program: Builder):
        self.program = program
        self.stack = program.scratch("stack", MOST_WAITING + 1, 2)
        self.cells = program.scratch("cells", MOST_ROOTS + 1, 3)
        self.counts = program.scratch("counts", 1, 3)
        self.rows = [program.scratch(f"to_{name}", 1, 1) for name in ("stack", "cells")]
        self.kept = program.scratch("kept", 1, 3)

    def __call__(self, results: tuple[Value, ...]) -> None:
        """Store a cell where `sorted_out` says."""
        self.rows[0][0], self.rows[1][0], self.kept[0], self.counts[0] = results
        self.stack[self.rows[0].lane()], self.cells[self.rows[1].lane()] = self.program.step(twice, self.kept[0])


def none_yet(c: Any) -> Any:
    """Return the counts before the first cell: the search may be one of several, so that memory is not zero."""
    return np.zeros(3)


def _powers(y: float) -> list[float]:
    """Return y, and m^j cos(m y) and m^j sin(m y), m up to the degree, for derivatives j."""
    m = np.arange(1, roots.DEGREE + 1)
    parts = [m**j * f(m * y) for j in range(N_DERIVATIVES) for f in (np.cos, np.sin)]
    return [y, *np.concatenate(parts)]


def on_both_sides(c: Any, row: Any) -> Any:
    """Return the grid cells y and −y, and p with its derivatives at both: cosines are even and sines are odd."""
    n = roots.DEGREE
    a, b = c[1 : n + 1], c[n + 1 : 2 * n + 1]
    here, there = [], []
    for j, (cosines, sines) in enumerate(row[1:].reshape(N_DERIVATIVES, 2, n)):
        # Every derivative takes a cos + b sin to b cos − a sin.
        even, odd = (b @ cosines, -(a @ sines)) if j % 2 else (a @ cosines, b @ sines)
        if j == 0:
            even = even + c[0]
        elif j > 1:
            even, odd = -even, -odd
        here.append(even + odd)
        there.append(even - odd)
    return np.array([row[0], -row[0]]), np.array([*here, *there])


def of_grid(c: Any, y: Any, derivatives: Any, counts: Any) -> Any:
    """Classify a cell of the grid and choose its destination."""
    return sorted_out(*roots.classified(c, y[0], HALF_CELL, derivatives), y[0], HALF_CELL, counts)


def piece_classified(c: Any, cell: Any, piece: Any, counts: Any) -> Any:
    """Classify a piece of a cell and choose its destination."""
    r = cell[1] * (1.0 / PIECES)
    y = cell[0] + r * piece[0]
    return sorted_out(*roots.classify(c, y, r), y, r, counts)


def sorted_out(kind: Any, at: Any, y: Any, r: Any, counts: Any) -> Any:
    """Return the row on the stack, the row in the list, the values written there, and the counts after it.

    Counts are of the stack, of the list, and of cells that could not be kept or decided. The last rows take what
    is not to be kept.
    """
    waiting, listed, lost = counts
    split, root, noise = (equal(kind, what) for what in (roots.SPLIT, roots.SINGLE, roots.NOISE))
    full = logical_or(
        logical_and(split, less_equal(float(MOST_WAITING), waiting)),
        logical_and(root, less_equal(float(MOST_ROOTS), listed)),
    )
    rows = where(split, waiting, float(MOST_WAITING)), where(root, listed, float(MOST_ROOTS))
    after = [
        minimum(waiting + split, float(MOST_WAITING)),
        minimum(listed + root, float(MOST_ROOTS)),
        logical_or(lost, logical_or(full, noise)),
    ]
    return *rows, np.array([y, r, at]), np.array(after)


def twice(kept: Any) -> Any:
    """Return the entries for the stack and for the list."""
    return kept[:2], kept


def is_waiting(in_doubt: bool, counts: Any) -> Any:
    """Return True if cells are to be split, and none is lost yet unless `in_doubt`."""
    waiting = less(0.0, counts[0])
    return waiting if in_doubt else logical_and(waiting, logical_not(counts[2]))


def popped(counts: Any) -> Any:
    """Return the last row of the stack, and the counts without it."""
    last = counts[0] - 1.0
    return last, np.array([last, *counts[1:]])


def counted(counts: Any) -> Any:
    """Return the number of roots, and whether there may be others: cells that were lost, or left on the stack."""
    return counts[1], logical_or(counts[2], less(0.0, counts[0]))


def refine(program: Builder, c: Rows, found: Cells, i: Variable) -> Rows:
    """Write the root in cell i: a row of its angle, whether it lies in the cell, and whether that is certain."""
    bracket, again = program.scratch("bracket", 1, 3), program.scratch("unsettled", 1, 1)
    root = program.scratch("root", 1, 3)
    bracket[0], again[0] = program.step(bracketed, found.cells[i])
    with program.repeat_while(again, MOST_NEWTON):
        bracket[0], again[0] = program.step(narrowed, c[0], bracket[0])
    root[0] = program.step(located, bracket[0], again[0], found.cells[i])
    return root


def bracketed(cell: Any) -> Any:
    """Return low and high, a little beyond the cell, and the starting point."""
    y, r, at = cell
    return np.array([y - 1.001 * r, y + 1.001 * r, at]), 1.0


def narrowed(c: Any, bracket: Any) -> Any:
    """Return the bracket after some steps, and whether the last was not short."""
    low, high, y, moved = roots.newton(c, *bracket, steps=NEWTON_STEPS)
    return np.array([low, high, y]), logical_not(less(absolute(moved), SETTLED))


def located(bracket: Any, unsettled: Any, cell: Any) -> Any:
    """Return the root, whether it lies in the cell, and whether that is certain."""
    off = absolute(bracket[2] - cell[0])
    clear = logical_and(less(EDGE, absolute(off - cell[1])), logical_not(unsettled[0]))
    return np.array([bracket[2], less(off, cell[1]), clear])
