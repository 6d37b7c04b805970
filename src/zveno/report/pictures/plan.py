"""Pictures of plans: accuracy of parameters, against the number of postures, and document 001's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...design import closed_forms as cf
from ...design.result import Curve, Plan
from ...design.study import NAMES, Study
from .figure import new_figure, plain, saved
from .mechanism import FAINT, GRID, INK, TRAIL, checked_picture

LINE, OTHER = "#3d7dca", "#ee8434"


def draw_plan(plan: Plan, curve: Curve | None, file) -> Path:
    """Standard deviations of the parameters, the tool's over the workspace, and the curve if there is one."""
    file = checked_picture(file)
    panels = 2 if curve is None else 3
    figure, axes = _figure(panels, (4.2 * panels, 3.8))
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
    _label(axes[1], "distance from the z axis, m", "height, m")
    if curve is not None:
        draw_curve(curve, axes[2])
    figure.suptitle(f"{plan.robot}: {len(plan.q)} postures, criterion {plan.criterion}", color=INK, fontsize=10)
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
        own = units == unit
        if own.any():
            axes.barh(places[own], finite[own], color=colour, height=0.5, label=f"m{unit}")
    others = (units != "m") & (units != "rad")
    if others.any():
        axes.barh(places[others], finite[others], color=FAINT, height=0.5, label="10⁻³ of their unit")
    axes.set_yticks(places, plan.names, fontsize=6)
    axes.invert_yaxis()
    axes.set_title("parameters", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    _label(axes, "σ, mm or mrad")


def draw_curve(curve: Curve, axes):
    """Accuracy of the tool against the number of postures, with the knee marked, into matplotlib axes."""
    axes.plot(curve.n, curve.tool_worst * 1e3, color=OTHER, label="worst place")
    axes.plot(curve.n, curve.tool_typical * 1e3, color=LINE, label="typical")
    at = int(np.searchsorted(curve.n, curve.knee))
    axes.plot(curve.knee, curve.tool_typical[at] * 1e3, "o", color=TRAIL, fillstyle="none", label=_knee(curve))
    axes.set_ylim(bottom=0.0)
    axes.set_title("accuracy against number", loc="left", fontsize=9, color=INK)
    axes.legend(fontsize=7)
    axes.locator_params(axis="x", integer=True)
    _label(axes, f"postures after {curve.n_have}" if curve.n_have else "postures", "σ of the tool, mm")


def _knee(curve: Curve) -> str:
    return f"knee: {curve.knee} {'more' if curve.n_have else 'postures'}"


def draw_axis_errors(file, numbers: Sequence[int] = range(3, 21), width: float = np.pi) -> Path:
    """Document 001, figure 1: error of an axis against the number of measurements, evenly spread and optimal.

    For a revolute joint the root of tr cov(δω), since the trace of information accepts singular plans; for a
    prismatic joint ε_ω, which is the same but for a factor.
    """
    file = checked_picture(file)
    figure, axes = _figure(2, (9.0, 3.6))
    numbers = list(numbers)
    low, high = -0.5 * width, 0.5 * width
    panels = {
        f"revolute, within {np.degrees(width):.0f}°": ("revolute", low, high, "√tr cov(δω)", _axis_spread),
        "prismatic": ("prismatic", -1.0, 1.0, "$\\varepsilon_\\omega$", lambda q: cf.axis_error(cf.line(q), 1.0)),
    }
    for panel, (title, (kind, low, high, label, error)) in zip(axes, panels.items(), strict=True):
        even = [error(cf.uniform_values(m, low, high)) for m in numbers]
        best = [error(cf.best_axis_values(kind, m, low, high)) for m in numbers]
        panel.plot(numbers, even, "o-", color=OTHER, markersize=3, label="1: evenly spread")
        panel.plot(numbers, best, "o-", color=LINE, markersize=3, label="2: optimal")
        panel.set_title(title, loc="left", fontsize=9, color=INK)
        panel.set_ylim(bottom=0.0)
        panel.legend(fontsize=7)
        panel.locator_params(axis="x", integer=True)
        _label(panel, "measurements m", f"{label}, in units of σ/r")
    return saved(figure, file)


def _axis_spread(q) -> float:
    return float(np.sqrt(np.trace(cf.axis_covariance(cf.circle(q), 1.0)[0])))


def draw_study(studies: Mapping[str, Study], file) -> Path:
    """Document 001, figure 2: errors of every parameter in every experiment, a column a plan, predicted ±2σ.

    x0 and y0 take up the constant error of the measuring system; their panels are centred there.
    """
    file = checked_picture(file)
    figure, axes = _figure(len(studies) * 6, (4.6 * len(studies), 9.0), rows=6)
    grid = np.array(axes).reshape(6, len(studies))
    for column, (title, study) in enumerate(studies.items()):
        for row, name in enumerate(NAMES):
            panel = grid[row, column]
            scale = 1e3 if name.startswith("q") else 1.0
            errors = study.errors[:, row] * scale
            panel.plot(np.arange(1, len(errors) + 1), errors, color=LINE, linewidth=0.7, label="error")
            mean = (study.bias[row - 4] if row >= 4 else 0.0) * scale
            for side, label in ((-2.0, "predicted ±2σ"), (2.0, None)):
                at = mean + side * study.predicted[row] * scale
                panel.axhline(at, color=OTHER, linewidth=0.8, linestyle="--", label=label)
            panel.axhline(mean, color=FAINT, linewidth=0.6)
            off = [one.errors[:, row] * scale - mean for one in studies.values()]
            reach = 1.05 * max(abs(one).max() for one in off)
            panel.set_ylim(mean - reach, mean + reach)
            panel.set_ylabel(f"Δ{name}, {'mrad' if name.startswith('q') else 'mm'}", fontsize=7, color=INK)
            if row == 0:
                panel.set_title(title, loc="left", fontsize=9, color=INK)
                panel.legend(fontsize=6, loc="lower right", ncols=2)
            if row < len(NAMES) - 1:
                panel.tick_params(labelbottom=False)
        _label(grid[-1, column], "experiment")
    return saved(figure, file)


def _label(axes, x: str, y: str = ""):
    axes.set_xlabel(x, color=INK, fontsize=9)
    if y:
        axes.set_ylabel(y, color=INK, fontsize=9)


def _figure(panels: int, size: tuple[float, float], rows: int = 1):
    figure = new_figure(size)
    axes = [figure.add_subplot(rows, panels // rows, k + 1) for k in range(panels)]
    for one in axes:
        plain(one, 7)
    return figure, axes
