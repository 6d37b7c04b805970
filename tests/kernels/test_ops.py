from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels.expressions import SMOOTH, expressions
from tiers import examples
from zveno.errors import TraceError
from zveno.kernels import ops as zm
from zveno.kernels.evaluate import evaluate
from zveno.kernels.tape import Scalar
from zveno.kernels.trace import trace

UNARY = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "logical_not": np.logical_not,
}
BINARY = {
    "atan2": np.arctan2,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}
SPECIAL = np.array([0.3, -0.3, 0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 0.9])
SHAPES = [(), (1,), (0,), (3,), (2, 1, 3)]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", SHAPES)
def test_floats_go_to_numpy(name, shape):
    x = np.random.default_rng(0).uniform(0.1, 0.9, shape)
    got, want = getattr(zm, name)(x), UNARY[name](x)
    np.testing.assert_array_equal(got, want)
    assert np.asarray(got).dtype == want.dtype
    assert np.shape(got) == shape
    np.testing.assert_array_equal(getattr(zm, name)(np.float32(0.5)), UNARY[name](np.float32(0.5)))
    assert getattr(zm, name)(0.5) == UNARY[name](0.5)
    np.testing.assert_array_equal(getattr(zm, name)([0.5, 0.25]), UNARY[name]([0.5, 0.25]))


@pytest.mark.parametrize("name", UNARY)
def test_traced_unary_functions_are_numpys_on_special_values(name):
    program = trace(getattr(zm, name), {"x": ()})
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(evaluate(program, SPECIAL), UNARY[name](SPECIAL))


@pytest.mark.parametrize("name", BINARY)
def test_traced_binary_functions_are_numpys_on_special_values(name):
    a, b = SPECIAL[:, None], SPECIAL
    function = getattr(zm, name)
    want = BINARY[name](a, b)
    np.testing.assert_array_equal(function(a, b), want)
    np.testing.assert_array_equal(evaluate(trace(function, {"a": (), "b": ()}), a, b), want)
    for i, constant in enumerate(SPECIAL.tolist()):
        left = trace(lambda b, c=constant: function(c, b), {"b": ()})
        np.testing.assert_array_equal(evaluate(left, SPECIAL), want[i])
        right = trace(lambda a, c=constant: function(a, c), {"a": ()})
        np.testing.assert_array_equal(evaluate(right, SPECIAL), want[:, i])


@pytest.mark.parametrize("name", ["log", "sqrt", "asin"])
def test_numpys_warnings_are_given(name):
    with pytest.warns(RuntimeWarning):
        getattr(zm, name)(np.array([-2.0]))


def test_object_arrays_mix_scalars_and_numbers():
    def function(x):
        mixed = np.array([x[0], 2, np.float64(0.5), x[1]], object)
        return {
            "sqrt": zm.sqrt(mixed),
            "less": zm.less(mixed, 1.0),
            "atan2": zm.atan2(mixed, mixed[::-1]),
            "grid": zm.maximum(mixed[:, None], mixed),
            "select": zm.where(zm.less(mixed, x[0]), [1.0, x[1], 3.0, 4.0], -1.0),
            "chosen": zm.where(np.array([True, False]), x, 7.0),
            "list": zm.sin([x[0], 1.0]),
        }

    x = np.array([0.25, 3.0])
    outputs = evaluate(trace(function, {"x": (2,)}), x)
    with np.errstate(all="ignore"):
        mixed = np.array([x[0], 2, 0.5, x[1]])
    np.testing.assert_allclose(outputs[0], np.sqrt(mixed))
    np.testing.assert_array_equal(outputs[1], mixed < 1.0)
    np.testing.assert_allclose(outputs[2], np.arctan2(mixed, mixed[::-1]))
    np.testing.assert_array_equal(outputs[3], np.maximum(mixed[:, None], mixed))
    np.testing.assert_array_equal(outputs[4], np.where(mixed < x[0], [1.0, x[1], 3.0, 4.0], -1.0))
    np.testing.assert_array_equal(outputs[5], [0.25, 7.0])
    np.testing.assert_allclose(outputs[6], np.sin([x[0], 1.0]))


def test_constants_in_object_arrays_stay_python_floats():
    result = zm.cos(np.array([0, 0.5, np.float64(1)], object))
    assert all(type(x) is float for x in result)


