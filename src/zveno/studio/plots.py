"""Plots in the panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

COLORS = ("#5b6672", "#1d5fd1", "#d6336c", "#2b9348", "#d9a400", "#8e5cc2")
MOST_POINTS = 2000
"""Of a line: more are thinned out evenly."""


def add_plot(gui: Any, title: str, x: np.ndarray, lines: Mapping[str, np.ndarray], unit: str = "s") -> Any:
    """Lines over a common axis; gaps where values are not finite."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    data = (np.asarray(x, dtype=float)[kept], *(np.asarray(y, dtype=float)[kept] for y in lines.values()))
    series = [{"label": unit}]
    series += [{"label": name, "stroke": COLORS[k % len(COLORS)], "width": 1.5} for k, name in enumerate(lines)]
    return gui.add_uplot(
        data=data, series=tuple(series), title=title, scales={"x": {"time": False}, "y": {"auto": True}}, aspect=1.6
    )
