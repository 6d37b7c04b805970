"""A simulated walk as data and as text: how it ended, and how near it came to its limits."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console

from ...walking.walk_result import Walk
from .columns import Column, number, print_columns
from .trajectory import trajectory_data


def walk_data(walk: Walk) -> dict[str, Any]:
    """The outcome of a walk as plain data."""

    def finite(values: dict[int, float]) -> dict[str, float | None]:
        return {str(percent): value if math.isfinite(value) else None for percent, value in values.items()}

    walked = {
        "gait": walk.gait,
        "speed": walk.speed,
        "margin_percentiles": finite(walk.margin_percentiles),
        "tilt_percentiles": finite(walk.tilt_percentiles),
        "largest_torque_share": float(walk.torque_share.max(initial=0.0)),
        "unsolved": walk.unsolved,
        "footholds": [
            {"t": t, "foot": walk.feet[foot], "place": place}
            for t, foot, place in zip(
                walk.step_times.tolist(), walk.steps.tolist(), walk.footholds.tolist(), strict=True
            )
        ],
    }
    outcome = {"status": walk.status, "finished": walk.walked, "summary": walk.summary, "walk": walked}
    return trajectory_data(walk.trajectory) | outcome


def print_walk(console: Console, walk: Walk, degrees: bool = False) -> None:
    """The outcome for people: a sentence, and where feet were put down."""
    del degrees  # places are not angles
    console.print(walk.summary)
    if not len(walk.steps):
        return
    names = [walk.feet[foot] for foot in walk.steps.tolist()]
    columns = [
        Column("foot", [name.ljust(max(map(len, names))) for name in names]),
        Column("t, s", [number(t, 3) for t in walk.step_times]),
        *(Column(f"{axis}, m", [number(x, 4) for x in walk.footholds[:, k]]) for k, axis in enumerate("xyz")),
    ]
    print_columns(console, columns)
