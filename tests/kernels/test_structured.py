"""Structured programs: every interpretation computes the same, and nothing outside the arrays is touched."""

from __future__ import annotations

import ctypes
import mmap
import multiprocessing
import pickle
import tempfile
import threading
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structured_programs import WIDTH, Recipe, random_program

import zveno
from kernels.programs import compile
from kernels.test_export_c import build, needs_compiler
from kernels.test_gufunc import guarded
from tiers import examples
from zveno.errors import BuildError, ShapeError
from zveno.kernels import _lower as lower
from zveno.kernels import ops as zm
from zveno.kernels.builder import Builder, structured_program
from zveno.kernels.compile import compiled_structured
from zveno.kernels.evaluate import evaluate
from zveno.kernels.export_c import export_c
from zveno.kernels.program import check, runs
from zveno.kernels.threads import get_threads, set_threads

TOLERANCE = 1e-12
"""Lanes fuse multiplications and additions; programs are some dozen steps long and keep their digits."""


@examples(5, 25)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), batch=st.integers(0, 9), special=st.booleans())
def test_random_programs_in_numpy_and_in_lanes(seed, n, batch, special):
    recipe = Recipe(seed, n)
    structured, _ = structured_program(random_program, recipe)
    check(structured)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(batch, n, WIDTH))
    compared = np.ones(batch, bool)
    if special and batch:
        state, value = rng.integers(batch), rng.choice([np.nan, np.inf, 1e300, -0.0])
        x[state, 0] = value
        compared[state] = value != 1e300  # other rounding, another sine: only its neighbours can be compared
    with np.errstate(all="ignore"):
        expected, received = evaluate(structured, x), compiled_structured(random_program, recipe)(x)
    np.testing.assert_allclose(received[compared], expected[compared], rtol=TOLERANCE, atol=TOLERANCE)


@examples(2, 10)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4), size=st.integers(1, 6))
@example(seed=2130, n=1, size=4)  # too short to be cut
@example(seed=1, n=3, size=2)
def test_chunks_of_a_step_compute_the_same(seed, n, size):
    """Every step cut into functions of a few operations, under masks and with rows by lane."""
    recipe = Recipe(seed, n)
    x = np.random.default_rng(seed).normal(size=(5, n, WIDTH))
    structured, _ = structured_program(random_program, recipe)
    whole = compile(structured)
    with patch.object(lower, "CHUNK_SIZE", size):
        cut = compile(structured)
        long = any(run.graph.n_nodes > 2 * size for run, _ in runs(structured.body))
    assert cut.workspace > whole.workspace or not long  # slots between the chunks
    np.testing.assert_allclose(cut(x), whole(x), rtol=TOLERANCE, atol=TOLERANCE)


@needs_compiler
@examples(2, 8)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_random_programs_in_c(seed, n):
    structured, _ = structured_program(random_program, Recipe(seed, n))
    source = export_c(structured)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6, n, WIDTH))
    x[4, 0], x[5, 0] = np.nan, np.inf
    received = np.zeros((6, n + 1, WIDTH))
    memory = np.full(100_000, np.nan)
    with tempfile.TemporaryDirectory() as folder:
        function = build(source, Path(folder))
        for row, out in zip(x, received, strict=True):
            function(*(ctypes.c_void_p(array.ctypes.data) for array in (memory, row, out)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(received, evaluate(structured, x), rtol=TOLERANCE, atol=TOLERANCE)


def doubled(x):
    return 2.0 * x


def doubling(program: Builder, n: int) -> None:
    x, y = program.input("x", (n,)), program.output("y", (n,))
    with program.each(n) as i:
        y[i] = program.step(doubled, x[i])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 17])
def test_strides_tails_and_outputs(n, dtype):
    kernel = compiled_structured(doubling, n, dtype=dtype)
    rng = np.random.default_rng(n)
    for batch in (0, 1, 2, 5, 8, 33):
        x = rng.normal(size=(batch, n)).astype(dtype)
        spaced = rng.normal(size=(batch, 2 * n)).astype(dtype)[:, ::2]
        assert np.array_equal(kernel(x), 2 * x)
        assert np.array_equal(kernel(spaced), 2 * spaced)
        assert np.array_equal(kernel(x[::-1]), 2 * x[::-1])
        out = np.full((batch, 2 * n), 7.0, dtype)
        kernel(x, out=out[:, ::2])
        assert np.array_equal(out[:, ::2], 2 * x)
        assert (out[:, 1::2] == 7.0).all()
    assert np.array_equal(kernel(np.broadcast_to(np.ones(n, dtype), (5, n))), np.full((5, n), 2.0))


def test_a_wrong_shape_is_explained():
    with pytest.raises(ShapeError, match="argument x of doubling"):
        compiled_structured(doubling, 3)(np.zeros(4))


