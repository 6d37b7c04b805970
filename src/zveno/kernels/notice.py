"""A line on a terminal while something takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds of work before the line appears."""
PAUSE = 0.5
"""Seconds between two works up to which they are one for who waits: a first answer may need twenty short builds."""


class _Waiting:
    """Since when somebody waits: works that follow each other are one.

    Attributes:
        began: when the first of them began, in seconds of `time.perf_counter`.
        ended: when the last one did.
        line: held by the work that may show a line; one inside it, or in another thread, shows none.
    """

    def __init__(self) -> None:
        self.began = self.ended = float("-inf")
        self.line = threading.Lock()

    def left(self) -> float:
        """Seconds to wait before a work that begins now is shown."""
        now = time.perf_counter()
        if now - self.ended > PAUSE:
            self.began = now
        return max(PATIENCE - (now - self.began), 0.0)


_waiting = _Waiting()


@contextlib.contextmanager
def notice(text: str) -> Iterator[None]:
    """Show a text on stderr, if that is a terminal and the work takes more than a second; it is gone afterwards.

    Works that follow each other count as one; of a work inside another one the outer is shown.
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
