"""Pictures of calibrations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...calibration.use.accuracy import AccuracyMap
from .figure import new_figure, saved
from .mechanism import checked_picture


def plot_accuracy(accuracy: AccuracyMap, path: Path) -> Path:
    """Predicted accuracy over the workspace, seen from above and from the side."""
    file = checked_picture(path)
    figure = new_figure((10, 4.6))
    axes = figure.subplots(1, 2)
    order = np.argsort(accuracy.sigma_position)
    p, size = accuracy.points[order], 1e3 * accuracy.sigma_position[order]
    for ax, (i, j) in zip(axes, ((0, 1), (0, 2)), strict=True):
        dots = ax.scatter(p[:, i], p[:, j], c=size, s=6, cmap="viridis")
        ax.set_xlabel(f"{'xyz'[i]} / m")
        ax.set_ylabel(f"{'xyz'[j]} / m")
        ax.set_aspect("equal")
    figure.colorbar(dots, ax=axes, label="standard deviation of the position / mm")
    figure.suptitle("What calibration leaves uncertain")
    return saved(figure, file)
