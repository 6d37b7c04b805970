"""Exported C compiles without a warning and computes what the kernel computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from kernels.programs import Builder, compile, evaluate, mixed, random_program, unary
from zveno.errors import BuildError
from zveno.kernels.export_c import CSource, export_c
from zveno.kernels.program import Op, Program

COMPILER = shutil.which("gcc") or shutil.which("cc")
FLAGS = ["-Wall", "-Wextra", "-Werror", "-std=c99", "-O2", "-pedantic", "-Wconversion", "-Wshadow"]

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def build(source: CSource, directory):
    """Write, compile and load the function."""
    header, code = source.write(directory)
    assert header.name == f"{source.name}.h"
    library = directory / "library.so"
    command = [str(COMPILER), *FLAGS, "-shared", "-fPIC", "-o", str(library), str(code), "-lm"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return getattr(ctypes.CDLL(str(library)), source.name)


def call(function, program: Program, arrays, dtype) -> list[np.ndarray]:
    """Call the C function for every state of a batch."""
    outputs = [np.full((len(arrays[0]), *a.shape), np.nan, dtype) for a in program.outputs]
    for k in range(len(arrays[0])):
        rows = [np.ascontiguousarray(a[k]) for a in arrays] + [a[k : k + 1] for a in outputs]
        function(*(ctypes.c_void_p(row.ctypes.data) for row in rows))
    return outputs


@needs_compiler
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-5)])
@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_agrees_with_the_kernel(tmp_path, smooth, dtype, tolerance):
    program = random_program(11, 200, n_out=40, smooth=smooth)
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.1, 0.9, size=(20, *a.shape)).astype(dtype) for a in program.inputs]
    results = call(build(export_c(program, dtype), tmp_path), program, arrays, dtype)
    for result, expected in zip(results, compile(program, dtype)(*arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=10 * tolerance, atol=tolerance)


@needs_compiler
def test_matrices_are_row_major(tmp_path):
    program = mixed()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5, *a.shape)) for a in program.inputs]
    results = call(build(export_c(program), tmp_path), program, arrays, np.float64)
    for result, expected in zip(results, evaluate(program, *arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-15)


@needs_compiler
@pytest.mark.parametrize("op", [Op.SIGN, Op.MINIMUM, Op.MAXIMUM, Op.ABS, Op.FLOOR, Op.NOT], ids=lambda op: op.name)
def test_special_values(tmp_path, op):
    b = Builder("special", x=(), y=())
    operands = [*b.read("x"), *b.read("y")]
    unaries = (Op.SIGN, Op.ABS, Op.FLOOR, Op.NOT)
    program = b.program(z=((), [b.add(op, *(operands[:1] if op in unaries else operands))]))
    numbers = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan])
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    (result,) = call(build(export_c(program), tmp_path), program, [x, y], np.float64)
    np.testing.assert_array_equal(result, compile(program)(x, y))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_constants_are_exact(tmp_path, dtype):
    numbers = [np.pi, -1 / 3, 1e300, -5e-324, np.inf, -np.inf, np.nan, 0.0, -0.0, 1e22, 7.0, 123456789.0, 1e-7]
    b = Builder("constants", x=())
    (x,) = b.read("x")
    program = b.program(
        y=((len(numbers),), [b.const(c) for c in numbers]), z=((), [b.add(Op.SUB, x, b.const(-2.0))])
    )
    results = call(build(export_c(program, dtype), tmp_path), program, [np.ones(1, dtype)], dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(results[0][0], np.array(numbers).astype(dtype))
    assert np.signbit(results[0][0][8])
    assert results[1][0] == 3


@needs_compiler
def test_unused_and_empty_arguments_and_odd_names(tmp_path):
    """Names that C reserves, twice the same, and arguments nothing is read from."""
    b = Builder("7 joint: robot-arm", **{"double": (2,), "sin": (), "t1": (), "q-1": (), "q.1": (), "none": (0,)})
    total = b.read("double")[0]
    for name in ("sin", "t1", "q-1", "q.1"):
        total = b.add(Op.ADD, total, b.read(name)[0])
    program = b.program(y=((), [total]), y0=((), [b.add(Op.MINIMUM, total, total)]), nothing=((0,), []))
    source = export_c(program)
    arrays = [np.array([[1.0, 9.0]]), *(np.array([x]) for x in (2.0, 3.0, 4.0, 5.0)), np.zeros((1, 0))]
    results = call(build(source, tmp_path), program, arrays, np.float64)
    assert results[0][0] == 15
    assert results[1][0] == 15


@needs_compiler
def test_outputs_may_overlap_inputs(tmp_path):
    b = Builder("turn", x=(3,))
    x = b.read("x")
    function = build(export_c(b.program(y=((3,), [x[2], x[0], x[1]]))), tmp_path)
    memory = np.arange(3.0)
    function(*[ctypes.c_void_p(memory.ctypes.data)] * 2)
    np.testing.assert_array_equal(memory, [2, 0, 1])


def test_text_is_documented_and_always_the_same():
    source, again = export_c(mixed()), export_c(mixed())
    assert source == again
    for part in ("q            in   3", "p            in   2 x 2, row-major", "m            out  2 x 3, row-major"):
        assert part in source.header
    assert "7 adds, 4 multiplies, 3 sincos" in source.header
    assert "void mixed(const double q[3], const double p[4], double y[2], double m[6]);" in source.header


def test_single_precision_has_no_double():
    source = export_c(random_program(0, 60, smooth=False), np.float32)
    assert "double" not in source.source + source.header


def test_name_of_the_function():
    assert "void my_robot(" in export_c(mixed(), name="my robot").header
    assert export_c(unary(Op.SIN)).name != "sin"


def test_errors(tmp_path):
    with pytest.raises(BuildError, match="float64 or float32"):
        export_c(mixed(), np.int32)
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot be written"):
        export_c(mixed()).write(tmp_path / "file")
