"""Measuring: interleaved repeats, medians, CPU time on one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

middle: Callable[[list[float]], float] = statistics.median
"""What is told of several measurements; `python -m benchmarks --least` makes it the least."""


@dataclass(frozen=True)
class Row:
    """One comparison: seconds for one item (a state, a call, a pose), or errors in metres."""

    what: str
    ours: float
    rival: float
    rival_name: str
    bar: float | None = None
    """The ratio promised; None where none is."""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times faster, or more accurate, than the rival."""
        return self.rival / self.ours

    def to_dict(self) -> dict:
        return asdict(self) | {"ratio": self.ratio, "met": self.bar is None or self.ratio >= self.bar}


def interleaved(
    calls: dict[str, Callable], items: int = 1, repeats: int = 15, at_least: float = 0.01, clock=time.process_time
) -> dict[str, float]:
    """Seconds an item of each call, the median or `middle`, taken in turns so that a busy moment hits all alike.

    Args:
        calls: what to time, by name.
        items: items one call works through.
        repeats: measurements of each.
        at_least: seconds one measurement should last; calls are repeated inside it.
        clock: CPU time of the process, or `time.perf_counter` where several threads work.
    """
    if middle is min:  # short windows, more of them: some fall between what else the machine does
        repeats, at_least = 6 * repeats, at_least / 6
    loops = {}
    for name, call in calls.items():
        call()
        once = np.inf
        for _ in range(5):  # the first calls of microseconds find nothing in caches
            start = time.perf_counter()
            call()
            once = min(once, max(1e-9, time.perf_counter() - start))
            if once > at_least:
                break
        loops[name] = max(1, int(at_least / once))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            n = loops[name]
            start = clock()
            for _ in range(n):
                call()
            taken[name].append((clock() - start) / (n * items))
    return {name: middle(times) for name, times in taken.items()}
