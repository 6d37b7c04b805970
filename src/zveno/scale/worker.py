"""What runs on a worker: one piece, with one thread, by a function that is unpickled once a process."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import re
import signal
import threading
from collections.abc import Callable
from typing import Any

from ..errors import ZvenoError
from ..kernels.threads import get_threads, set_threads

KEPT = 4
"""Functions that a process keeps, with the robots and kernels they hold."""


def run_piece(pickled: bytes, caller: int, piece: Any) -> Any:
    """The answer to a piece.

    A process of its own takes one thread, since other workers have the other cores; that of the `caller`, a process
    number, keeps its threads.
    """
    if os.getpid() == caller:
        return _work(pickled)(piece)
    _one_thread()
    try:
        return _work(pickled)(piece)
    except Exception as error:
        if _travels(error):
            raise
        # One that cannot be unpickled would take the whole pool of processes with it.
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _travels(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error, 5))
    except Exception:
        return False
    return True


def run_checked_piece(pickled: bytes, caller: int, expected: str, piece: Any) -> Any:
    """The same on a worker that may have come after all others were asked, with other sources."""
    from .digest import sources

    if sources() != expected:
        raise ZvenoError(
            "it came while others worked, and has another version or other sources of zveno",
            element=f"worker {os.getpid()}",
            remedy="Install the same zveno on all workers, and start them again",
        )
    return run_piece(pickled, caller, piece)


@functools.lru_cache(maxsize=KEPT)
def _work(pickled: bytes) -> Callable[[Any], Any]:
    return pickle.loads(pickled)


@functools.cache
def _limited() -> Any:
    import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be there to be found)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")


def _one_thread() -> None:
    _limited()
    if get_threads() != 1:
        set_threads(1)


def begin_worker() -> None:
    """What a spawned process does first: Ctrl-C is the business of the process that gave the work, and where that
    is killed, nobody else would end this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def pickled_work(work: Callable[[Any], Any], by_value: bool) -> bytes:
    """The function as bytes; by value where workers do not have the module it is defined in."""
    try:
        if by_value:
            import cloudpickle

            return cloudpickle.dumps(work)
        return pickle.dumps(work, 5)
    except Exception as error:
        raise ZvenoError(
            f"{_culprit(work)} cannot be sent to workers: {error}",
            element="work",
            remedy="Define functions at the top of a module, bind arguments by functools.partial, and leave out "
            'open files, locks and generators; on="here" or on="threads" sends nothing',
        ) from error


def not_sent(error: Exception, piece: Any, number: int) -> ZvenoError | None:
    """What to say of a piece that did not reach a worker, or whose answer did not come back; None of others."""
    if not isinstance(error, pickle.PicklingError) and not _UNSENT.search(str(error)):
        return None
    try:
        pickle.dumps(piece, 5)
    except Exception as reason:
        return ZvenoError(
            f"{_culprit(piece)} cannot be sent to workers: {reason}",
            element=f"piece {number}",
            remedy="Give numbers, texts, arrays or other plain values as pieces",
        )
    return ZvenoError(
        f"its answer cannot be sent back: {error}",
        element=f"piece {number}",
        remedy="Return numbers, texts, arrays or other plain values",
    )


_UNSENT = re.compile(r"pickle|serialize", re.IGNORECASE)


def _culprit(value: Any, name: str = "") -> str:
    """The innermost object that cannot be pickled, by its place."""
    inner: dict[str, Any] = {}
    if isinstance(value, functools.partial):
        inner = {"the function": value.func} | {f"argument {k + 1}": v for k, v in enumerate(value.args)}
        inner |= {f"argument {key!r}": item for key, item in value.keywords.items()}
    elif isinstance(value, tuple | list):
        inner = {f"item {k}": item for k, item in enumerate(value)}
    elif isinstance(value, dict):
        inner = {f"entry {key!r}": item for key, item in value.items()}
    elif hasattr(value, "__dict__") and not callable(value):
        inner = {f"attribute {key!r}": item for key, item in vars(value).items()}
    for place, item in inner.items():
        try:
            pickle.dumps(item, 5)
        except Exception:
            return _culprit(item, f"{place}{' of ' if name else ''}{name}")
    said = getattr(value, "__qualname__", None) or repr(value)[:80]
    return f"{name} ({said})" if name else said
