"""Solutions of inverse kinematics for people, JSON, CSV and NPZ."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...errors import ZvenoError
from ...ik.paths import JointPath
from ...ik.solutions import Family, Solutions
from ...io.files import replacing, write_text
from ...mechanism.units import coordinate_units, with_unit
from .columns import Column, number, print_columns, shown_units

MOST_ROWS = 40
"""Solutions shown; files have them all."""


def solutions_data(solutions: Solutions) -> dict[str, Any]:
    """Plain data, one entry a pose."""
    poses = [()] if not solutions.batch else list(np.ndindex(*solutions.batch))
    return {
        "method": solutions.method,
        "joints": list(solutions.joint_names),
        "poses": [
            {
                "status": str(solutions.status if not pose else solutions.status[pose]),
                "summary": solutions.reason(*pose),
                "solutions": solutions.of(*pose).tolist(),
                "residual": solutions.residual[pose][: int(solutions.count[pose])].tolist(),
                "condition": solutions.condition[pose][: int(solutions.count[pose])].tolist(),
                **{
                    name: values[pose][: int(solutions.count[pose])].tolist()
                    for name, values in (("radius", solutions.radius), ("unique", solutions.unique))
                    if values is not None
                },
                **_families_data(solutions, pose),
            }
            for pose in poses
        ],
    }


def families_of(solutions: Solutions, pose: tuple[int, ...]) -> tuple[Family, ...]:
    """The continua of one pose."""
    flat = int(np.ravel_multi_index(pose, solutions.batch)) if solutions.batch else 0
    return solutions.families.get(flat, ())


def _families_data(solutions: Solutions, pose: tuple[int, ...]) -> dict[str, Any]:
    """Continua of a pose as plain data; nothing where there is none."""
    families = [
        {
            "dimension": family.dimension,
            "closed": family.closed,
            **({"joint": family.joint, "interval": list(family.interval)} if family.joint else {}),
            "ends": list(family.ends),
            "turns": family.turns.tolist(),
            "q": family.q.tolist(),
        }
        for family in families_of(solutions, pose)
    ]
    return {"families": families} if families else {}


def print_solutions(console: Console, solutions: Solutions, degrees: bool = False) -> None:
    """A table of solutions, the joints of the chain only, and what they are worth."""
    places = [(pose, k) for pose in np.ndindex(*solutions.batch) for k in range(int(solutions.count[pose]))]
    shown = places[:MOST_ROWS]
    columns = [Column("pose", [",".join(map(str, pose)) for pose, _ in shown])] if solutions.batch else []
    columns.append(Column("#", [str(k + 1) for _, k in shown]))
    columns += _joint_columns(solutions, np.array([solutions.q[pose][k] for pose, k in shown]), degrees)
    columns.append(Column("residual", [f"{solutions.residual[pose][k]:.0e}" for pose, k in shown]))
    columns.append(Column("condition", [f"{solutions.condition[pose][k]:.3g}" for pose, k in shown]))
    _title(console, solutions)
    if shown:
        print_columns(console, columns)
        _rest(console, len(places))
        console.print()
    curves = [] if solutions.batch else [family for family in families_of(solutions, ()) if family.joint]
    if curves:
        print_columns(console, _curve_columns(solutions, curves, degrees))
        console.print()
    console.print(solutions.summary)
    if not solutions.batch and not solutions.count and np.isfinite(solutions.nearest).all():
        console.print("\nnearest configuration")
        print_columns(console, _joint_columns(solutions, solutions.nearest[None], degrees))


def _curve_columns(solutions: Solutions, curves: list[Family], degrees: bool) -> list[Column]:
    """Self-motions: the range of the sliced joint, and what ends them."""
    factors, units = _units(solutions, degrees)
    k = solutions.joint_names.index(curves[0].joint)
    low, high = np.array([family.interval for family in curves]).T * factors[k]
    ends = ["closed" if family.closed else " – ".join(family.ends) for family in curves]
    decimals = 2 if degrees else 4
    return [
        Column("curve", [str(i + 1) for i in range(len(curves))]),
        Column(f"{curves[0].joint} from", [number(value, decimals) for value in low], units[k]),
        Column("to", [number(value, decimals) for value in high], units[k]),
        Column("turns", [str(len(family.turns)) for family in curves]),
        Column("ends", ends),
    ]


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


def print_path(console: Console, path: JointPath, degrees: bool = False) -> None:
    """The joint path, and where branches end."""
    _title(console, path)
    q = path.q[:MOST_ROWS]
    poses = Column("pose", [str(k) for k in range(len(q))])
    print_columns(console, [poses, *_joint_columns(path, q, degrees)])
    _rest(console, len(path.q))
    console.print(f"\n{path.summary}")
    for k, branch in enumerate(path.branches, start=1):
        if branch.ended is not None:
            console.print(f"branch {k} ends before pose {branch.ended}: {branch.reason}")


def write_solutions(result: Solutions | JointPath, file: Path, degrees: bool = False) -> Path:
    """As .csv, one line a solution with its pose number and units in the header, or .npz with all arrays, SI."""
    if file.suffix.lower() == ".npz":
        arrays = {"q": result.q}
        if isinstance(result, Solutions):
            arrays |= {"count": result.count, "codes": result.codes, "residual": result.residual}
        with replacing(file) as temporary:
            np.savez_compressed(temporary, **arrays)  # pyright: ignore[reportArgumentType]  (arrays by name)
        return file
    factors, units = _units(result, degrees)
    if isinstance(result, Solutions):
        rows = [(k, row) for k, pose in enumerate(np.ndindex(*result.batch)) for row in result.of(*pose)]
    else:
        rows = list(enumerate(result.q))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["pose", *(with_unit(name, unit) for name, unit in zip(result.joint_names, units, strict=True))]
    )
    writer.writerows([k, *map(repr, (row * factors).tolist())] for k, row in rows)
    return write_text(file, text.getvalue())


def _joint_columns(result: Solutions | JointPath, q: np.ndarray, degrees: bool) -> list[Column]:
    factors, units = _units(result, degrees)
    decimals = 2 if degrees else 4
    chain = result.chain if len(q) else ()
    return [
        Column(result.joint_names[k], [number(x, decimals) for x in q[:, k] * factors[k]], units[k]) for k in chain
    ]


def _units(result: Solutions | JointPath, degrees: bool) -> tuple[np.ndarray, tuple[str, ...]]:
    if result.mechanism is None:
        raise ZvenoError("the result does not know its robot")
    return shown_units(coordinate_units(result.mechanism), degrees)


def _title(console: Console, result: Solutions | JointPath) -> None:
    name = "" if result.mechanism is None else result.mechanism.name
    console.print(f"{name}, frame {result.frame}", style="bold", end="\n\n")


def _rest(console: Console, total: int) -> None:
    if total > MOST_ROWS:
        console.print(f"… {total - MOST_ROWS} more; --out writes them all")
