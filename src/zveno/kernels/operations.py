"""How much work a program is, in the units the literature counts in."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from .plan import live_nodes
from .program import Op, Program


@dataclass(frozen=True)
class Operations:
    """Scalar operations per state. Operations no result depends on are not counted."""

    adds: int
    """Additions and subtractions."""
    multiplies: int
    divides: int
    square_roots: int
    sincos: int
    """Angles whose sine, cosine or both are taken."""
    other: int
    """Everything else: changes of sign, comparisons, choices and the remaining functions."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(asdict(self).values())

    def __str__(self) -> str:
        parts = ((f"{count:,}".replace(",", " "), name.replace("_", " ")) for name, count in asdict(self).items())
        return ", ".join(f"{count} {name}" for count, name in parts if count != "0") or "no operations"


def count_operations(program: Program) -> Operations:
    """Count the operations of a program."""
    live = live_nodes(program)
    op = program.op[live]
    counts = np.bincount(op, minlength=len(Op))
    sincos = (op == Op.SIN) | (op == Op.COS)
    counted = [Op.INPUT, Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.SQRT, Op.SIN, Op.COS]
    return Operations(
        adds=int(counts[Op.ADD] + counts[Op.SUB]),
        multiplies=int(counts[Op.MUL]),
        divides=int(counts[Op.DIV]),
        square_roots=int(counts[Op.SQRT]),
        sincos=len(np.unique(program.args[live][sincos, 0])),
        other=int(counts.sum() - counts[counted].sum()),
    )
