"""Worker thread of the studio. Callbacks only mark changes, so that fast input never builds up a queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

log: logging.Logger = logging.getLogger("zveno.studio")
RATE = 60.0
"""Maximum number of rounds per second."""


class Worker:
    """Thread that runs the most recent work marked under each key, and calls tickers during playback."""

    def __init__(self, failed: Callable[[BaseException], None]):
        self._failed = failed
        self._marks: dict[Any, tuple[float, Callable[[], None]]] = {}
        self._tickers: dict[Any, Callable[[float], bool]] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._busy = False
        self._job: threading.Thread | None = None
        self.rounds: int = 0
        self._thread = threading.Thread(target=self._run, name="zveno studio", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current round."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def mark(self, key: Any, work: Callable[[], None], after: float = 0.0) -> None:
        """Schedule work under a key, optionally after a delay; work marked again under the same key replaces it.

        Replaced work keeps its due time, so that work that is marked repeatedly still runs.
        """
        with self._lock:
            due, _ = self._marks.pop(key, (time.perf_counter() + after, None))
            self._marks[key] = (due, work)
        self._wake.set()

    def play(self, key: Any, tick: Callable[[float], bool] | None) -> None:
        """Call a function of time in every round until it returns False; None removes it."""
        with self._lock:
            self._tickers.pop(key, None)
            if tick is not None:
                self._tickers[key] = tick
        self._wake.set()

    def aside(self, key: Any, work: Callable[[], Any], then: Callable[[Any], None]) -> bool:
        """Run long work in a separate thread, one at a time; pass its result to `then` in this thread."""

        def run() -> None:
            try:
                answer = work()
            except Exception as error:
                failure = error
                self.mark((key, "failed"), lambda: self._failed(failure))
                return
            self.mark((key, "done"), lambda: then(answer))

        with self._lock:
            if self._job is not None and self._job.is_alive():
                return False
            self._job = threading.Thread(target=run, name="zveno studio job", daemon=True)
            self._job.start()
        return True

    def idle(self) -> bool:
        """True if no work is running, marked or in a separate thread; playback does not count between rounds."""
        with self._lock:
            return not self._busy and not self._marks and (self._job is None or not self._job.is_alive())

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause())
            self._wake.clear()
            began = time.perf_counter()
            with self._lock:
                due = {key: work for key, (at, work) in self._marks.items() if at <= began}
                self._marks = {key: mark for key, mark in self._marks.items() if key not in due}
                tickers = dict(self._tickers)
                self._busy = True
            for work in due.values():
                self._run_safely(work)
            for key, tick in tickers.items():
                if not self._run_safely(lambda tick=tick: tick(time.perf_counter())):
                    with self._lock:
                        if self._tickers.get(key) is tick:
                            del self._tickers[key]
            self._busy = False
            self.rounds += 1
            time.sleep(max(0.0, 1.0 / RATE - (time.perf_counter() - began)))

    def _pause(self) -> float | None:
        """Time until the next due work, s; None if there is none."""
        with self._lock:
            if self._tickers:
                return 1.0 / RATE
            first = min((at for at, _ in self._marks.values()), default=None)
        return None if first is None else max(0.0, first - time.perf_counter())

    def _run_safely(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            log.debug("a round of the studio failed", exc_info=True)
            if not self._stopped:
                self._failed(error)
            return None
