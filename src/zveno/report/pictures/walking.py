"""Pictures of walks: footholds and the way of the centre of mass from above, the margin over time."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...walking.result import WalkPlan
from ...walking.walk_result import Walk
from .figure import new_figure, saved
from .mechanism import FAINT, INK, checked_picture
from .view import GRID

COLOURS = ("#3d7dca", "#ee8434", "#4f9d5d", "#a2559c", "#c4a000", "#47a3a3", "#c04040", "#777777")
"""Of the feet; they repeat."""


def draw_plan_of_walk(plan: WalkPlan, path: str | PathLike[str]) -> Path:
    """Footholds, support polygons and the centre of mass from above; margin and which feet stand over time."""
    file = checked_picture(path)
    figure, above, margin = _panels(plan, plan.t, f"{plan.robot}: {len(plan.steps)} steps")
    for k in _middles(plan):
        above.fill(*plan.corners[k].T, color=GRID, alpha=0.35, linewidth=0)
    margin.axhline(1e3 * plan.least_margin, color=FAINT, linewidth=0.8, linestyle="--")
    return saved(figure, file)


def draw_walk(walk: Walk, path: str | PathLike[str]) -> Path:
    """Footholds and the centre of mass from above; margin of the pressure and which feet stand over time."""
    file = checked_picture(path)
    figure, above, _ = _panels(walk, walk.trajectory.t, f"{walk.robot} {walk.status}: {walk.gait}")
    above.margins(y=0.3)
    return saved(figure, file)


def _panels(walk: WalkPlan | Walk, t: np.ndarray, title: str) -> tuple[Any, Any, Any]:
    """(figure, from above, margin): what plans and walks have in common."""
    figure = new_figure((9.0, 7.0))
    above, margin, gait = figure.subplots(3, gridspec_kw={"height_ratios": (3.0, 1.2, 1.0)})
    for i, name in enumerate(walk.feet):
        colour = COLOURS[i % len(COLOURS)]
        places = np.concatenate([walk.positions[:1, i], walk.footholds[walk.steps == i]])
        above.plot(*places[:, :2].T, "o", color=colour, markersize=6, label=name)
        above.plot(*walk.positions[:, i, :2].T, color=colour, linewidth=0.6)
        gait.fill_between(t, i - 0.4, i + 0.4, where=walk.contacts[:, i].tolist(), color=colour, linewidth=0)
    above.plot(*walk.center_of_mass[:, :2].T, color=INK, linewidth=1.4, label="centre of mass")
    above.set_aspect("equal")
    above.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    margin.plot(t, 1e3 * walk.margin, color=INK, linewidth=1.0)
    if np.isfinite(walk.margin).any():
        low, high = (1e3 * float(np.nanpercentile(walk.margin, percent)) for percent in (1, 100))
        margin.set_ylim(min(0.0, low), 1.08 * max(high, 1e-3))
    gait.set_yticks(range(len(walk.feet)), walk.feet)
    gaps = " (none while two points stand)" if np.isnan(walk.margin).any() else ""
    titles = (("from above, m", above), (f"margin to the edge of the support polygon, mm{gaps}", margin))
    for text, axes in (*titles, ("feet that stand, over t, s", gait)):
        axes.set_title(text, loc="left", fontsize=9, color=INK)
        axes.tick_params(labelsize=7, colors=FAINT)
    figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=10)
    return figure, above, margin


def _middles(plan: WalkPlan) -> list[int]:
    """A sample in the middle of every swing."""
    swinging = np.flatnonzero(~plan.contacts.all(axis=1))
    return [
        int(run[len(run) // 2]) for run in np.split(swinging, np.flatnonzero(np.diff(swinging) > 1) + 1) if len(run)
    ]
