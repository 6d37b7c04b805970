"""Callbacks only mark what has changed; one thread computes, so that a fast mouse never builds a queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger("zveno.studio")
RATE = 60.0
"""Rounds a second at most."""


class Worker:
    """A thread that does what was marked, the last of each kind, and calls tickers while something plays."""

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
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that runs."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def mark(self, key: Any, work: Callable[[], None], after: float = 0.0) -> None:
        """Do this soon, or after some seconds; marked twice before it is done, it is done once, as last said.

        A mark that waits keeps the time it had: what is marked again and again still gets its turn.
        """
        with self._lock:
            due, _ = self._marks.pop(key, (time.perf_counter() + after, None))
            self._marks[key] = (due, work)
        self._wake.set()

    def play(self, key: Any, tick: Callable[[float], bool] | None) -> None:
        """Call a function of the time in every round until it returns False; None ends it."""
        with self._lock:
            self._tickers.pop(key, None)
            if tick is not None:
                self._tickers[key] = tick
        self._wake.set()

    def aside(self, key: Any, work: Callable[[], Any], then: Callable[[Any], None]) -> bool:
        """Do something long in a thread of its own, one at a time; what it returns goes to `then` here."""

        def run() -> None:
            try:
                answer = work()
            except Exception as error:
                told = error
                self.mark((key, "failed"), lambda: self._failed(told))
                return
            self.mark((key, "done"), lambda: then(answer))

        with self._lock:
            if self._job is not None and self._job.is_alive():
                return False
            self._job = threading.Thread(target=run, name="zveno studio job", daemon=True)
            self._job.start()
        return True

    def idle(self) -> bool:
        """Whether nothing is done, marked or runs aside; what plays does not count between rounds."""
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
                self._tried(work)
            for key, tick in tickers.items():
                if not self._tried(lambda tick=tick: tick(time.perf_counter())):
                    with self._lock:
                        if self._tickers.get(key) is tick:
                            del self._tickers[key]
            self._busy = False
            self.rounds += 1
            time.sleep(max(0.0, 1.0 / RATE - (time.perf_counter() - began)))

    def _pause(self) -> float | None:
        """Seconds until something is due; None if nothing is."""
        with self._lock:
            if self._tickers:
                return 1.0 / RATE
            first = min((at for at, _ in self._marks.values()), default=None)
        return None if first is None else max(0.0, first - time.perf_counter())

    def _tried(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            log.debug("a round of the studio failed", exc_info=True)
            if not self._stopped:
                self._failed(error)
            return None
