"""The report of many simulated calibrations by one plan."""

from __future__ import annotations

import numpy as np

from ...design.trials import Trials
from ...io.units import ERRORS
from .blocks import Block, Series, histogram, points, table
from .page import Chapter


def trials_chapter(result: Trials) -> Chapter:
    """Errors of every simulated robot before and after, how they are spread, and the trials one by one."""
    blocks: list[Block] = []
    tiles = [(f"{len(result.trials)}", f"simulated robots, {result.n_postures} postures each")]
    number = np.arange(1, len(result.trials) + 1)
    for k, (name, unit) in enumerate(zip(result.names, result.units, strict=True)):
        factor, shown = ERRORS[unit]
        before, after = factor * result.before[:, k], factor * result.after[:, k]
        series = [Series("nominal", before, number, color="muted"), Series("calibrated", after, number)]
        note = "Calibrated: in postures that were not measured, without noise."
        blocks.append(points(f"{name}: errors by trial", series, "trial", shown, log_y=True, note=note))
        blocks.append(histogram(f"{name}: errors of calibrated robots", after, shown))
        tiles.append((f"{np.median(before):.3g} → {np.median(after):.3g} {shown}", f"{name}, median of the rms"))
        tiles.append((f"{np.percentile(after, 95):.3g} {shown}", f"{name}: 95 % are better"))
    tiles.append((f"{result.calibrated:.0%}", "ended as calibrated"))
    blocks.append(_one_by_one(result))
    tone = "good" if result.status == "good" else "warn"
    title = f"{result.robot}, {len(result.trials)} calibrations tried"
    return Chapter(title, result.summary, tone, tuple(tiles), tuple(blocks))


def _one_by_one(result: Trials) -> Block:
    factors = [ERRORS[unit] for unit in result.units]
    head = [
        f"{name} {when}, {shown}"
        for name, (_, shown) in zip(result.names, factors, strict=True)
        for when in ("before", "after")
    ]
    rows = []
    for number, trial in enumerate(result.trials, start=1):
        errors = [
            factor * error
            for before, after, (factor, _) in zip(trial.before, trial.after, factors, strict=True)
            for error in (before, after)
        ]
        rows.append([number, *errors, trial.status, trial.flagged, ", ".join(trial.joint_terms)])
    return table("Trials", ("trial", *head, "status", "rows left out", "joint terms"), rows, wide=True)
