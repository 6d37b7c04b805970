"""Single calls: references, memory, threads and processes."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import zveno
from kernels.single_calls import made, owner, several
from zveno.kernels import _single_call as interpreter

pytestmark = pytest.mark.skipif(interpreter.interpreter() is None, reason="the ufunc is used for every call here")


@pytest.mark.laws
def test_references_over_a_million_calls():
    kernel = made(several, x=(3,), s=())
    one = made(lambda x, y: x * y / y[0], x=(3,), y=(3,))
    x, s, out, zero = np.ones(3), np.ones(()), np.ones(3), np.zeros(3)
    things = (x, s, out, zero, np.ndarray, np.dtype(float), kernel, one, owner(one), None, "out")

    def run(n):
        for _ in range(n):
            kernel(x, s)
            one(x, x)
            one(x, x, out=out)
        with np.errstate(all="ignore"):
            for _ in range(n // 40):
                one(x, zero)  # raises a flag
                one(x, zero, out=out)
                one([1.0, 2.0, 3.0], x)
        for _ in range(n // 400):
            for wrong in ((x[:2], x), (x,), (x, None)):
                with contextlib.suppress(zveno.errors.ShapeError):
                    one(*wrong)

    run(2000)
    gc.collect()
    before, blocks = [sys.getrefcount(thing) for thing in things], sys.getallocatedblocks()
    run(340_000)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in things]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 100
    assert sys.getallocatedblocks() - blocks < 1000


def test_no_memory():
    testing = pytest.importorskip("_testcapi")
    kernel = made(several, x=(3,), s=())
    x, s = np.ones(3), np.ones(())
    kernel(x, s)
    blocks = sys.getallocatedblocks()
    failed = 0
    for start in range(12):  # the first, second … allocation of the call fails
        for _ in range(20):
            try:
                testing.set_nomemory(start, start + 1)
                kernel(x, s)
            except MemoryError:
                failed += 1
            finally:
                testing.remove_mem_hooks()
    assert failed >= 60
    assert sys.getallocatedblocks() - blocks < 100
    assert kernel(x, s)[1] == 1.0


@pytest.mark.laws
def test_the_function_outlives_its_kernel():
    call = made(lambda x: 2 * x, x=(3,)).__call__
    gc.collect()
    others = [made(lambda x: x * x[0], x=(3,)) for _ in range(3)]
    gc.collect()
    assert np.array_equal(call(np.ones(3)), [2, 2, 2])
    assert np.array_equal(others[0](np.ones(3)), [1, 1, 1])


# ------------------------------------------------------------------------------------ threads and processes


def test_threads():
    """Each thread has its own arrays and its own way to treat floating-point errors."""
    kernel = made(lambda x, y: x / y, x=(3,), y=(3,))
    wrong = []

    def work(k):
        x, ones, zeros, out = np.full(3, float(k + 1)), np.ones(3), np.zeros(3), np.empty(3)
        mode = "raise" if k % 2 else "ignore"
        with np.errstate(all=mode):
            for _ in range(20_000):
                if kernel(x, ones)[0] != k + 1 or kernel(x, ones, out=out) is not out or out[2] != k + 1:
                    wrong.append(k)
            for _ in range(200):
                try:
                    kernel(x, zeros)
                    raised = False
                except FloatingPointError:
                    raised = True
                if raised != (mode == "raise"):
                    wrong.append(mode)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_child(robot, state, queue):
    queue.put((robot.inverse_dynamics(*state), robot.energy(*state[:2])))


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_robots_in_other_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    robot = zveno.load("planar2").with_gravity((1.0, 2.0, 3.0))
    state = tuple(np.random.default_rng(0).normal(size=(3, 2)))
    torques = robot.inverse_dynamics(*state)
    copy = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(copy.inverse_dynamics(*state), torques)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(robot, state, queue))
    child.start()
    try:
        results = queue.get(timeout=60)
    finally:
        child.join(timeout=60)
    assert child.exitcode == 0
    assert np.array_equal(results[0], torques)
    assert results[1] == robot.energy(*state[:2])


EMPTIED = """
import ctypes, functools, gc
import zveno
robot = zveno.load("puma560")
q = robot.random(rng=0)
T = robot.forward_kinematics(q)
for thing in gc.get_objects():
    if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith("zveno"):
        thing.cache_clear()
gc.collect()
# What was freed is used again: by numbers that are no addresses, in blocks of every size.
taken = [(ctypes.c_void_p * n)(*range(1, n + 1)) for n in range(1, 80) for _ in range(100)]
for _ in range(100):
    assert (robot.forward_kinematics(q) == T).all()
"""


def test_calls_outlive_every_cache():
    """The table of the interpreter was freed with its cache, and a call read it."""
    run = subprocess.run([sys.executable, "-c", EMPTIED], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
