"""Elementary functions under one name for floats, complex numbers and traced scalars.

Every function takes numbers, NumPy arrays of any shape (operands broadcast), traced scalars, and object arrays that
mix scalars and plain numbers. Real numbers are passed to the NumPy function of that name, with its warnings.
Complex numbers serve derivatives by the complex step: smooth functions are continued analytically, and functions
that compare (`abs`, `sign`, `floor`, `minimum`, `where`, `less`, ...) use real parts.

    >>> from zveno import ops
    >>> float(ops.maximum(ops.sin(0.5), 0.2))
    0.479425538604203

Comparisons of single scalars can be written with operators, ``where(x < 0, -x, x)``. For arrays use `less` and
similar functions, because NumPy requires a truth value for each element of ``array < array``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import TraceError
from . import _simplify as rules
from .tape import Scalar, number

# Functions of numbers for which NumPy does not treat complex numbers as the complex step needs.


def _real(x):
    return x.real if np.iscomplexobj(x) else x


def _number_abs(x):
    return np.where(x.real < 0, -x, x)[()] if np.iscomplexobj(x) else np.abs(x)


def _number_sign(x):
    return np.sign(x.real).astype(x.dtype) if np.iscomplexobj(x) else np.sign(x)


def _number_floor(x):
    return np.floor(x.real).astype(x.dtype) if np.iscomplexobj(x) else np.floor(x)


def _number_minimum(a, b):
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return np.where((_real(a) <= _real(b)) | np.isnan(a), a, b)[()]
    return np.minimum(a, b)


def _number_maximum(a, b):
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return np.where((_real(a) >= _real(b)) | np.isnan(a), a, b)[()]
    return np.maximum(a, b)


def _number_atan2(y, x):
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return np.arctan2(y, x)
    # atan of the quotient that is at most 1, plus the real constant that matches atan2 of the real parts.
    flat = np.abs(_real(y)) <= np.abs(_real(x))
    origin = (_real(x) == 0) & (_real(y) == 0)
    quotient = np.where(flat, y, -x) / np.where(flat, np.where(origin, 1.0, x), y)
    angle = np.arctan(quotient)
    return angle + (np.arctan2(_real(y), _real(x)) - np.arctan(quotient.real))


def _number_select(condition, a, b):
    return np.where(np.not_equal(_real(condition), 0), a, b)[()]


def _by_real_part(compare):
    return lambda a, b: compare(_real(a), _real(b))


# Dispatch of one name to all types of operands.


class _Elementwise:
    """A function of scalars or numbers, from the rule for scalars and the function for numbers."""

    def __init__(self, on_scalars: Callable, on_numbers: Callable, n_operands: int = 1):
        self.on_scalars, self.on_numbers = on_scalars, on_numbers
        self.on_objects = np.frompyfunc(self._one, n_operands, 1)

    def __call__(self, *operands):
        kinds = {type(x) for x in operands}
        if Scalar in kinds and kinds <= _DIRECT:
            return self.on_scalars(*operands)
        arrays = [np.asanyarray(x) for x in operands]
        if any(x.dtype == object for x in arrays):
            return self.on_objects(*arrays)
        return self.on_numbers(*[x[()] for x in arrays])

    def _one(self, *operands):
        """Compute one element of an object array. Constants stay plain floats, the fastest operands."""
        if any(type(x) is Scalar for x in operands):
            return self.on_scalars(*[x if type(x) is Scalar else _constant(x) for x in operands])
        result = self.on_numbers(*[np.asarray(x)[()] for x in operands])
        return result if isinstance(result, np.bool) else result.item()


_DIRECT = frozenset((Scalar, float))


def _constant(x) -> float:
    value = number(x)
    if value is NotImplemented:
        raise TraceError(f"{type(x).__name__} is not a real number and cannot be combined with a traced scalar")
    return value


_SIN = _Elementwise(Scalar.sin, np.sin)
_COS = _Elementwise(Scalar.cos, np.cos)
_TAN = _Elementwise(Scalar.tan, np.tan)
_ASIN = _Elementwise(Scalar.arcsin, np.arcsin)
_ACOS = _Elementwise(Scalar.arccos, np.arccos)
_ATAN = _Elementwise(Scalar.arctan, np.arctan)
_SQRT = _Elementwise(Scalar.sqrt, np.sqrt)
_EXP = _Elementwise(Scalar.exp, np.exp)
_LOG = _Elementwise(Scalar.log, np.log)
_TANH = _Elementwise(Scalar.tanh, np.tanh)
_ABS = _Elementwise(Scalar.__abs__, _number_abs)
_SIGN = _Elementwise(Scalar.sign, _number_sign)
_FLOOR = _Elementwise(Scalar.__floor__, _number_floor)
_LOGICAL_NOT = _Elementwise(rules.logical_not, np.logical_not)
_ATAN2 = _Elementwise(rules.atan2, _number_atan2, 2)
_MINIMUM = _Elementwise(rules.minimum, _number_minimum, 2)
_MAXIMUM = _Elementwise(rules.maximum, _number_maximum, 2)
_LESS = _Elementwise(rules.less, _by_real_part(np.less), 2)
_LESS_EQUAL = _Elementwise(rules.less_equal, _by_real_part(np.less_equal), 2)
_EQUAL = _Elementwise(rules.equal, _by_real_part(np.equal), 2)
_LOGICAL_AND = _Elementwise(rules.logical_and, np.logical_and, 2)
_LOGICAL_OR = _Elementwise(rules.logical_or, np.logical_or, 2)
_SELECT = _Elementwise(rules.select, _number_select, 3)


def sin(x: Any) -> Any:
    """Sine of an angle in radians."""
    return _SIN(x)


def cos(x: Any) -> Any:
    """Cosine of an angle in radians."""
    return _COS(x)


def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    return _TAN(x)


def asin(x: Any) -> Any:
    """Inverse sine, in [-π/2, π/2]."""
    return _ASIN(x)


def acos(x: Any) -> Any:
    """Inverse cosine, in [0, π]."""
    return _ACOS(x)


def atan(x: Any) -> Any:
    """Inverse tangent, in [-π/2, π/2]."""
    return _ATAN(x)


def sqrt(x: Any) -> Any:
    """Square root."""
    return _SQRT(x)


def exp(x: Any) -> Any:
    """Exponential."""
    return _EXP(x)


def log(x: Any) -> Any:
    """Natural logarithm."""
    return _LOG(x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return _TANH(x)


def abs(x: Any) -> Any:
    """Absolute value."""
    return _ABS(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1 by the sign of `x`; sign(0) = 0 and NaN stays NaN."""
    return _SIGN(x)


