"""Lowering: a compiled program gives the numbers, the NaN and the status flags that NumPy gives."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.programs import Builder, binary, compile, evaluate, mixed, random_program, unary
from tiers import examples, few
from zveno.errors import BuildError
from zveno.kernels import _host as host
from zveno.kernels import _lower as lower
from zveno.kernels._batch import STACK_LIMIT
from zveno.kernels.program import ARITY, Op, Program

UNARY = [op for op in Op if ARITY[op] == 1]
BINARY = [op for op in Op if ARITY[op] == 2]
SPECIAL = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.0, 1e-8, -1e-8, 1e-200, -1e-200, 1e5, -1e5, 100000.1),
    *(1e8, -1e22, 1e300, -1e300, np.inf, -np.inf, np.nan, 700.0, -700.0, np.pi / 2, np.pi, 1 - 2**-53),
]


def special(dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array(SPECIAL).astype(dtype)


def flags_of(function, *arrays) -> tuple[np.ndarray, set[str]]:
    """The result of a call and the floating-point exceptions NumPy noticed, without underflow."""
    seen: set[str] = set()
    with np.errstate(all="call", under="ignore", call=lambda text, _: seen.add(text)):
        result = function(*arrays)
    return result, seen


def inputs(rng: np.random.Generator, program: Program, n: int, dtype=np.float64) -> list[np.ndarray]:
    return [rng.uniform(-1.5, 1.5, size=(n, *a.shape)).astype(dtype) for a in program.inputs]


def assert_close(program: Program, results, expected, tolerance: float) -> None:
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, right, rtol=tolerance, atol=tolerance, err_msg=program.name)


# ------------------------------------------------------------------------------------ whole programs


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 5e-5)])
@pytest.mark.parametrize("chunk", [30, 500])
@pytest.mark.parametrize("seed", few(range(4)))
def test_random_arithmetic(seed, chunk, dtype, tolerance, monkeypatch):
    monkeypatch.setattr(lower, "CHUNK_SIZE", chunk)
    program = random_program(seed, 300)
    arrays = inputs(np.random.default_rng(seed), program, 21, dtype)
    results = compile(program, dtype)(*arrays)
    assert_close(program, results, evaluate(program, *arrays, dtype=dtype), tolerance)


@pytest.mark.parametrize("chunk", [12, 500])
@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_programs_of_all_operations(seed, chunk, monkeypatch):
    """NaN and infinity arise on the way (logarithms, quotients) and must arrive where NumPy has them."""
    monkeypatch.setattr(lower, "CHUNK_SIZE", chunk)
    program = random_program(seed, 120, n_out=40, smooth=False)
    arrays = inputs(np.random.default_rng(seed), program, 50)
    assert_close(program, compile(program)(*arrays), evaluate(program, *arrays), 1e-9)


BOUNDED = (
    *(Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.ABS, Op.MINIMUM, Op.MAXIMUM, Op.SQRT, Op.SIN, Op.COS),
    *(Op.ATAN, Op.TANH),
)


def error_bound(op: Op, eps: float, value: float, values: list[float], errors: list[float]) -> float:
    """Error of an operation: that of its operands carried through it, and four units of its own."""
    a, da = values[0], errors[0]
    b, db = (values[1], errors[1]) if len(values) > 1 else (0.0, 0.0)
    if op is Op.MUL:
        carried = abs(a) * db + abs(b) * da + da * db
    elif op is Op.DIV:
        carried = (da + abs(value) * db) / (abs(b) - db) if abs(b) > db else np.inf
    elif op is Op.SQRT:
        carried = da / np.sqrt(a - da) if a > da else np.inf
    else:
        carried = da + db
    return carried + 4 * eps * abs(value) + np.finfo(np.float32).tiny


@examples(6, 60, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from(BOUNDED), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=30),
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.sampled_from([np.float64, np.float32]),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_expressions_to_four_units_an_operation(steps, numbers, dtype):
    b = Builder("expression", x=(3,))
    nodes = b.read("x")
    for op, *picks in steps:
        nodes.append(b.add(op, *(nodes[-1 - pick % len(nodes)] for pick in picks[: ARITY[op]])))
    program = b.program(y=((len(nodes),), nodes))
    x = np.array(numbers).astype(dtype)
    result, (expected,) = compile(program, dtype)(x), evaluate(program, x, dtype=dtype)
    errors = [0.0] * 3
    for k, (op, *_) in enumerate(steps, 3):
        operands = program.graph.args[k, : ARITY[op]]
        values = [float(expected[i]) for i in operands]
        errors.append(
            error_bound(op, float(np.finfo(dtype).eps), float(expected[k]), values, [errors[i] for i in operands])
        )
    for y, right, error in zip(result.astype(float), expected.astype(float), errors, strict=True):
        if np.isfinite(error) and np.isfinite(right):
            assert abs(y - right) <= 2 * error


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lanes_do_not_change_results(dtype):
    program = mixed()
    arrays = inputs(np.random.default_rng(0), program, 37, dtype)
    arrays[0][5:9] *= 1e7
    reference = compile(program, dtype, lanes=2)(*arrays)
    for lanes in (4, 8, 16):
        for result, right in zip(compile(program, dtype, lanes=lanes)(*arrays), reference, strict=True):
            np.testing.assert_array_equal(result, right)


@pytest.mark.laws
def test_large_workspace_is_on_the_heap():
    b = Builder("long", x=(3000,), y=())
    x, (y,) = b.read("x"), b.read("y")
    program = b.program(z=((3000,), [b.add(Op.MUL, node, y) for node in reversed(x)]))
    assert STACK_LIMIT / 2 < 3000 * 2 * 8  # two vectors or more
    values = np.random.default_rng(3).normal(size=(9, 3000))
    kernel = compile(program)
    np.testing.assert_array_equal(kernel(values, 2.0), 2.0 * values[:, ::-1])
    np.testing.assert_array_equal(kernel(values[0], np.array(2.0)), 2.0 * values[0, ::-1])


def test_results_that_are_inputs_or_constants():
    b = Builder("plain", x=(5,))
    x = b.read("x")
    one, nothing = b.const(1.0), b.const(np.nan)
    program = b.program(y=((7,), [x[4], one, x[0], nothing, one, x[4], b.const(-0.0)]))
    values = np.arange(15.0).reshape(3, 5)
    result = compile(program)(values)
    np.testing.assert_array_equal(result, evaluate(program, values)[0])
    assert np.signbit(result[0, 6])


def test_dead_operations_are_not_computed():
    b = Builder("dead", x=())
    x = b.read("x")[0]
    b.add(Op.LOG, b.const(-1.0))
    b.add(Op.LOG, x)
    kernel = compile(b.program(y=((), [b.add(Op.NEG, x)])))
    with np.errstate(all="raise"):
        assert kernel(-1.0) == 1.0
    assert kernel.operations.total == 1


def test_without_fused_operations(monkeypatch):
    """A CPU without FMA leaves angles to the C library."""
    program = mixed()
    assert "llvm.fma" not in lower.lower(program, np.dtype(np.float64), 2, host.host().triple, fma=False).text
    without = replace(host.host(), fma=False)
    monkeypatch.setattr(host, "host", lambda: without)
    arrays = inputs(np.random.default_rng(1), program, 5)
    assert_close(program, compile(program, lanes=2)(*arrays), evaluate(program, *arrays), 1e-14)


# ------------------------------------------------------------------------------------ single operations


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_unary_operations(op, dtype):
    """Values and status flags of every operation on special numbers, one by one, are NumPy's."""
    program, kernel = unary(op), compile(unary(op), dtype)
    for x in special(dtype):
        (expected,), right = flags_of(lambda x: evaluate(program, x, dtype=dtype), x)
        result, seen = flags_of(kernel, x)
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(dtype).eps, err_msg=f"{op.name}({x})")
        if result == 0:
            assert np.signbit(result) == np.signbit(expected), f"{op.name}({x})"
        assert seen == right, f"{op.name}({x})"


