"""What tests of traces have in common."""

from __future__ import annotations

import numpy as np

from zveno.kernels.program import Op, Program
from zveno.kernels.trace import trace

X = {"x": (3,)}


def count(program: Program, *ops: Op) -> int:
    """Operations of the given kinds, of all kinds if none is given."""
    return int(np.isin(program.graph.op, ops).sum()) if ops else int((program.graph.op > Op.CONST).sum())


def same(a: Program, b: Program) -> bool:
    return (
        a.inputs == b.inputs
        and a.outputs == b.outputs
        and all(np.array_equal(x, y) for x, y in ((a.graph.op, b.graph.op), (a.graph.args, b.graph.args)))
        and np.array_equal(a.graph.value, b.graph.value, equal_nan=True)
        and all(np.array_equal(x, y) for x, y in zip(a.graph.results, b.graph.results, strict=True))
    )


def scalar(function, n=2) -> Program:
    """The program of a function of n single numbers."""
    return trace(function, {f"x{i}": () for i in range(n)})
