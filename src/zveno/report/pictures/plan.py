"""Pictures of plans: accuracy of parameters, and against the number of postures."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...calibration.fit.errors import ERRORS
from ...design.result import Curve, Plan
from ...design.trials import Trials
from .figure import new_figure, plain, saved
from .mechanism import FAINT, INK, TRAIL, checked_picture
from .view import GRID

LINE, OTHER = "#3d7dca", "#ee8434"


def draw_plan(plan: Plan, path: str | PathLike[str], *, curve: Curve | None = None) -> Path:
    """Standard deviations of the parameters, the tool's over the workspace, and the curve if there is one."""
    file = checked_picture(path)
    panels = 2 if curve is None else 3
    figure, axes = panels_of(panels, (4.2 * panels, 3.8))
    _draw_parameters(plan, axes[0])
    axes[1].set_title("tool over the workspace", loc="left", fontsize=9, color=INK)
    if np.isfinite(plan.tool_sigma).all() and len(plan.tool_sigma):
        radius = np.linalg.norm(plan.tool_positions[:, :2], axis=1)
        sigma = plan.tool_sigma * 1e3
        # Colours span at least a fifth of the value: a tool equally good everywhere should look so.
        shown = axes[1].scatter(
            radius,
            plan.tool_positions[:, 2],
            c=sigma,
            s=14,
            cmap="viridis",
            linewidths=0,
            vmin=min(sigma.min(), 0.8 * sigma.max()),
            vmax=sigma.max(),
        )
        bar = figure.colorbar(shown, ax=axes[1])
        bar.set_label("σ of the tool, mm", color=INK, fontsize=9)
        bar.ax.tick_params(colors=FAINT, labelsize=7)
    label_axes(axes[1], "distance from the z axis, m", "height, m")
    if curve is not None:
        draw_curve(curve, axes[2])
    figure.suptitle(f"{plan.robot}: {len(plan.q)} postures, criterion {plan.criterion}", color=INK, fontsize=10)
    return saved(figure, file)


def draw_accuracy_curve(curve: Curve, path: str | PathLike[str]) -> Path:
    """Accuracy of the tool against the number of postures."""
    file = checked_picture(path)
    figure, axes = panels_of(1, (5.5, 4.0))
    draw_curve(curve, axes[0])
    figure.suptitle(f"{curve.robot}, {curve.measurement} measurements", color=INK, fontsize=10)
    return saved(figure, file)


def draw_trials(trials: Trials, path: str | PathLike[str]) -> Path:
    """Errors of simulated robots before and after calibration, by kind of reading."""
    file = checked_picture(path)
    figure, panels = panels_of(len(trials.names), (4.6 * len(trials.names), 3.8))
    for k, (axes, name, unit) in enumerate(zip(panels, trials.names, trials.units, strict=True)):
        factor, spoken = ERRORS[unit]
        for errors, colour, label in ((trials.before, FAINT, "nominal"), (trials.after, LINE, "calibrated")):
            share = np.arange(1, len(errors) + 1) / len(errors)
            axes.step(np.sort(errors[:, k]) * factor, 100.0 * share, where="post", color=colour, label=label)
        axes.set_xscale("log")
        axes.set_ylim(0.0, 100.0)
        axes.set_title(name, loc="left", fontsize=9, color=INK)
        axes.legend(fontsize=7)
        label_axes(axes, f"rms error, {spoken}", "robots below, %")
    words = f"{trials.robot}: {len(trials.trials)} simulated calibrations, {trials.n_postures} postures"
    figure.suptitle(words, color=INK, fontsize=10)
    return saved(figure, file)


def _draw_parameters(plan: Plan, axes):
    """A bar for every parameter: lengths and angles in their own colours, before and with the plan."""
    places = np.arange(len(plan.names))
    finite = np.where(np.isfinite(plan.sigma), plan.sigma, np.nan) * 1e3
    if plan.sigma_before is not None:
        before = np.where(np.isfinite(plan.sigma_before), plan.sigma_before, np.nan) * 1e3
        axes.barh(places, before, color=GRID, label="measured before")
    units = np.array(plan.units)
    for unit, colour in (("m", LINE), ("rad", OTHER)):
        of_unit = units == unit
        if of_unit.any():
            axes.barh(places[of_unit], finite[of_unit], color=colour, height=0.5, label=f"m{unit}")
    others = (units != "m") & (units != "rad")
    if others.any():
        axes.barh(places[others], finite[others], color=FAINT, height=0.5, label="10⁻³ of their unit")
    axes.set_yticks(places, plan.names, fontsize=6)
    axes.invert_yaxis()
    axes.set_title("parameters", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    label_axes(axes, "σ, mm or mrad")


def draw_curve(curve: Curve, axes: Any) -> None:
    """Accuracy of the tool against the number of postures, with the knee marked, into matplotlib axes."""
    axes.plot(curve.n, curve.tool_worst * 1e3, color=OTHER, label="worst place")
    axes.plot(curve.n, curve.tool_typical * 1e3, color=LINE, label="typical")
    at = int(np.searchsorted(curve.n, curve.knee))
    axes.plot(curve.knee, curve.tool_typical[at] * 1e3, "o", color=TRAIL, fillstyle="none", label=_knee(curve))
    axes.set_ylim(bottom=0.0)
    axes.set_title("accuracy against number", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    axes.locator_params(axis="x", integer=True)
    label_axes(axes, f"postures after {curve.n_have}" if curve.n_have else "postures", "σ of the tool, mm")


def _knee(curve: Curve) -> str:
    return f"knee: {curve.knee} {'more' if curve.n_have else 'postures'}"


def label_axes(axes: Any, x: str, y: str = "") -> None:
    """Names of both axes of a panel."""
    axes.set_xlabel(x, color=INK, fontsize=9)
    if y:
        axes.set_ylabel(y, color=INK, fontsize=9)


def panels_of(panels: int, size: tuple[float, float], rows: int = 1) -> Any:
    """A figure with so many panels in rows, and its panels."""
    figure = new_figure(size)
    axes = [figure.add_subplot(rows, panels // rows, k + 1) for k in range(panels)]
    for panel in axes:
        plain(panel, 7)
    return figure, axes
