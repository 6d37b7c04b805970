"""Elementary functions in vector code, with NumPy's values for NaN and infinity, and NumPy's status flags.

NumPy checks the floating-point status after every call and warns. So this code raises only the flags of the
mathematical operation itself: comparisons are quiet, and numbers outside the range of a polynomial are replaced
before they enter it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ._assembly import Function, Module
from .program import Op

REDUCTION_LIMIT = 1e5
"""Largest angle reduced in vector code; larger angles are left to the C library."""

LIBRARY = {
    Op.SIN: "sin",
    Op.COS: "cos",
    Op.TAN: "tan",
    Op.ASIN: "asin",
    Op.ACOS: "acos",
    Op.ATAN: "atan",
    Op.ATAN2: "atan2",
    Op.EXP: "exp",
    Op.LOG: "log",
    Op.TANH: "tanh",
}
"""C library function of each operation that has one."""


@dataclass(frozen=True)
class _Series:
    """sin r = r + r z S(z) and cos r = 1 + z (C(z) z − 1/2) with z = r², |r| ≤ π/4.

    The coefficients interpolate the exact quotients at Chebyshev points, computed to 60 digits; the error
    is below a fifth of a unit in the last place. `half_pi` adds up to π/2 to three times the precision; its
    parts are positive, so that an angle of −0 stays −0.
    """

    half_pi: tuple[float, float, float]
    rounding: float
    """Adding this number leaves the nearest integer in the lowest bits."""
    floor: float
    """Added to z so that a tiny angle does not underflow; below the rounding error of either function."""
    sin: tuple[float, ...]
    cos: tuple[float, ...]


_DOUBLE = _Series(
    half_pi=(1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32),
    rounding=1.5 * 2.0**52,
    floor=2.0**-60,
    sin=(
        -0.16666666666666666,
        0.008333333333330946,
        -0.0001984126983675497,
        2.755731610068303e-06,
        -2.5051131455427946e-08,
        1.591810123027412e-10,
    ),
    cos=(
        0.041666666666666664,
        -0.0013888888888887395,
        2.4801587298763433e-05,
        -2.7557317270560326e-07,
        2.0876146024689747e-09,
        -1.1382614868556325e-11,
    ),
)
_SINGLE = _Series(
    half_pi=(1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    rounding=1.5 * 2.0**23,
    floor=2.0**-30,
    sin=(-0.166666641831398, 0.008332747966051102, -0.000195878412341699),
    cos=(0.0416666641831398, -0.001388830249197781, 2.454789137118496e-05),
)


def less(f: Function, predicate: str, a: str, b: str) -> str:
    """Return the mask of an ordered comparison ("olt", "ole") that is quiet on NaN, unlike LLVM's own."""
    t = f.types
    name = f.module.declare(
        f"llvm.experimental.constrained.fcmp.{t.suffix}", t.mask, [t.vector, t.vector, "metadata", "metadata"]
    )
    return f.let(
        f'call {t.mask} {name}({t.vector} {a}, {t.vector} {b}, metadata !"{predicate}", '
        f'metadata !"fpexcept.maytrap")'
    )


def extreme(f: Function, smaller: bool, a: str, b: str) -> str:
    """Return the minimum or maximum; NaN if either operand is NaN."""
    t = f.types
    first = less(f, "olt", a, b) if smaller else less(f, "olt", b, a)
    undefined = f.let(f"fcmp uno {t.vector} {a}, {a}")
    take = f.let(f"or {t.mask} {first}, {undefined}")
    return f.let(f"select {t.mask} {take}, {t.vector} {a}, {t.vector} {b}")


def sign(f: Function, x: str) -> str:
    """Return −1, 0 or 1, and NaN for NaN."""
    t = f.types
    zero = t.splat(0.0)
    unit = f.intrinsic("copysign", t.splat(1.0), x)
    nonzero = f.let(f"fcmp one {t.vector} {x}, {zero}")
    undefined = f.let(f"fcmp uno {t.vector} {x}, {x}")
    other = f.let(f"select {t.mask} {undefined}, {t.vector} {x}, {t.vector} {zero}")
    return f.let(f"select {t.mask} {nonzero}, {t.vector} {unit}, {t.vector} {other}")


