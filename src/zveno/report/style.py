"""Common colours and line styles of figures."""

from __future__ import annotations

from typing import Any

INK, FAINT, GRID, PAPER, TRAIL = "#26303b", "#66717e", "#d5dce4", "#ffffff", "#d6336c"
AXIS_COLORS = ("#d62828", "#2b9348", "#1d5fd1")
COLORS = (
    *("#3d7dca", "#ee8434", "#2a9d8f", "#d6336c", "#8e5cc2", "#6a994e"),
    *("#e3b23c", "#1d4e89", "#9c6644", "#7a8794", "#4cc9f0", "#7f1d4f"),
)
"""Colours of the series of a panel, in this order; twelve, so that no colour repeats."""


def plain(axes: Any) -> None:
    """Give axes a pale grid and small ticks, without a frame above and to the right."""
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(colors=FAINT, labelsize=7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
