"""The reports of maps of inverse kinematics: layers of the workspace, poses by status and number of solutions."""

from __future__ import annotations

import numpy as np

from ...ik.maps.results import IkMap, WorkspaceMap
from ...ik.maps.tally import Tally
from .blocks import Block, bars, table, value_map
from .page import Chapter

LAYERS = 6
"""Of a workspace: more are thinned out evenly."""


def ik_map_chapter(result: IkMap) -> Chapter:
    """How many poses have how many solutions, and what is claimed of them."""
    tally = result.tally
    tiles = (
        (str(tally.poses), f"poses of {result.frame}"),
        (str(tally.solutions), "solutions"),
        (f"{tally.residual:.1e}", "worst residual, m or rad"),
        (str(tally.unsure), "poses of which more may exist"),
    )
    files = table("Files", ("what", "where"), [["list of the files", str(result.manifest)]])
    title = f"{result.robot}, map of inverse kinematics"
    return Chapter(title, result.summary, _tone(tally), tiles, (*_tallied(tally), files))


def workspace_chapter(result: WorkspaceMap) -> Chapter:
    """Layers from above by the share of orientations that are reached; what is claimed; the layers as a table."""
    n, tried = result.grid.size, len(result.orientations)
    tiles = (
        (f"{result.n_reached / n:.0%}", f"of {n} positions reached"),
        (f"{result.volume:.3g} m³", "of cells whose centre is reached"),
        (str(result.n_everywhere), f"positions reached in all {tried} orientations"),
        (str(result.n_undecided), "positions undecided"),
    )
    heights = result.lower[2] + result.step[2] * np.arange(result.counts[2])
    layers = [result.layer(k) for k in range(len(heights))]
    filled = [k for k, layer in enumerate(layers) if layer["reached"].any()]
    kept = (
        np.unique(np.linspace(0, len(filled) - 1, min(LAYERS, len(filled))).round().astype(int)) if filled else []
    )
    blocks = [_layer(result, float(heights[filled[k]]), layers[filled[k]]) for k in kept]
    rows = [
        [
            z,
            int((layer["reached"] > 0).sum()),
            int((layer["reached"] == tried).sum()),
            int(layer["solutions"].max()),
        ]
        for z, layer in zip(heights, layers, strict=True)
    ]
    head = ("height, m", "positions reached", "in all orientations", "most solutions")
    blocks += [*_tallied(result.tally), table("Layers", head, rows)]
    title = f"{result.robot}, workspace"
    return Chapter(title, result.summary, _tone(result.tally), tiles, tuple(blocks))


def _layer(result: WorkspaceMap, height: float, layer: np.ndarray) -> Block:
    """One layer from above; positions that are not reached are left white."""
    y, x = np.nonzero(layer["reached"])
    share = 100.0 * layer["reached"][y, x] / len(result.orientations)
    labels = ("x, m", "y, m", "orientations with a solution, %")
    at_x, at_y = (result.lower[k] + result.step[k] * number for k, number in enumerate((x, y)))
    return value_map(f"From above, z {height:.2f} m", at_x, at_y, share, labels, limits=(0.0, 100.0))


def _tallied(tally: Tally) -> list[Block]:
    numbers = sorted(tally.numbers)
    by_number = [tally.numbers[number] for number in numbers]
    by_status = list(tally.statuses.values())
    return [
        bars("Poses by number of solutions", [str(number) for number in numbers], by_number, "poses"),
        bars("Poses by what is claimed", list(tally.statuses), by_status, "poses"),
    ]


def _tone(tally: Tally) -> str:
    if not tally.solutions:
        return "bad"
    return "warn" if tally.unsure else "good"
