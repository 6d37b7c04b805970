"""Time bar that plays samples at a chosen speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .worker import Worker

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
BAR_SECONDS = 0.1
"""Time between two updates of the bar during playback, s."""


class Playback:
    """Controls for play, stop, time and speed. `show(k)` is called in the worker's thread."""

    def __init__(self, worker: Worker, gui: Any, t: np.ndarray, show: Callable[[int], None], unit: str = "s"):
        self.worker: Worker = worker
        self.t: np.ndarray = np.asarray(t, dtype=float)
        self.show = show
        self.unit: str = unit
        self.at: int = 0
        self.button: Any = gui.add_button("Play")
        last = float(self.t[-1] - self.t[0])
        step = 1.0 if unit != "s" else max(10.0 ** np.floor(np.log10(max(last, 1e-6) / 500)), 1e-6)
        self.bar: Any = gui.add_slider(
            {"s": "time s"}.get(unit, unit),
            min=0.0 if unit == "s" else 1.0,
            max=max(last, step) if unit == "s" else float(max(len(self.t), 2)),
            step=step,
            initial_value=0.0 if unit == "s" else 1.0,
        )
        self.speed: Any = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self._began: float | None = None
        self._drawn = 0.0
        self.button.on_click(lambda _: self.toggle())
        self.bar.on_update(self._dragged)
        self.go(0)

    @property
    def playing(self) -> bool:
        """True during playback."""
        return self._began is not None

    def toggle(self) -> None:
        """Start or stop playback."""
        if self.playing:
            self._stop()
            return
        if self.at >= len(self.t) - 1:
            self.at = 0
        self._began = time.perf_counter() - (self.t[self.at] - self.t[0]) / self._rate()
        self.button.label = "Stop"
        self.worker.play(self, self._tick)

    def go(self, k: int) -> None:
        """Show a sample."""
        self.at = int(np.clip(k, 0, len(self.t) - 1))
        self.worker.mark((id(self), "show"), lambda: self.show(self.at))

    def _rate(self) -> float:
        return float(self.speed.value) if self.speed.value in SPEEDS else 1.0

    def _stop(self) -> None:
        self._began = None
        self.worker.play(self, None)
        self.button.label = "Play"

    def _tick(self, now: float) -> bool:
        began = self._began
        if began is None:
            return False
        elapsed = (now - began) * self._rate()
        ended = elapsed >= self.t[-1] - self.t[0]
        self.at = len(self.t) - 1 if ended else int(np.searchsorted(self.t, self.t[0] + elapsed, side="right")) - 1
        self.show(self.at)
        if ended or now - self._drawn > BAR_SECONDS:
            self._drawn = now
            self.bar.value = self._mark()
        if ended:
            self._stop()
        return not ended

    def _mark(self) -> float:
        return float(self.t[self.at] - self.t[0]) if self.unit == "s" else float(self.at + 1)

    def _dragged(self, event: Any) -> None:
        if event.client_id is None:
            return
        if self.playing:
            self._stop()
        value = float(np.clip(event.target.value, event.target.min, event.target.max))
        self.go(int(np.abs(self.t - self.t[0] - value).argmin()) if self.unit == "s" else round(value) - 1)


COLORS = ("#5b6672", "#1d5fd1", "#d6336c", "#2b9348", "#d9a400", "#8e5cc2")
MOST_POINTS = 2000
"""Maximum number of points of a line; more are subsampled evenly."""


def add_plot(gui: Any, title: str, x: np.ndarray, lines: Mapping[str, np.ndarray], unit: str = "s") -> Any:
    """Add a plot of lines over a common axis, with gaps at values that are not finite."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    data = (np.asarray(x, dtype=float)[kept], *(np.asarray(y, dtype=float)[kept] for y in lines.values()))
    series = [{"label": unit}]
    series += [{"label": name, "stroke": COLORS[k % len(COLORS)], "width": 1.5} for k, name in enumerate(lines)]
    return gui.add_uplot(
        data=data, series=tuple(series), title=title, scales={"x": {"time": False}, "y": {"auto": True}}, aspect=1.6
    )
