"""Pictures of simulated motions: coordinates, energy balance and reactions over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .figure import COLORS, new_figure, plain, saved
from .mechanism import FAINT, INK, checked_picture

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
    one = trajectory.run(*(0,) * len(trajectory.batch))
    velocity_names = one.joint_names if len(one.joint_names) == one.v.shape[-1] else ()
    energy = [getattr(one, name) for name in ("kinetic", "potential", "energy", "work")]
    given = [
        ("coordinates, rad or m", one.q, one.coordinate_names),
        ("velocities, rad/s or m/s", one.v, velocity_names),
        ("energy, J", np.stack(energy, 1), ("kinetic", "potential", "total", "work done")),
    ]
    if one.reaction_names:
        given.append(("reactions, N or N·m", one.reactions, one.reaction_names))
    panels, names = {}, {}
    for title, values, lines in given:
        chosen = most_moving(values)
        if len(chosen) < values.shape[1]:
            title = f"{title}: the {len(chosen)} that vary most of {values.shape[1]}"
        panels[title] = values[:, chosen]
        names[title] = [lines[k] for k in chosen] if lines else ()
    marks = sorted({event.t for event in one.events})[:_MOST_MARKS]
    return draw_lines(one.t, panels, path, caption or trajectory.summary, names, marks=marks)


def most_moving(values: np.ndarray, most: int = _MOST_LINES) -> list[int]:
    """The columns (n, lines) that vary most, in their order: all of them where they are few."""
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(np.ptp(values, axis=0)) if len(values) else np.zeros(values.shape[1])
    return sorted(np.argsort(-spread, kind="stable")[:most].tolist())


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
        axes.set_prop_cycle(color=COLORS)
        lines = axes.plot(x, values, linewidth=1.0)
        labels = (names or {}).get(title, ())[: len(lines)]
        if labels:
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            axes.legend(lines[: len(labels)], labels, fontsize=7, frameon=False, labelcolor=INK, **beside)
        for mark in marks:
            axes.axvline(mark, linewidth=0.5, color=FAINT, zorder=0)
        axes.set_title(title, loc="left", fontsize=9, color=INK)
        plain(axes, 8)
    if np.asarray(x).dtype.kind == "i":
        all_axes[-1].locator_params(axis="x", integer=True)
    all_axes[-1].set_xlabel(x_name, fontsize=8, color=INK)
    figure.suptitle(_folded(caption), fontsize=9, x=0.01, ha="left", color=INK)
    return saved(figure, file, 120)


def _folded(text: str, width: int = 100) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
