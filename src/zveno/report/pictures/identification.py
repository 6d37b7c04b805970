"""Pictures of identifications: measured and predicted torques, friction, what is not explained, parameters."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...identification.curves import friction_curve, residual_spectrum
from ...identification.result import Identification
from .figure import new_figure, plain, saved
from .mechanism import FAINT, INK, TRAIL, checked_picture
from .plan import LINE, OTHER, label_axes

SHOWN = 1200
"""Rows of a joint's torque that are drawn."""
DOTS = 600
LEVEL = 0.95
MOST_PARAMETERS = 80


def draw_identification(fitted: Identification, path: str | PathLike[str]) -> Path:
    """For every joint the torque, measured and predicted with its band, friction with the data, and the spectrum of
    the residual; below them all parameters with their standard deviations and the prior."""
    file = checked_picture(path)
    n = len(fitted.joint_names)
    figure = new_figure((13.0, 1.7 * n + 3.6))
    grid = figure.add_gridspec(n + 1, 4, height_ratios=[1.0] * n + [2.0])
    spectrum = residual_spectrum(fitted.validation.series)
    for j in range(n):
        axes = (
            figure.add_subplot(grid[j, :2]),
            figure.add_subplot(grid[j, 2]),
            figure.add_subplot(grid[j, 3]),
        )
        _draw_torque(fitted, j, axes[0])
        _draw_friction(fitted, j, axes[1])
        _draw_spectrum(spectrum, j, fitted, axes[2])
        for title, ax in zip(("torque and its 95 % band", "friction", "spectrum"), axes, strict=True):
            plain(ax, 7)
            if j == 0:
                ax.set_title(title, loc="left", fontsize=9, color=INK)
    _draw_parameters(fitted, figure.add_subplot(grid[n, :]))
    figure.suptitle(f"{fitted.nominal.name}: {fitted.status}", color=INK, fontsize=10, parse_math=False)
    return saved(figure, file)


def _draw_torque(fitted: Identification, j: int, axes: Any) -> None:
    """Rows that were not fitted, one after the other: gaps and rest are left out by their times."""
    series, validation = fitted.validation.series, fitted.validation
    rows = slice(0, SHOWN)
    order = np.arange(len(series.t))[rows] * series.interval
    half = float(np.interp(LEVEL, validation.levels, validation.quantiles[:, j])) * validation.rms[j]
    moving = series.moving[rows, j]
    measured = np.where(moving, series.measured[rows, j], np.nan)
    predicted = np.where(moving, series.predicted[rows, j], np.nan)
    axes.fill_between(order, predicted - half, predicted + half, color=LINE, alpha=0.2, linewidth=0)
    axes.plot(order, measured, color=INK, linewidth=0.8, label="measured")
    axes.plot(order, predicted, color=LINE, linewidth=0.8, label="predicted")
    error = validation.errors["identified"][j]
    told = f"error {error:.1%}, band ± {half:.2g}"  # the band of a small error is thinner than the lines
    axes.text(0.01, 0.97, told, transform=axes.transAxes, va="top", fontsize=7, color=FAINT)
    label_axes(axes, "s" if j == len(fitted.joint_names) - 1 else "", fitted.joint_names[j])
    if j == 0:
        axes.legend(fontsize=7, loc="upper right", ncols=2)


def _draw_friction(fitted: Identification, j: int, axes: Any) -> None:
    series = fitted.validation.series
    moving = np.flatnonzero(series.moving[:, j])
    some = moving[:: max(1, len(moving) // DOTS)]
    axes.plot(series.v[some, j], series.friction[some, j], ".", color=OTHER, markersize=2, alpha=0.5)
    if fitted.torque_names and not fitted.torques:
        return  # a result from a file does not hold the functions of torque columns
    v, tau = friction_curve(fitted, j)
    axes.plot(v, tau, color=INK, linewidth=1.0)
    label_axes(axes, "velocity" if j == len(fitted.joint_names) - 1 else "")


def _draw_spectrum(spectrum: tuple[np.ndarray, ...], j: int, fitted: Identification, axes: Any) -> None:
    f, residual, torque = spectrum
    if len(f):
        axes.loglog(f, np.maximum(torque[:, j], 1e-30), color=FAINT, linewidth=0.8, label="torque")
        axes.loglog(f, np.maximum(residual[:, j], 1e-30), color=TRAIL, linewidth=0.8, label="residual")
        axes.axvline(fitted.choices.band, color=FAINT, linewidth=0.6, linestyle=":")
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    label_axes(axes, "Hz" if j == len(fitted.joint_names) - 1 else "")
    if j == 0 and len(f):
        axes.legend(fontsize=6)


def _draw_parameters(fitted: Identification, axes: Any) -> None:
    """Values over the largest of value, prior and standard deviation, so that all fit on one scale."""
    values, std = fitted.values, fitted.std
    prior = np.full(len(values), np.nan)
    prior[: len(fitted.kept)] = fitted.base.values[fitted.kept]
    count = min(len(values), MOST_PARAMETERS)
    sizes = np.fmax(np.fmax(abs(values), abs(prior)), np.where(np.isfinite(std), std, 0.0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    places = np.arange(count)
    spread = np.where(np.isfinite(std), std, 0.0) / sizes
    axes.errorbar(
        places,
        (values / sizes)[:count],
        yerr=np.minimum(spread, 1.5)[:count],
        fmt="o",
        color=LINE,
        markersize=3,
        elinewidth=1.0,
        capsize=1.5,
        label="identified ± std",
    )
    axes.plot(places, (prior / sizes)[:count], "_", color=OTHER, markersize=7, label="nominal")
    axes.axhline(0.0, color=FAINT, linewidth=0.6)
    axes.set_xticks(places, fitted.names[:count], rotation=90, fontsize=6, parse_math=False)
    axes.set_ylim(-1.6, 1.6)
    more = f", the first {count} of {len(values)}" if count < len(values) else ""
    axes.set_title(f"parameters, each over its own size{more}", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    plain(axes, 6)
