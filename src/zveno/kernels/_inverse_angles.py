"""Inverse trigonometric functions in vector code, all of them by one arc tangent of two numbers.

A lane calls the C library if its numbers are too small or too large, infinite, NaN, or both zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._assembly import Function, Module
from ._elementary import less, library_call_where, polynomial
from .program import Op

INVERSE = frozenset({Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2})


@dataclass(frozen=True)
class _Series:
    """atan t = t + t z P(z) with z = t², |t| ≤ tan(π/8).

    The coefficients interpolate the exact quotient at Chebyshev points, computed to 60 digits; the error is below a
    tenth of a unit in the last place. `quarter` adds up to π/4 to twice the precision.
    """

    quarter: tuple[float, float]
    floor: float
    """Added to z so that a tiny quotient does not underflow; below the rounding error of the sum."""
    widest: float
    """Numbers between 1/widest and widest are divided without overflow or underflow."""
    arc: tuple[float, ...]


_DOUBLE = _Series(
    quarter=(0.7853981633974483, 3.061616997868383e-17),
    floor=2.0**-60,
    widest=2.0**400,
    arc=(
        -0.3333333333333333,
        0.1999999999999552,
        -0.14285714284666534,
        0.11111111015255669,
        -0.09090904578095735,
        0.07692183190171728,
        -0.06664511438164644,
        0.05858148832731273,
        -0.05085449318930035,
        0.039231646190551486,
        -0.019176872294336067,
    ),
)
_SINGLE = _Series(
    quarter=(0.7853981852531433, -2.1855695000931213e-08),
    floor=2.0**-30,
    widest=2.0**50,
    arc=(
        -0.3333333134651184,
        0.19999539852142334,
        -0.14263956248760223,
        0.10743730515241623,
        -0.06451926380395889,
    ),
)
_EIGHTH = 0.41421356237309503
"""tan(π/8). A quotient up to this size is used directly; a larger one is that of the angle less π/4."""


def inverse_angle(f: Function, op: Op, operands: Sequence[str]) -> str:
    """Compute one of the functions `INVERSE` of vectors."""
    t = f.types
    name = _function(f.module, op, len(operands))
    return f.let(f"call {t.vector} {name}({', '.join(f'{t.vector} {x}' for x in operands)})")


def _function(module: Module, op: Op, n: int) -> str:
    """Return a function on vectors, defined once: its text is long, and closed forms call it dozens of times."""
    t, name = module.types, f"vector_{op.name.lower()}"
    if module.once(name):
        given = [f"%x{i}" for i in range(n)]
        f = Function(module, f"internal {t.vector} @{name}({', '.join(f'{t.vector} {x}' for x in given)})")
        y, x, outside = _as_quotient(f, op, given)
        result, beyond = _arc_tangent(f, y, x)
        outside = beyond if outside is None else f.let(f"or {t.mask} {outside}, {beyond}")
        result = _by_library_where(f, op, outside, given, result)
        f.do(f"ret {t.vector} {result}")
        f.close()
    return f"@{name}"


def _as_quotient(f: Function, op: Op, given: Sequence[str]) -> tuple[str, str, str | None]:
    """Return (y, x) whose arc tangent is the result, and the mask of lanes in which it is undefined."""
    t, unit = f.types, f.types.splat(1.0)
    if op is Op.ATAN2:
        return given[0], given[1], None
    if op is Op.ATAN:
        return given[0], unit, None
    inside = less(f, "ole", f.intrinsic("fabs", given[0]), unit)
    x = f.let(f"select {t.mask} {inside}, {t.vector} {given[0]}, {t.vector} {t.splat(0.0)}")
    rest = f.let(
        f"fmul {t.vector} {f.let(f'fsub {t.vector} {unit}, {x}')}, {f.let(f'fadd {t.vector} {unit}, {x}')}"
    )
    other = f.intrinsic("sqrt", rest)
    outside = f.let(f"xor {t.mask} {inside}, <{', '.join(['i1 true'] * t.lanes)}>")
    return (x, other, outside) if op is Op.ASIN else (other, x, outside)


def _arc_tangent(f: Function, y: str, x: str) -> tuple[str, str]:
    """Return the angle of (x, y), and the mask of lanes in which it is not accurate."""
    t = f.types
    series = _DOUBLE if t.itemsize == 8 else _SINGLE

    def select(mask: str, a: str, b: str) -> str:
        return f.let(f"select {t.mask} {mask}, {t.vector} {a}, {t.vector} {b}")

    def arithmetic(operation: str, a: str, b: str) -> str:
        return f.let(f"{operation} {t.vector} {a}, {b}")

    across, along = f.intrinsic("fabs", y), f.intrinsic("fabs", x)
    steep = less(f, "olt", along, across)
    low, high = select(steep, along, across), select(steep, across, along)
    outside = _is_outside(f, low, high, series.widest)
    low, high = select(outside, t.splat(0.0), low), select(outside, t.splat(1.0), high)
    far = less(f, "olt", arithmetic("fmul", f.constant(_EIGHTH), high), low)
    above = select(far, arithmetic("fsub", low, high), low)
    below = select(far, arithmetic("fadd", low, high), high)
    quotient = arithmetic("fdiv", above, below)
    z = f.intrinsic("fma", quotient, quotient, f.constant(series.floor))
    bent = arithmetic("fmul", z, polynomial(f, series.arc, z, arithmetic("fmul", z, z)))
    angle = f.intrinsic("fma", quotient, bent, quotient)
    # The angle is a multiple of π/4 plus the remainder, mirrored at π/4 if |y| > |x|, and at π/2 if x < 0.
    quarters = select(far, t.splat(1.0), t.splat(0.0))
    quarters = select(steep, arithmetic("fsub", t.splat(2.0), quarters), quarters)
    behind = less(f, "olt", x, t.splat(0.0))
    quarters = select(behind, arithmetic("fsub", t.splat(4.0), quarters), quarters)
    mirrored = f.let(f"xor {t.mask} {steep}, {behind}")
    angle = select(mirrored, f.let(f"fneg {t.vector} {angle}"), angle)
    angle = f.intrinsic("fma", quarters, f.constant(series.quarter[1]), angle)
    angle = f.intrinsic("fma", quarters, f.constant(series.quarter[0]), angle)
    return f.intrinsic("copysign", angle, y), outside


def _is_outside(f: Function, low: str, high: str, widest: float) -> str:
    """Return the mask of lanes with numbers outside [1/widest, widest]; the smaller number may also be zero.

    Non-negative numbers are compared by their bit patterns as integers. NaN has the largest pattern.
    """
    t = f.types
    least, most = t.splat_word(t.word_of(1.0 / widest)), t.splat_word(t.word_of(widest))
    small, large = (f.let(f"bitcast {t.vector} {x} to {t.words}") for x in (low, high))
    unit = t.splat_word(1)
    # Zero minus one is the largest unsigned word, so zero does not count as too small.
    tiny = f.let(
        f"icmp ult {t.words} {f.let(f'sub {t.words} {small}, {unit}')}, {f.let(f'sub {t.words} {least}, {unit}')}"
    )
    masks = [
        tiny,
        f.let(f"icmp sgt {t.words} {small}, {most}"),
        f.let(f"icmp sgt {t.words} {large}, {most}"),
        f.let(f"icmp slt {t.words} {large}, {least}"),
    ]
    outside = masks[0]
    for mask in masks[1:]:
        outside = f.let(f"or {t.mask} {outside}, {mask}")
    return outside


def _by_library_where(f: Function, op: Op, mask: str, given: Sequence[str], otherwise: str) -> str:
    t = f.types
    some = f.let(f"icmp ne i{t.lanes} {f.let(f'bitcast {t.mask} {mask} to i{t.lanes}')}, 0")
    fast, slow, join = f.block, f.name("slow"), f.name("join")
    f.branch_unlikely(some, slow, join)
    f.start(slow)
    exact = library_call_where(f, op, mask, given, otherwise)
    f.do(f"br label %{join}")
    f.start(join)
    return f.let(f"phi {t.vector} [ {otherwise}, %{fast} ], [ {exact}, %{slow} ]")
