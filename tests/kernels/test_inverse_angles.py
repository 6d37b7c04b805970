"""Arc functions in lanes, to units in the last place, and NumPy's values where there is no angle to speak of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernels.programs import binary, compile, unary
from kernels.test_angles import ulps
from zveno.kernels.program import Op


def wider(dtype):
    wide = np.longdouble if dtype == np.float64 else np.float64
    if np.finfo(wide).nmant < np.finfo(dtype).nmant + 8:
        pytest.skip("this platform has no floating-point type with more precision to compare with")
    return wide


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arc_tangent_of_two_numbers_to_three_units(dtype):
    rng, wide = np.random.default_rng(0), wider(dtype)
    angle = np.concatenate([rng.uniform(-np.pi, np.pi, 100_000), np.arange(-8, 9) * np.pi / 8])
    size = 10.0 ** rng.uniform(-10, 10, len(angle))
    y, x = (size * np.sin(angle)).astype(dtype), (size * np.cos(angle)).astype(dtype)
    apart = 10.0 ** rng.uniform(-12, 12, 100_000)
    y, x = np.concatenate([y, apart.astype(dtype)]), np.concatenate([x, -np.ones(len(apart), dtype)])
    with np.errstate(all="raise"):
        result = compile(binary(Op.ATAN2), dtype)(y, x)
    assert ulps(result, np.arctan2(y.astype(wide), x.astype(wide))) < 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", [Op.ATAN, Op.ASIN, Op.ACOS])
def test_arc_functions_of_one_number_to_three_units(op, dtype):
    rng, wide = np.random.default_rng(1), wider(dtype)
    tiny = 10.0 ** rng.uniform(-12, 0, 50_000)
    x = np.concatenate([rng.uniform(-1, 1, 100_000), tiny, -tiny, 1 - tiny, tiny - 1, [0.0, 1.0, -1.0]])
    x = np.clip(x, -1, 1).astype(dtype)
    exact = {Op.ATAN: np.arctan, Op.ASIN: np.arcsin, Op.ACOS: np.arccos}[op]
    with np.errstate(all="raise"):
        result = compile(unary(op), dtype)(x)
    assert ulps(result, exact(x.astype(wide))) < 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_odd_numbers_are_numpys_and_leave_their_neighbours_alone(dtype):
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny, 1e-30, 1e30]
    y, x = np.array(list(itertools.product(odd, odd)), dtype).T
    with np.errstate(all="ignore"):
        result, expected = compile(binary(Op.ATAN2), dtype)(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(result[expected == 0]), np.signbit(expected[expected == 0]))
    beside = np.full(4, 0.3, dtype), np.full(4, -0.2, dtype)
    alone = compile(binary(Op.ATAN2), dtype, 4)(*beside)
    beside[0][1] = np.inf
    np.testing.assert_array_equal(compile(binary(Op.ATAN2), dtype, 4)(*beside)[[0, 2, 3]], alone[[0, 2, 3]])
    with np.errstate(all="ignore"):
        assert np.isnan(compile(unary(Op.ASIN), dtype)(np.array([1.5, np.nan], dtype))).all()
        assert np.isnan(compile(unary(Op.ACOS), dtype)(np.array([-1.5, np.inf], dtype))).all()
    with pytest.warns(RuntimeWarning, match="invalid"):
        compile(unary(Op.ASIN), dtype)(np.array([0.5, 1.5], dtype))
