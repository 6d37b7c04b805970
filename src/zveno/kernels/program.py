"""A straight-line program: what the tape produces and what lowering, export and derivatives consume.

Every value is a scalar that is computed once (static single assignment). Operand indices always point
to earlier nodes, so a loop over the nodes in order evaluates the program. Node `k` is described by

- ``op[k]``: the operation, an :class:`Op`;
- ``args[k]``: up to three operands, -1 where there is none. For ``INPUT`` they are
  (number of the argument, flat index of the element in C order, -1);
- ``value[k]``: the number, for ``CONST`` only (NaN is a legal constant; others hold 0).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np


class Op(enum.IntEnum):
    """Operations of a program. Comparisons give 1.0 or 0.0; AND, OR, NOT and SELECT read those."""

    INPUT = 0
    CONST = 1
    NEG = 2
    ADD = 3
    SUB = 4
    MUL = 5
    DIV = 6
    SQRT = 7
    SIN = 8
    COS = 9
    TAN = 10
    ASIN = 11
    ACOS = 12
    ATAN = 13
    ATAN2 = 14
    EXP = 15
    LOG = 16
    TANH = 17
    ABS = 18
    SIGN = 19
    FLOOR = 20
    MINIMUM = 21
    MAXIMUM = 22
    LESS = 23
    LESS_EQUAL = 24
    EQUAL = 25
    AND = 26
    OR = 27
    NOT = 28
    SELECT = 29


ARITY = {
    **dict.fromkeys((Op.INPUT, Op.CONST), 0),
    **dict.fromkeys(
        (Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.EXP, Op.LOG, Op.TANH), 1
    ),
    **dict.fromkeys((Op.ABS, Op.SIGN, Op.FLOOR, Op.NOT), 1),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ATAN2, Op.MINIMUM, Op.MAXIMUM), 2),
    **dict.fromkeys((Op.LESS, Op.LESS_EQUAL, Op.EQUAL, Op.AND, Op.OR), 2),
    Op.SELECT: 3,
}


@dataclass(frozen=True)
class Argument:
    """A named array of an input or output: its core shape, without batch axes."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Program:
    """A pure function from named input arrays to named output arrays, as scalar operations in order."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    op: np.ndarray
    """(n,) uint8, codes of :class:`Op`."""
    args: np.ndarray
    """(n, 3) int32, operands."""
    value: np.ndarray
    """(n,) float64, constants."""
    results: tuple[np.ndarray, ...]
    """For each output, the node of every element, int32, flat in C order."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes, inputs and constants included."""
        return len(self.op)
