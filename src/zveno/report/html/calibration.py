"""The report of a calibration."""

from __future__ import annotations

import numpy as np

from ...calibration.result import Calibration
from ...fit.covariance import correlations
from ...io.units import DEVIATIONS, ERRORS
from .accuracy import accuracy_blocks
from .blocks import Block, Series, bars, histogram, matrix, points, table, words
from .page import Chapter
from .scene import robot_scene

MOST_CORRELATED = 40
"""Parameters of a correlation matrix that can still be read."""


def calibration_chapter(result: Calibration) -> Chapter:
    """Errors before and after, residuals by row, deviations, accuracy in slices, correlations, what to measure
    next."""
    blocks = [_errors(result), *_postures(result), *_residuals(result), *_deviations(result)]
    blocks += accuracy_blocks(result.accuracy_map())
    if 1 < len(result.names) <= MOST_CORRELATED:
        blocks.append(
            matrix("Correlation of parameters", result.names, correlations(result.covariance), "correlation")
        )
    blocks.append(_parameters(result))
    if result.outliers:
        blocks.append(words("Rows that do not belong", [outlier.text for outlier in result.outliers]))
    if result.advice is not None and result.advice.kinds:
        blocks.append(_next(result))
    if result.notes:
        blocks.append(words("Notes", result.notes))
    tone = {"calibrated": "good", "worse": "bad"}.get(result.status, "bad")
    title = (
        f"{result.nominal.name}, calibrated"
        if result.status == "calibrated"
        else f"{result.nominal.name}: {result.status}"
    )
    return Chapter(title, result.verdict, tone, tuple(_tiles(result)), tuple(blocks))


def _postures(result: Calibration) -> list[Block]:
    """The robot in the postures that were measured, campaign by campaign."""
    labels = [
        f"{campaign.name or campaign.measurement.kind}, row {k + 1}"
        for campaign in result.data
        for k in range(len(campaign.q))
    ]
    if not labels:
        return []
    q = np.concatenate([campaign.q for campaign in result.data])
    return [robot_scene("Postures measured", result.mechanism, q, labels)]


def _tiles(result: Calibration) -> list[tuple[str, str]]:
    tiles = []
    for before, after in result.compared:
        factor, unit = ERRORS[after.unit]
        name = after.name.partition(": ")[2] or after.name
        tiles.append(
            (
                f"{before.rms * factor:.3g} → {after.rms * factor:.3g} {unit}",
                f"{name}, rms of the same rows",
            )
        )
    tiles.append((str(len(result.names)), "parameters estimated"))
    tiles.append((f"{len(result.outliers)} of {result.rows}", "rows that do not belong"))
    if result.advice is not None:
        tiles.append((f"{1e3 * result.advice.now:.3g} mm", "σ of the tool over the workspace"))
    return tiles


def _errors(result: Calibration) -> Block:
    rows = []
    for stage, errors in (
        ("nominal, frames fitted", result.baseline),
        ("nominal, rows that belong", result.baseline_unflagged if result.outliers else ()),
        ("calibrated, rows used", result.training),
        ("postures not used", result.held_out),
        ("postures not used, rows that belong", result.held_out_unflagged if result.outliers else ()),
    ):
        for error in errors:
            factor, unit = ERRORS[error.unit]
            sizes = (error.rms, error.mean, error.max)
            rows.append([stage, f"{error.name}, {unit}", *(f"{size * factor:.4g}" for size in sizes), error.rows])
    return table("Errors", ("errors", "of", "rms", "mean", "max", "rows"), rows, wide=True)


def _residuals(result: Calibration) -> list[Block]:
    blocks = []
    for residuals in result.residuals:
        factor, unit = ERRORS[residuals.unit]
        held_out = np.isfinite(residuals.held_out).any(axis=1, keepdims=True)
        after = np.where(held_out, residuals.held_out, residuals.calibrated)
        before, left = (factor * np.sqrt(np.nansum(each**2, axis=1)) for each in (residuals.nominal, after))
        series = [
            Series("nominal", before, residuals.row, color="muted"),
            Series("calibrated", left[residuals.used], residuals.row[residuals.used], color="accent"),
        ]
        if not residuals.used.all():
            series.append(
                Series("does not belong", left[~residuals.used], residuals.row[~residuals.used], color="bad")
            )
        note = "Calibrated: from a fit without the posture, where there is one."
        blocks.append(points(f"Residuals by row: {residuals.name}", series, "row", unit, log_y=True, note=note))
        blocks.append(histogram(f"What is left: {residuals.name}", left[residuals.used], unit))
    return blocks


def _deviations(result: Calibration) -> list[Block]:
    blocks = []
    for unit in dict.fromkeys(result.units):
        places = [k for k, each in enumerate(result.units) if each == unit]
        factor, shown = DEVIATIONS[unit]
        names = [result.names[k] for k in places]
        blocks.append(
            bars(
                f"Deviations from nominal, {shown}",
                names,
                factor * result.values[places],
                shown,
                std=factor * result.std[places],
                note="Lines: ± 2 standard deviations.",
            )
        )
    return blocks


def _parameters(result: Calibration) -> Block:
    rows = []
    for name, value, std, unit, place in zip(
        result.names, result.values, result.std, result.units, result.places, strict=True
    ):
        factor, shown = DEVIATIONS[unit]
        rows.append([name, value * factor, std * factor, shown, place])
    return table("All parameters", ("parameter", "deviation", "± std", "unit", "of"), rows)


def _next(result: Calibration) -> Block:
    advice = result.advice
    assert advice is not None
    rows = [["nothing", "", f"{1e3 * advice.now:.4g}"]]
    if len(advice.q):
        rows.append(
            [f"{len(advice.q)} postures of {advice.campaign}, best chosen", "", f"{1e3 * advice.chosen:.4g}"]
        )
    rows += [[f"{kind.postures} {kind.text}", kind.noise, f"{1e3 * kind.after:.4g}"] for kind in advice.kinds]
    return table("What to measure next", ("measured next", "noise", "σ of the tool, mm"), rows, wide=True)
