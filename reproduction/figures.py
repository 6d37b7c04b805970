"""Figures 1 and 2 of document 001: errors of an axis against the number of measurements, and the study of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from zveno.documents import calibration as cf

from .plan_study import NAMES, Study

LINE, OTHER, FAINT = "#3d7dca", "#ee8434", "#66717e"


def draw_axis_errors(numbers: Sequence[int] = range(3, 21), width: float = np.pi) -> Figure:
    """Document 001, figure 1: error of an axis against the number of measurements, evenly spread and optimal.

    For a revolute joint the root of tr cov(δω), since the trace of information accepts singular plans; for a
    prismatic joint ε_ω, which is the same but for a factor.
    """
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots(1, 2)
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
        panel.set_title(title, loc="left", fontsize=9)
        panel.set_ylim(bottom=0.0)
        panel.legend(fontsize=7)
        panel.locator_params(axis="x", integer=True)
        panel.set_xlabel("measurements m")
        panel.set_ylabel(f"{label}, in units of σ/r")
    return figure


def _axis_spread(q) -> float:
    return float(np.sqrt(np.trace(cf.axis_covariance(cf.circle(q), 1.0)[0])))


def draw_study(studies: Mapping[str, Study]) -> Figure:
    """Document 001, figure 2: errors of every parameter in every experiment, a column a plan, predicted ±2σ.

    x0 and y0 take up the constant error of the measuring system; their panels are centred there.
    """
    figure = Figure(figsize=(4.6 * len(studies), 9.0), layout="constrained")
    grid = figure.subplots(6, len(studies), squeeze=False)
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
            off = [other.errors[:, row] * scale - mean for other in studies.values()]
            reach = 1.05 * max(abs(other).max() for other in off)
            panel.set_ylim(mean - reach, mean + reach)
            panel.set_ylabel(f"Δ{name}, {'mrad' if name.startswith('q') else 'mm'}", fontsize=7)
            if row == 0:
                panel.set_title(title, loc="left", fontsize=9)
                panel.legend(fontsize=6, loc="lower right", ncols=2)
            if row < len(NAMES) - 1:
                panel.tick_params(labelbottom=False)
        grid[-1, column].set_xlabel("experiment")
    return figure
