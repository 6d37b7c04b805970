"""The reports of walks: planned, and simulated."""

from __future__ import annotations

import numpy as np

from ...simulation.trajectory import Trajectory
from ...walking.result import PLANNED, WalkPlan
from ...walking.walk_result import Walk
from .blocks import Block, Series, bars, lines, points, record, table
from .page import Chapter
from .scene import robot_scene


def walk_chapter(result: WalkPlan) -> Chapter:
    """The robot in motion, footholds from above, margin over time, which feet stand, static torques."""
    blocks = _motion(result, result)
    asked = np.full(len(result.t), 1e3 * result.least_margin)
    margin = [
        Series("margin", 1e3 * result.margin, result.t, color="accent"),
        Series("asked for", asked, result.t, color="muted"),
    ]
    note = "Of the centre of mass to the edge of the support polygon."
    blocks.append(lines("Margin", margin, "s", "mm", note=note))
    blocks.append(_standing(result, result.t))
    names = [f"{k + 1}: {result.feet[foot]}" for k, foot in enumerate(result.steps)]
    blocks.append(bars("Static torques over their limits, by step", names, 100 * result.torque_share, "%"))
    blocks.append(_footholds(result))
    length = float(np.linalg.norm(result.center_of_mass[-1, :2] - result.center_of_mass[0, :2]))
    tiles = (
        (str(len(result.steps)), f"steps of {len(result.feet)} feet"),
        (f"{length:.3g} m", f"in {result.t[-1]:.3g} s"),
        (f"{1e3 * result.margin.min():.3g} mm", "least margin"),
        (f"{result.torque_share.max(initial=0.0):.0%}", "of the torque limits at most"),
    )
    tone = "good" if result.status == PLANNED else "warn"
    return Chapter(f"{result.robot}, planned walk", result.summary, tone, tiles, tuple(blocks))


def walk_run_chapter(result: Walk) -> Chapter:
    """The simulated motion, footholds from above; margin, soles, torques and the estimated state over time."""
    motion = result.trajectory
    blocks = _motion(result, motion)
    t = motion.t
    margin = [Series("margin", 1e3 * result.margin)]
    note = "Of the centre of pressure to the edge of the polygon of the feet that stand. Drag to zoom."
    blocks.append(record("Margin", t, margin, "t, s", "mm", note=note))
    blocks.append(_standing(result, t))
    blocks.append(
        record("Largest torque over its limit", t, [Series("share", 100 * result.torque_share)], "t, s", "%")
    )
    if np.isfinite(result.tilt).any():
        tilt = [Series("tilt", np.degrees(result.tilt))]
        blocks.append(record("Tilt of standing soles", t, tilt, "t, s", "°"))
    if np.nan_to_num(result.estimate_error).any():
        height, tilt, speed = result.estimate_error.T
        errors = [
            Series("height, mm", 1e3 * height),
            Series("tilt, mrad", 1e3 * tilt),
            Series("speed, mm/s", 1e3 * speed),
        ]
        blocks.append(record("Errors of the base's estimated state", t, errors, "t, s", "mm, mrad, mm/s"))
    blocks.append(_footholds(result, ("t, s",), result.step_times[:, None]))
    least = result.margin_percentiles[5]
    tiles = (
        (str(len(result.steps)), f"steps of {len(result.feet)} feet"),
        (f"{result.speed:.3g} m/s", f"over {t[-1]:.3g} s"),
        (f"{1e3 * least:.3g} mm" if np.isfinite(least) else "–", "support margin, 95 % of the samples have more"),
        (f"{float(np.nanmax(result.torque_share, initial=0.0)):.0%}", "of the torque limits at most"),
    )
    tone = "good" if result.walked else "bad"
    return Chapter(f"{result.robot}, simulated walk", result.summary, tone, tiles, tuple(blocks))


def _motion(walk: WalkPlan | Walk, motion: WalkPlan | Trajectory) -> list[Block]:
    """The robot on a slider, and where its feet and its centre of mass go, from above."""
    blocks: list[Block] = []
    way = walk.center_of_mass
    if motion.mechanism is not None:
        labels = [f"t = {t:.2f} s" for t in motion.t]
        seconds = float(motion.t[-1] - motion.t[0])
        scene = robot_scene("The walk", motion.mechanism, motion.q, labels, seconds=seconds, trail=way, wide=True)
        blocks.append(scene)
    seen = [Series("centre of mass", way[:, 1], way[:, 0])]
    for i, name in enumerate(walk.feet):
        places = np.concatenate([walk.positions[:1, i], walk.footholds[walk.steps == i]])
        seen.append(Series(name, places[:, 1], places[:, 0]))
    blocks.append(points("Footholds and centre of mass from above", seen, "x, m", "y, m"))
    return blocks


def _standing(walk: WalkPlan | Walk, t: np.ndarray) -> Block:
    stands = [Series(name, np.where(walk.contacts[:, i], i + 1.0, np.nan), t) for i, name in enumerate(walk.feet)]
    return lines("Feet that stand", stands, "s", "foot")


def _footholds(walk: WalkPlan | Walk, head: tuple[str, ...] = (), more: np.ndarray | None = None) -> Block:
    more = np.zeros((len(walk.steps), 0)) if more is None else more
    rows = [
        [k + 1, walk.feet[foot], *place, *beside]
        for k, (foot, place, beside) in enumerate(zip(walk.steps, walk.footholds, more, strict=True))
    ]
    return table("Footholds", ("step", "foot", "x, m", "y, m", "z, m", *head), rows)
