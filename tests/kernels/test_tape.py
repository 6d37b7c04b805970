from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import threading
from operator import neg

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernels.expressions import ALL, ARITHMETIC, expressions, random_expression
from zveno.errors import ShapeError, TraceError
from zveno.kernels import math as zm
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import ARITY, Op, Program
from zveno.kernels.tape import Scalar
from zveno.kernels.trace import call, trace

X = {"x": (3,)}


def count(program: Program, *ops: Op) -> int:
    """Operations of the given kinds, of all kinds if none is given."""
    return int(np.isin(program.op, ops).sum()) if ops else int((program.op > Op.CONST).sum())


def same(a: Program, b: Program) -> bool:
    return (
        a.inputs == b.inputs
        and a.outputs == b.outputs
        and all(np.array_equal(x, y) for x, y in ((a.op, b.op), (a.args, b.args)))
        and np.array_equal(a.value, b.value, equal_nan=True)
        and all(np.array_equal(x, y) for x, y in zip(a.results, b.results, strict=True))
    )


def scalar(function, n=2) -> Program:
    """The program of a function of n single numbers."""
    return trace(function, {f"x{i}": () for i in range(n)})


# The law: a trace computes what the function computes.


def float_values(expression, seed):
    x = np.random.default_rng(seed).uniform(-2, 2, (3, 5))
    with np.errstate(all="ignore"):
        values = expression.values(x, np.float64)
    assume(all(np.isfinite(v).all() for v in values))
    return x, [np.broadcast_to(v, 5) for v in values[-expression.n_outputs :]]


@settings(max_examples=400, deadline=None)
@given(expressions(), st.integers(0, 99))
def test_trace_computes_what_the_function_computes(expression, seed):
    x, expected = float_values(expression, seed)
    program = trace(lambda x: tuple(expression(x)), X)
    for got, want in zip(evaluate(program, x.T), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@settings(max_examples=300, deadline=None)
@given(expressions(ARITHMETIC), st.integers(0, 99))
def test_simplification_of_arithmetic_is_exact(expression, seed):
    x, expected = float_values(expression, seed)
    program = trace(lambda x: tuple(expression(x)), X)
    for got, want in zip(evaluate(program, x.T), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_program_is_well_formed_and_has_no_dead_or_repeated_node(expression):
    program = trace(lambda x: tuple(expression(x)), X)
    used = set()
    for nodes in program.results:
        used.update(nodes.tolist())
    seen = set()
    for k in range(program.n_nodes):
        op, args = Op(program.op[k]), program.args[k].tolist()
        if op is Op.INPUT:
            assert args[0] == 0
            assert 0 <= args[1] < 3
        else:
            operands = [a for a in args if a >= 0]
            assert len(operands) == ARITY[op]
            assert args == operands + [-1] * (3 - len(operands))
            assert all(a < k for a in operands)
            used.update(operands)
        assert op is Op.CONST or program.value[k] == 0.0
        seen.add((op, *args, program.value[k].hex()))
    assert used == set(range(program.n_nodes))
    assert len(seen) == program.n_nodes
    assert (program.op.dtype, program.args.dtype, program.value.dtype) == (np.uint8, np.int32, np.float64)
    assert all(nodes.dtype == np.int32 for nodes in program.results)


@settings(max_examples=100, deadline=None)
@given(expressions(), st.integers(0, 99))
def test_call_joins_a_program_to_another_trace(expression, seed):
    x, expected = float_values(expression, seed)
    inner = trace(lambda x: np.array(expression(x)), X)
    outer = trace(lambda x: call(inner, x) * 2.0 + call(inner, x), X)
    np.testing.assert_allclose(evaluate(outer, x.T), 3 * np.transpose(expected), rtol=1e-12, atol=1e-12)
    assert count(outer) <= count(inner) + 9  # twice, a sum and at most a sign for each of three outputs
    assert same(trace(lambda x: call(inner, x), X), trace(lambda x: call(inner, x), X))


# Simplification and sharing.


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
        lambda x: zm.select(x < 1, x, x),
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
        (lambda x: zm.select(np.nan < x, 1.0, 2.0), 2.0),
        (lambda x: zm.sin(x * 0) + np.pi, np.pi),
        (lambda x: np.float32(0.5), 0.5),
        (lambda x: -0.0, -0.0),
        (lambda x: np.inf, np.inf),
    ],
)
def test_constants_are_folded(function, constant):
    program = scalar(function, 1)
    assert program.op.tolist() == [Op.CONST]
    assert program.value[0].tobytes() == np.float64(constant).tobytes()


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
        (lambda a, b: zm.select(a > b, a, b) - zm.select(b < a, a, b), 0),
        (lambda a, b: zm.select(zm.logical_not(a < b), a, b) - zm.select(a < b, b, a), 0),
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


# NumPy on object arrays.

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
    with pytest.raises(TraceError, match=r"branches.*zveno\.math\.select"):
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
    with pytest.raises(TraceError, match=r"plain number.*object.*zveno\.math\.select"):
        trace(function, X)


