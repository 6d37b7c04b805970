"""Simplification of operations on traced scalars while they are recorded: the rules of :mod:`zveno.kernels.tape`.

Operands are scalars or plain floats. Functions with a constant in their name take a float there. A
result is a scalar, or a constant if nothing is left to compute. The constant is a float. For comparisons and logic
it is a NumPy boolean, on which ``&``, ``|`` and ``~`` keep working.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import TraceError
from .program import Op

# Plain integers compare and hash several times faster than members of an enumeration.
NEG, ADD, SUB, MUL, DIV = (int(op) for op in (Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.DIV))
_BOOLEAN = frozenset(int(op) for op in (Op.LESS, Op.LESS_EQUAL, Op.EQUAL, Op.AND, Op.OR, Op.NOT))
# First entries of the keys of operations with a constant, because 3.0 and node number 3 are equal as keys.
_ADD_CONSTANT, _FROM_CONSTANT, _MUL_CONSTANT, _DIV_CONSTANT, _CONSTANT_DIV = range(100, 105)


def unary(op: int, a: Any) -> Any:
    """Record a function of one scalar."""
    tape, key = a.tape, (op, a.number)
    node = tape.table.get(key)
    return tape.record(key, op, a) if node is None else node


def odd(op: int, a: Any) -> Any:
    """Record a function with f(-a) = -f(a)."""
    return -unary(op, a.a) if a.op == NEG else unary(op, a)


def _binary(op, a, b):
    tape, key = a.tape, (op, a.number, b.number)
    if b.tape is not tape:
        raise mixed_traces()
    node = tape.table.get(key)
    return tape.record(key, op, a, b) if node is None else node


def _with_constant(tag, op, scalar, constant, a, b):
    """Record `op` of `a` and `b`, which are `scalar` and `constant` in one order or the other."""
    tape, key = scalar.tape, (tag, scalar.number, constant)
    node = tape.table.get(key)
    return tape.record(key, op, a, b) if node is None else node


def mixed_traces() -> TraceError:
    """Return the error for operands that belong to different traces."""
    return TraceError(
        "scalars of two different traces meet in one operation",
        remedy="Pass the values in as inputs of the inner function",
    )


# Arithmetic


def add(a: Any, b: Any) -> Any:
    """a + b of two scalars."""
    if a.op == NEG:
        return -add(a.a, b.a) if b.op == NEG else subtract(b, a.a)
    if b.op == NEG:
        return subtract(a, b.a)
    return _binary(ADD, a, b) if a.number <= b.number else _binary(ADD, b, a)


def subtract(a: Any, b: Any) -> Any:
    """a - b of two scalars."""
    if a is b:
        return 0.0
    if a.op == NEG:
        return subtract(b.a, a.a) if b.op == NEG else -add(a.a, b)
    if b.op == NEG:
        return add(a, b.a)
    tape = a.tape
    if b.tape is not tape:
        raise mixed_traces()
    key = (SUB, a.number, b.number)
    node = tape.table.get(key)
    if node is None:
        mirrored = tape.table.get((SUB, b.number, a.number))
        return tape.record(key, SUB, a, b) if mirrored is None else -mirrored
    return node


def add_constant(a: Any, c: float) -> Any:
    """a + c."""
    if c == 0.0:
        return a
    if c != c:
        return c
    if a.op == NEG:
        return subtract_from(c, a.a)
    mirrored = a.tape.table.get((_FROM_CONSTANT, a.number, -c))
    return _with_constant(_ADD_CONSTANT, ADD, a, c, a, c) if mirrored is None else -mirrored


def subtract_from(c: float, a: Any) -> Any:
    """c - a."""
    if c == 0.0:
        return -a
    if c != c:
        return c
    if a.op == NEG:
        return add_constant(a.a, c)
    mirrored = a.tape.table.get((_ADD_CONSTANT, a.number, -c))
    return _with_constant(_FROM_CONSTANT, SUB, a, c, c, a) if mirrored is None else -mirrored


def multiply(a: Any, b: Any) -> Any:
    """a * b of two scalars."""
    if a.op == NEG:
        return multiply(a.a, b.a) if b.op == NEG else -multiply(a.a, b)
    if b.op == NEG:
        return -multiply(a, b.a)
    return _binary(MUL, a, b) if a.number <= b.number else _binary(MUL, b, a)


def scale(a: Any, c: float) -> Any:
    """a * c."""
    if c == 0.0:
        return 0.0
    if c == 1.0:
        return a
    if c < 0.0:
        return -scale(a, -c)
    if c != c:
        return c
    if a.op == NEG:
        return -scale(a.a, c)
    return _with_constant(_MUL_CONSTANT, MUL, a, c, a, c)


def divide(a: Any, b: Any) -> Any:
    """a / b of two scalars."""
    if a.op == NEG:
        return divide(a.a, b.a) if b.op == NEG else -divide(a.a, b)
    return -_binary(DIV, a, b.a) if b.op == NEG else _binary(DIV, a, b)


def divide_by(a: Any, c: float) -> Any:
    """a / c."""
    if c != c:
        return c
    if math.copysign(1.0, c) < 0.0:  # also for -0.0, to keep the sign of the infinity
        return -divide_by(a, -c)
    mantissa, exponent = math.frexp(c)
    if mantissa == 0.5 and abs(exponent) < 100:  # the inverse is exact, also in single precision
        return scale(a, 1.0 / c)
    if a.op == NEG:
        return -divide_by(a.a, c)
    return _with_constant(_DIV_CONSTANT, DIV, a, c, a, c)


def divide_into(c: float, a: Any) -> Any:
    """c / a."""
    if c == 0.0:
        return 0.0
    if c != c:
        return c
    if c < 0.0:
        return -divide_into(-c, a)
    if a.op == NEG:
        return -divide_into(c, a.a)
    return _with_constant(_CONSTANT_DIV, DIV, a, c, c, a)


def power(a: Any, exponent: float) -> Any:
    """a ** exponent for a multiple of 1/2: repeated squaring, a square root, an inverse."""
    if exponent < 0.0:
        return 1.0 / power(a, -exponent)
    whole = int(exponent)
    result = 1.0 if whole == exponent else a.sqrt()
    square = a
    while whole:
        if whole & 1:
            result = square * result
        whole >>= 1
        if whole:
            square = square * square
    return result


# Comparison, selection and other operations, whose operands are any mixture of scalars and floats


def _general(op, *operands):
    tape = None
    key: list[int | str] = [int(op)]
    for x in operands:
        if type(x) is float:
            key.append(x.hex())  # a string cannot equal a node number, and distinguishes -0.0 and NaN
            continue
        if tape is None:
            tape = x.tape
        elif tape is not x.tape:
            raise mixed_traces()
        key.append(x.number)
    assert tape is not None, "constants alone are folded by the caller"
    node = tape.table.get(tuple(key))
    return tape.record(tuple(key), int(op), *operands) if node is None else node


def _ordered(a, b):
    """Operands of a commutative operation: a constant last, else in the order of their recording."""
    if type(a) is float or (type(b) is not float and a.number > b.number):
        return b, a
    return a, b


def _is_nan(x) -> bool:
    return type(x) is float and x != x


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y)."""
    if _is_nan(y) or _is_nan(x):
        return math.nan
    if type(y) is not float and y.op == NEG:
        return -_general(Op.ATAN2, y.a, x)
    return _general(Op.ATAN2, y, x)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller operand; NaN if one is NaN."""
    if _is_nan(a) or _is_nan(b):
        return math.nan
    return a if a is b else _general(Op.MINIMUM, *_ordered(a, b))


def maximum(a: Any, b: Any) -> Any:
    """Return the larger operand; NaN if one is NaN."""
    if _is_nan(a) or _is_nan(b):
        return math.nan
    return a if a is b else _general(Op.MAXIMUM, *_ordered(a, b))


def less(a: Any, b: Any) -> Any:
    """a < b."""
    return np.False_ if _is_nan(a) or _is_nan(b) else _general(Op.LESS, a, b)


def less_equal(a: Any, b: Any) -> Any:
    """a <= b."""
    return np.False_ if _is_nan(a) or _is_nan(b) else _general(Op.LESS_EQUAL, a, b)


def equal(a: Any, b: Any) -> Any:
    """a == b. Not folded for a == a, which is False for NaN."""
    return np.False_ if _is_nan(a) or _is_nan(b) else _general(Op.EQUAL, *_ordered(a, b))


def _truth(x):
    """Return `x` as a condition: a scalar known to be 0 or 1, or a constant boolean."""
    if isinstance(x, (float, np.bool)):
        return np.bool(x)
    return x if x.op in _BOOLEAN else logical_not(equal(x, 0.0))


def logical_and(a: Any, b: Any) -> Any:
    """Return 1 if both operands are nonzero, else 0."""
    a, b = _truth(a), _truth(b)
    if isinstance(a, np.bool):
        return b if a else a
    if isinstance(b, np.bool):
        return a if b else b
    return a if a is b else _general(Op.AND, *_ordered(a, b))


def logical_or(a: Any, b: Any) -> Any:
    """Return 1 if at least one operand is nonzero, else 0."""
    a, b = _truth(a), _truth(b)
    if isinstance(a, np.bool):
        return a if a else b
    if isinstance(b, np.bool):
        return b if b else a
    return a if a is b else _general(Op.OR, *_ordered(a, b))


def logical_not(a: Any) -> Any:
    """Return 1 if the operand is zero, else 0."""
    a = _truth(a)
    if isinstance(a, np.bool):
        return ~a
    return a.a if a.op == Op.NOT else unary(int(Op.NOT), a)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` if the condition is nonzero, else `b`."""
    condition = _truth(condition)
    if isinstance(condition, np.bool):
        return a if condition else b
    if condition.op == Op.NOT:
        condition, a, b = condition.a, b, a
    if a is b:
        return a
    if type(a) is not float and type(b) is not float:
        if a.op == NEG and b.op == NEG:
            return -_general(Op.SELECT, condition, a.a, b.a)
    elif type(a) is type(b) and a == b:
        return a
    return _general(Op.SELECT, condition, a, b)
