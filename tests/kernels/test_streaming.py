"""Outputs written past the caches: the same bits in the same places, and nothing outside them."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from kernels.programs import Builder, compile, random_program
from kernels.test_gufunc import guarded
from zveno.kernels import _instance as instance
from zveno.kernels import _lower as lower
from zveno.kernels import threads
from zveno.kernels._batch import write_batch_driver
from zveno.kernels.builder import Builder as LoopBuilder
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate as run

PROGRAM = random_program(11, 200, n_out=37)
"""Two outputs; the longer has no whole number of vectors, so rows begin at every alignment."""


@pytest.fixture(params=[np.float64, np.float32])
def pair(request, monkeypatch):
    """The same kernel writing through the caches and, from the first state, past them."""
    direct = compile(PROGRAM, request.param)
    monkeypatch.setattr(instance, "STREAM_BYTES", 0)
    return direct, compile(PROGRAM, request.param)


def draw(n: int, dtype) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=(n, *argument.shape)).astype(dtype) for argument in PROGRAM.inputs]


def test_the_code_has_streaming_stores():
    """Otherwise the tests below would compare a kernel with itself."""
    text = write_batch_driver(np.dtype(np.float64), 4, "x86_64-unknown-linux-gnu")
    assert text.count("!nontemporal") == 3  # single elements, vectors, single elements
    assert text.count("call void @store_stream") == 1


def test_same_bits_for_all_lengths_and_alignments(pair):
    direct, stream = pair
    for n in (*range(1, 2 * direct.lanes + 2), 100):
        arrays = draw(n, direct.dtype)
        expected = direct(*arrays)
        for shift in range(9):
            memory = [np.full(right.size + shift + 8, np.pi, direct.dtype) for right in expected]
            out = tuple(
                block[shift : shift + right.size].reshape(right.shape)
                for block, right in zip(memory, expected, strict=True)
            )
            stream(*arrays, out=out)
            for block, result, right in zip(memory, out, expected, strict=True):
                np.testing.assert_array_equal(result, right)
                assert np.all(block[:shift] == direct.dtype.type(np.pi))
                assert np.all(block[shift + right.size :] == direct.dtype.type(np.pi))


def test_outputs_with_gaps_keep_them(pair):
    """Rows or elements apart from each other cannot be written as one stretch."""
    direct, stream = pair
    arrays = draw(21, direct.dtype)
    expected = direct(*arrays)
    for apart in (lambda shape: (shape[0] * 2, *shape[1:]), lambda shape: (*shape[:-1], shape[-1] * 2)):
        wide = [np.full(apart(right.shape), np.pi, direct.dtype) for right in expected]
        every_second = [
            block[::2] if block.shape[0] > right.shape[0] else block[..., ::2]
            for block, right in zip(wide, expected, strict=True)
        ]
        stream(*arrays, out=tuple(every_second))
        for block, result, right in zip(wide, every_second, expected, strict=True):
            np.testing.assert_array_equal(result, right)
            assert np.count_nonzero(block == direct.dtype.type(np.pi)) == right.size


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="needs mprotect")
@pytest.mark.parametrize("at_end", [False, True])
def test_memory_outside_is_not_touched(pair, at_end):
    direct, stream = pair
    for n in range(1, 2 * direct.lanes + 2):
        arrays = draw(n, direct.dtype)
        expected = direct(*arrays)
        out = tuple(guarded(r.nbytes, at_end).view(direct.dtype).reshape(r.shape) for r in expected)
        stream(*arrays, out=out)
        for result, right in zip(out, expected, strict=True):
            np.testing.assert_array_equal(result, right)


def test_threads_stream_too(monkeypatch):
    """A batch over the threshold as a whole is streamed by every thread, with the same bits."""
    monkeypatch.setattr(instance, "PARALLEL_WORK", 0)
    threads.set_threads(1)
    n = 5000
    arrays = draw(n, np.float64)
    expected = compile(PROGRAM)(*arrays)
    monkeypatch.setattr(instance, "STREAM_BYTES", n * 8 * sum(output.size for output in PROGRAM.outputs))
    stream = compile(PROGRAM)
    try:
        for count in (1, 2, 3):
            threads.set_threads(count)
            for result, right in zip(stream(*arrays), expected, strict=True):
                np.testing.assert_array_equal(result, right)
    finally:
        threads.set_threads(None)


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("limit", [0, 1 << 60])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_constants_among_the_results(monkeypatch, limit, dtype):
    """Runs of constants, short and long, at any place, and in the last block, which overlaps the one before."""
    monkeypatch.setattr(instance, "STREAM_BYTES", limit)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        b = Builder("constants", x=(5,))
        pattern: list[float | int] = []  # a float is a constant, an int the element of x
        while len(pattern) < 200:
            value = rng.choice([0.0, -0.0, 1.5, np.nan])
            kind = rng.integers(3)
            if kind == 0:
                pattern += [int(k) for k in rng.integers(5, size=rng.integers(1, 9))]
            elif kind == 1:
                pattern += [float(value)] * int(rng.integers(1, 80))
            else:
                pattern += [0.0, 0.0, 0.0, 1.0] * int(rng.integers(1, 12))
        pattern = pattern[: int(rng.integers(100, 200))]
        x = b.read("x")
        kernel = compile(
            b.program(
                y=((len(pattern),), [x[p] if isinstance(p, int) else b.const(p) for p in pattern]),
                z=((), [b.const(7.0)]),
            ),
            dtype,
        )
        for n in (1, 3, kernel.lanes, 29):
            values = rng.normal(size=(n, 5)).astype(dtype)
            y, z = kernel(values)
            expected = np.empty((n, len(pattern)), dtype)
            for column, p in enumerate(pattern):
                expected[:, column] = values[:, p] if isinstance(p, int) else p
            np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))
            assert np.all(z == 7.0)
            apart = np.empty((n, 2 * len(pattern)), dtype)[:, ::2]
            kernel(values, out=(apart, None))
            np.testing.assert_array_equal(apart.copy().view(np.uint8), expected.view(np.uint8))


def grown(total, x):
    return total + np.sin(x[0]) * total[::-1]


def last(total, x):
    return np.concatenate([total * x[0], np.full(9, 2.5), total - 1.0]), np.array([3.0])


def summed(program: LoopBuilder, n: int) -> None:
    """A loop that writes one output row by row, and a statement after it that writes two others as a whole."""
    x, _ = program.input("x", (n,)), program.input("unread", (3,))
    rows, whole, one = (
        program.output("rows", (n, 5), 5),
        program.output("whole", (19,), 19),
        program.output("one", ()),
    )
    total = program.scratch("total", 1, 5)
    total[0] = program.step(lambda y: np.ones(5) * y[0], x[0])
    with program.each(n) as i:
        rows[i] = program.step(lambda a, b: a * b[0], total[0], x[i])
        total[0] = program.step(grown, total[0], x[i])
    whole[0], one[0] = program.step(last, total[0], x[0])


@pytest.mark.parametrize("limit", [0, 1 << 60])
def test_direct_outputs_of_programs_with_loops(monkeypatch, limit):
    """Whole outputs are written to their rows, constants among them once; those of loops are copied."""
    monkeypatch.setattr(instance, "STREAM_BYTES", limit)
    for n in (1, 4, 7):
        program, _ = structured_program(summed, n)
        assert lower.lower(program, np.dtype(float), 4, "x86_64-unknown-linux-gnu").direct == (1, 2)
        kernel = compile(program)
        for batch in (1, 3, kernel.lanes, 29):
            x = np.random.default_rng(batch).normal(size=(batch, n))
            unread = np.full((batch, 3), np.nan)
            received, expected = kernel(x, unread), run(program, x, unread)
            for result, right in zip(received, expected, strict=True):
                np.testing.assert_allclose(result, right, rtol=1e-13, atol=1e-13)
            alone = [np.asarray(part) for part in kernel(x[0].copy(), unread[0].copy())]
            for result, right in zip(alone, received, strict=True):
                np.testing.assert_array_equal(result, right[0])
            gaps = np.full((batch, 38), np.pi)
            kernel(x, unread, out=(None, gaps[:, ::2], None))
            np.testing.assert_array_equal(gaps[:, ::2], received[1])
            assert np.all(gaps[:, 1::2] == np.pi)
