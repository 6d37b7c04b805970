"""Description of a simulated walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..report.description import PAGE, Block, Column, Curves, Description, Field, Scene, Series, Table
from ..simulation._describe import trajectory_fields

if TYPE_CHECKING:
    from .result import Walk


def describe_walk(result: Walk) -> Description:
    """Describe a walk: footholds from above; margin, standing feet, torques, tilt, estimation errors over time."""
    motion = result.trajectory
    t, way = motion.t, result.center_of_mass
    blocks: list[Block] = []
    if motion.mechanism is not None:
        labels = [f"t = {at:.2f} s" for at in t]
        seconds = float(t[-1] - t[0])
        scene = Scene("Walk", motion.mechanism, motion.q, labels, seconds=seconds, trail=way, media=PAGE, span=4)
        blocks.append(scene)
    blocks.append(_from_above(result))
    gaps = " (none while two points stand)" if np.isnan(result.margin).any() else ""
    share = float(np.nanmax(result.torque_share, initial=0.0))
    blocks += [
        _over_time(f"Margin to the edge of the support polygon{gaps}", t, 1e3 * result.margin, "mm", _ends(result)),
        _standing(result),
        _over_time("Largest torque over its limit", t, 100 * result.torque_share, "%", pages_only=True),
    ]
    if np.isfinite(result.tilt).any():
        blocks.append(_over_time("Tilt of standing soles", t, np.degrees(result.tilt), "°", pages_only=True))
    if np.nan_to_num(result.estimate_error).any():
        names = ("height, mm", "tilt, mrad", "speed, mm/s")
        series = [Series(name, 1e3 * each, t) for name, each in zip(names, result.estimate_error.T, strict=True)]
        title = "Errors of the estimated state of the base"
        blocks.append(Curves(title, series, "t, s", "mm, mrad, mm/s", media=PAGE, span=4))
    blocks.append(_footholds(result))
    least = result.margin_percentiles[5]
    fields = [each for each in trajectory_fields(motion) if each.name and each.name not in _REPLACED]
    fields = [Field(each.name, each.value) for each in fields]
    fields += [
        Field("status", result.status),
        Field("reason", result.reason),
        Field("finished", result.walked),
        Field("summary", result.summary),
        Field("", len(result.steps), meaning=f"steps of {len(result.feet)} feet"),
        Field("", result.speed, "m/s", f"over {t[-1]:.3g} s", ".3g"),
        Field("", 1e3 * least, "mm", "support margin, 95 % of the samples have more", ".3g"),
        Field("", share, "", "of the torque limits at most", ".0%"),
        Field("walk", _values(result)),
    ]
    tone = "good" if result.walked else "bad"
    return Description(f"{result.robot_name}, simulated walk", result.summary, tone, fields, blocks)


_REPLACED = ("status", "reason", "finished", "summary")
"""Values of the walk that replace those of its motion."""


def _values(walk: Walk) -> dict[str, object]:
    """Return the values of the walk itself."""
    return {
        "gait": walk.gait,
        "speed": walk.speed,
        "margin_percentiles": walk.margin_percentiles,
        "tilt_percentiles": walk.tilt_percentiles,
        "largest_torque_share": walk.torque_share.max(initial=0.0),
        "unsolved": walk.unsolved,
        "footholds": [
            {"t": t, "foot": walk.feet[foot], "place": place}
            for t, foot, place in zip(
                walk.step_times.tolist(), walk.steps.tolist(), walk.footholds.tolist(), strict=True
            )
        ],
    }


def _from_above(walk: Walk) -> Block:
    series = [Series("centre of mass", walk.center_of_mass[:, 1], walk.center_of_mass[:, 0], muted=True)]
    for i, name in enumerate(walk.feet):
        places = np.concatenate([walk.positions[:1, i], walk.footholds[walk.steps == i]])
        series.append(Series(name, places[:, 1], places[:, 0], style="dots"))
    return Curves("Footholds and centre of mass from above", series, "x, m", "y, m", equal=True, span=4)


def _ends(walk: Walk) -> tuple[float, float] | None:
    """Return limits of the margin's axis that leave out the samples of a fall."""
    if not np.isfinite(walk.margin).any():
        return None
    low, high = (1e3 * float(np.nanpercentile(walk.margin, percent)) for percent in (1, 100))
    return min(0.0, low), 1.08 * max(high, 1e-3)


def _over_time(
    title: str,
    t: np.ndarray,
    values: np.ndarray,
    unit: str,
    limits: tuple[float, float] | None = None,
    pages_only: bool = False,
) -> Block:
    media = PAGE if pages_only else Curves.media
    return Curves(title, [Series(title, values, t)], "t, s", unit, limits=limits, media=media, span=4)


def _standing(walk: Walk) -> Block:
    t = walk.trajectory.t
    series = [
        Series(name, np.where(walk.contacts[:, i], float(i), np.nan), t, style="thick")
        for i, name in enumerate(walk.feet)
    ]
    return Curves("Standing feet", series, "t, s", "", levels=walk.feet, span=4)


def _footholds(walk: Walk) -> Block:
    columns = [
        Column("foot", [walk.feet[foot] for foot in walk.steps.tolist()]),
        Column("t", walk.step_times.tolist(), "s", ".3f"),
        *(Column(axis, walk.footholds[:, k].tolist(), "m", ".4f") for k, axis in enumerate("xyz")),
    ]
    return Table("Footholds", columns)
