"""Progress bar on stderr for long computations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

PATIENCE = 1.0
"""Delay before a bar appears, s."""
REFRESH = 0.1
"""Minimum time between two updates of a bar, s."""


Progress = bool | Callable[[float, float], object] | None
"""True or False to show or hide a bar, None to show it on a terminal, or a function of (done, total)."""


class ProgressBar:
    """Context manager that is called with (done, total) to report progress.

    Args:
        label: verb to show before the bar.
        wanted: True if a bar may appear; None to show it if stderr is a terminal; or a function to call instead.
    """

    shown: ClassVar[ProgressBar | None] = None
    """Bar currently on the terminal. Nested computations show no bar of their own."""

    def __init__(self, label: str, wanted: Progress = None) -> None:
        self.label = label
        self.call: Callable[[float, float], object] | None = wanted if callable(wanted) else None
        self.wanted: bool = sys.stderr.isatty() if wanted is None else bool(wanted)
        self._next = time.monotonic() + PATIENCE
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: float, total: float) -> None:
        """Report that `done` of `total` is complete."""
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
            self._task = self._bar.add_task(self.label, total=None)
        self._bar.update(self._task, completed=done, total=total)
        self._next = time.monotonic() + REFRESH

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            ProgressBar.shown = None
