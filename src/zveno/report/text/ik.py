"""Solutions of inverse kinematics for people, JSON, CSV and NPZ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...errors import ZvenoError
from ...ik.paths import JointPath
from ...ik.solutions import Solutions
from ...mechanism import Mechanism
from .pose import number

MOST_ROWS = 40
"""Solutions shown; files have them all."""


def solutions_data(found: Solutions) -> dict[str, Any]:
    """Plain data, one entry a pose."""
    poses = [()] if not found.batch else list(np.ndindex(*found.batch))
    return {
        "method": found.method,
        "joints": list(found.joint_names),
        "poses": [
            {
                "status": str(found.status if not pose else found.status[pose]),
                "summary": found.reason(*pose),
                "solutions": found.of(*pose).tolist(),
                "residual": found.residual[pose][: int(found.count[pose])].tolist(),
                "condition": found.condition[pose][: int(found.count[pose])].tolist(),
            }
            for pose in poses
        ],
    }


def print_solutions(console: Console, mechanism: Mechanism, found: Solutions, degrees: bool):
    """A table of solutions, and what they are worth."""
    factor, unit = _units(mechanism, degrees)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    batch = bool(found.batch)
    for title in (*(["pose"] if batch else []), "#", *found.joint_names, "residual", "condition"):
        table.add_column(title, justify="right")
    shown = 0
    for pose in np.ndindex(*found.batch):
        for k in range(int(found.count[pose])):
            if shown == MOST_ROWS:
                break
            place = [",".join(map(str, pose))] if batch else []
            values = [number(x, 4) for x in found.q[pose][k] * factor]
            numbers = f"{found.residual[pose][k]:.0e}", f"{found.condition[pose][k]:.3g}"
            table.add_row(*place, str(k + 1), *values, *numbers)
            shown += 1
    console.print(f"{mechanism.name}, {unit}", style="bold", markup=False, end="\n\n")
    if shown:
        console.print(table)
        if len(found) > shown:
            console.print(f"… {len(found) - shown} more")
        console.print()
    console.print(found.summary, markup=False)
    if not batch and not found.count:
        best = ", ".join(number(x, 4) for x in found.nearest * factor)
        console.print(f"nearest: {best}", markup=False)


def path_data(path: JointPath) -> dict[str, Any]:
    """Plain data of a joint path."""
    return {
        "status": path.status,
        "summary": path.summary,
        "joints": list(path.joint_names),
        "q": path.q.tolist(),
        "jumps": list(path.jumps),
        "unsolved": list(path.unsolved),
        "singular": list(path.singular),
        "branches": [
            {
                "poses": len(branch.q),
                "ended": branch.ended,
                "reason": branch.reason,
                "crossings": list(branch.crossings),
            }
            for branch in path.branches
        ],
    }


def print_path(console: Console, mechanism: Mechanism, path: JointPath, degrees: bool):
    """The joint path, and where branches end."""
    factor, unit = _units(mechanism, degrees)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("pose", *path.joint_names):
        table.add_column(title, justify="right")
    for k, q in enumerate(path.q[:MOST_ROWS]):
        table.add_row(str(k), *(number(x, 4) for x in q * factor))
    console.print(f"{mechanism.name}, {unit}", style="bold", markup=False, end="\n\n")
    console.print(table)
    if len(path.q) > MOST_ROWS:
        console.print(f"… {len(path.q) - MOST_ROWS} more")
    console.print(f"\n{path.summary}", markup=False)
    for k, branch in enumerate(path.branches, start=1):
        if branch.ended is not None:
            console.print(f"branch {k} ends before pose {branch.ended}: {branch.reason}", markup=False)


def write_solutions(found: Solutions | JointPath, file: Path):
    """As .csv, one line a solution with its pose number, or .npz with all arrays."""
    try:
        if file.suffix == ".npz":
            arrays = {"q": found.q}
            if isinstance(found, Solutions):
                arrays |= {"count": found.count, "codes": found.codes, "residual": found.residual}
            np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]  (arrays by name)
            return
        names = ",".join(found.joint_names)
        if isinstance(found, Solutions):
            lines = [
                f"{k}," + ",".join(repr(float(x)) for x in row)
                for k, pose in enumerate(np.ndindex(*found.batch))
                for row in found.of(*pose)
            ]
        else:
            lines = [f"{k}," + ",".join(repr(float(x)) for x in row) for k, row in enumerate(found.q)]
        file.write_text("\n".join([f"pose,{names}", *lines]) + "\n", encoding="utf-8")
    except OSError as problem:
        raise ZvenoError(f"it cannot be written: {problem.strerror or problem}", file=file) from None


def _units(mechanism: Mechanism, degrees: bool) -> tuple[np.ndarray, str]:
    from .summary import coordinate_units

    units = [unit for name in mechanism.joint_names for unit in coordinate_units(mechanism.joint(name))]
    factor = np.array([180.0 / np.pi if degrees and unit == "rad" else 1.0 for unit in units])
    return factor, "degrees and metres" if degrees else "radians and metres"
