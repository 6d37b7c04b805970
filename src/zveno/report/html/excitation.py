"""The report of an exciting trajectory."""

from __future__ import annotations

import numpy as np

from ...design.excitation.result import Excitation
from .blocks import Block, Series, bars, record, table, words
from .page import Chapter
from .scene import robot_scene

SAMPLES = 1000


def excitation_chapter(result: Excitation) -> Chapter:
    """The motion with its derivatives, how much of every limit it uses, and what its recording will tell."""
    t, *states = result.sample(SAMPLES / result.duration)
    blocks: list[Block] = []
    if result.mechanism is not None:
        labels = [f"{at:.2f} s" for at in t]
        blocks.append(robot_scene("The motion", result.mechanism, states[0], labels, seconds=result.duration))
    shares = [[name, *(f"{share:.1%}" for share in values)] for name, values in result.peaks.items()]
    blocks.append(table("Largest share of each limit", ("limit", *result.joint_names), shares))
    for title, unit, values in zip(
        ("Positions", "Velocities", "Accelerations"),
        ("rad or m", "rad/s or m/s", "rad/s² or m/s²"),
        states,
        strict=True,
    ):
        series = [Series(name, values[:, k]) for k, name in enumerate(result.joint_names)]
        blocks.append(record(title, t, series, "t, s", unit))
    sizes = np.log10(np.maximum(result.sigma, 1e-30))
    note = "Powers of ten of the standard deviation, in the unit of each parameter."
    blocks.append(bars("Predicted σ of the parameters", result.names, sizes, "log₁₀ σ", note=note))
    rows = [
        [name, expression, sigma]
        for name, expression, sigma in zip(result.names, result.expressions, result.sigma, strict=True)
    ]
    blocks.append(table("Parameters", ("name", "is", "predicted σ"), rows, wide=True))
    if result.notes:
        blocks.append(words("Notes", result.notes))
    tiles = (
        (f"{result.duration:.3g} s", f"{result.basis} series, {len(result.joint_names)} joints"),
        (f"{result.over_random:.2f} ×", "σ better than the best random motion"),
        (f"{result.condition:.3g}", "condition number of the scaled regressor"),
        (
            f"{max((float(v.max(initial=0.0)) for v in result.peaks.values()), default=0.0):.0%}",
            "of the tightest limit used",
        ),
    )
    tone = "warn" if result.interrupted else "good"
    return Chapter(f"{result.robot}, exciting trajectory", result.summary, tone, tiles, tuple(blocks))
