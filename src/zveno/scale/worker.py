"""What runs on a worker: one piece, with one thread, by a function that is unpickled once a process."""

from __future__ import annotations

import functools
import os
import pickle
import signal
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
    if os.getpid() != caller:
        _one_thread()
    return _work(pickled)(piece)


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


def ignore_interrupts() -> None:
    """Ctrl-C is the business of the process that gave the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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


def _culprit(value: Any, name: str = "") -> str:
    """The innermost object that cannot be pickled, by its place."""
    inner: dict[str, Any] = {}
    if isinstance(value, functools.partial):
        inner = {"the function": value.func} | {f"argument {k + 1}": v for k, v in enumerate(value.args)}
        inner |= {f"argument {key!r}": item for key, item in value.keywords.items()}
    elif hasattr(value, "__dict__") and not callable(value):
        inner = {f"attribute {key!r}": item for key, item in vars(value).items()}
    for place, item in inner.items():
        try:
            pickle.dumps(item, 5)
        except Exception:
            return _culprit(item, f"{place}{' of ' if name else ''}{name}")
    said = getattr(value, "__qualname__", None) or repr(value)[:80]
    return f"{name} ({said})" if name else said
