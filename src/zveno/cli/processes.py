"""Process pool of `--workers N`."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from ..errors import ZvenoError

MOST = 1024
"""Maximum number of processes."""


@contextmanager
def process_pool(n: int) -> Iterator[ProcessPoolExecutor]:
    """Spawn n processes; an error or Ctrl-C does not wait for their work."""
    if not 1 <= n <= MOST:
        raise ZvenoError(f"must be 1 to {MOST}, got {n}", element="--workers", remedy="Give the number of cores")
    pool = ProcessPoolExecutor(n, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Set up a worker that ends on Ctrl-C without a traceback, and with its parent process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
