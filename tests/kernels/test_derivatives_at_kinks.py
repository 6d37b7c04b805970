"""Derivatives where functions have kinks, and of branches not taken."""

from __future__ import annotations

import numpy as np
import pytest

from zveno.kernels import ops as zm
from zveno.kernels.derivatives import forward, hessian_vector, reverse
from zveno.kernels.evaluate import evaluate
from zveno.kernels.trace import trace


def derivative_at(function, x) -> float:
    program = trace(function, {"x": ()})
    ahead, back = evaluate(forward(program), x, 1.0), evaluate(reverse(program), x, 1.0)
    assert ahead == back
    return float(ahead)


@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (lambda x: abs(x), 0.0, 0.0),
        (lambda x: abs(x), -2.0, -1.0),
        (lambda x: zm.sign(x) + zm.floor(x) + (x < 1), 0.5, 0.0),
        (lambda x: zm.minimum(x, 1.0), 0.5, 1.0),
        (lambda x: zm.minimum(x, 1.0), 1.5, 0.0),
        (lambda x: zm.maximum(2 * x, x * x), 3.0, 6.0),
        (lambda x: zm.where(x > 0, x * x, 3 * x), -1.0, 3.0),
        (lambda x: zm.where(x > 0, x * x, 3 * x), 2.0, 4.0),
    ],
)
def test_kinks(function, x, slope):
    assert derivative_at(function, x) == slope


def test_a_tie_takes_one_of_the_two():
    assert derivative_at(lambda x: zm.minimum(x, 2 * x), 0.0) in (1.0, 2.0)
    assert derivative_at(lambda x: zm.maximum(x, 2 * x), 0.0) in (1.0, 2.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: zm.where(x > 0, zm.sqrt(x), 2 * x),
        lambda x: zm.where(x <= 0, 2 * x, zm.log(x)),
        lambda x: zm.where(x > 0, zm.sqrt(x) + 1 / x, 2 * x),
        lambda x: zm.where(x > 0, zm.where(x > 1, zm.sqrt(x), zm.log(x)), 2 * x),
        lambda x: zm.where(x > 0, zm.sqrt(x), x) + zm.where(x > 1, zm.sqrt(x), x),
        lambda x: zm.where(x > 0, zm.atan2(x, x) * zm.asin(x * 5 + 1), 2 * x),
        lambda x: zm.minimum(1.0, zm.where(x > 0, 1 / x, 0 * x)) + 2 * x,
    ],
)
def test_no_nan_from_the_side_not_taken(function):
    with np.errstate(all="ignore"):
        assert derivative_at(function, 0.0) == 2.0


def test_small_angles_as_one_writes_them():
    def sinc(x):
        small = abs(x) < 1e-4
        return zm.where(small, 1 - x * x / 6, zm.sin(x) / zm.where(small, 1.0, x))

    assert derivative_at(sinc, 0.0) == 0.0
    program = trace(lambda x: zm.where(abs(x) < 1e-4, 1 - x * x / 6, zm.sin(x) / x), {"x": ()})
    with np.errstate(all="ignore"):
        assert evaluate(reverse(program), 0.0, 1.0) == 0.0
        assert evaluate(hessian_vector(program), 0.0, 1.0) == pytest.approx(-1 / 3)
