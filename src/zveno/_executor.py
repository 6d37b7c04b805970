"""Batches distributed over the workers of any `concurrent.futures.Executor`: `map_pieces`.

Results come in the order of the pieces, and a piece is computed the same way on every worker. So results have the
same bits for any executor and any number of workers.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .errors import ShapeError, ZvenoError
from .fit.threads import one_thread
from .kernels.threads import get_threads, set_threads
from .progress import Progress, ProgressBar

P = TypeVar("P")
A = TypeVar("A")
AHEAD = 2
"""Pieces submitted per worker: one is computed while the next one is transferred."""
REMEMBERED = 4
"""Number of functions that a worker process keeps, with the robots, tables and kernels that they hold."""
SETTLED = 10.0
"""Seconds for a broken executor to cancel its other pieces."""
REMEDY = "Give an open one: ProcessPoolExecutor(4) of concurrent.futures, client.get_executor() of Dask, …"
SEE_WHY = "Leave executor out to see why; too little memory is a usual reason"


def cut(size: int, piece: int, first: int = 0) -> list[tuple[int, int]]:
    """Split [first, first + size) into ranges (start, stop) of `piece` numbers; the last one may be shorter."""
    for value, name in ((size, "size"), (piece, "piece")):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ShapeError(f"must be a positive whole number, got {value!r}", element=name)
    return [(start, min(start + piece, first + size)) for start in range(first, first + size, piece)]


def stream(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of piece `number`, which does not depend on the worker."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def map_pieces(
    work: Callable[[P], A], pieces: Sequence[P], *, executor: Executor | None = None, progress: Progress = None
) -> Generator[A, None, None]:
    """Yield `work(piece)` for every piece, in the order of the pieces.

    At most two pieces per worker are submitted at a time. Each one runs with one kernel thread and one BLAS thread.
    Pieces of a worker process that died are submitted once more. The end of the iteration, for any reason, cancels
    the pieces that have not begun. The executor is left open.

    Args:
        work: function of a piece; must be picklable for other processes.
        pieces: the pieces, whose sizes must not depend on the number of workers; see `cut` and `stream`.
        executor: the executor; this process computes if None.
        progress: True to show a bar, or a function of (done, total) pieces.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise ZvenoError(
            f"must be an Executor, got {type(executor).__name__} {executor!r:.60}",
            element="executor",
            remedy=REMEDY,
        )
    return _answers(work, pieces, executor, progress)


def _answers(
    work: Callable[[P], A], pieces: Sequence[P], executor: Executor | None, progress: Progress
) -> Generator[A, None, None]:
    if executor is None:
        answers: Generator[A, None, None] = (work(piece) for piece in pieces)
    else:
        answers = _Shared(work, pieces, executor).answers()
    with ProgressBar("working", progress) as bar, closing(answers):
        for number, answer in enumerate(answers):
            bar(number + 1, len(pieces))
            yield answer


@dataclass
class _Piece:
    """A submitted piece: the number of earlier submissions, and its future."""

    number: int
    lost: int
    future: Future[Any]


