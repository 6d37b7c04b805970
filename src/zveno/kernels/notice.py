"""A line on a terminal while something takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds of work before the line appears."""


@contextlib.contextmanager
def notice(text: str) -> Iterator[None]:
    """Show a text on stderr, if that is a terminal and the work takes more than a second; it is gone afterwards."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    shown: list[bool] = []

    def show() -> None:
        shown.append(True)
        stream.write(f"{text} …")
        stream.flush()

    timer = threading.Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
