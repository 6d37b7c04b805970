"""A bar on the terminal for runs that take longer than a moment."""

from __future__ import annotations

import sys
import time

PATIENCE = 1.0
"""Seconds before a bar appears."""


class Progress:
    """Called with the simulated time reached; shows a bar on stderr once the run has taken a while."""

    def __init__(self, duration: float, wanted: bool | None):
        self.duration = duration
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.started = time.monotonic()
        self.shown = self.started
        self.bar = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, t: float):
        """Simulated time t is reached."""
        if not self.wanted:
            return
        now = time.monotonic()
        if now - self.started < PATIENCE or now - self.shown < 0.1:
            return
        self.shown = now
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self.bar = Bar(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("simulating", total=self.duration)
        self.bar.update(self.task, completed=t)

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()
