from __future__ import annotations

import numpy as np
import pytest

from kernels.expressions import SMOOTH, random_expression
from zveno.errors import ShapeError
from zveno.kernels import ops as zm
from zveno.kernels.evaluate import evaluate
from zveno.kernels.trace import trace

PROGRAM = trace(lambda x, m, s: {"y": m @ x * s, "z": x @ x, "c": [[1.0, -2.0]]}, {"x": (3,), "m": (2, 3), "s": ()})


@pytest.mark.parametrize("batch", [(), (0,), (1,), (5,), (3, 1, 2), (2, 0, 3)])
def test_batch_axes_lead(batch):
    rng = np.random.default_rng(0)
    x, m, s = (rng.normal(size=batch + shape) for shape in ((3,), (2, 3), ()))
    y, z, c = evaluate(PROGRAM, x, m, s)
    np.testing.assert_allclose(y, np.einsum("...ij,...j,...->...i", m, x, s), rtol=1e-12)
    np.testing.assert_allclose(z, (x * x).sum(-1), rtol=1e-12)
    np.testing.assert_array_equal(c, np.broadcast_to([[1.0, -2.0]], (*batch, 1, 2)))
    assert (y.shape, z.shape) == ((*batch, 2), batch)


def test_batch_axes_broadcast():
    rng = np.random.default_rng(1)
    x, m, s = rng.normal(size=(4, 1, 3)), rng.normal(size=(2, 3)), rng.normal(size=5)
    y, _, _ = evaluate(PROGRAM, x, m, s)
    np.testing.assert_allclose(y, np.einsum("ij,...j,...->...i", m, x, s * np.ones((4, 1))), rtol=1e-12)
    assert y.shape == (4, 5, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_types_are_kept(dtype):
    expression = random_expression(np.random.default_rng(2), SMOOTH, 12)
    program = trace(lambda x: np.array(expression(x)), {"x": (3,)})
    x = np.array([0.3, -0.5, 0.7])
    got = evaluate(program, x.astype(dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got, evaluate(program, x), rtol=1e-4 if dtype in (np.float32, np.complex64) else 1e-12
    )


def test_whole_numbers_are_computed_in_float64():
    assert evaluate(PROGRAM, [1, 2, 3], np.ones((2, 3), int), True)[0].dtype == np.float64
    assert evaluate(trace(lambda x: x + 1, {"x": ()}), np.float16(1)).dtype == np.float64
    assert evaluate(trace(lambda: np.ones(2), {})).dtype == np.float64


def test_comparisons_are_ones_and_zeros_in_the_working_type():
    program = trace(lambda x: (x[0] < x[1]) + (x[0] == x[1]) * 2.0, {"x": (2,)})
    for dtype in (np.float32, np.float64, np.complex128):
        assert evaluate(program, np.array([[1, 2], [2, 2], [3, 2]], dtype)).tolist() == [1.0, 2.0, 0.0]


def test_outputs_do_not_share_memory_with_inputs():
    x = np.ones((4, 3))
    out = evaluate(trace(lambda x: x, {"x": (3,)}), x)
    assert not np.shares_memory(out, x)


def test_numpy_warns_as_ever():
    with pytest.warns(RuntimeWarning, match="invalid value"):
        evaluate(trace(lambda x: zm.sqrt(x), {"x": ()}), -1.0)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([1.0, 2.0], np.ones((2, 3)), 1.0), r"x: an array of shape \(\.\.\., 3\) is needed, not \(2,\)"),
        ((np.ones(3), np.ones(3), 1.0), r"m: .*\(\.\.\., 2, 3\)"),
        ((np.ones((4, 3)), np.ones((2, 3)), np.ones(3)), r"batch shapes \(4,\), \(\), \(3,\)"),
        ((np.ones(3), np.ones((2, 3))), "takes 3 inputs"),
        ((np.ones(3), np.ones((2, 3)), "text"), "s: an array of numbers"),
        ((np.ones(3, object), np.ones((2, 3)), 1.0), "x: an array of numbers is needed, not of object"),
    ],
)
def test_wrong_arrays(arrays, message):
    with pytest.raises(ShapeError, match=message):
        evaluate(PROGRAM, *arrays)
