"""Notice on the terminal during a long operation."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds of work before the notice appears."""
PAUSE = 0.5
"""Longest pause in seconds between two operations that count as one. A first result may need twenty short
builds."""


class _Waiting:
    """Waiting time of the user: operations that follow each other count as one.

    Attributes:
        began: start of the first operation, in seconds of `time.perf_counter`.
        ended: end of the last operation.
        line: lock of the operation that may show a notice. Nested or parallel operations show none.
    """

    def __init__(self) -> None:
        self.began = self.ended = float("-inf")
        self.line = threading.Lock()

    def left(self) -> float:
        """Return the seconds to wait before an operation that begins now is shown."""
        now = time.perf_counter()
        if now - self.ended > PAUSE:
            self.began = now
        return max(PATIENCE - (now - self.began), 0.0)


_waiting = _Waiting()


@contextlib.contextmanager
def notice(text: str) -> Iterator[None]:
    """Show a text on stderr while the work takes more than a second, if stderr is a terminal; then remove it.

    Operations that follow each other count as one. Of nested operations only the outer one is shown.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty() or not _waiting.line.acquire(blocking=False):
        yield
        return
    shown: list[bool] = []

    def show() -> None:
        shown.append(True)
        stream.write(f"{text} …")
        stream.flush()

    timer = threading.Timer(_waiting.left(), show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        _waiting.ended = time.perf_counter()
        _waiting.line.release()
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