class _Shared:
    """One call of `map_pieces` on an executor."""

    def __init__(self, work: Callable[[Any], Any], pieces: Sequence[Any], executor: Executor):
        self.work, self.pieces = _Work(os.urandom(8).hex(), work), pieces
        self.pool = self.given = executor
        self.under_way: deque[_Piece] = deque()

    def answers(self) -> Generator[Any, None, None]:
        """Yield the results in the order of the pieces."""
        given_out = 0
        try:
            while self.under_way or given_out < len(self.pieces):
                most = AHEAD * _workers(self.pool)
                while given_out < len(self.pieces) and len(self.under_way) < most:
                    self.under_way.append(_Piece(given_out, 0, self._submitted(given_out, 0)))
                    given_out += 1
                try:
                    answer = self.under_way[0].future.result()
                except BrokenExecutor as error:
                    self._give_out_again(error)
                    continue
                except Exception as error:
                    other = self._explained(error, self.under_way[0].number)
                    if other is None:
                        raise
                    raise other from error
                self.under_way.popleft()
                yield answer
        finally:
            for piece in self.under_way:
                piece.future.cancel()
            if self.pool is not self.given:
                self.pool.shutdown(wait=False, cancel_futures=True)

    def _submitted(self, number: int, lost: int) -> Future[Any]:
        # Dask returns one result for equal calls, so a retry must differ from the first call.
        try:
            return self.pool.submit(_run, self.work, self.pieces[number], lost)
        except Exception as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def _give_out_again(self, error: BrokenExecutor) -> None:
        """Resubmit pieces lost with a worker process; raises an error that names pieces lost twice."""
        wait([piece.future for piece in self.under_way], SETTLED)
        gone = [
            piece
            for piece in self.under_way
            if not piece.future.done()
            or piece.future.cancelled()
            or isinstance(piece.future.exception(), BrokenExecutor)
        ]
        twice = [piece.number for piece in gone if piece.lost]
        if twice:
            which = f"piece {twice[0]}" if len(twice) == 1 else f"pieces {twice[0]} to {twice[-1]}"
            raise ZvenoError(
                f"a worker process died twice during {which} of {len(self.pieces)}",
                element="executor",
                remedy=f"{SEE_WHY}. A script that spawns processes must begin its work under "
                '`if __name__ == "__main__":`',
            ) from error
        broken, self.pool = self.pool, _renewed(self.pool)
        if broken is not self.given:
            broken.shutdown(wait=False)
        for piece in gone:
            piece.lost += 1
            piece.future = self._submitted(piece.number, piece.lost)

    def _explained(self, error: Exception, number: int) -> ZvenoError | None:
        """Return a clear error in place of one of the executor; None if the work itself failed."""
        which = f"piece {number} of {len(self.pieces)}"
        if type(error).__name__ == "KilledWorker":  # from Dask, after it has tried several workers
            return ZvenoError(f"every worker that computed {which} died", element="executor", remedy=SEE_WHY)
        if isinstance(error, CancelledError):
            return ZvenoError(f"{which} was cancelled, or its workers were lost", element="executor", remedy=REMEDY)
        if isinstance(error, RuntimeError) and "after shutdown" in str(error):
            return ZvenoError("was shut down", element="executor", remedy=REMEDY)
        if any(word in str(error) for word in ("pickle", "serialize", "local object")):
            try:
                pickle.dumps((self.work, self.pieces[number]), 5)
            except Exception as reason:
                return ZvenoError(
                    f"an argument cannot be sent to workers: {reason}",
                    element="executor",
                    remedy="Define functions at the top of a module, and give no locks or open files; "
                    "ThreadPoolExecutor sends nothing",
                )
        return None


def _workers(executor: Executor) -> int:
    """Return the number of pieces an executor computes at a time; adaptive clusters grow."""
    client: Any = getattr(executor, "_client", None)  # of Dask
    if hasattr(client, "nthreads"):
        try:
            return max(1, sum(client.nthreads().values()))
        except (OSError, TimeoutError):  # the scheduler is lost; the next result reports it
            return 1
    known = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return int(known or os.cpu_count() or 1)


def _renewed(executor: Executor) -> Executor:
    """Return a new pool in place of a broken process pool; other executors are returned as they are."""
    from concurrent.futures.process import ProcessPoolExecutor

    if not isinstance(executor, ProcessPoolExecutor):
        return executor
    made: Any = executor
    return ProcessPoolExecutor(
        made._max_workers,
        mp_context=made._mp_context,
        initializer=made._initializer,
        initargs=made._initargs,
        max_tasks_per_child=made._max_tasks_per_child,
    )


class _Work:
    """A function that is kept on arrival: its robots, tables and kernels are made once per process."""

    def __init__(self, name: str, function: Callable[[Any], Any], sent: bool = False):
        self.name, self.function, self.sent = name, function, sent

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.name, self.function)


_kept: OrderedDict[str, _Work] = OrderedDict()


def _arrived(name: str, function: Callable[[Any], Any]) -> _Work:
    work = _kept.setdefault(name, _Work(name, function, sent=True))
    while len(_kept) > REMEMBERED:
        _kept.popitem(last=False)
    return work


def _run(work: _Work, piece: Any, _lost: int) -> Any:
    """Compute a piece on a worker."""
    with _single_threaded:
        try:
            return work.function(piece)
        except Exception as error:
            if work.sent and not _can_return(error):
                raise RuntimeError(f"{type(error).__name__}: {error}") from None
            raise


def _can_return(error: Exception) -> bool:
    """Return True if an error can be pickled and unpickled. One that cannot breaks a process pool."""
    try:
        pickle.loads(pickle.dumps(error, 5))
    except Exception:
        return False
    return True


class _SingleThreaded:
    """One kernel thread and one BLAS thread while any piece runs in this process."""

    def __init__(self) -> None:
        self.lock, self.pieces, self.before = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.pieces:
                self.before.enter_context(one_thread())
                if (threads := get_threads()) != 1:
                    self.before.callback(set_threads, threads)
                    set_threads(1)
            self.pieces += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.pieces -= 1
            if not self.pieces:
                self.before.close()


_single_threaded = _SingleThreaded()
