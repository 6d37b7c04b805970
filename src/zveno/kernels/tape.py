"""Traced scalars: arithmetic on them is recorded, simplified and shared instead of computed.

A :class:`Scalar` stands for one number of a computation. NumPy object arrays of scalars, mixed with plain floats,
run through the same textbook code as float arrays. The result is a graph in which every distinct operation occurs
once: a new operation is looked up in the table of its tape before it is recorded (hash consing).

Simplifications, made when an operation is recorded (:mod:`zveno.kernels._simplify`):

- constants are folded: they are plain Python floats until the graph becomes a program;
- ``x+0``, ``x*0``, ``x*1``, ``x*-1``, ``x-x``, ``x/1``, ``-(-x)`` disappear; ``0*x`` and ``0/x`` are 0, so
  a NaN or infinity in `x` does not propagate through a structural zero;
- signs move outwards, ``(-a)*b`` to ``-(a*b)``, ``(-a)-b`` to ``-(a+b)``, ``sin(-a)`` to ``-sin(a)``, so
  that expressions equal up to a sign share their operations;
- ``x/c`` becomes ``x*(1/c)`` where that is exact, for powers of two;
- operands of commutative operations stand in the order of their recording.

Sums are never regrouped. Every step is exact in floating point but for the sign of a zero, which is not
kept: atan2 on its cut, ``atan2(±0, negative)``, may therefore give either of ±π.

Nodes are ordered by numbers, not addresses, so the same function gives the same program in every process.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, NoReturn

import numpy as np

from ..errors import TraceError
from . import _simplify as rules
from ._simplify import NEG
from .program import Op

_SIN, _COS, _TAN, _ASIN, _ACOS, _ATAN = map(int, (Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN))
_SQRT, _EXP, _LOG, _TANH = map(int, (Op.SQRT, Op.EXP, Op.LOG, Op.TANH))
_ABS, _SIGN, _FLOOR = map(int, (Op.ABS, Op.SIGN, Op.FLOOR))


class Tape:
    """The table of one trace: every operation recorded so far, keyed by operation and operands."""

    __slots__ = ("table",)

    def __init__(self):
        self.table: dict[tuple[Any, ...], Scalar] = {}

    def record(self, key: tuple[Any, ...], op: int, a: Any, b: Any = None, c: Any = None) -> Scalar:
        """Record a new scalar under `key`; its number is its position in the order of recording."""
        table = self.table
        node = table[key] = Scalar(self, len(table), op, a, b, c)
        return node

    def input(self, argument: int, index: int) -> Scalar:
        """Record the scalar of element `index` (flat, C order) of input number `argument`."""
        return self.record((int(Op.INPUT), argument, index), int(Op.INPUT), argument, index)

    def close(self) -> None:
        """End the trace: nothing more can be recorded, and the tape releases its scalars."""
        self.table = _ClosedTable()


class _ClosedTable(dict):
    def get(self, *_):
        raise TraceError(
            "a traced scalar is used after its trace has ended",
            remedy="Return what you need from the traced function instead of storing it elsewhere",
        )


class Scalar:
    """One number of a traced computation: an operation and its operands, which are scalars or floats.

    Comparisons also give scalars, equal to 1.0 or 0.0, for use in :func:`zveno.ops.where`. Operations that need
    the number itself (``if``, ``float()``, an index) raise a `TraceError`.
    """

    __slots__ = ("a", "b", "c", "number", "op", "tape")
    # Above the priority of NumPy's scalars, so that `np.float64(2) * x` reaches this class, and below that of
    # arrays, which broadcast.
    __array_priority__: float = -1.0
    # Equal expressions are the same object, so the hash is the object's own. Sets and dictionaries test identity
    # first and never reach `==`, which would be recorded like the other comparisons.
    __hash__ = object.__hash__

    def __init__(self, tape: Tape, number: int, op: int, a: Any, b: Any, c: Any):
        self.tape: Tape = tape
        self.number: int = number
        self.op: int = op
        self.a: Any = a
        self.b: Any = b
        self.c: Any = c

    def __repr__(self) -> str:
        return f"<traced {Op(self.op).name.lower()} #{self.number}>"

    # Arithmetic. The most common operands, scalars and floats, are tested first.

    def __neg__(self) -> Any:
        return self.a if self.op == NEG else rules.unary(NEG, self)

    def __pos__(self) -> Scalar:
        return self

    def __add__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return rules.add(self, other)
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.add_constant(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return rules.subtract(self, other)
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.add_constant(self, -other)

    def __rsub__(self, other: Any) -> Any:
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.subtract_from(other, self)

    def __mul__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return rules.multiply(self, other)
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.scale(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return rules.divide(self, other)
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.divide_by(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if type(other) is not float and (other := number(other)) is NotImplemented:
            return other
        return rules.divide_into(other, self)

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, np.ndarray):
            return NotImplemented
        value = number(exponent)
        if type(value) is float and math.isfinite(value) and (2.0 * value).is_integer():
            return rules.power(self, value)
        raise TraceError(
            f"a traced value is raised to the power {exponent}",
            remedy="Only multiples of 1/2 can be recorded as powers; write exp(p * log(x)) for others",
        )

    def __rpow__(self, base: Any) -> Any:
        raise TraceError("a traced value is used as an exponent", remedy="Write exp(x * log(base)) instead")

    # Comparisons and logic.

    def __lt__(self, other: Any) -> Any:
        return _with(rules.less, self, other)

    def __gt__(self, other: Any) -> Any:
        return _with(lambda a, b: rules.less(b, a), self, other)

    def __le__(self, other: Any) -> Any:
        return _with(rules.less_equal, self, other)

    def __ge__(self, other: Any) -> Any:
        return _with(lambda a, b: rules.less_equal(b, a), self, other)

    def __eq__(self, other: Any) -> Any:
        return _with(rules.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return _with(lambda a, b: rules.logical_not(rules.equal(a, b)), self, other)

    def __and__(self, other: Any) -> Any:
        return _with(rules.logical_and, self, other)

    def __or__(self, other: Any) -> Any:
        return _with(rules.logical_or, self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return rules.logical_not(self)

    # Functions. NumPy calls them by these names on the elements of object arrays.

    def sin(self) -> Any:
        """Sine."""
        return rules.odd(_SIN, self)

    def cos(self) -> Any:
        """Cosine."""
        return rules.unary(_COS, self.a if self.op == NEG else self)

    def tan(self) -> Any:
        """Tangent."""
        return rules.odd(_TAN, self)

    def arcsin(self) -> Any:
        """Inverse sine."""
        return rules.odd(_ASIN, self)

    def arccos(self) -> Any:
        """Inverse cosine."""
        return rules.unary(_ACOS, self)

    def arctan(self) -> Any:
        """Inverse tangent."""
        return rules.odd(_ATAN, self)

    def arctan2(self, other: Any) -> Any:
        """Angle of the point (other, self)."""
        return _with(rules.atan2, self, other)

    def sqrt(self) -> Any:
        """Square root."""
        return rules.unary(_SQRT, self)

    def exp(self) -> Any:
        """Exponential."""
        return rules.unary(_EXP, self)

    def log(self) -> Any:
        """Natural logarithm."""
        return rules.unary(_LOG, self)

    def tanh(self) -> Any:
        """Hyperbolic tangent."""
        return rules.odd(_TANH, self)

    def sign(self) -> Any:
        """-1, 0 or 1."""
        return rules.odd(_SIGN, self)

    def __floor__(self) -> Any:
        return rules.unary(_FLOOR, self)

    def __abs__(self) -> Any:
        inner = self.a if self.op == NEG else self
        return inner if inner.op == _ABS else rules.unary(_ABS, inner)

    def conjugate(self) -> Scalar:
        """Return the scalar itself, because it is real."""
        return self

    # Operations that need the number itself.

    def __bool__(self) -> bool:
        raise TraceError(
            "the function branches on a traced value",
            remedy="A trace sees both sides: choose with zveno.ops.where, and compare arrays with "
            "less, less_equal or equal from the same module",
        )

    def _convert(self, *_: Any) -> NoReturn:
        raise used_as_a_number()

    __float__ = __int__ = __index__ = __complex__ = __round__ = __trunc__ = _convert


def used_as_a_number() -> TraceError:
    """Return the error for a scalar where only a plain number is possible."""
    return TraceError(
        "the function converts a traced value to a plain number, uses it as an index or writes it into an "
        "array of numbers",
        remedy="Keep traced values in arrays with dtype=object, and choose between values with zveno.ops.where",
    )


def number(x: Any) -> Any:
    """Return `x` as a plain float, or NotImplemented if it is not a real number."""
    if type(x) is int or isinstance(x, (numbers.Real, np.bool)):
        return float(x)
    return NotImplemented


def _with(rule, scalar, other):
    """Apply a rule with an operand that may not be a scalar yet."""
    if type(other) is not Scalar and (other := number(other)) is NotImplemented:
        return other
    return rule(scalar, other)
