from __future__ import annotations

from itertools import pairwise

import casadi
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from casadi_oracle import in_casadi
from kernels.expressions import ALL, SMOOTH, expressions, random_expression
from tiers import examples
from zveno.errors import TraceError, UnknownNameError, ZvenoError
from zveno.kernels import ops as zm
from zveno.kernels.derivatives import forward, hessian_vector, jacobian, jacobian_sparsity, reverse
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import Op, Program
from zveno.kernels.trace import trace

X = {"x": (3,)}


def call_casadi(inputs, output, *x) -> np.ndarray:
    function = casadi.Function("f", inputs, [casadi.densify(output)])
    return np.array(function(*[np.ravel(value) for value in x]))


def away_from_kinks(expression, x) -> bool:
    """Whether all operands of comparisons and the like stay on one side around x."""
    with np.errstate(all="ignore"):
        near = [np.array(expression.values(x * (1 + s * 1e-9) + s * 1e-9, np.float64)) for s in (-1, 0, 1)]
        if not all(np.isfinite(values).all() and np.abs(values).max() < 1e6 for values in near):
            return False
        return all(np.abs(a - b).max() < 1e-4 for a, b in pairwise(near))


def program_of(expression, name="y") -> Program:
    return trace(lambda x: np.array(expression(x)), X, outputs=[name])


# Laws, and casadi and the complex step as oracles.


@examples(10, 80)
@given(expressions(ALL, 15), st.integers(0, 99))
def test_jacobian_is_casadis(expression, seed):
    x = np.random.default_rng(seed).uniform(-2, 2, 3)
    assume(away_from_kinks(expression, x))
    program = program_of(expression)
    inputs, outputs = in_casadi(program)
    want = call_casadi(inputs, casadi.jacobian(outputs[0], inputs[0]), x)
    got = evaluate(jacobian(program), x)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(want).max()))


@examples(12, 120)
@given(expressions(SMOOTH, 15), st.integers(0, 99))
def test_forward_is_the_complex_step(expression, seed):
    rng = np.random.default_rng(seed)
    x, d = rng.uniform(-2, 2, (2, 3))
    with np.errstate(all="ignore"):
        step = np.array(expression(x + 1e-40j * d, np.complex128))
    assume(np.isfinite(step).all() and np.abs(step.imag).max() < 1e-36)
    program = program_of(expression)
    got = evaluate(forward(program), x, d)
    np.testing.assert_allclose(got, step.imag * 1e40, rtol=1e-10, atol=1e-10)


@examples(12, 120)
@given(expressions(ALL, 20), st.integers(0, 99))
def test_forward_reverse_and_jacobian_agree(expression, seed):
    rng = np.random.default_rng(seed)
    x, d, w = rng.uniform(-2, 2, (3, 4, 3))
    program = program_of(expression)
    with np.errstate(all="ignore"):
        J = evaluate(jacobian(program), x)
        ahead, back = evaluate(forward(program), x, d), evaluate(reverse(program), x, w)
    assume(np.isfinite(J).all() and np.abs(J).max() < 1e6)
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, np.abs(J).max())}
    np.testing.assert_allclose(ahead, np.einsum("nij,nj->ni", J, d), **tolerance)
    np.testing.assert_allclose(back, np.einsum("nij,ni->nj", J, w), **tolerance)
    pattern = jacobian_sparsity(program, of="y", wrt="x")
    assert pattern.shape == (3, 3)
    assert not J[:, ~pattern].any()


@examples(6, 60)
@given(expressions(SMOOTH, 12), st.integers(0, 99))
def test_hessian_vector_is_casadis(expression, seed):
    rng = np.random.default_rng(seed)
    x, d = rng.uniform(-1, 1, (2, 3))
    program = trace(lambda x: np.sum(expression(x)), X, outputs=["y"])
    inputs, outputs = in_casadi(program)
    H = call_casadi(inputs, casadi.hessian(outputs[0], inputs[0])[0], x)
    assume(np.isfinite(H).all() and np.abs(H).max() < 1e4)
    got = evaluate(hessian_vector(program), x, d)
    np.testing.assert_allclose(got, H @ d, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(H).max()))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh"])
