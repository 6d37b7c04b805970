"""Pictures of calibrations: parameters and errors, accuracy over the workspace, and what can be identified."""

from __future__ import annotations

from itertools import cycle
from os import PathLike
from pathlib import Path

import numpy as np

from ...calibration.identifiability.analysis import Identifiability
from ...calibration.result import Calibration
from ...calibration.use.accuracy import AccuracyMap
from ...calibration.use.accuracy_cells import AccuracyCells
from ...io.units import DEVIATIONS, ERRORS
from .figure import new_figure, plain, saved
from .mechanism import FAINT, INK, TRAIL, checked_picture
from .plan import LINE, OTHER, label_axes, panels_of


def draw_calibration(calibration: Calibration, path: str | PathLike[str]) -> Path:
    """Errors before, after and held out, residuals by row, and the deviations with their standard deviations."""
    file = checked_picture(path)
    figure, (errors, rows, lengths, angles) = panels_of(4, (10.0, 7.6), rows=2)
    _draw_errors(calibration, errors)
    _draw_residuals(calibration, rows)
    _draw_deviations(calibration, lengths, "m", LINE)
    _draw_deviations(calibration, angles, "rad", OTHER)
    figure.suptitle(f"{calibration.nominal.name}: {calibration.status}", color=INK, fontsize=10, parse_math=False)
    return saved(figure, file)


def _draw_errors(calibration: Calibration, axes):
    """Root mean squares of every kind of error, a group of bars each, of the rows that belong, on a logarithmic
    scale."""
    before, after = calibration.baseline, calibration.held_out
    if calibration.outliers:
        before, after = calibration.baseline_unflagged, calibration.held_out_unflagged
    stages = {"nominal": before, "calibrated": calibration.training, "held out": after}
    colors = dict(zip(stages, (FAINT, LINE, TRAIL), strict=True))
    labels: list[str] = []
    sizes: list[float] = []
    for place, (stage, kinds) in enumerate(stages.items()):
        for error in kinds:
            factor, unit = ERRORS[error.unit]
            label = f"{error.name}, {unit}"
            labels += [label] if label not in labels else []
            at = labels.index(label) + 0.27 * (place - 1)
            drawn = axes.bar(at, error.rms * factor, 0.25, color=colors[stage])
            axes.bar_label(drawn, [f"{error.rms * factor:.3g}"], fontsize=7, color=INK, padding=1)
            sizes.append(error.rms * factor)
    for stage, color in colors.items():
        axes.bar(0, 0, color=color, label=stage)
    axes.set_yscale("log")
    if any(sizes):  # what a bar's length says is written on it
        axes.set_ylim(0.3 * min(size for size in sizes if size), 2.0 * max(sizes))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xticks(range(len(labels)), labels, fontsize=7, parse_math=False)
    of = ", rows that belong" if calibration.outliers else ""
    axes.set_title(f"errors, root mean square{of}", loc="left", fontsize=9, color=INK)
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
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
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
    kept = structure.rank
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


def draw_accuracy(accuracy: AccuracyMap | AccuracyCells, path: str | PathLike[str]) -> Path:
    """Error before and standard deviation after calibration in slices of the workspace between heights; cells where
    the robot is not better beyond doubt have a dot."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    file = checked_picture(path)
    slices = accuracy.slices()
    figure = new_figure((3.2 * len(slices) + 1.2, 6.4))
    axes = figure.subplots(2, len(slices), sharex=True, sharey=True, squeeze=False)
    values = 1e3 * np.concatenate([np.concatenate([cut.before, cut.after]) for cut in slices])
    shown = values[values > 0]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (1e-3, 1.0)
    norm, colors = LogNorm(low, max(high, 1.01 * low)), colormaps["viridis"]
    for column, cut in zip(axes.T, slices, strict=True):
        for ax, sizes in zip(column, (cut.before, cut.after), strict=True):
            corners = cut.centres - 0.5 * cut.size
            for (x, y), size in zip(corners, 1e3 * sizes, strict=True):
                color = colors(norm(max(size, low)))
                ax.add_patch(Rectangle((x, y), cut.size, cut.size, color=color))
            ax.autoscale_view()
            ax.set_aspect("equal")
        doubtful = cut.centres[~cut.sure]
        column[1].plot(doubtful[:, 0], doubtful[:, 1], ".", color=INK, markersize=3)
        column[0].set_title(f"z {cut.low:.2f} to {cut.high:.2f} m", fontsize=9, color=INK)
        column[1].set_xlabel("x, m")
    for ax, word in zip(axes[:, 0], ("before", "after"), strict=True):
        ax.set_ylabel(f"{word}: y, m")
    figure.colorbar(
        ScalarMappable(norm, colors), ax=axes, label="position: error before, standard deviation after, mm"
    )
    figure.suptitle("Where the robot is better, and where not sure (dots)", color=INK, fontsize=10)
    return saved(figure, file)
