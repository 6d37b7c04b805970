"""Arrays of a structured program with the rows and the solution of a quadratic program."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.builder import Rows


@dataclass(frozen=True)
class Answer:
    """Arrays of a program that hold a solution, all in rows of one number.

    Attributes:
        x: unknowns (n).
        side: −1 and +1 for active lower and upper bounds, (order).
        u: multipliers of bounds and slots in scaled units, (order).
        row_side: the same for rows, (m).
        row_u: multipliers of the rows, (m).
        status, steps: status, see `steps`, and number of exchanges.
    """

    x: Rows
    side: Rows
    u: Rows
    row_side: Rows | None
    row_u: Rows | None
    status: Rows
    steps: Rows
    scales: Rows


@dataclass(frozen=True)
class General:
    """Rows C (m rows of n), low and high (m rows of one number), from row `first` on."""

    C: Rows
    low: Rows
    high: Rows
    first: int = 0
