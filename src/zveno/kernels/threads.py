"""Thread pool for large batches.

A compiled loop with many states calls back here (see `_batch`). NumPy has by then checked, converted and broadcast
the arrays and copied those that overlap. It remains to split the loop into blocks of states. Each state is computed
independently, so the number of threads cannot change a result.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from queue import SimpleQueue
from typing import Any

from ..errors import ZvenoError

COMPLETE, INTERRUPTED = 1, 2
"""Bits of the answer to a compiled loop: the batch is complete; the user has interrupted."""

MOST_THREADS = 1024
"""Largest number of threads. More would exhaust the memory of the process before the first of them computes."""
_BLOCKS_PER_THREAD = 32
_BLOCK_MULTIPLE = 64  # states; a multiple of any number of lanes
_EXCEPTIONS = 0x3F  # every floating-point exception of any platform

_team = ctypes.c_void_p(None)
"""Pointer that compiled loops read: the function to call for a large batch, or null."""
_callback: Any = None
"""Target of `_team`. It is never released, because compiled loops keep its address."""
_chosen: int | None = None
_pool: _Pool | None = None
_lock = threading.Lock()


def get_threads() -> int:
    """Return the number of threads a large batch may use."""
    if _chosen is None:
        set_threads(None)
    assert _chosen is not None
    return _chosen


def set_threads(n: int | None) -> int:
    """Choose the number of threads for large batches, and return the previous number.

    Args:
        n: 1 to `MOST_THREADS`; None for the default, which is ZVENO_THREADS or else the number of cores that
            this process may use.

    Raises:
        ZvenoError: the number is not a positive whole number.
    """
    global _chosen, _pool
    if n is None:
        n = _default()
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_THREADS:
        remedy = f"Give a whole number from 1 to {MOST_THREADS}"
        raise ZvenoError(f"{n!r} is not a number of threads", element="n", remedy=remedy)
    previous = _default() if _chosen is None else _chosen
    with _lock:
        pool, _pool, _chosen = _pool, None, n
        _team.value = _callback_address() if n > 1 else None
    if pool is not None:
        pool.shutdown()
    return previous


def team_address() -> int:
    """Return the address where compiled loops find the function for large batches."""
    get_threads()
    return ctypes.addressof(_team)


def _default() -> int:
    text = os.environ.get("ZVENO_THREADS", "").strip()
    if text:
        if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= MOST_THREADS:
            raise ZvenoError(
                f"{text!r} is not a number of threads",
                element="environment variable ZVENO_THREADS",
                remedy=f"Give a whole number from 1 to {MOST_THREADS}",
            )
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """Threads that wait for jobs until the program ends, or until `shutdown`.

    The executors of the standard library make a future per job. Passing it to a thread takes longer than computing
    thousands of states.
    """

    def __init__(self, n: int):
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._run, name=f"zveno-{k}", daemon=True) for k in range(n)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            with contextlib.suppress(Exception):  # out of memory: the other threads do the work
                job.help()
            del job  # waiting for the next job must not keep this one and its arrays alive

    def submit(self, job: _Job) -> None:
        """Let a thread help with a job."""
        self._jobs.put(job)

    def shutdown(self) -> None:
        """Let the threads end when they have nothing to do."""
        for _ in self._threads:
            self._jobs.put(None)


def _current_pool() -> _Pool:
    global _pool
    with _lock:
        if _pool is None:
            _pool = _Pool(max((_chosen or 1) - 1, 1))
        return _pool


def _forget_pool() -> None:
    """Discard the pool after a fork: the child has none of the threads, and its locks may never be released."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _callback_address() -> int | None:
    global _callback
    if _callback is None:
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        _callback = ctypes.CFUNCTYPE(None, pointer, integer, pointer, pointer, pointer)(_run_team)
    return ctypes.cast(_callback, ctypes.c_void_p).value


@functools.cache
def _status_functions():
    from ._host import c_library

    library = c_library()
    return library.feclearexcept, library.fetestexcept, library.feraiseexcept


class _Job:
    """One call of a loop, split into blocks that threads take until none is left."""

    def __init__(self, args: int, n: int, steps: int, share: int):
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self.share = ctypes.CFUNCTYPE(None, pointer, integer, pointer, pointer, integer)(share)
        self.args, self.n, self.steps = args, n, steps
        self.next = ctypes.c_int64(0)
        block = -(-n // (_BLOCKS_PER_THREAD * get_threads()))
        self.block = -(-block // _BLOCK_MULTIPLE) * _BLOCK_MULTIPLE
        self.change = threading.Condition()
        self.helping, self.closed, self.flags = 0, False, 0

    def work(self) -> None:
        """Compute blocks until all are taken."""
        self.share(self.args, self.n, self.steps, ctypes.addressof(self.next), self.block)

    def help(self) -> None:
        """Compute blocks on another thread, and keep its floating-point status for the caller's thread."""
        with self.change:
            if self.closed:
                return
            self.helping += 1
        clear, test, _ = _status_functions()
        clear(_EXCEPTIONS)
        try:
            self.work()
        finally:
            with self.change:
                self.flags |= test(_EXCEPTIONS)
                self.helping -= 1
                self.change.notify_all()

    def close(self) -> None:
        """Wait until no thread works on the arrays, and let none begin."""
        with self.change:
            self.closed = True
            while self.helping:
                self.change.wait()

    def is_complete(self) -> bool:
        """Return True if every block of a closed job has been computed."""
        return self.next.value >= self.n


def _run_team(args: int, n: int, steps: int, share: int, answer: int) -> None:
    """Compute a large batch for a compiled loop, and write the bits COMPLETE and INTERRUPTED to address `answer`.

    No exception can pass through the loop. A signal handler may raise one at any call, so every call here stands
    inside a `try`, and handlers call nothing. The loop then interrupts Python again when the batch is complete. It
    has set `answer` to INTERRUPTED, which is right for a signal that ends this function at its first instruction.
    """
    bits = 0
    job = None
    try:
        job = _Job(args, n, steps, share)
        with contextlib.suppress(RuntimeError):  # no more threads available: this one does the work
            pool = _current_pool()
            for _ in range(get_threads() - 1):
                pool.submit(job)
        job.work()
    except MemoryError:
        pass
    except BaseException:
        bits |= INTERRUPTED
    while True:
        try:
            if job is not None:
                job.close()
                if job.flags:
                    _status_functions()[2](job.flags)
                if job.is_complete():
                    bits |= COMPLETE
            ctypes.c_int64.from_address(answer).value = bits
            return
        except MemoryError:
            pass
        except BaseException:
            bits |= INTERRUPTED
