"""NumPy on arrays of traced scalars, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.traced import X, scalar
from zveno.errors import TraceError
from zveno.kernels.evaluate import evaluate
from zveno.kernels.trace import trace

A = np.arange(1.0, 10.0).reshape(3, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: A @ x,
        lambda x: x @ A,
        lambda x: x @ x,
        lambda x: np.outer(x, x) @ A,
        lambda x: np.dot(A, x),
        lambda x: np.sum(np.outer(x, [1, 2, 3]), axis=0),
        lambda x: np.trace(np.outer(x, x)),
        lambda x: np.outer(x, x).T[0],
        lambda x: np.concatenate([x, [1.0], x[:2]]),
        lambda x: np.block([[np.outer(x, x), np.zeros((3, 1))], [x, 1.0]]),
        lambda x: np.stack([x, np.ones(3)], axis=-1),
        lambda x: np.cross(x, [1.0, 2.0, 3.0]),
        lambda x: np.einsum("i,ij,j", x, A, x),
        lambda x: np.cumsum(x) + np.prod(x) + np.mean(x),
        lambda x: np.diag(x) @ np.eye(3),
        lambda x: np.float64(2) * x[0] + x[1] * np.float32(0.5) - np.int64(3) / x[2],
        lambda x: np.float64(2) - x[0] + np.array(3.0) * x[1] + x[2] * np.array([1.0, 2.0]),
        lambda x: True * x + np.True_ * x[::-1],
        lambda x: np.sin(x) + np.cos(x) * np.tan(x) + np.exp(x) + np.log(x) + np.sqrt(x) + np.tanh(x),
        lambda x: np.arcsin(x / 9) + np.arccos(x / 9) + np.arctan(x) + np.arctan2(x, x[::-1]),
        lambda x: np.abs(-x) + np.absolute(x) + np.floor(x) + np.square(x) + np.negative(x),
        lambda x: np.power(x, 2) + np.reciprocal(x) + np.conjugate(x) + np.positive(x),
        lambda x: np.sin(x[0]) * x[1],
        lambda x: -x / 2 - 1 / x,
        lambda x: x.reshape(3, 1) * x,
    ],
)
def test_numpy_on_object_arrays(function):
    x = np.array([0.5, 1.5, 2.25])
    np.testing.assert_allclose(evaluate(trace(function, X), x), function(x), rtol=1e-14)


def test_in_place_operators_and_assignment():
    def function(x):
        y = np.zeros(3, object)
        y[1:] = x[:2]
        y += x
        y[0] *= 2
        return y

    assert evaluate(trace(function, X), [1.0, 2.0, 3.0]).tolist() == [2.0, 3.0, 5.0]


# Comparison, hashing, branching.


def test_scalars_are_keys_of_sets_and_dictionaries():
    def function(x):
        places = {value: i for i, value in enumerate(x)}
        assert [places[value] for value in x] == [0, 1, 2]
        assert len({x[0], x[1], x[0], x[0] + 0}) == 2
        assert x[0] != "text"
        assert (x[0] == None) is False  # noqa: E711
        return x

    trace(function, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x[0] < x[1] else -x,
        lambda x: x if x[0] == 0 else -x,
        lambda x: np.maximum(x[0], x[1]),
        lambda x: np.where(x > 0, x, -x),
        lambda x: max(x),
        lambda x: x[0] in [x[1]],
        lambda x: not x[0],
        lambda x: x[0] < x[1] < x[2],
    ],
)
def test_branching_points_to_select(function):
    with pytest.raises(TraceError, match=r"branches.*zveno\.ops\.where"):
        trace(function, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: float(x[0]),
        lambda x: int(x[0]),
        lambda x: complex(x[0]),
        lambda x: round(x[0]),
        lambda x: [1, 2][x[0]],
        lambda x: np.zeros(3)[x[0]],
        lambda x: np.asarray(x, float),
        lambda x: range(x[0]),
        lambda x: np.zeros(3).__setitem__(0, x[0]),
    ],
)
def test_conversion_is_refused(function):
    with pytest.raises(TraceError, match=r"plain number.*object.*zveno\.ops\.where"):
        trace(function, X)


def test_comparisons_are_numbers():
    program = scalar(lambda a, b: (a < b) * 10 + (a <= b) + ((a == b) | ~(a != b)) * 100 + ((a > b) & (a >= b)) * 5)
    for a, b in ((1.0, 2.0), (2.0, 2.0), (3.0, 2.0)):
        assert evaluate(program, a, b) == (a < b) * 10 + (a <= b) + (a == b) * 100 + (a > b) * 5
    assert evaluate(scalar(lambda a: a != a, 1), np.nan) == 1.0
