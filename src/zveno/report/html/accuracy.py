"""The report of accuracy over the workspace: slices between heights, before and after calibration."""

from __future__ import annotations

import numpy as np

from ...calibration.use.accuracy import AccuracyMap
from ...calibration.use.accuracy_cells import AccuracyCells
from .blocks import Block, slices
from .page import Chapter


def accuracy_chapter(result: AccuracyMap) -> Chapter:
    """Slices of the workspace, and the numbers over all of it."""
    sigma, before = 1e3 * result.sigma_position, 1e3 * result.nominal_error
    tiles = (
        (f"{np.sqrt(np.mean(before**2)):.3g} mm", "error before, rms"),
        (f"{np.median(sigma):.3g} mm", "σ after, median"),
        (f"{sigma.max():.3g} mm", "σ after, worst"),
        (str(len(sigma)), "postures looked at"),
    )
    return Chapter("Accuracy over the workspace", result.summary, "good", tiles, tuple(accuracy_blocks(result)))


def cells_chapter(result: AccuracyCells) -> Chapter:
    """The same of cells that were summed up."""
    before = float(np.sqrt(np.average(result.before**2, weights=result.number)))
    tiles = (
        (f"{1e3 * before:.3g} mm", "error before, rms"),
        (f"{1e3 * np.median(result.after):.3g} mm", "σ after, median of the cells"),
        (f"{1e3 * result.worst_after.max():.3g} mm", "σ after, worst"),
        (str(int(result.number.sum())), f"postures in {len(result.number)} cells"),
    )
    return Chapter("Accuracy over the workspace", result.summary, "good", tiles, tuple(accuracy_blocks(result)))


def accuracy_blocks(result: AccuracyMap | AccuracyCells) -> list[Block]:
    """The error before, and what parameters leave after calibration, in slices of the workspace."""
    cuts = [cut for cut in result.slices() if len(cut.centres)]
    least = 1e-6  # mm; logarithms have no zero
    panels = [
        (f"z {cut.low:.2f} to {cut.high:.2f} m", cut.centres, [np.maximum(1e3 * each, least) for each in values])
        for cut in cuts
        for values in [(cut.before, cut.after)]
    ]
    labels = ("x, m", "y, m", "mm")
    note = "Before: how far the nominal robot is off. After: the standard deviation that parameters leave."
    stages = ("before", "after")
    return [slices("Accuracy over the workspace", panels, cuts[0].size, stages, labels, note=note)] if cuts else []
