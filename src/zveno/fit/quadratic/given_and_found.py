"""Arrays of a structured program that hold the rows of a quadratic program, and its answer."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.structured.parts import Rows


@dataclass(frozen=True)
class Answer:
    """Arrays of a program that hold an answer, all in rows of one number.

    Attributes:
        x: unknowns (n).
        side: −1 and +1 for unknowns that are held at their lower and upper bound, (order).
        u: multipliers of bounds and slots in scaled units, (order).
        row_side: the same for rows, (m).
        row_u: multipliers of the rows, (m).
        status, steps: see `steps`; exchanges done.
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
