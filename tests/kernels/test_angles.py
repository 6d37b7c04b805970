"""Sines and cosines in lanes, to units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.programs import Builder, compile, evaluate, unary
from zveno.kernels import _elementary as elementary
from zveno.kernels.program import Op


def ulps(y: np.ndarray, exact: np.ndarray) -> float:
    """Largest error in units in the last place of the exact value, which has more precision."""
    unit = np.spacing(np.abs(exact).astype(y.dtype)).astype(exact.dtype)
    return float(np.max(np.abs(y.astype(exact.dtype) - exact) / unit))


def angles(dtype) -> np.ndarray:
    """Angles of every size up to the limit, and the worst: neighbours of multiples of a quarter turn."""
    rng = np.random.default_rng(0)
    limit = elementary.REDUCTION_LIMIT
    quarter = np.arange(-63000, 63000) * (np.pi / 2)
    near = np.concatenate([np.nextafter(quarter.astype(dtype), dtype(s)) for s in (-np.inf, np.inf)])
    sizes = 10.0 ** rng.uniform(-30, 5, 50_000) * rng.choice([-1, 1], 50_000)
    edges = [limit, -limit, np.pi / 4, 0.0, np.nextafter(dtype(limit), dtype(np.inf))]
    parts = (quarter, near, sizes, rng.uniform(-limit, limit, 200_000), rng.uniform(-8, 8, 200_000), edges)
    x = np.concatenate(parts).astype(dtype)
    return x[(x == 0) | (np.abs(x) >= np.finfo(dtype).tiny)]  # the C library raises underflow for the rest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sine_and_cosine_to_two_units(dtype):
    wide = np.longdouble if dtype == np.float64 else np.float64
    if np.finfo(wide).nmant < np.finfo(dtype).nmant + 8:
        pytest.skip("this platform has no floating-point type with more precision to compare with")
    x = angles(dtype)
    with np.errstate(all="raise"):
        sin, cos, tan = (compile(unary(op), dtype)(x) for op in (Op.SIN, Op.COS, Op.TAN))
    assert ulps(sin, np.sin(x.astype(wide))) < 2
    assert ulps(cos, np.cos(x.astype(wide))) < 2
    assert ulps(tan, np.tan(x.astype(wide))) < 4


def test_angles_beyond_the_limit_are_right_and_leave_their_neighbours_alone():
    x = np.random.default_rng(2).uniform(-3, 3, 64)
    kernel = compile(unary(Op.SIN))
    alone = kernel(x)
    mixed_up = x.copy()
    mixed_up[::3] *= 10.0 ** np.arange(5, 27)
    result = kernel(mixed_up)
    large = np.abs(mixed_up) > elementary.REDUCTION_LIMIT
    np.testing.assert_array_equal(result[mixed_up == x], alone[mixed_up == x])
    np.testing.assert_allclose(result[large], np.sin(mixed_up[large]), rtol=1e-15)


def test_nested_angles_and_repeated_functions():
    b = Builder("nested", x=())
    (x,) = b.read("x")
    s = b.add(Op.SIN, x)
    again = b.add(Op.SIN, x)
    inner = b.add(Op.COS, b.add(Op.SIN, b.add(Op.COS, s)))
    many = [b.add(Op.SIN, b.add(Op.MUL, x, b.const(float(k)))) for k in range(20)]
    program = b.program(y=((23,), [s, again, inner, *many]))
    values = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(compile(program)(values), evaluate(program, values)[0], atol=1e-15)
