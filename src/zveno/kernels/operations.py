"""How much work a program is, in the units the literature counts in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import unknown_name
from .plan import live_nodes
from .program import ARITY, Op, Program


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
        return sum(vars(self).values())

    def __str__(self) -> str:
        parts = ((f"{count:,}".replace(",", " "), name.replace("_", " ")) for name, count in vars(self).items())
        return ", ".join(f"{count} {name}" for count, name in parts if count != "0") or "no operations"


def count_operations(program: Program, varying: Sequence[str] | None = None) -> Operations:
    """Count the operations of a program.

    Args:
        program: what is computed.
        varying: names of inputs; only operations that depend on one of them count. What depends on the other
            inputs alone, such as parameters, has to be computed once for many states.
    """
    live = live_nodes(program)
    if varying is not None:
        known = [argument.name for argument in program.inputs]
        for name in varying:
            if name not in known:
                raise unknown_name("input", name, known)
        live = live & _reached(program, [known.index(name) for name in varying])
    op = program.op[live]
    counts = np.bincount(op, minlength=len(Op))
    sincos = (op == Op.SIN) | (op == Op.COS)
    counted = [Op.INPUT, Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.SQRT, Op.SIN, Op.COS]
    return Operations(
        adds=int(counts[Op.ADD] + counts[Op.SUB]),
        multiplies=int(counts[Op.MUL]),
        divides=int(counts[Op.DIV]),
        square_roots=int(counts[Op.SQRT]),
        sincos=len(set(program.args[live][sincos, 0].tolist())),
        other=int(counts.sum() - counts[counted].sum()),
    )


def _reached(program: Program, inputs: Sequence[int]) -> np.ndarray:
    """Which nodes one of the given inputs takes part in, as booleans."""
    reached = bytearray(program.n_nodes)
    for node, (op, args) in enumerate(zip(program.op.tolist(), program.args.tolist(), strict=True)):
        if op == Op.INPUT:
            reached[node] = args[0] in inputs
        else:
            reached[node] = any(reached[a] for a in args[: ARITY[Op(op)]])
    return np.frombuffer(bytes(reached), dtype=np.bool_)
