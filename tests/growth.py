"""How the time of a task grows with its size, measured so that a busy machine does not decide."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

LEAST = 0.05
"""CPU seconds below which a ratio says nothing."""
TIMES_LARGER = 4
LINEAR = 9.0
"""Time of an input four times as large over that of the small one: 4 if linear, 16 if quadratic."""


def cpu_time(work: Callable[[], object]) -> float:
    """CPU seconds of one call in this thread, garbage collection left out.

    A collection walks every object that the tests before have left: up to 0.2 s, whatever is read.
    """
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        gc.enable()


def grows_linearly(task: Callable[[int], Callable[[], object]], n: int) -> bool:
    """Whether `task(4 n)` takes at most nine times as long as `task(n)`.

    Noise only adds time, so the least of several calls is the nearest to the truth; they are repeated only where
    the first pair says no.
    """

    def ratio(times: int) -> float:
        pairs = [(cpu_time(task(TIMES_LARGER * n)), cpu_time(task(n))) for _ in range(times)]  # taking turns
        large, small = (min(column) for column in zip(*pairs, strict=True))
        return 1.0 if large <= LEAST else large / max(small, LEAST / TIMES_LARGER)

    task(n // 10)()  # imports
    return ratio(1) < LINEAR or ratio(5) < LINEAR
