"""Pictures of calibrations: parameters and errors, accuracy over the workspace, and what can be identified."""

from __future__ import annotations

from itertools import cycle
from os import PathLike
from pathlib import Path

import numpy as np

from ...calibration.identifiability.analysis import Identifiability
from ...calibration.result import Calibration
from ...calibration.use.accuracy import AccuracyMap
from ...io.units import DEVIATIONS, ERRORS
from .figure import new_figure, plain, saved
from .mechanism import FAINT, INK, TRAIL, checked_picture
from .plan import LINE, OTHER, label_axes, panels_of


def draw_calibration(calibration: Calibration, path: str | PathLike[str]) -> Path:
    """Errors before, after and held out, residuals by row, and the deviations with their standard deviations."""
    file = checked_picture(path)
    figure, (errors, rows, lengths, angles) = panels_of(4, (17.0, 4.2))
    _draw_errors(calibration, errors)
    _draw_residuals(calibration, rows)
    _draw_deviations(calibration, lengths, "m", LINE)
    _draw_deviations(calibration, angles, "rad", OTHER)
    figure.suptitle(f"{calibration.nominal.name}: {calibration.status}", color=INK, fontsize=10, parse_math=False)
    return saved(figure, file)


def _draw_errors(calibration: Calibration, axes):
    """Root mean squares of every kind of error, a group of bars each, on a logarithmic scale."""
    stages = {"nominal": calibration.baseline, "calibrated": calibration.training, "held out": calibration.held_out}
    colors = dict(zip(stages, (FAINT, LINE, TRAIL), strict=True))
    labels: list[str] = []
    for place, (stage, kinds) in enumerate(stages.items()):
        for error in kinds:
            factor, unit = ERRORS[error.unit]
            label = f"{error.name}, {unit}"
            labels += [label] if label not in labels else []
            at = labels.index(label) + 0.27 * (place - 1)
            axes.bar(at, error.rms * factor, 0.25, color=colors[stage])
    for stage, color in colors.items():
        axes.bar(0, 0, color=color, label=stage)
    axes.set_yscale("log")
    axes.set_xticks(range(len(labels)), labels, fontsize=7, parse_math=False)
    axes.set_title("errors, root mean square", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)


def _draw_residuals(calibration: Calibration, axes):
    """Lengths of the residuals of every row; rows that do not belong are crossed."""
    for residuals, color in zip(calibration.residuals, cycle((LINE, OTHER, TRAIL)), strict=False):
        factor, unit = ERRORS[residuals.unit]
        after = np.where(np.isnan(residuals.held_out), residuals.calibrated, residuals.held_out)
        lengths = factor * np.sqrt(np.nansum(after**2, axis=1))
        label = f"{residuals.name}, {unit}"
        axes.plot(residuals.row, lengths, ".", color=color, markersize=3, label=label.replace("$", r"\$"))
        axes.plot(residuals.row[~residuals.used], lengths[~residuals.used], "x", color=INK, markersize=5)
    axes.set_yscale("log")
    axes.set_title("residuals by row, held out where possible", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    label_axes(axes, "row")


def _draw_deviations(calibration: Calibration, axes, unit: str, color: str):
    chosen = [k for k, its in enumerate(calibration.units) if its == unit]
    factor, shown = DEVIATIONS[unit]
    places = np.arange(len(chosen))
    values, std = calibration.values[chosen] * factor, calibration.std[chosen] * factor
    axes.errorbar(values, places, xerr=std, fmt="o", color=color, markersize=4, elinewidth=1.2, capsize=2)
    axes.axvline(0.0, color=FAINT, linewidth=0.8)
    axes.set_yticks(places, [calibration.names[k] for k in chosen], fontsize=6)
    axes.invert_yaxis()
    axes.set_title("deviations from nominal ± std", loc="left", fontsize=9, color=INK)
    label_axes(axes, shown)


def draw_identifiability(structure: Identifiability, path: str | PathLike[str]) -> Path:
    """Singular values of the scaled Jacobian, kept and dropped: how clear the decision is."""
    file = checked_picture(path)
    figure = new_figure((7.0, 4.0))
    axes = figure.add_subplot()
    values = np.maximum(
        structure.singular_values / max(float(structure.singular_values.max(initial=0.0)), 1e-300), 1e-18
    )
    kept = structure.rank + structure.rank_unknowns
    number = np.arange(1, len(values) + 1)
    axes.semilogy(number[:kept], values[:kept], "o", color=LINE, markersize=4, label=f"{kept} independent")
    axes.semilogy(
        number[kept:], values[kept:], "o", color=OTHER, markersize=4, label=f"{len(values) - kept} dropped"
    )
    axes.legend(fontsize=8)
    plain(axes)
    label_axes(axes, "number", "singular value, largest 1")
    axes.set_title(structure.summary, loc="left", fontsize=8, color=INK, wrap=True, parse_math=False)
    return saved(figure, file)


def draw_accuracy(accuracy: AccuracyMap, path: str | PathLike[str]) -> Path:
    """Predicted accuracy over the workspace, seen from above and from the side."""
    file = checked_picture(path)
    figure = new_figure((10, 4.6))
    axes = figure.subplots(1, 2)
    order = np.argsort(accuracy.sigma_position)
    p, size = accuracy.points[order], 1e3 * accuracy.sigma_position[order]
    for ax, (i, j) in zip(axes, ((0, 1), (0, 2)), strict=True):
        dots = ax.scatter(p[:, i], p[:, j], c=size, s=6, cmap="viridis")
        ax.set_xlabel(f"{'xyz'[i]}, m")
        ax.set_ylabel(f"{'xyz'[j]}, m")
        ax.set_aspect("equal")
    figure.colorbar(dots, ax=axes, label="standard deviation of the position, mm")
    figure.suptitle("Uncertainty that the calibration leaves")
    return saved(figure, file)
