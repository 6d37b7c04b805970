"""The kernel object: errors that explain, arguments without elements, pickling, and memory."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

from kernels.programs import Builder, compile, evaluate, mixed, random_program
from zveno.errors import BuildError, ShapeError
from zveno.kernels.kernel import Kernel
from zveno.kernels.program import Op, Operations, count_operations

Q, P = np.array([0.1, 0.2, 0.3]), np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return compile(mixed())


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((Q,), ["2 arguments (q, p)", "received 1"]),
        ((Q, P, P), ["received 3"]),
        ((), ["received 0"]),
        ((Q[:2], P), ["argument q of mixed", "(..., 3)", "(2,)"]),
        ((np.zeros((3, 4)), P), ["argument q", "(..., 3)", "(3, 4)"]),
        ((Q, P[0]), ["argument p", "(..., 2, 2)", "(2,)"]),
        ((1.0, P), ["argument q", "(..., 3)", "()"]),
        ((Q + 1j, P), ["argument q", "complex128"]),
        ((Q.astype(object), P), ["argument q", "object"]),
        ((Q, np.full((2, 2), "a")), ["argument p", "<U1"]),
        ((None, P), ["argument q", "object"]),
        (([[1, 2, 3], [4]], P), ["argument q", "(..., 3)"]),
        ((np.zeros((4, 3)), np.zeros((5, 2, 2))), ["batch shapes", "q (4,)", "p (5,)"]),
        ((np.zeros((1,) * 63 + (3,)), P), ["too many", "dimensions"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(kernel, arrays, words):
    with pytest.raises(ShapeError) as caught:
        kernel(*arrays)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.zeros(2), ["2 outputs (y, m)", "holds 1"]),
        ((np.zeros(2),), ["holds 1"]),
        ((np.zeros(3), None), ["output y", "(2,)", "(3,)"]),
        ((None, np.zeros((3, 2))), ["output m", "(2, 3)", "(3, 2)"]),
        (([0.0, 0.0], None), ["output y", "list"]),
        ((np.broadcast_to(0.0, (2,)), None), ["output y", "read-only"]),
        ((np.zeros(2, int), None), ["int64"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_outputs(kernel, out, words):
    with pytest.raises(ShapeError) as caught:
        kernel(Q, P, out=out)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int32, np.complex128, np.float16, object])
def test_wrong_dtype_of_the_kernel(dtype):
    with pytest.raises(BuildError, match="float64 or float32"):
        compile(mixed(), dtype)


# ------------------------------------------------------------------------------------ nothing in, nothing out


def test_argument_without_elements():
    """The kinematics of a robot without joints: only the batch comes in."""
    b = Builder("fixed", q=(0,), x=())
    pose = [b.const(2.0), *b.read("x")]
    kernel = compile(b.program(y=((2,), pose), none=((3, 0), [])))
    for batch in ((), (4,), (0,), (2, 3)):
        y, none = kernel(np.zeros((*batch, 0)), 5.0)
        np.testing.assert_array_equal(y, np.broadcast_to([2.0, 5.0], (*batch, 2)))
        assert none.shape == (*batch, 3, 0)
    out = np.zeros((4, 2)), np.zeros((4, 3, 0))
    results = kernel(np.zeros((4, 0)), 5.0, out=out)
    assert results[0] is out[0]
    assert results[1] is out[1]
    for wrong in ((np.zeros((4, 1)), 5.0), (np.zeros((4, 0), complex), 5.0), (np.zeros((4, 0)),)):
        with pytest.raises(ShapeError):
            kernel(*wrong)
    with pytest.raises(ShapeError, match="output none"):
        kernel(np.zeros((4, 0)), 5.0, out=(None, np.zeros((4, 2, 0))))


def test_only_arguments_without_elements():
    b = Builder("fixed", q=(0,))
    kernel = compile(b.program(y=((2,), [b.const(1.0), b.const(2.0)])))
    np.testing.assert_array_equal(kernel(np.zeros((3, 0))), [[1, 2]] * 3)
    out = np.zeros((3, 2))
    assert kernel(np.zeros((3, 0)), out=out) is out
    np.testing.assert_array_equal(out, [[1, 2]] * 3)


def test_no_inputs():
    b = Builder("constant")
    kernel = compile(b.program(y=((2,), [b.const(1.0), b.const(2.0)])))
    np.testing.assert_array_equal(kernel(), [1, 2])
    with pytest.raises(ShapeError):
        kernel(1.0)


def test_no_outputs():
    with pytest.raises(BuildError, match="no output"):
        compile(Builder("nothing", x=()).program())


# ------------------------------------------------------------------------------------ what it says of itself


def test_operations():
    b = Builder("count", x=(3,))
    x, y, z = b.read("x")
    s, c, other = b.add(Op.SIN, x), b.add(Op.COS, x), b.add(Op.COS, y)
    product = b.add(Op.MUL, s, b.add(Op.MUL, c, other))
    root = b.add(Op.SQRT, b.add(Op.DIV, b.add(Op.SUB, product, z), b.add(Op.ADD, y, z)))
    b.add(Op.MUL, root, root)  # no result needs it
    program = b.program(y=((), [b.add(Op.NEG, root)]))
    assert count_operations(program) == Operations(2, 2, 1, 1, 2, 1)
    assert str(count_operations(program)) == "2 adds, 2 multiplies, 1 divides, 1 square roots, 2 sincos, 1 other"


def test_repr(kernel):
    text = repr(kernel)
    for part in ("mixed", "q (3,), p (2, 2) -> y (2,), m (2, 3)", "7 adds", "3 sincos", "lanes", "built in", "ms"):
        assert part in text


# ------------------------------------------------------------------------------------ processes and memory


def test_pickle(kernel):
    copy = pickle.loads(pickle.dumps(kernel))
    for a, b in zip(copy(Q, P), kernel(Q, P), strict=True):
        np.testing.assert_array_equal(a, b)
    assert copy.lanes == kernel.lanes
    assert copy.dtype == kernel.dtype


def _in_child(kernel, arrays, queue):
    queue.put([np.asarray(result) for result in kernel(*arrays)])


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_other_processes(kernel, method):
    """Also a batch large enough for threads, whose pool a fork does not inherit."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    arrays = np.random.default_rng(0).normal(size=(50_000, 3)), P
    expected = kernel(*arrays)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(kernel, arrays, queue))
    child.start()
    try:
        results = queue.get(timeout=250)
    finally:
        child.join(timeout=250)
    assert child.exitcode == 0
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, right)


_LEAK = """
import gc, os
from kernels.programs import unary
from kernels.programs import compile
from zveno.kernels.program import Op

def megabytes():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

program = unary(Op.NEG)
def build(n):
    for _ in range(n):
        compile(program)(1.0)
build(30)
before = megabytes()
build(200)
print(megabytes() - before)
"""


@pytest.mark.laws
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_dropped_kernels_are_freed():
    """200 kernels of 10 kB and more each, built and dropped, leave the memory flat."""
    run = subprocess.run(
        [sys.executable, "-c", _LEAK],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "tests", "ZVENO_THREADS": "1", "PATH": ""},
    )
    assert float(run.stdout) < 1.0


def test_llvm_is_loaded_with_the_first_kernel():
    code = "import sys, zveno.kernels.kernel; print('llvmlite' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_program_of_a_kernel():
    program = random_program(1, 50)
    kernel = compile(program)
    assert kernel.program is program
    x, y = np.ones(8), np.ones((2, 3))
    np.testing.assert_allclose(kernel(x, y)[0], evaluate(program, x, y)[0], rtol=1e-12)
