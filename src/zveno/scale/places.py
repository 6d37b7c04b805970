"""Where work goes: this process, threads, spawned processes, any Executor; Dask clusters are in `cluster`."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ..errors import ZvenoError
from ..kernels.threads import get_threads
from .worker import begin_worker, pickled_work, run_piece

MOST_PROCESSES = 1024
AHEAD = 4
"""Pieces under way for every worker: one computed, the others on their way."""
LEAST = 8
"""Pieces under way at least, so that an adaptive cluster sees that there is work."""


class Workers(ABC):
    """Workers that are given pieces of one work."""

    @abstractmethod
    def submit(self, piece: Any) -> Future[Any]:
        """A piece on its way."""

    @abstractmethod
    def count(self) -> int:
        """How many pieces are computed at a time."""

    def window(self) -> int:
        """Pieces under way at a time."""
        return max(LEAST, AHEAD * self.count())

    def check(self) -> None:  # noqa: B027  (most are this machine's)
        """Raises an error if nothing can be expected any more; asked while nothing comes."""

    def renew(self) -> None:
        """New workers in place of those that died."""
        raise ZvenoError("the workers were lost", remedy="Start them, and run again with the checkpoint")

    def answer(self, future: Future[Any], number: int) -> Any:
        """What a piece gave, or its error with the number of the piece."""
        try:
            return future.result()
        except Exception as error:
            error.add_note(f"in piece {number}")
            raise

    def close(self) -> None:  # noqa: B027  (most have nothing to close)
        """Nothing is computed any more."""


class Here(Workers):
    """This process: a piece is computed when it is submitted."""

    def __init__(self, work: Callable[[Any], Any]):
        self.work = work

    def submit(self, piece: Any) -> Future[Any]:
        """See `Workers`."""
        future: Future[Any] = Future()
        try:
            future.set_result(self.work(piece))
        except Exception as error:
            future.set_exception(error)
        return future

    def count(self) -> int:
        """See `Workers`."""
        return 1

    def window(self) -> int:
        """See `Workers`: a piece is done before the next begins."""
        return 1


class Given(Workers):
    """An Executor of the user, or threads of this process."""

    def __init__(self, pool: Executor, call: Callable[[Any], Any], n: int, own: bool = False):
        self.pool: Executor = pool
        self.call = call
        self.n: int = n
        self.own: bool = own

    def submit(self, piece: Any) -> Future[Any]:
        """See `Workers`."""
        try:
            return self.pool.submit(self.call, piece)
        except BrokenExecutor:
            raise
        except RuntimeError as error:  # it was shut down
            raise ZvenoError(f"takes no work: {error}", element="on", remedy="Give one that is open") from error

    def count(self) -> int:
        """See `Workers`."""
        return self.n

    def close(self) -> None:
        """See `Workers`."""
        if self.own:
            self.pool.shutdown(wait=True, cancel_futures=True)


class Processes(Workers):
    """Spawned processes of this machine: calibrations and simulations gain nothing from threads."""

    def __init__(self, pickled: bytes, n: int):
        self.pickled: bytes = pickled
        self.n: int = n
        self._pool = self._new()
        self._under_way: set[Future[Any]] = set()

    def _new(self) -> ProcessPoolExecutor:
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.n, mp_context=context, initializer=begin_worker)

    def submit(self, piece: Any) -> Future[Any]:
        """See `Workers`."""
        future = self._pool.submit(run_piece, self.pickled, os.getpid(), piece)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def count(self) -> int:
        """See `Workers`."""
        return self.n

    def renew(self) -> None:
        """See `Workers`."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        """See `Workers`: after Ctrl-C or an error nobody waits for pieces that are under way, however long."""
        processes = list((self._pool._processes or {}).values())
        for future in list(self._under_way):
            future.cancel()
        if self._under_way:
            for process in processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def workers_of(on: Any, work: Callable[[Any], Any]) -> Iterator[Workers]:
    """The workers that `on` means, checked; see `fold`."""
    workers = _chosen(on, work)
    try:
        yield workers
    finally:
        workers.close()


def _chosen(on: Any, work: Callable[[Any], Any]) -> Workers:
    if on is None or (isinstance(on, int) and not isinstance(on, bool)):
        n = get_threads() if on is None else on
        if not 1 <= n <= MOST_PROCESSES:
            raise ZvenoError(f"{n} processes", element="on", remedy=f"Give 1 to {MOST_PROCESSES}")
        return Processes(pickled_work(work, by_value=False), n)
    if isinstance(on, str) and on == "here":
        return Here(work)
    if isinstance(on, str) and on == "threads":
        n = get_threads()
        return Given(ThreadPoolExecutor(n), work, n, own=True)
    if isinstance(on, ThreadPoolExecutor):
        return Given(on, work, _size(on))
    if isinstance(on, Executor):
        return Given(on, functools.partial(run_piece, pickled_work(work, by_value=False), os.getpid()), _size(on))
    if (isinstance(on, str) and "://" in on) or type(on).__module__.partition(".")[0] == "distributed":
        from .cluster import Cluster

        return Cluster(on, work)
    raise ZvenoError(
        f"{on!r:.100} names no workers",
        element="on",
        remedy='Give a number of processes, "here", "threads", "tcp://host:port", a Dask client or an Executor',
    )


def _size(pool: Executor) -> int:
    return int(getattr(pool, "_max_workers", None) or get_threads())
