"""Figures of curves and dots: made where matplotlib is, drawn in one style, saved with an error of ours."""

from __future__ import annotations

from pathlib import Path

from ...errors import MissingExtraError, ZvenoError
from .mechanism import FAINT, GRID


def new_figure(size: tuple[float, float]):
    """An empty matplotlib figure of that many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", remedy="pip install 'zveno[plot]'"
        ) from None
    return Figure(figsize=size, layout="constrained")


def plain(axes, labels: float | None = None):
    """Pale grid and ticks, no frame above and to the right; `labels` is the size of the ticks' text."""
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(colors=FAINT, **({} if labels is None else {"labelsize": labels}))
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def saved(figure, file: Path, dpi: int = 150) -> Path:
    """Write the figure; returns the file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=dpi)
    except OSError as problem:
        raise ZvenoError(f"it cannot be written: {problem.strerror or problem}", file=file) from None
    return file
