"""Threads: the same bits as without, the same errors, and a pool that survives forks and shutdowns."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from kernels.programs import Builder, binary, compile, mixed, random_program
from zveno.errors import ZvenoError
from zveno.kernels import _instance as instance
from zveno.kernels import threads
from zveno.kernels.program import Op


@pytest.fixture(autouse=True)
def _restore_threads():
    yield
    threads.set_threads(None)


@pytest.fixture
def eager(monkeypatch):
    """Kernels built in the test use threads from as many states as there are lanes."""
    monkeypatch.setattr(instance, "PARALLEL_WORK", 0)


@pytest.fixture
def calls(monkeypatch):
    """Number of batches that were given to the team."""
    seen = []
    original = threads._Job.__init__

    def counting(self, args, n, *rest):
        seen.append(n)
        original(self, args, n, *rest)

    monkeypatch.setattr(threads._Job, "__init__", counting)
    return seen


@pytest.mark.laws(after=5)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 4097])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_do_not_depend_on_the_number_of_threads(eager, calls, n, dtype):
    program = random_program(7, 150, smooth=False, n_out=30)
    kernel = compile(program, dtype)
    rng = np.random.default_rng(n)
    arrays = rng.normal(size=(n, 8)).astype(dtype), rng.normal(size=(n, 2, 3)).astype(dtype)
    with np.errstate(all="ignore"):
        threads.set_threads(1)
        expected = kernel(*arrays)
        assert not calls
        for count in (2, 3, 7):
            threads.set_threads(count)
            for result, right in zip(kernel(*arrays), expected, strict=True):
                np.testing.assert_array_equal(result.view(np.uint8), right.view(np.uint8))
    assert len(calls) == (3 if n >= kernel.lanes else 0)


def test_strides_broadcasts_and_outputs(eager, calls):
    threads.set_threads(3)
    kernel = compile(mixed())
    rng = np.random.default_rng(0)
    q, p = rng.normal(size=(40, 500, 3))[::-2, ::3], rng.normal(size=(2, 2))
    out = np.zeros((2, 167, 20)).transpose(2, 1, 0), np.zeros((20, 167, 2, 3))
    kernel(q, p, out=out)
    assert calls
    threads.set_threads(1)
    for result, right in zip(out, kernel(q, p), strict=True):
        np.testing.assert_array_equal(result, right)


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3])
def test_overlapping_output(eager, calls, shift):
    b = Builder("turn", x=(3,))
    x = b.read("x")
    kernel = compile(b.program(y=((3,), [b.add(Op.ADD, x[0], x[2]), x[0], x[1]])))
    threads.set_threads(3)
    memory = np.random.default_rng(0).normal(size=3020)
    source, target = (memory[10 + s : 3010 + s].reshape(1000, 3) for s in (0, shift))
    expected = np.stack([source[:, 0] + source[:, 2], source[:, 0], source[:, 1]], axis=-1)
    kernel(source, out=target)
    assert calls
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("place", [0, 500, 999])
def test_status_flags_of_all_threads_reach_the_caller(eager, calls, place):
    threads.set_threads(4)
    kernel = compile(binary(Op.DIV))
    x, y = np.ones(1000), np.ones(1000)
    with np.errstate(all="raise"):
        kernel(x, y)
    y[place] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in div"):
        kernel(x, y)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        kernel(x, y)
    with np.errstate(divide="ignore"):
        kernel(x, y)
    assert len(calls) == 4


def test_calls_from_many_threads_at_once(eager):
    threads.set_threads(3)
    kernel = compile(mixed())
    rng = np.random.default_rng(0)
    batches = [(rng.normal(size=(2000, 3)), rng.normal(size=(2, 2))) for _ in range(8)]
    expected = [kernel(*batch) for batch in batches]
    results: list = [None] * len(batches)

    def run(k: int) -> None:
        for _ in range(5):
            results[k] = kernel(*batches[k])

    users = [threading.Thread(target=run, args=(k,)) for k in range(len(batches))]
    for user in users:
        user.start()
    for user in users:
        user.join()
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result[0], right[0])


def test_a_pool_without_threads_is_no_obstacle(eager, calls):
    """As at the end of the interpreter, when no thread can be started any more."""
    threads.set_threads(3)
    kernel = compile(mixed())
    q, p = np.random.default_rng(0).normal(size=(500, 3)), np.eye(2)
    expected = kernel(q, p)
    threads._current_pool().shutdown()
    np.testing.assert_array_equal(kernel(q, p)[0], expected[0])
    assert len(calls) == 2


_INTERRUPT = """
import _thread, signal, threading, time, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it
from kernels.programs import random_program
from zveno.kernels import _instance as instance, threads
from kernels.programs import compile
instance.PARALLEL_WORK = 0
threads.set_threads(2)
kernel = compile(random_program(0, 300, n_out=64))
x, y = np.random.default_rng(0).normal(size=(100_000, 8)), np.ones((2, 3))
batches = (x, -x)
expected = [kernel(batch, y)[0] for batch in batches]
caught = 0
while caught < 5:
    out = kernel(x, y)
    timer = threading.Timer(0.002, _thread.interrupt_main)
    try:
        timer.start()
        for k in range(1000):
            kernel(batches[k % 2], y, out=out)
    except KeyboardInterrupt:
        caught += 1
        # Whichever call was the last one, it is complete: no mixture of the two batches.
        assert any(np.array_equal(out[0], whole) for whole in expected)
print("interrupted", caught)
"""


@pytest.mark.laws
def test_keyboard_interrupt_is_not_lost():
    """It is raised when the call has returned, and the call is complete.

    Python may note on stderr, once in 3000 interrupts, that it ignored one at the first instruction of the
    callback, where no handler can stand. The compiled loop raises it again.
    """
    run = subprocess.run(
        [sys.executable, "-c", _INTERRUPT],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, "PYTHONPATH": "tests"},
    )
    assert run.stdout.strip() == "interrupted 5", run.stderr
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("place", ["__init__", "work"])
def test_a_batch_the_team_fails_on_is_computed_without_it(eager, monkeypatch, place):
    threads.set_threads(3)
    kernel = compile(mixed())
    q, p = np.random.default_rng(0).normal(size=(500, 3)), np.eye(2)
    expected = kernel(q, p)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(threads._Job, place, fail)
    np.testing.assert_array_equal(kernel(q, p)[0], expected[0])


def test_set_threads():
    threads.set_threads(5)
    assert threads.get_threads() == 5
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(ZvenoError, match="not a number of threads"):
            threads.set_threads(wrong)  # pyright: ignore[reportArgumentType]  the point of the test
    assert threads.get_threads() == 5


def test_environment(monkeypatch):
    monkeypatch.setenv("ZVENO_THREADS", "3")
    threads.set_threads(None)
    assert threads.get_threads() == 3
    monkeypatch.setenv("ZVENO_THREADS", "many")
    with pytest.raises(ZvenoError, match="ZVENO_THREADS"):
        threads.set_threads(None)
    monkeypatch.delenv("ZVENO_THREADS")
    threads.set_threads(None)
    if hasattr(os, "sched_getaffinity"):
        assert threads.get_threads() == len(os.sched_getaffinity(0))


def test_the_callback_of_compiled_loops_outlives_every_cache():
    """Loops keep its address: freed with a cache, it took the process with it."""
    threads.set_threads(2)
    try:
        for value in vars(threads).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
        gc.collect()
        assert threads._callback is not None
        assert threads._callback_address() == threads._team.value
    finally:
        threads.set_threads(None)