def library_call(f: Function, op: Op, *operands: str) -> str:
    """Call the C library once per lane."""
    t = f.types
    name = _lane_function(f.module, op, len(operands))
    return f.let(f"call {t.vector} {name}({', '.join(f'{t.vector} {x}' for x in operands)})")


def trigonometry(f: Function, wanted: Sequence[tuple[str, frozenset[Op]]]) -> list[dict[Op, str]]:
    """Compute sines, cosines and tangents of several angles, with one common test for angles out of range.

    Args:
        f: the function to write into; a new block is current afterwards.
        wanted: angles, each with the operations to compute.
    """
    t = f.types
    outside = [_is_outside(f, x) for x, _ in wanted]
    results = [_reduced(f, x, mask, ops) for (x, ops), mask in zip(wanted, outside, strict=True)]
    anywhere = outside[0]
    for mask in outside[1:]:
        anywhere = f.let(f"or {t.mask} {anywhere}, {mask}")
    bits = f.let(f"bitcast {t.mask} {anywhere} to i{t.lanes}")
    branch = f.let(f"icmp ne i{t.lanes} {bits}, 0")
    fast, slow, join = f.block, f.name("slow"), f.name("join")
    f.branch_unlikely(branch, slow, join)
    f.start(slow)
    repaired = []
    for (x, _), mask, values in zip(wanted, outside, results, strict=True):
        # Selected per lane, because a value must not depend on its neighbours in the batch.
        exact = {op: library_call_where(f, op, mask, [x], y) for op, y in values.items()}
        repaired.append(exact)
    f.do(f"br label %{join}")
    f.start(join)
    return [
        {op: f.let(f"phi {t.vector} [ {y}, %{fast} ], [ {exact[op]}, %{slow} ]") for op, y in values.items()}
        for values, exact in zip(results, repaired, strict=True)
    ]


def library_call_where(f: Function, op: Op, mask: str, operands: Sequence[str], otherwise: str) -> str:
    """Return the C library's value in the lanes of a mask, and `otherwise` in the others."""
    t = f.types
    # Lanes outside the mask compute f(0), which raises no flag.
    safe = [f.let(f"select {t.mask} {mask}, {t.vector} {x}, {t.vector} {t.splat(0.0)}") for x in operands]
    value = library_call(f, op, *safe)
    return f.let(f"select {t.mask} {mask}, {t.vector} {value}, {t.vector} {otherwise}")


def _is_outside(f: Function, x: str) -> str:
    """Return the mask of angles beyond the limit, infinite or NaN, by comparing bit patterns as integers."""
    t = f.types
    word = f.let(f"bitcast {t.vector} {x} to {t.words}")
    size = f.let(f"and {t.words} {word}, {t.splat_word(2 ** (t.bits - 1) - 1)}")
    return f.let(f"icmp sgt {t.words} {size}, {t.splat_word(t.word_of(REDUCTION_LIMIT))}")


