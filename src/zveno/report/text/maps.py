"""Maps of inverse kinematics as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console

from ...ik.maps.results import IkMap, WorkspaceMap
from ...ik.maps.tally import Tally
from .columns import Column, print_columns


def ik_map_data(result: IkMap) -> dict[str, Any]:
    """What programs want to know."""
    return {
        "robot": result.robot,
        "frame": result.frame,
        "method": result.method,
        "status": result.status,
        "summary": result.summary,
        "joints": list(result.joint_names),
        "manifest": str(result.manifest),
        "solutions": result.tally.solutions,
        **result.tally.plain(),
    }


def workspace_data(result: WorkspaceMap) -> dict[str, Any]:
    """What programs want to know first, and all of the result as `zveno.load_result` reads it."""
    return {
        "robot": result.robot,
        "frame": result.frame,
        "method": result.method,
        "status": result.status,
        "summary": result.summary,
        "lower": result.lower.tolist(),
        "step": result.step.tolist(),
        "counts": list(result.counts),
        "orientations": len(result.orientations),
        "positions": {
            "all": result.grid.size,
            "reached": result.n_reached,
            "reached_everywhere": result.n_everywhere,
            "undecided": result.n_undecided,
        },
        "volume": result.volume,
        "manifest": None if result.manifest is None else str(result.manifest),
        "poses": result.tally.poses,
        "solutions": result.tally.solutions,
        **result.tally.plain(),
        **result.to_dict(),
    }


def print_ik_map(console: Console, result: IkMap, degrees: bool = False) -> None:
    """The sentence, poses by number of solutions, and where the files are."""
    console.print(result.summary, end="\n\n")
    _print_numbers(console, result.tally)
    console.print(f"\nfiles: {result.manifest}")


def print_workspace(console: Console, result: WorkspaceMap, degrees: bool = False) -> None:
    """The sentence, positions by height, and poses by number of solutions."""
    console.print(result.summary, end="\n\n")
    heights = result.lower[2] + result.step[2] * np.arange(result.counts[2])
    layers = [result.layer(k) for k in range(result.counts[2])] if result.manifest is None else []
    if layers:
        reached = [layer["reached"] > 0 for layer in layers]
        best = [
            f"{layer['condition'][some].min():.3g}" if some.any() else ""
            for layer, some in zip(layers, reached, strict=True)
        ]
        everywhere = [int((layer["reached"] == len(result.orientations)).sum()) for layer in layers]
        columns = [
            Column("height", [f"{height:.3g}" for height in heights], "m"),
            Column("reached", [str(int(some.sum())) for some in reached]),
            Column("in all orientations", [str(n) for n in everywhere]),
            Column("undecided", [str(int((layer["undecided"] > 0).sum())) for layer in layers]),
            Column("least condition", best),
        ]
        print_columns(console, columns)
        console.print()
    _print_numbers(console, result.tally)
    if result.manifest is not None:
        console.print(f"\nfiles: {result.manifest}")


def _print_numbers(console: Console, tally: Tally) -> None:
    columns = [
        Column("solutions", [str(number) for number in tally.numbers]),
        Column("poses", [str(poses) for poses in tally.numbers.values()]),
    ]
    print_columns(console, columns)