def test_comparisons_are_numbers():
    program = scalar(lambda a, b: (a < b) * 10 + (a <= b) + ((a == b) | ~(a != b)) * 100 + ((a > b) & (a >= b)) * 5)
    for a, b in ((1.0, 2.0), (2.0, 2.0), (3.0, 2.0)):
        assert evaluate(program, a, b) == (a < b) * 10 + (a <= b) + (a == b) * 100 + (a > b) * 5
    assert evaluate(scalar(lambda a: a != a, 1), np.nan) == 1.0


# The interface.


def test_inputs_and_outputs():
    program = trace(
        lambda q, s, m: {"sum": q.sum() + s, "matrix": m * s, "constant": [1, 2.5]},
        {"q": (2,), "s": (), "m": (2, 3)},
        name="example",
    )
    assert program.name == "example"
    assert [(a.name, a.shape) for a in program.inputs] == [("q", (2,)), ("s", ()), ("m", (2, 3))]
    assert [(a.name, a.shape) for a in program.outputs] == [("sum", ()), ("matrix", (2, 3)), ("constant", (2,))]
    assert [a.name for a in trace(lambda x: (x, x), X).outputs] == ["out0", "out1"]
    assert [a.name for a in trace(lambda x: x, X, outputs=["y"]).outputs] == ["y"]
    assert trace(lambda x: np.zeros((0, 2)), {"x": (0,)}).outputs[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("function", "outputs", "message"),
    [
        (lambda x: x, ["a", "b"], "1 outputs"),
        (lambda x: (x, x), ["a", "a"], "different"),
        (lambda x: {"a": x}, ["b"], "returns a, not b"),
        (lambda x: None, None, "out0: an entry is NoneType"),
        (lambda x: 1j, None, "complex"),
        (lambda x: [x, [1.0]], None, "out0: an entry is ndarray"),
        (lambda x: [np.ones((2, 3)), np.ones((2, 2))], None, "out0: .* not an array"),
        (lambda x: 1.0 / (x[0] * 0), None, "division by zero"),
    ],
)
def test_wrong_functions(function, outputs, message):
    with pytest.raises(TraceError, match=message):
        trace(function, X, outputs=outputs)


def test_traces_do_not_mix():
    def outer(x):
        with pytest.raises(TraceError, match="two different traces"):
            trace(lambda y: y + x, X)
        with pytest.raises(TraceError, match="two different traces"):
            trace(lambda y: x, X)
        with pytest.raises(TraceError, match="two different traces"):
            trace(lambda y: zm.select(x[0] < 1, y, y + 1), X)
        with pytest.raises(TraceError, match="two different traces"):
            trace(lambda y: x - y, X)
        inner = trace(lambda y: y * y, X)
        return call(inner, x)

    assert evaluate(trace(outer, X), [1.0, 2.0, 3.0]).tolist() == [1.0, 4.0, 9.0]


def test_a_scalar_that_escapes_is_refused():
    kept = []
    trace(lambda x: kept.append(x[0]) or x, X)
    with pytest.raises(TraceError, match="after its trace has ended"):
        kept[0] + 1.0


def test_call_checks_shapes_and_folds_numbers():
    program = trace(lambda x, s: x / s, X | {"s": ()})
    assert call(program, np.ones(3), 2.0).tolist() == [0.5] * 3
    folded = trace(lambda x: call(program, np.array([x[0], 1.0, -1.0]), 0.0), X)
    with np.errstate(divide="ignore"):
        assert evaluate(folded, [2.0, 0.0, 0.0]).tolist() == [np.inf, np.inf, -np.inf]
    with pytest.raises(ShapeError, match="x: shape"):
        trace(lambda x: call(program, x[:2], x[0]), X)
    with pytest.raises(ShapeError, match="2 inputs"):
        trace(lambda x: call(program, x), X)


def test_nothing_is_kept_after_a_trace():
    def scalars():
        return sum(type(thing) is Scalar for thing in gc.get_objects())

    expression = random_expression(np.random.default_rng(3))
    gc.collect()
    gc.disable()
    try:
        before = scalars()
        trace(lambda x: tuple(expression(x)), X)
        assert scalars() == before
    finally:
        gc.enable()


def test_long_chains_need_no_recursion():
    def function(x):
        for _ in range(20_000):
            x = x * 1.0001 + 0.5
        return x

    program = scalar(function, 1)
    assert count(program) == 40_000


# The same program every time, in every thread and process.


def fingerprint() -> str:
    digest = hashlib.sha256()
    for seed in range(5):
        expression = random_expression(np.random.default_rng(seed), ALL, 60)
        program = trace(lambda x, e=expression: tuple(e(x)), X)
        for array in (program.op, program.args, program.value, *program.results):
            digest.update(array.tobytes())
    return digest.hexdigest()


def test_the_same_program_in_every_process():
    code = "import sys; sys.path[:0] = {!r}; from kernels.test_tape import fingerprint; print(fingerprint())"
    for seed in ("1", "12345"):
        run = subprocess.run(
            [sys.executable, "-c", code.format(sys.path)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == fingerprint()


def test_threads_trace_independently():
    expected, results = fingerprint(), []
    threads = [threading.Thread(target=lambda: results.append(fingerprint())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
