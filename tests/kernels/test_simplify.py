"""Operations that need not be computed are not in the program, and none is there twice."""

from __future__ import annotations

from operator import neg

import numpy as np
import pytest

from kernels.traced import X, count, scalar
from zveno.errors import TraceError
from zveno.kernels import ops as zm
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import Op
from zveno.kernels.trace import trace


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 0,
        lambda x: 0.0 + x,
        lambda x: x - 0,
        lambda x: x * 1,
        lambda x: 1.0 * x,
        lambda x: x / 1,
        lambda x: neg(neg(x)),
        lambda x: x * -1 * -1,
        lambda x: x**1,
        lambda x: +x,
        lambda x: zm.minimum(x, x),
        lambda x: zm.where(x < 1, x, x),
        lambda x: (x * 0 + x) - (x - x),
        lambda x: np.conjugate(x),
        lambda x: zm.logical_not(zm.logical_not(x < 1)) * 0 + x,
    ],
)
def test_nothing_to_compute(function):
    assert count(scalar(function, 1)) == 0


@pytest.mark.parametrize(
    ("function", "constant"),
    [
        (lambda x: x * 0, 0.0),
        (lambda x: 0 / x, 0.0),
        (lambda x: x - x, 0.0),
        (lambda x: x + -x, 0.0),
        (lambda x: x**0, 1.0),
        (lambda x: x * np.nan, np.nan),
        (lambda x: np.nan - x, np.nan),
        (lambda x: x / np.nan, np.nan),
        (lambda x: zm.maximum(np.nan, x), np.nan),
        (lambda x: zm.where(np.nan < x, 1.0, 2.0), 2.0),
        (lambda x: zm.sin(x * 0) + np.pi, np.pi),
        (lambda x: np.float32(0.5), 0.5),
        (lambda x: -0.0, -0.0),
        (lambda x: np.inf, np.inf),
    ],
)
def test_constants_are_folded(function, constant):
    program = scalar(function, 1)
    assert program.graph.op.tolist() == [Op.CONST]
    assert program.graph.value[0].tobytes() == np.float64(constant).tobytes()


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda a, b: a * b + b * a, 2),
        (lambda a, b: (a + b) * (b + a), 2),
        (lambda a, b: (-a) * b + a * b, 0),
        (lambda a, b: (-a) * (-b) * (a * b), 2),
        (lambda a, b: (a - b) * (b - a), 3),
        (lambda a, b: a - (-b), 1),
        (lambda a, b: a + (-b), 1),
        (lambda a, b: (-a) + (-b) + (a + b), 0),
        (lambda a, b: (a / -b) + (-a / b), 3),
        (lambda a, b: zm.sin(-a) + zm.sin(a), 0),
        (lambda a, b: zm.cos(-a) - zm.cos(a), 0),
        (lambda a, b: zm.cos(a - b) * zm.cos(b - a), 3),
        (lambda a, b: (a * -2.0) + b, 2),
        (lambda a, b: -(a * 2.0), 1),
        (lambda a, b: -(a - b), 1),
        (lambda a, b: -(a + 2.0), 1),
        (lambda a, b: (a - 2.0) * (2.0 - a), 3),
        (lambda a, b: (2.0 - a) * (a - 2.0), 3),
        (lambda a, b: a / 4.0 - a * 0.25, 0),
        (lambda a, b: a / 3.0, 1),
        (lambda a, b: zm.minimum(a, b) - zm.minimum(b, a), 0),
        (lambda a, b: zm.where(a > b, a, b) - zm.where(b < a, a, b), 0),
        (lambda a, b: zm.where(zm.logical_not(a < b), a, b) - zm.where(a < b, b, a), 0),
        (lambda a, b: abs(-a) - abs(abs(a)), 0),
    ],
)
def test_operations_are_shared(function, operations):
    program = scalar(function)
    assert count(program) == operations
    x = np.random.default_rng(0).normal(size=(2, 9))
    np.testing.assert_array_equal(evaluate(program, *x), np.broadcast_to(function(*x), 9))


def test_sums_are_not_regrouped():
    program = scalar(lambda a, b: (a + b) - a)
    assert evaluate(program, 1e20, 1.0) == 0.0
    program = scalar(lambda a, b: (a * 3.0) * (1.0 / 3.0), 1 + 1)
    assert count(program, Op.MUL) == 2


def test_division_by_constant_zero_keeps_the_sign_of_the_infinity():
    program = scalar(lambda a: (a / 0.0, a / -0.0, 1.0 / a), 1)
    with np.errstate(divide="ignore"):
        assert evaluate(program, 2.0) == (np.inf, -np.inf, 0.5)


@pytest.mark.parametrize("exponent", [-3, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 7, np.int64(5), np.float64(2.5)])
def test_powers(exponent):
    x = np.array([0.3, 1.0, 2.7])
    got = evaluate(trace(lambda x: x**exponent, X), x)
    np.testing.assert_allclose(got, x ** float(exponent), rtol=1e-15 * 8)
    assert not count(scalar(lambda a: a**exponent, 1), Op.EXP, Op.LOG)


def test_powers_by_squaring():
    assert count(scalar(lambda a: a**4, 1)) == 2
    assert count(scalar(lambda a: a**15, 1)) == 6


@pytest.mark.parametrize("function", [lambda x: x**0.3, lambda x: x**x, lambda x: 2.0**x, lambda x: x**np.inf])
def test_other_powers_say_what_to_write(function):
    with pytest.raises(TraceError, match=r"exp\("):
        scalar(function, 1)
