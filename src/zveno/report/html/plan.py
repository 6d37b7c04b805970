"""The report of a measuring plan."""

from __future__ import annotations

import numpy as np

from ...design.result import Curve, Plan
from ...io.units import DEVIATIONS
from ...mechanism.units import with_unit
from ..text.columns import number as fixed
from .blocks import Block, Series, bars, lines, table, value_map, words
from .page import Chapter
from .scene import robot_scene


def plan_chapter(result: Plan) -> Chapter:
    """Postures on a slider, the accuracy of parameters and tool they will give, and their table."""
    blocks: list[Block] = []
    if result.mechanism is not None:
        labels = [f"posture {k + 1}" for k in range(len(result.q))]
        touched = result.places[:, :3, 3] if len(result.places) else None
        blocks.append(robot_scene("Postures to measure", result.mechanism, result.q, labels, points=touched))
    if np.isfinite(result.tool_sigma).all() and len(result.tool_sigma):
        radius = np.linalg.norm(result.tool_positions[:, :2], axis=1)
        sigma = 1e3 * result.tool_sigma
        limits = (float(min(sigma.min(), 0.8 * sigma.max())), float(sigma.max()))
        labels3 = ("distance from the z axis, m", "height, m", "σ of the tool, mm")
        blocks.append(
            value_map(
                "Accuracy over the workspace", radius, result.tool_positions[:, 2], sigma, labels3, limits=limits
            )
        )
    blocks += _sigmas(result)
    names = [with_unit(*pair) for pair in zip(result.coordinate_names, result.coordinate_units, strict=True)]
    places = ("place",) if result.groups else ()
    rows = [
        [k + 1, *(fixed(x, 5) for x in q), *((result.groups[k],) if result.groups else ())]
        for k, q in enumerate(result.q)
    ]
    blocks.append(table("Postures", ("posture", *names, *places), rows, wide=True))
    if result.notes:
        blocks.append(words("Notes", result.notes))
    rms = float(np.sqrt(np.mean(result.tool_sigma**2))) if len(result.tool_sigma) else float("nan")
    tiles = (
        (str(len(result.q)), "postures" if not result.n_have else f"postures beside {result.n_have} measured"),
        (f"{1e3 * rms:.3g} mm" if np.isfinite(rms) else "unknown", "σ of the tool over the workspace"),
        (
            f"{result.over_random:.2f} ×" if np.isfinite(result.over_random) else "–",
            "value over that of a random plan",
        ),
        (f"{result.travel:.3g} s", "motion between postures"),
    )
    tone = "good" if np.isfinite(result.sigma).all() else "warn"
    return Chapter(f"{result.robot}, measuring plan", result.summary, tone, tiles, tuple(blocks))


def curve_chapter(result: Curve) -> Chapter:
    """Accuracy of the tool and of the worst parameter against the number of postures."""
    tool = [
        Series("worst", 1e3 * result.tool_worst, result.n, color="muted"),
        Series("typical", 1e3 * result.tool_typical, result.n, color="accent"),
    ]
    marks = (float(result.knee),)
    note = f"More than {result.knee} postures bring little."
    columns = (result.n, result.worst_names, result.worst_sigma, result.worst_units, result.tool_typical)
    rows = [
        [int(n), name, fixed(1e3 * sigma, 4), f"m{unit}", fixed(1e3 * tool, 4)]
        for n, name, sigma, unit, tool in zip(*columns, strict=True)
    ]
    blocks = (
        lines("Accuracy of the tool", tool, "postures", "σ, mm", log_y=True, marks=marks, note=note),
        table("Worst parameter", ("postures", "parameter", "σ", "unit", "σ of the tool, mm"), rows),
    )
    tiles = (
        (f"{result.n[0]} to {result.n[-1]}", "postures" + (f" beside {result.n_have}" if result.n_have else "")),
        (f"{1e3 * result.tool_typical[0]:.3g} → {1e3 * result.tool_typical[-1]:.3g} mm", "σ of the tool, typical"),
        (str(result.knee), "postures, after which more bring little"),
    )
    return Chapter(f"{result.robot}, accuracy by postures", result.summary, "good", tiles, blocks)


def _sigmas(result: Plan) -> list[Block]:
    blocks = []
    for unit in dict.fromkeys(result.units):
        places = [k for k, each in enumerate(result.units) if each == unit]
        factor, shown = DEVIATIONS[unit]
        names = [result.names[k] for k in places]
        blocks.append(bars(f"Predicted standard deviations, {shown}", names, factor * result.sigma[places], shown))
    return blocks
