"""The one-dimensional function whose zeros are all solutions of inverse kinematics, drawn for one pose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...ik.six_revolute.route import Curve
from .figure import new_figure, plain, saved
from .mechanism import FAINT, INK, TRAIL, checked_picture
from .numbers import LINE
from .view import GRID

_LEAST, _MOST = 1e-12, 1e-2
"""Between these shares of its greatest value the drawing changes from linear to logarithmic."""


def draw_zeros(curve: Curve, file: Any, *, robot: str = "", degrees: bool = False, size: Any = (9.0, 4.5)) -> Path:
    """Draw the polynomial of the scan joint, its zeros, and what they hold, and save the picture; returns the file.

    Args:
        curve: of one pose.
        file: .png or .svg.
        robot: its name, for the caption.
        degrees: whether the angle's axis is in degrees.
        size: inches.
    """
    file = checked_picture(file)
    unit = 180.0 / np.pi if degrees else 1.0
    figure = new_figure(size)
    axes = figure.add_subplot()
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
    axes.plot(unit * curve.angle, curve.value, color=LINE, linewidth=1.4, label="p, zero at every configuration")
    for low, high in _outside(curve.limits):
        axes.axvspan(unit * low, unit * high, color=GRID, alpha=0.6, linewidth=0, zorder=0)
    inside, outside = (
        np.isin(np.arange(len(curve.roots)), curve.at[chosen]) for chosen in (curve.inside, ~curve.inside)
    )
    kinds = [
        (inside, {"color": TRAIL, "markersize": 8}, "zeros with configurations inside the limits"),
        (outside & ~inside, {"color": TRAIL, "markersize": 8, "fillstyle": "none"}, "only outside the limits"),
        (~inside & ~outside, {"color": FAINT, "markersize": 5, "fillstyle": "none"}, "zeros of no configuration"),
    ]
    for chosen, look, label in kinds:
        if chosen.any():
            axes.plot(unit * curve.roots[chosen], np.zeros(chosen.sum()), "o", label=label, zorder=3, **look)
    for k, times in enumerate(np.bincount(curve.at, minlength=len(curve.roots))):
        if times > 1:
            place = (unit * curve.roots[k], 0.0)
            axes.annotate(
                f"×{times}", place, (0, 9), textcoords="offset points", ha="center", color=INK, fontsize=9
            )
    _scale(axes, _linear_part(curve))
    axes.set_xlim(-np.pi * unit, np.pi * unit)
    if degrees:
        axes.set_xticks(np.arange(-180, 181, 60))
    axes.set_xlabel(f"{curve.joint}, {'degrees' if degrees else 'radians'}", color=INK)
    axes.set_ylabel("polynomial p, greatest value 1", color=INK)
    shaded = "; grey: outside its limits" if _outside(curve.limits) else ""
    n, held = len(curve.solutions), int(curve.inside.sum())
    axes.set_title(
        f"{robot}: {held} of {n} configurations inside the limits{shaded}", loc="left", color=INK, fontsize=10
    )
    plain(axes)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False, fontsize=8, labelcolor=INK)
    return saved(figure, file)


def _linear_part(curve: Curve) -> float:
    """Below this the axis is linear: a third of the lowest crest between neighbouring zeros, so that each shows."""
    if not len(curve.roots):
        return _MOST
    arc = np.searchsorted(curve.roots, curve.angle) % len(curve.roots)
    crests = [np.abs(curve.value[arc == k]).max(initial=0.0) for k in range(len(curve.roots))]
    return float(np.clip(min(crests) / 3, _LEAST, _MOST))


def _scale(axes, linear: float):
    axes.set_yscale("symlog", linthresh=linear)
    decades = np.arange(0, np.log10(linear) - 1e-9, -max(1, round(-np.log10(linear) / 4)))
    ticks = 10.0**decades
    axes.set_yticks([*-ticks, 0.0, *ticks], [*(f"−{t:g}" for t in ticks), "0", *(f"{t:g}" for t in ticks)])
    axes.minorticks_off()
    axes.set_ylim(-3, 3)


def _outside(limits: tuple[float, float]) -> list[tuple[float, float]]:
    """Ranges within [−π, π] that limits exclude, whole turns included."""
    low, high = limits
    if not high - low < 2 * np.pi:
        return []
    start = high - 2 * np.pi * np.floor((high + np.pi) / (2 * np.pi))
    end = start + 2 * np.pi - (high - low)
    return [(start, min(end, np.pi))] + ([(-np.pi, end - 2 * np.pi)] if end > np.pi else [])
