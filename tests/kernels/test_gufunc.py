"""The call: batches of every shape, strides, `out=`, overlap, and no access outside the arrays."""

from __future__ import annotations

import ctypes
import itertools
import mmap

import numpy as np
import pytest

from kernels.programs import Builder, compile, evaluate, mixed
from zveno.errors import BuildError
from zveno.kernels._calls import MAX_OPERANDS, signature
from zveno.kernels.program import Op

PROGRAM = mixed()


@pytest.fixture(scope="module")
def kernel():
    return compile(PROGRAM)


def draw(seed: int, batch: tuple[int, ...], other: tuple[int, ...] | None = None) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, 3)), rng.normal(size=(*(batch if other is None else other), 2, 2))]


def assert_right(results, arrays) -> None:
    for result, expected in zip(results, evaluate(PROGRAM, *arrays), strict=True):
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("batch", "other"),
    [
        *(((), ()), ((0,), (0,)), ((1,), (1,)), ((3, 1, 2), (3, 1, 2)), ((2, 0, 3), (2, 0, 3)), ((5,), ())),
        *(((), (5,)), ((4, 1), (3,)), ((1,), (7,)), ((0,), (1,)), ((2, 1, 3), (5, 1)), ((1, 1), ())),
        *(((n,), (n,)) for n in range(2, 18)),
    ],
    ids=str,
)
def test_batch_shapes(kernel, batch, other):
    arrays = draw(0, batch, other)
    assert_right(kernel(*arrays), arrays)


def test_scalars_and_lists(kernel):
    assert_right(kernel([0.1, 0.2, 0.3], [[1, 2], [3, 4]]), [[0.1, 0.2, 0.3], [[1, 2], [3, 4]]])


LAYOUTS = {
    "reversed": lambda a: a[::-1],
    "every other": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed core": lambda a: a[..., ::-1],
    "Fortran order": np.asfortranarray,
    "batch last": lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0),
    "transposed core": lambda a: np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2) if a.ndim > 2 else a,
    "inside a larger array": lambda a: np.pad(a, [(2, 1)] * a.ndim)[(slice(2, -1),) * a.ndim],
    "the same for all": lambda a: np.broadcast_to(a[3], a.shape),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [5, 16])
def test_layouts_of_inputs(kernel, layout, n):
    arrays = [LAYOUTS[layout](a) for a in draw(1, (n,))]
    for array in arrays:
        array.flags.writeable = False
    assert_right(kernel(*arrays), arrays)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("the same for all", "unaligned")])
@pytest.mark.parametrize("n", [5, 16])
def test_layouts_of_outputs(kernel, layout, n):
    arrays = draw(2, (n,))
    out = LAYOUTS[layout](np.zeros((n, 2))), LAYOUTS[layout](np.zeros((n, 2, 3)))
    results = kernel(*arrays, out=out)
    assert results[0] is out[0]
    assert results[1] is out[1]
    assert_right(out, arrays)


def test_writes_only_the_output(kernel):
    arrays = draw(3, (7,))
    canvas = np.full((11, 6), 9.0)
    kernel(*arrays, out=(canvas[2:9, 1:5:2], None))
    expected = np.full((11, 6), 9.0)
    expected[2:9, 1:5:2] = evaluate(PROGRAM, *arrays)[0]
    np.testing.assert_allclose(canvas, expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, np.float32, np.bool_, np.longdouble])
def test_dtypes_are_converted(kernel, dtype):
    arrays = (
        [np.asarray(a * 3).astype(dtype) for a in draw(4, (6,))]
        if dtype is not np.uint16
        else [np.abs(a * 3).astype(dtype) for a in draw(4, (6,))]
    )
    results = kernel(*arrays)
    assert all(result.dtype == np.float64 for result in results)
    assert_right(results, [a.astype(np.float64) for a in arrays])