def _reduced(f: Function, x: str, outside: str, ops: frozenset[Op]) -> dict[Op, str]:
    """Compute the functions of an angle within the limit; lanes outside compute with zero."""
    t = f.types
    series = _DOUBLE if t.itemsize == 8 else _SINGLE
    x = f.let(f"select {t.mask} {outside}, {t.vector} {t.splat(0.0)}, {t.vector} {x}")
    # k, the nearest multiple of π/2: the lowest bits of `shifted` are those of the integer.
    shifted = f.intrinsic("fma", x, f.constant(0.6366197723675814), f.constant(series.rounding))
    k = f.let(f"fsub {t.vector} {shifted}, {f.constant(series.rounding)}")
    # The first step is exact: both operands are multiples of the same power of two, the result is small.
    r = x
    for part in series.half_pi:
        r = f.intrinsic("fma", k, f.constant(-part), r)
    z = f.intrinsic("fma", r, r, f.constant(series.floor))
    z2 = f.let(f"fmul {t.vector} {z}, {z}")
    s = polynomial(f, series.sin, z, z2)
    s = f.intrinsic("fma", r, f.let(f"fmul {t.vector} {z}, {s}"), r)
    c = polynomial(f, series.cos, z, z2)
    c = f.intrinsic("fma", z, f.intrinsic("fma", z, c, f.constant(-0.5)), f.constant(1.0))
    # The sign of r survives, so that the sine of −0 is −0.
    sign_bit = t.splat_word(-(2 ** (t.bits - 1)))
    negative = f.let(f"and {t.words} {f.let(f'bitcast {t.vector} {r} to {t.words}')}, {sign_bit}")
    s = f.let(f"or {t.words} {f.let(f'bitcast {t.vector} {s} to {t.words}')}, {negative}")
    c = f.let(f"bitcast {t.vector} {c} to {t.words}")
    quadrant = f.let(f"bitcast {t.vector} {shifted} to {t.words}")
    odd = f.let(f"trunc {t.words} {quadrant} to {t.mask}")
    to_sign = t.splat_word(t.bits - 2)
    two = t.splat_word(2)
    results = {}
    if Op.SIN in ops or Op.TAN in ops:
        turn = f.let(f"shl {t.words} {f.let(f'and {t.words} {quadrant}, {two}')}, {to_sign}")
        value = f.let(f"select {t.mask} {odd}, {t.words} {c}, {t.words} {s}")
        value = f.let(f"xor {t.words} {value}, {turn}")
        results[Op.SIN] = f.let(f"bitcast {t.words} {value} to {t.vector}")
    if Op.COS in ops or Op.TAN in ops:
        later = f.let(f"add {t.words} {quadrant}, {t.splat_word(1)}")
        turn = f.let(f"shl {t.words} {f.let(f'and {t.words} {later}, {two}')}, {to_sign}")
        value = f.let(f"select {t.mask} {odd}, {t.words} {s}, {t.words} {c}")
        value = f.let(f"xor {t.words} {value}, {turn}")
        results[Op.COS] = f.let(f"bitcast {t.words} {value} to {t.vector}")
    if Op.TAN in ops:
        results[Op.TAN] = f.let(f"fdiv {t.vector} {results[Op.SIN]}, {results[Op.COS]}")
    return {op: value for op, value in results.items() if op in ops}


def polynomial(f: Function, coefficients: Sequence[float], z: str, z2: str) -> str:
    """Evaluate a polynomial in pairs, which halves the chain of dependent operations of Horner's scheme."""
    pairs = [
        f.intrinsic("fma", z, f.constant(b), f.constant(a)) if b else f.constant(a)
        for a, b in itertools.zip_longest(coefficients[::2], coefficients[1::2], fillvalue=0.0)
    ]
    value = pairs.pop()
    while pairs:
        value = f.intrinsic("fma", value, z2, pairs.pop())
    return value


def _lane_function(module: Module, op: Op, n: int) -> str:
    """Return a function on vectors that calls the C library for each lane, defined on first use."""
    t, name = module.types, f"lanes_{LIBRARY[op]}"
    if module.once(name):
        symbol = f"zveno_{LIBRARY[op]}{'f' if t.itemsize == 4 else ''}"
        target = module.declare(symbol, t.scalar, [t.scalar] * n)
        f = Function(module, f"internal {t.vector} @{name}({', '.join(f'{t.vector} %x{i}' for i in range(n))})")
        result = "poison"
        for lane in range(t.lanes):
            xs = [f.let(f"extractelement {t.vector} %x{i}, i32 {lane}") for i in range(n)]
            y = f.let(f"call {t.scalar} {target}({', '.join(f'{t.scalar} {x}' for x in xs)})")
            result = f.let(f"insertelement {t.vector} {result}, {t.scalar} {y}, i32 {lane}")
        f.do(f"ret {t.vector} {result}")
        f.close()
    return f"@{name}"
