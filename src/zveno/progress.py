"""A progress bar on stderr for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

PATIENCE = 1.0
"""Seconds of work before a bar appears."""
REFRESH = 0.1
"""Seconds between two changes of a bar."""


Progress = bool | Callable[[float, float], object] | None
"""Argument of tasks: whether a bar is shown (None: on a terminal), or a function of (done, total)."""


class ProgressBar:
    """A context manager that is called with (done, total) while the work goes on.

    Args:
        what: a verb that says what is being done.
        wanted: whether a bar may appear; None where stderr is a terminal; or a function that is called instead.
    """

    shown: ClassVar[ProgressBar | None] = None
    """The one that is on the terminal: work inside of other work shows none of its own."""

    def __init__(self, what: str, wanted: Progress = None) -> None:
        self.what = what
        self.call: Callable[[float, float], object] | None = wanted if callable(wanted) else None
        self.wanted: bool = sys.stderr.isatty() if wanted is None else bool(wanted)
        self._next = time.monotonic() + PATIENCE
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: float, total: float) -> None:
        """`done` of `total` is reached."""
        if self.call is not None:
            self.call(done, total)
            return
        if not self.wanted or time.monotonic() < self._next:
            return
        if self._bar is None:
            if ProgressBar.shown is not None:
                return
            ProgressBar.shown = self
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.what, total=None)
        self._bar.update(self._task, completed=done, total=total)
        self._next = time.monotonic() + REFRESH

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            ProgressBar.shown = None