def test_single_precision_takes_double():
    kernel = compile(PROGRAM, np.float32)
    arrays = draw(5, (6,))
    for result, expected in zip(kernel(*arrays), evaluate(PROGRAM, *arrays), strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    out = np.zeros((6, 2)), np.zeros((6, 2, 3), np.float32)
    assert kernel(*arrays, out=out)[0] is out[0]
    np.testing.assert_allclose(out[0], evaluate(PROGRAM, *arrays)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shift", range(-3, 4))
def test_output_overlapping_the_input(shift):
    """As with NumPy's own functions, the result is that of separate arrays."""
    b = Builder("turn", x=(3,))
    x = b.read("x")
    kernel = compile(b.program(y=((3,), [b.add(Op.ADD, x[0], x[2]), x[0], x[1]])))
    memory = np.arange(90.0)
    source, target = memory[9:39].reshape(10, 3), memory[9 + shift : 39 + shift].reshape(10, 3)
    expected = kernel(source.copy())
    kernel(source, out=target)
    np.testing.assert_array_equal(target, expected)


# ------------------------------------------------------------------------------------ guard pages


def guarded(size: int, at_end: bool):
    """An array of bytes whose end or beginning touches a page that must not be accessed."""
    page = mmap.PAGESIZE
    inside = -(-size // page) * page  # vectors of 512 bits fill more than one page
    memory = mmap.mmap(-1, inside + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for forbidden in (address, address + page + inside):
        assert protect(forbidden, page, 0) == 0
    start = page + inside - size if at_end else page
    return np.frombuffer(memory, np.uint8, size, start)


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="needs mprotect")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_outside_the_arrays_is_not_touched(dtype, at_end):
    kernel = compile(PROGRAM, dtype)
    size = np.dtype(dtype).itemsize
    for n in range(1, 2 * kernel.lanes + 2):
        arrays = [
            guarded(a.size * n * size, at_end).view(dtype).reshape(n, *a.shape)
            for a in (*PROGRAM.inputs, *PROGRAM.outputs)
        ]
        for array, values in zip(arrays, draw(n, (n,)), strict=False):
            array[...] = values
        kernel(*arrays[:2], out=tuple(arrays[2:]))
        for result, expected in zip(arrays[2:], kernel(*(a.copy() for a in arrays[:2])), strict=True):
            np.testing.assert_array_equal(result, expected)


# ------------------------------------------------------------------------------------ many and large arguments


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sizes_of_arguments(size, dtype):
    """Blocks, remainders and loops over blocks: a permutation arrives in place."""
    b = Builder("permute", x=(size,))
    x = b.read("x")
    order = np.random.default_rng(size).permutation(size)
    kernel = compile(b.program(y=((size,), [x[i] for i in order])), dtype)
    values = np.random.default_rng(0).normal(size=(13, size)).astype(dtype)
    np.testing.assert_array_equal(kernel(values), values[:, order])
    np.testing.assert_array_equal(kernel(np.asfortranarray(values)), values[:, order])


def test_three_core_axes():
    b = Builder("cube", x=(2, 3, 4))
    x = b.read("x")
    kernel = compile(b.program(y=((24,), x)))
    values = np.random.default_rng(0).normal(size=(5, 4, 2, 3)).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(kernel(values), values.reshape(5, 24))


def test_signature():
    assert signature([(7,), (), (3, 3)], [(6,), (0, 2)]) == "(7),(),(3,3)->(6),()"


def test_too_many_arguments_are_refused():
    b = Builder("many", **{f"x{k}": () for k in range(MAX_OPERANDS)})
    first = b.read("x0")
    with pytest.raises(BuildError, match="65 inputs and outputs"):
        compile(b.program(y=((), first)))


def test_as_many_arguments_as_allowed():
    b = Builder("many", **{f"x{k}": () for k in range(MAX_OPERANDS - 1)})
    nodes = [b.read(argument.name)[0] for argument in b.inputs]
    total = list(itertools.accumulate(nodes, lambda a, c: b.add(Op.ADD, a, c)))[-1]
    assert compile(b.program(y=((), [total])))(*range(63)) == sum(range(63))