def test_a_kernel_survives_pickling():
    kernel = pickle.loads(pickle.dumps(compiled_structured(doubling, 3)))
    assert np.array_equal(kernel([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])


def test_threads_do_not_change_a_bit():
    recipe = Recipe(7, 4)
    kernel = compiled_structured(random_program, recipe)
    x = np.random.default_rng(0).normal(size=(50_000, 4, WIDTH))
    before = get_threads()
    try:
        set_threads(1)
        alone = kernel(x)
        set_threads(3)
        together = kernel(x)
    finally:
        set_threads(before)
    assert np.array_equal(alone, together)


def test_calls_from_several_threads_do_not_share_memory():
    kernel = compiled_structured(random_program, Recipe(7, 4))
    inputs = np.random.default_rng(0).normal(size=(8, 500, 4, WIDTH))
    expected = [kernel(x) for x in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(kernel(inputs[k]), expected[k]):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def down_to_one(program: Builder, bound: int) -> None:
    """Halve a number until it is at most 1, or `bound` times."""
    x, y = program.input("x", ()), program.output("y", ())
    flag = program.scratch("flag", 1, 1, zero=True)
    flag[0], y[0] = program.step(lambda x: (np.array([zm.less(1.0, x[0])]), x), x[0])
    with program.repeat_while(flag, bound):
        y[0], flag[0] = program.step(lambda y: (0.5 * y, np.array([zm.less(1.0, 0.5 * y[0])])), y[0])


def test_lanes_wait_for_each_other_and_stop_at_the_bound():
    structured, _ = structured_program(down_to_one, 5)
    x = np.array([0.5, 1.0, 3.0, 8.0, 20.0, 1e6, np.nan, np.inf])
    expected = [0.5, 1.0, 0.75, 1.0, 0.625, 1e6 / 32, np.nan, np.inf]
    np.testing.assert_array_equal(evaluate(structured, x), expected)
    np.testing.assert_array_equal(compiled_structured(down_to_one, 5)(x), expected)


def inverse_while(program: Builder, bound: int) -> None:
    """Count a number down and divide by it: lanes that have reached zero wait and must not be heard of."""
    x, y = program.input("x", ()), program.output("y", (), zero=True)
    left = program.scratch("left", 1, 1, zero=True)
    left[0] = program.step(doubled, x[0])
    with program.repeat_while(left, bound):
        y[0], left[0] = program.step(inverse_and_less, left[0])


def inverse_and_less(x):
    return 1.0 / x, x - 1.0


def test_waiting_lanes_raise_no_warnings():
    kernel = compiled_structured(inverse_while, 100)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(kernel(np.array([0.5, 1.0, 7.0, 25.0, 0.0])), [1.0, 1.0, 1.0, 1.0, 0.0])


def _leaving(program: Builder, case: str) -> None:
    x, y = program.input("x", (4,)), program.output("y", (4,))
    table = program.index("table", [0, 1, 2, 4])
    memory = program.scratch("memory", 4, 1)
    with program.each(5 if case == "counter" else 4) as i:
        row = {"counter": i, "shift": i + 1, "table": table[i], "table of a shift": table[i + 1], "number": 4}[case]
        memory[row] = program.step(doubled, x[0])
    y[0, 4] = program.step(doubled, x[0, 4])


@pytest.mark.parametrize("case", ["counter", "shift", "table", "table of a shift", "number"])
def test_what_would_leave_an_array_is_refused(case):
    with pytest.raises(BuildError, match=r"rows|entries"):
        compiled_structured(_leaving, case)


def test_neither_inputs_nor_tables_are_written():
    def writes_its_input(program: Builder, n: int) -> None:
        x, y = program.input("x", (n,)), program.output("y", (n,))
        y[0] = program.step(doubled, x[0])
        x[0] = program.step(doubled, x[0])

    with pytest.raises(BuildError, match="must not be written"):
        compiled_structured(writes_its_input, 1)


def test_zeros_that_stay_zero_are_not_stored():
    def planar(program: Builder, n: int) -> None:
        x, y = program.input("x", (n,)), program.output("y", (3,))
        place = program.scratch("place", n + 1, 3, zero=True)
        with program.each(n) as i:
            place[i + 1] = program.step(moved_in_plane, place[i], x[i])
        y[0, 3] = program.step(lambda p: p, place[n])

    structured, outline = structured_program(planar, 5)
    assert outline.patterns["place"] == (0, 1)
    x = np.random.default_rng(0).normal(size=(6, 5))
    expected = np.stack([np.cos(x).sum(1), np.sin(x).sum(1), np.zeros(6)], axis=1)
    np.testing.assert_allclose(evaluate(structured, x), expected, atol=1e-14)
    np.testing.assert_allclose(compiled_structured(planar, 5)(x), expected, atol=1e-14)


def moved_in_plane(p, x):
    return np.array([p[0] + zm.cos(x[0]), p[1] + zm.sin(x[0]), 2.0 * p[2]])


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="needs mprotect")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("batch", [1, 3, 4, 9])
def test_nothing_beside_the_arrays_is_touched(batch, at_end):
    kernel = compiled_structured(random_program, Recipe(7, 3))
    x = np.random.default_rng(0).normal(size=(batch, 3, WIDTH))
    given = guarded(x.nbytes, at_end).view(float).reshape(x.shape)
    given[...] = x
    expected = kernel(x)
    out = guarded(expected.nbytes, at_end).view(float).reshape(expected.shape)
    kernel(given, out=out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_another_process_computes_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    kernel = zveno.load("ur5").kernel("inverse_dynamics", engine="loop")
    q, v, a = np.random.default_rng(0).normal(size=(3, 7, 6))
    with multiprocessing.get_context(method).Pool(1) as pool:
        received = pool.apply(kernel, (q, v, a))
    np.testing.assert_array_equal(received, kernel(q, v, a))
