"""Pictures of exciting trajectories: the motion over time, and how well parameters will be known."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ...design.excitation.result import Excitation
from .figure import new_figure, plain, saved
from .mechanism import INK, checked_picture
from .plan import LINE, label_axes
from .view import GRID

_SAMPLES = 1000


def draw_excitation(motion: Excitation, path: str | PathLike[str]) -> Path:
    """Positions, velocities and accelerations with their limits, and σ of every parameter."""
    file = checked_picture(path)
    rate = _SAMPLES / motion.duration
    t, *states = motion.sample(rate)
    figure = new_figure((11.0, 7.0))
    grid = figure.add_gridspec(3, 2, width_ratios=(3, 2))
    limits = motion.limits
    names = ("position, rad or m", "velocity, rad/s or m/s", "acceleration, rad/s² or m/s²")
    for row, (name, values) in enumerate(zip(names, states, strict=True)):
        axes = figure.add_subplot(grid[row, 0])
        plain(axes, 7)
        lines = axes.plot(t, values, linewidth=1.0)
        if row:
            size = limits.sizes(row)
            for line, limit in zip(lines, size, strict=True):
                if limit <= 1.1 * abs(values).max():
                    axes.axhline(limit, color=line.get_color(), linewidth=0.5, linestyle=":")
                    axes.axhline(-limit, color=line.get_color(), linewidth=0.5, linestyle=":")
        else:
            axes.legend(lines, motion.joint_names, fontsize=6, ncols=min(7, len(lines)), loc="upper center")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high + 0.2 * (high - low))
        axes.set_title(name, loc="left", fontsize=9, color=INK)
        if row == 2:
            label_axes(axes, "t, s")
    _draw_sigma(motion, figure.add_subplot(grid[:, 1]))
    figure.suptitle(motion.summary, color=INK, fontsize=9)
    return saved(figure, file)


def _draw_sigma(motion: Excitation, axes) -> None:
    plain(axes, 7)
    places = np.arange(len(motion.names))
    if motion.sigma_before is not None:
        before = np.where(np.isfinite(motion.sigma_before), motion.sigma_before, np.nan)
        axes.plot(before, places, "|", color=GRID, markersize=6, label="before")
    axes.plot(motion.sigma, places, "o", color=LINE, markersize=3, label="with this motion")
    axes.set_xscale("log")
    axes.set_yticks(places, motion.names, fontsize=5 if len(places) > 40 else 7)
    axes.invert_yaxis()
    axes.set_title("predicted σ, in SI units", loc="left", fontsize=9, color=INK)
    if motion.sigma_before is not None:
        axes.legend(fontsize=7)