@pytest.mark.laws(after=4)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_binary_operations(op, dtype):
    program, kernel = binary(op), compile(binary(op), dtype)
    numbers = special(dtype)
    for x in numbers:
        for y in numbers:
            (expected,), right = flags_of(lambda x, y: evaluate(program, x, y, dtype=dtype), x, y)
            result, seen = flags_of(kernel, x, y)
            np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(dtype).eps, err_msg=f"{x}, {y}")
            assert seen == right, f"{op.name}({x}, {y})"


def test_select_takes_nan_for_true():
    b = Builder("choose", c=(), x=())
    (c,), (x,) = b.read("c"), b.read("x")
    kernel = compile(b.program(y=((), [b.add(Op.SELECT, c, b.add(Op.SQRT, x), b.const(7.0))])))
    np.testing.assert_array_equal(kernel([1.0, 0.0, np.nan, -0.0, np.inf], 4.0), [2, 7, 2, 7, 2])
    with np.errstate(invalid="ignore"):  # masked instructions do not warn of the branch not taken, others do
        assert kernel(0.0, -1.0) == 7


def test_warnings_are_numpys():
    kernel = compile(binary(Op.DIV))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in div"):
        kernel(1.0, 0.0)
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("error")
        assert kernel(1.0, 0.0) == np.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        kernel(1.0, 0.0)


@pytest.mark.parametrize("n", range(1, 10))
def test_padding_raises_no_flag(n):
    """The lanes behind the end of a batch repeat the last state."""
    program = mixed()
    kernel = compile(program)
    arrays = inputs(np.random.default_rng(n), program, n)
    with np.errstate(all="raise"):
        kernel(*arrays)
        compile(binary(Op.DIV))(np.ones(n), np.full(n, 3.0))


def broken(change: str) -> Program:
    b = Builder("broken", x=(2,))
    node = b.add(Op.ADD, *b.read("x"))
    program = b.program(y=((), [node]))
    if change == "later operand":
        program.graph.args[2, 1] = 2
    elif change == "no operand":
        program.graph.args[2, 0] = -1
    elif change == "input element":
        program.graph.args[1, 1] = 2
    elif change == "input number":
        program.graph.args[1, 0] = 1
    elif change == "result":
        program.graph.results[0][0] = 3
    elif change == "operation":
        program.graph.op[2] = 200
    return program


@pytest.mark.parametrize(
    "change", ["later operand", "no operand", "input element", "input number", "result", "operation"]
)
def test_invalid_programs_are_refused(change):
    with pytest.raises(BuildError, match="broken"):
        compile(broken(change))


@pytest.mark.parametrize("lanes", [0, 1, 3, -4])
def test_lanes_must_be_a_power_of_two(lanes):
    with pytest.raises(BuildError, match="power of two"):
        compile(mixed(), lanes=lanes)
