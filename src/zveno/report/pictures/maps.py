"""Pictures of maps of inverse kinematics: layers of the workspace, and poses by number of solutions."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ...ik.maps.results import IkMap, WorkspaceMap
from .figure import saved
from .mechanism import INK, checked_picture
from .plan import LINE, label_axes, panels_of

LAYERS = 4


def draw_ik_map(result: IkMap, path: str | PathLike[str]) -> Path:
    """How many poses have how many solutions."""
    file = checked_picture(path)
    figure, (axes,) = panels_of(1, (6.0, 4.0))
    numbers = result.tally.numbers
    axes.bar([str(number) for number in numbers], list(numbers.values()), color=LINE)
    label_axes(axes, "solutions", "poses")
    axes.set_title(f"{result.robot}: {result.tally.words}", loc="left", fontsize=8, color=INK, wrap=True)
    return saved(figure, file)


def draw_workspace(result: WorkspaceMap, path: str | PathLike[str]) -> Path:
    """Layers of the workspace from above: in which share of the orientations positions are reached; positions with
    undecided orientations have a dot."""
    file = checked_picture(path)
    nz = result.counts[2]
    shown = (
        np.unique(np.linspace(0, nz - 1, min(LAYERS, nz) + 2)[1:-1].round().astype(int)) if nz > 2 else range(nz)
    )
    figure, panels = panels_of(len(shown), (3.2 * len(shown) + 1.2, 3.8))
    low, high = result.lower - 0.5 * result.step, result.lower + result.step * (np.array(result.counts) - 0.5)
    extent = (low[0], max(high[0], low[0] + 1e-9), low[1], max(high[1], low[1] + 1e-9))
    for axes, k in zip(panels, shown, strict=True):
        layer = result.layer(int(k))
        share = 100.0 * layer["reached"] / len(result.orientations)
        image = axes.imshow(share, origin="lower", extent=extent, vmin=0.0, vmax=100.0, cmap="viridis")
        y, x = np.nonzero(layer["undecided"])
        axes.plot(result.lower[0] + result.step[0] * x, result.lower[1] + result.step[1] * y, ".", color=INK, ms=2)
        axes.set_title(f"z {result.lower[2] + result.step[2] * k:.2f} m", fontsize=9, color=INK)
        label_axes(axes, "x, m", "y, m" if k == shown[0] else "")
    what = "orientations with a solution, %" if len(result.orientations) > 1 else "reached, %"
    figure.colorbar(image, ax=panels, label=what)
    title = f"{result.robot}: {result.n_reached} of {result.grid.size} positions reached"
    figure.suptitle(title + ("; dots: some pose undecided" if not result.sure else ""), color=INK, fontsize=10)
    return saved(figure, file)
