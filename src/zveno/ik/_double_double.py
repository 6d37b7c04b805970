"""Numbers of twice the digits, as pairs (high, low) whose sum they are; entries may be floats, arrays or traced.

Every operation is exact to about 1e-32 of its operands. None may be reassociated, and a product that is also
subtracted from may not be fused into a sum: `tests/ik/test_ik_open_rows.py` compares compiled sums with fractions.
"""

from __future__ import annotations

from typing import Any

Pair = tuple[Any, Any]
_SPLIT = 134217729.0
"""2²⁷ + 1: cuts a double into two halves whose products are exact."""


def two_sum(a: Any, b: Any) -> Pair:
    """Return a + b of two doubles, exactly."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def two_product(a: Any, b: Any) -> Pair:
    """Return a · b of two doubles, exactly."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> Pair:
    large = _SPLIT * a
    high = large - (large - a)
    return high, a - high


def add(a: Pair, b: Pair) -> Pair:
    """Return a + b."""
    high, low = two_sum(a[0], b[0])
    return _tidy(high, low + (a[1] + b[1]))


def negative(a: Pair) -> Pair:
    """Return −a."""
    return -a[0], -a[1]


def multiply(a: Pair, b: Pair) -> Pair:
    """Return a · b."""
    high, low = two_product(a[0], b[0])
    return _tidy(high, low + (a[0] * b[1] + a[1] * b[0]))


def scale(a: Pair, factor: Any) -> Pair:
    """Return a times a double."""
    high, low = two_product(a[0], factor)
    return _tidy(high, low + a[1] * factor)


def _tidy(high: Any, low: Any) -> Pair:
    """Return the same sum with the low part below half a unit of the high one."""
    total = high + low
    return total, low - (total - high)


def unit(c: Pair, s: Pair) -> tuple[Pair, Pair]:
    """Return (c, s), whose length is 1 to rounding of doubles, with length 1."""
    off = add(add(multiply(c, c), multiply(s, s)), (-1.0, 0.0))
    # 1/√(1 + d) = 1 − d/2 + 3 d²/8
    factor = add((1.0, 0.0), add(scale(off, -0.5), (0.375 * off[0] * off[0], 0.0)))
    return multiply(c, factor), multiply(s, factor)