def test_single_scalars_give_single_scalars():
    def function(x, y):
        for result in (zm.sin(x), zm.atan2(x, y), zm.minimum(1.0, y), zm.where(x < y, x, 2), x < y, zm.less(1, x)):
            assert type(result) is Scalar
        s, c = zm.sincos(x)
        return s * s + c * c

    assert evaluate(trace(function, {"x": (), "y": ()}), 0.4, 1.0) == pytest.approx(1.0)


def test_not_a_number_beside_a_scalar():
    with pytest.raises(TraceError, match="complex"):
        trace(lambda x: zm.maximum(x, 1j), {"x": ()})


def test_select_does_not_mind_nan_on_the_other_side():
    program = trace(lambda x: zm.where(x > 0, zm.log(x), 0.0), {"x": ()})
    with np.errstate(invalid="ignore"):
        assert evaluate(program, -1.0) == 0.0
    assert zm.where(True, 1.0, np.nan) == 1.0
    assert zm.where(np.nan, 1.0, 2.0) == np.where(np.nan, 1.0, 2.0)


@pytest.mark.parametrize("quadrant", range(8))
def test_atan2_in_all_quadrants(quadrant):
    angle = (quadrant + 0.3) * np.pi / 4 - np.pi
    y, x = np.sin(angle), np.cos(angle)
    assert evaluate(trace(zm.atan2, {"y": (), "x": ()}), y, x) == np.arctan2(y, x)
    assert evaluate(trace(lambda y, x: zm.atan2(-y, x), {"y": (), "x": ()}), y, x) == np.arctan2(-y, x)
    # Complex step: the derivative of the angle along the circle is 1, along the radius 0.
    h = 1e-30
    along = zm.atan2(y + 1j * h * x, x - 1j * h * y)
    assert along.real == pytest.approx(angle)
    assert along.imag / h == pytest.approx(1.0)
    assert zm.atan2(y + 1j * h * y, x + 1j * h * x).imag / h == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("y", [0.0, 1.0, -1.0])
def test_complex_atan2_on_the_axes(y):
    for x in (0.0, 1.0, -1.0):
        assert zm.atan2(complex(y), complex(x)) == np.arctan2(y, x)


@pytest.mark.parametrize("name", ["abs", "sign", "floor"])
def test_complex_by_real_part(name):
    z = np.array([1.5, -1.5, 0.0, 2.0]) + 1e-30j * np.array([1.0, 2.0, 0.0, 4.0])
    slope = {"abs": np.sign(z.real)}.get(name, np.zeros(4))
    got = getattr(zm, name)(z)
    np.testing.assert_array_equal(got.real, UNARY[name](z.real))
    np.testing.assert_allclose(got.imag, slope * z.imag)
    assert getattr(zm, name)(-2.5 + 1j).real == UNARY[name](-2.5)


def test_complex_choice_by_real_part():
    a, b = np.array([1 + 1j, 2 + 2j, np.nan, 1]), np.array([2 + 3j, 1 + 4j, 1, np.nan])
    np.testing.assert_array_equal(zm.minimum(a, b)[:2], [1 + 1j, 1 + 4j])
    np.testing.assert_array_equal(zm.maximum(a, b)[:2], [2 + 3j, 2 + 2j])
    assert np.isnan(zm.minimum(a, b)[2:]).all()
    assert np.isnan(zm.maximum(a, b)[2:]).all()
    np.testing.assert_array_equal(zm.less(a, b)[:2], [True, False])
    np.testing.assert_array_equal(zm.where(a, a, b)[:2], a[:2])
    assert zm.equal(1 + 1j, 1.0)


@examples(15, 150)
@given(expressions(SMOOTH, 12), st.integers(0, 99))
def test_complex_step_is_the_derivative(expression, seed):
    rng = np.random.default_rng(seed)
    x, d = rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3)
    h = 1e-6
    with np.errstate(all="ignore"):
        values = np.array(expression(x, np.float64))
        ahead, behind = (np.array(expression(x + s * h * d, np.float64)) for s in (1, -1))
        exact = np.array(expression(x + 1e-40j * d, np.complex128))
    assume(np.isfinite(exact).all() and np.abs(exact).max() < 1e3 and np.abs(exact.imag).max() < 1e-37)
    np.testing.assert_allclose(exact.real, values, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(exact.imag * 1e40, (ahead - behind) / (2 * h), rtol=1e-3, atol=1e-3)