def test_every_function_by_complex_step(name):
    function = getattr(zm, name)
    x = np.array([0.1, 0.4, 0.93])
    program = trace(function, {"x": ()})
    want = function(x + 1e-30j).imag * 1e30
    np.testing.assert_allclose(evaluate(forward(program), x, 1.0), want, rtol=1e-13)
    np.testing.assert_allclose(evaluate(reverse(program), x, 1.0), want, rtol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_non_analytic_functions_by_finite_differences(seed):
    rng = np.random.default_rng(seed)
    expression = random_expression(rng, ALL, 10)
    program = program_of(expression)
    x = rng.uniform(-1, 1, (50, 3))
    x = x[[away_from_kinks(expression, row) for row in x]]
    assert len(x) > 20
    d = rng.uniform(-1, 1, x.shape)
    h = 1e-7
    difference = (evaluate(program, x + h * d) - evaluate(program, x - h * d)) / (2 * h)
    np.testing.assert_allclose(evaluate(forward(program), x, d), difference, rtol=1e-5, atol=1e-4)


# Several arguments, names and shapes.


def several() -> Program:
    return trace(
        lambda a, b, s: {"y": a @ b * zm.sin(s), "z": (b * b).sum(), "c": np.ones(2)},
        {"a": (2, 3), "b": (3,), "s": ()},
        name="several",
    )


def test_names_and_shapes():
    program = several()
    f, r = forward(program, of="y", wrt=["b", "s"]), reverse(program, of=("y", "z"), wrt="b", values=True)
    j, h = jacobian(program, wrt=["a", "s"]), hessian_vector(program, of="z", wrt=["b", "s"], values=True)
    shapes = lambda arguments: {argument.name: argument.shape for argument in arguments}  # noqa: E731
    assert list(shapes(f.inputs)) == ["a", "b", "s", "d_b", "d_s"]
    assert shapes(f.outputs) == {"d_y": (2,)}
    assert list(shapes(r.inputs)) == ["a", "b", "s", "bar_y", "bar_z"]
    assert shapes(r.outputs) == {"y": (2,), "z": (), "c": (2,), "bar_b": (3,)}
    assert shapes(j.inputs) == shapes(program.inputs)
    assert shapes(j.outputs) == {
        "d_y_d_a": (2, 2, 3),
        "d_y_d_s": (2,),
        "d_z_d_a": (2, 3),
        "d_z_d_s": (),
        "d_c_d_a": (2, 2, 3),
        "d_c_d_s": (2,),
    }
    assert list(shapes(h.inputs)) == ["a", "b", "s", "d_b", "d_s"]
    assert shapes(h.outputs) == {"y": (2,), "z": (), "c": (2,), "hd_b": (3,), "hd_s": ()}
    names = [p.name for p in (f, r, j, h)]
    assert names == [f"several_{kind}" for kind in ("forward", "reverse", "jacobian", "hessian_vector")]


def test_several_arguments():
    rng = np.random.default_rng(0)
    a, b, s = rng.normal(size=(2, 3)), rng.normal(size=3), 0.7
    da, db, ds = rng.normal(size=(2, 3)), rng.normal(size=3), -0.4
    program = several()
    dy, dz, dc = evaluate(forward(program), a, b, s, da, db, ds)
    np.testing.assert_allclose(dy, (da @ b + a @ db) * np.sin(s) + a @ b * np.cos(s) * ds)
    np.testing.assert_allclose(dz, 2 * b @ db)
    np.testing.assert_array_equal(dc, 0)
    value, gradient = evaluate(jacobian(program, of="z", wrt="b", values=True), a, b, s)[1::2]
    assert value == pytest.approx(b @ b)
    np.testing.assert_allclose(gradient, 2 * b)
    np.testing.assert_allclose(evaluate(hessian_vector(program, of="z", wrt="b"), a, b, s, db), 2 * db)


def test_wrong_names():
    program = several()
    with pytest.raises(UnknownNameError, match=r"no input named 'q'.*a, b, s"):
        jacobian(program, wrt="q")
    with pytest.raises(UnknownNameError, match=r"no output named 'q'.*y, z, c"):
        jacobian_sparsity(program, of="q", wrt="a")
    with pytest.raises(TraceError, match="scalar output"):
        hessian_vector(program, of="y")
    with pytest.raises(ZvenoError, match="already has an input named d_x"):
        forward(forward(trace(lambda x: x * x, X)), wrt="x")


# Sparsity and cost.


def test_sparsity_is_exact_for_structural_zeros():
    def function(x):
        return np.array(
            [
                x[0] * x[1],
                x[2] * 0 + x[3],
                zm.floor(x[0]) + zm.sign(x[1]) + x[2],
                zm.where(x[0] < x[1], x[2], 1.0),
                (x[0] - x[0]) * x[3],
                zm.maximum(x[0], x[3]),
                5.0,
            ]
        )

    program = trace(function, {"x": (4,)}, outputs=["y"])
    pattern = jacobian_sparsity(program, of="y", wrt="x")
    want = ["1100", "0001", "0010", "0010", "0000", "1001", "0000"]
    assert ["".join(str(int(bit)) for bit in row) for row in pattern] == want
    J = jacobian(program)
    constant_zero = (J.graph.op == Op.CONST) & (J.graph.value == 0.0)
    assert (constant_zero[J.graph.results[0]].reshape(7, 4) == ~pattern).all()


def test_sparsity_of_many_inputs():
    n = 150
    program = trace(lambda x: x[1:] * x[:-1], {"x": (n,)}, outputs=["y"])
    i = np.arange(n - 1)
    want = np.zeros((n - 1, n), bool)
    want[i, i] = want[i, i + 1] = True
    assert (jacobian_sparsity(program, of="y", wrt="x") == want).all()
    # A banded Jacobian needs no multiplication at all here, and no node is visited for a zero.
    assert (jacobian(program).graph.op > Op.CONST).sum() == 0


def test_empty_arrays():
    program = trace(lambda x, e: {"y": x, "e": e}, {"x": (2,), "e": (0,)})
    assert jacobian_sparsity(program, of="y", wrt="e").shape == (2, 0)
    assert jacobian_sparsity(program, of="e", wrt="x").shape == (0, 2)
    assert evaluate(jacobian(program, of="e", wrt="x"), np.ones(2), np.ones(0)).shape == (0, 2)


def operations(program) -> int:
    return int((program.graph.op > Op.CONST).sum())


def test_both_modes_are_linear_in_size():
    expression = random_expression(np.random.default_rng(5), SMOOTH, 400)
    program = program_of(expression)
    assert operations(forward(program, values=True)) <= 6 * operations(program)
    assert operations(reverse(program, values=True)) <= 6 * operations(program)


def deep(y):
    for _ in range(30):
        y = zm.sin(y) * y + 0.5
    return y


@pytest.mark.parametrize("narrow_first", [True, False])
def test_jacobian_takes_the_cheaper_mode(narrow_first):
    n = 40
    k = np.arange(1.0, n + 1)
    if narrow_first:
        function, x = (lambda x: zm.sin(k * deep(x[0]))), np.array([0.3])
    else:
        function, x = (lambda x: deep(zm.sin(k * x).sum())), k / n
    program = trace(function, {"x": x.shape}, outputs=["y"])
    J = jacobian(program)
    assert operations(J) <= 4 * operations(program)
    inputs, outputs = in_casadi(program)
    want = call_casadi(inputs, casadi.jacobian(outputs[0], inputs[0]), x)
    np.testing.assert_allclose(np.reshape(evaluate(J, x), want.shape), want, rtol=1e-9)
