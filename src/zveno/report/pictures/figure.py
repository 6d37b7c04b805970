"""Figures of curves and dots: made where matplotlib is, drawn in one style, saved with an error of ours."""

from __future__ import annotations

from typing import Any

from .files import figure_class
from .files import saved as saved
from .mechanism import FAINT
from .view import GRID

COLORS = (
    *("#3d7dca", "#ee8434", "#2a9d8f", "#d6336c", "#8e5cc2", "#6a994e"),
    *("#e3b23c", "#1d4e89", "#9c6644", "#7a8794", "#4cc9f0", "#7f1d4f"),
)
"""Of lines that share a panel, in this order; twelve, so that none is used twice."""


def new_figure(size: tuple[float, float]) -> Any:
    """An empty matplotlib figure of that many inches."""
    return figure_class()(figsize=size, layout="constrained")


def plain(axes: Any, labels: float | None = None) -> None:
    """Pale grid and ticks, no frame above and to the right; `labels` is the size of the ticks' text."""
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(colors=FAINT, **({} if labels is None else {"labelsize": labels}))
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