def floor(x: Any) -> Any:
    """Largest whole number not above `x`, as a float."""
    return _FLOOR(x)


def logical_not(x: Any) -> Any:
    """Return True, or 1.0 if traced, where `x` is zero."""
    return _LOGICAL_NOT(x)


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), in [-π, π]; `y` comes first."""
    return _ATAN2(y, x)


def minimum(a: Any, b: Any) -> Any:
    """Smaller of two numbers; NaN if one is NaN."""
    return _MINIMUM(a, b)


def maximum(a: Any, b: Any) -> Any:
    """Larger of two numbers; NaN if one is NaN."""
    return _MAXIMUM(a, b)


def less(a: Any, b: Any) -> Any:
    """a < b: a boolean, or a traced scalar equal to 1.0 or 0.0."""
    return _LESS(a, b)


def less_equal(a: Any, b: Any) -> Any:
    """a <= b, as `less`."""
    return _LESS_EQUAL(a, b)


def equal(a: Any, b: Any) -> Any:
    """a == b, as `less`."""
    return _EQUAL(a, b)


def logical_and(a: Any, b: Any) -> Any:
    """Logical and of `a` and `b`, each true if nonzero."""
    return _LOGICAL_AND(a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Logical or of `a` and `b`, each true if nonzero."""
    return _LOGICAL_OR(a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition is nonzero, else `b`. Traced functions branch with it.

    Both sides are computed. A NaN of the other side does not propagate.
    """
    return _SELECT(condition, a, b)


def greater(a: Any, b: Any) -> Any:
    """a > b, as `less`."""
    return less(b, a)


def greater_equal(a: Any, b: Any) -> Any:
    """a >= b, as `less`."""
    return less_equal(b, a)


def not_equal(a: Any, b: Any) -> Any:
    """a != b, as `less`."""
    return logical_not(equal(a, b))


def sincos(x: Any) -> tuple[Any, Any]:
    """Return the pair sin(x), cos(x)."""
    return sin(x), cos(x)
