"""A trace computes what the function computes, and is the same every time."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels.expressions import ALL, ARITHMETIC, expressions, random_expression
from kernels.traced import X, count, same, scalar
from tiers import examples
from zveno.errors import ShapeError, TraceError
from zveno.kernels import ops as zm
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import ARITY, Op
from zveno.kernels.tape import Scalar
from zveno.kernels.trace import call, trace

# The law: a trace computes what the function computes.


def float_values(expression, seed):
    x = np.random.default_rng(seed).uniform(-2, 2, (3, 5))
    with np.errstate(all="ignore"):
        values = expression.values(x, np.float64)
    assume(all(np.isfinite(v).all() for v in values))
    return x, [np.broadcast_to(v, 5) for v in values[-expression.n_outputs :]]


@examples(40, 400)
@given(expressions(), st.integers(0, 99))
def test_trace_computes_what_the_function_computes(expression, seed):
    x, expected = float_values(expression, seed)
    program = trace(lambda x: tuple(expression(x)), X)
    for got, want in zip(evaluate(program, x.T), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@examples(30, 300)
@given(expressions(ARITHMETIC), st.integers(0, 99))
def test_simplification_of_arithmetic_is_exact(expression, seed):
    x, expected = float_values(expression, seed)
    program = trace(lambda x: tuple(expression(x)), X)
    for got, want in zip(evaluate(program, x.T), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@examples(20, 200)
@given(expressions())
def test_program_is_well_formed_and_has_no_dead_or_repeated_node(expression):
    program = trace(lambda x: tuple(expression(x)), X)
    used = set()
    for nodes in program.graph.results:
        used.update(nodes.tolist())
    seen = set()
    for k in range(program.graph.n_nodes):
        op, args = Op(program.graph.op[k]), program.graph.args[k].tolist()
        if op is Op.INPUT:
            assert args[0] == 0
            assert 0 <= args[1] < 3
        else:
            operands = [a for a in args if a >= 0]
            assert len(operands) == ARITY[op]
            assert args == operands + [-1] * (3 - len(operands))
            assert all(a < k for a in operands)
            used.update(operands)
        assert op is Op.CONST or program.graph.value[k] == 0.0
        seen.add((op, *args, program.graph.value[k].hex()))
    assert used == set(range(program.graph.n_nodes))
    assert len(seen) == program.graph.n_nodes
    assert (program.graph.op.dtype, program.graph.args.dtype, program.graph.value.dtype) == (
        np.uint8,
        np.int32,
        np.float64,
    )
    assert all(nodes.dtype == np.int32 for nodes in program.graph.results)


@examples(10, 100)
@given(expressions(), st.integers(0, 99))
def test_call_joins_a_program_to_another_trace(expression, seed):
    x, expected = float_values(expression, seed)
    inner = trace(lambda x: np.array(expression(x)), X)
    outer = trace(lambda x: call(inner, x) * 2.0 + call(inner, x), X)
    np.testing.assert_allclose(evaluate(outer, x.T), 3 * np.transpose(expected), rtol=1e-12, atol=1e-12)
    assert count(outer) <= count(inner) + 9  # twice, a sum and at most a sign for each of three outputs
    assert same(trace(lambda x: call(inner, x), X), trace(lambda x: call(inner, x), X))


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
            trace(lambda y: zm.where(x[0] < 1, y, y + 1), X)
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


@pytest.mark.laws
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
        for array in (program.graph.op, program.graph.args, program.graph.value, *program.graph.results):
            digest.update(array.tobytes())
    return digest.hexdigest()


@pytest.mark.laws
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
