"""Pictures of simulated motions: coordinates, energy balance and reactions over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .figure import new_figure, saved
from .mechanism import checked_picture

_MOST_LINES = 12
_MOST_MARKS = 100


def draw_trajectory(trajectory: Any, path: str | PathLike[str], caption: str | None = None) -> Path:
    """Coordinates, velocities and the energy balance of a run, and its reactions if it has any.

    Contacts, limits and events are thin vertical lines.

    Args:
        trajectory: a `Trajectory`; of a batch, the first run is drawn.
        path: .png or .svg.
        caption: a line above, the summary by default.
    """
    first = (0,) * (trajectory.q.ndim - 2)
    panels = {
        "coordinates, rad or m": trajectory.q[first][:, :_MOST_LINES],
        "velocities, rad/s or m/s": trajectory.v[first][:, :_MOST_LINES],
        "energy, J": np.stack(
            [getattr(trajectory, name)[first] for name in ("kinetic", "potential", "energy", "work")], 1
        ),
    }
    if trajectory.reaction_names:
        panels["reactions, N or N·m"] = trajectory.reactions[first][:, :_MOST_LINES]
    names = {
        "coordinates, rad or m": trajectory.coordinate_names,
        "energy, J": ("kinetic", "potential", "total", "work done"),
        "reactions, N or N·m": trajectory.reaction_names,
    }
    if len(trajectory.joint_names) == trajectory.v.shape[-1]:
        names["velocities, rad/s or m/s"] = trajectory.joint_names
    marks = sorted({event.t for event in trajectory.events})[:_MOST_MARKS]
    return draw_lines(trajectory.t, panels, path, caption or trajectory.summary, names, marks=marks)


def draw_lines(
    x: ArrayLike,
    panels: Mapping[str, ArrayLike],
    path: str | PathLike[str],
    caption: str = "",
    names: Mapping[str, Sequence[str]] | None = None,
    x_name: str = "t, s",
    marks: Sequence[float] = (),
) -> Path:
    """Panels of lines over a common axis: name → (n,) or (n, lines); `names` of the lines by panel.

    `marks` are places on the common axis at which something happens.
    """
    file = checked_picture(path)
    figure = new_figure((9.0, 1.2 + 2.0 * len(panels)))
    all_axes = np.atleast_1d(figure.subplots(len(panels), sharex=True))
    for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
        values = np.asarray(values, dtype=float)
        lines = axes.plot(x, values, linewidth=1.0)
        labels = (names or {}).get(title, ())[: len(lines)]
        if labels:
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            axes.legend(lines[: len(labels)], labels, fontsize=7, frameon=False, **beside)
        for mark in marks:
            axes.axvline(mark, linewidth=0.5, color="0.6", zorder=0)
        axes.set_title(title, loc="left", fontsize=9)
        axes.grid(linewidth=0.4, alpha=0.5)
    if np.asarray(x).dtype.kind == "i":
        all_axes[-1].locator_params(axis="x", integer=True)
    all_axes[-1].set_xlabel(x_name)
    figure.suptitle(_folded(caption), fontsize=9, x=0.01, ha="left")
    return saved(figure, file, 120)


def _folded(text: str, width: int = 100) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
