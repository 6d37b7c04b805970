"""A picture of base parameters: what becomes of the ten parameters of every link."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ...base_parameters.result import BaseParameters
from .figure import new_figure, saved
from .mechanism import FAINT, INK, checked_picture

KINDS = {"alone": "#3d7dca", "combined": "#ee8434", "without effect": "#e4e4e4"}
"""Colours of the three kinds of link parameters."""
_MARK = "•"


def draw_base_parameters(base: BaseParameters, path: str | PathLike[str]) -> Path:
    """The parameters of every link: alone, combined with others, or without effect; a dot marks base columns."""
    file = checked_picture(path)
    n = len(base.mechanism.joints)
    names = np.array(base.parameter_names[: 10 * n]).reshape(n, 10)
    groups = {"alone": set(base.alone), "without effect": set(base.without_effect)}
    columns = {int(k) for k in base.columns if k < 10 * n}
    figure = new_figure((7.0, 1.4 + 0.32 * n))
    axes = figure.add_subplot()
    for i in range(n):
        for j in range(10):
            kind = next((kind for kind, members in groups.items() if names[i, j] in members), "combined")
            axes.add_patch(_square(j, i, KINDS[kind]))
            axes.text(j, i, names[i, j], ha="center", va="center", fontsize=6, color=INK, parse_math=False)
            if 10 * i + j in columns:
                axes.text(j + 0.38, i - 0.28, _MARK, ha="center", va="center", fontsize=8, color=INK)
    for kind, color in KINDS.items():
        axes.plot([], [], "s", color=color, label=kind)
    axes.plot([], [], ".", color=INK, label="base column")
    axes.set_xlim(-0.6, 9.6)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xticks([])
    axes.set_yticks(range(n), base.mechanism.link_names[1:], fontsize=7, color=FAINT, parse_math=False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False, fontsize=7, labelcolor=INK)
    title = f"{base.mechanism.name}: {base.rank} base parameters"
    axes.set_title(title, loc="left", fontsize=9, color=INK, parse_math=False)
    return saved(figure, file)


def _square(x: float, y: float, color: str):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, color=color, linewidth=0)
