"""The report of a walk."""

from __future__ import annotations

import numpy as np

from ...walking.result import PLANNED, WalkPlan
from .blocks import Block, Series, bars, lines, points, table
from .page import Chapter
from .scene import robot_scene


def walk_chapter(result: WalkPlan) -> Chapter:
    """The robot in motion, footholds from above, margin over time, which feet stand, static torques."""
    blocks: list[Block] = []
    if result.mechanism is not None:
        labels = [f"t = {t:.2f} s" for t in result.t]
        seconds = float(result.t[-1] - result.t[0])
        trail = result.center_of_mass
        scene = robot_scene("The walk", result.mechanism, result.q, labels, seconds=seconds, trail=trail, wide=True)
        blocks.append(scene)
    seen = [
        Series(name, places[:, 1], places[:, 0])
        for i, name in enumerate(result.feet)
        for places in [np.concatenate([result.positions[:1, i], result.footholds[result.steps == i]])]
    ]
    x, y = result.center_of_mass[:, :2].T
    way = Series("centre of mass", y, x)
    blocks.append(points("Footholds and centre of mass from above", [way, *seen], "x, m", "y, m"))
    asked = np.full(len(result.t), 1e3 * result.least_margin)
    margin = [
        Series("margin", 1e3 * result.margin, result.t, color="accent"),
        Series("asked for", asked, result.t, color="muted"),
    ]
    note = "Of the centre of mass to the edge of the support polygon."
    blocks.append(lines("Margin", margin, "s", "mm", note=note))
    standing = [
        Series(name, np.where(result.contacts[:, i], i + 1.0, np.nan), result.t)
        for i, name in enumerate(result.feet)
    ]
    blocks.append(lines("Feet that stand", standing, "s", "foot"))
    names = [f"{k + 1}: {result.feet[foot]}" for k, foot in enumerate(result.steps)]
    blocks.append(bars("Static torques over their limits, by step", names, 100 * result.torque_share, "%"))
    rows = [
        [k + 1, result.feet[foot], *place]
        for k, (foot, place) in enumerate(zip(result.steps, result.footholds, strict=True))
    ]
    blocks.append(table("Footholds", ("step", "foot", "x, m", "y, m", "z, m"), rows))
    length = float(np.linalg.norm(result.center_of_mass[-1, :2] - result.center_of_mass[0, :2]))
    tiles = (
        (str(len(result.steps)), f"steps of {len(result.feet)} feet"),
        (f"{length:.3g} m", f"in {result.t[-1]:.3g} s"),
        (f"{1e3 * result.margin.min():.3g} mm", "least margin"),
        (f"{result.torque_share.max(initial=0.0):.0%}", "of the torque limits at most"),
    )
    tone = "good" if result.status == PLANNED else "warn"
    return Chapter(f"{result.robot}, walk", result.summary, tone, tiles, tuple(blocks))
