"""Plans as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...design.result import Curve, Plan, spoken
from .columns import Column, number, print_columns, shown_units


def plan_data(plan: Plan, curve: Curve | None = None) -> dict[str, Any]:
    """What programs want to know; infinities and unknowns are null."""
    data: dict[str, Any] = {
        "robot": plan.robot,
        "measurement": plan.measurement,
        "frame": plan.frame,
        "criterion": plan.criterion,
        "status": plan.status,
        "summary": plan.summary,
        "coordinates": list(plan.coordinate_names),
        "q": plan.q.tolist(),
        "groups": list(plan.groups),
        "places": [
            {
                "name": name,
                "position": T[:3, 3].tolist(),
                "normal": T[:3, 2].tolist() if _has_normal(plan) else None,
            }
            for name, T in zip(plan.place_names, plan.places, strict=True)
        ],
        "measured_before": plan.n_have,
        "parameters": [
            {
                "name": name,
                "unit": unit,
                "sigma": _number(plan.sigma[k]),
                "sigma_before": None if plan.sigma_before is None else _number(plan.sigma_before[k]),
            }
            for k, (name, unit) in enumerate(zip(plan.names, plan.units, strict=True))
        ],
        "tool_sigma": {
            "typical": _number(_rms(plan.tool_sigma)),
            "worst": _number(plan.tool_sigma.max(initial=0.0)),
        },
        "values": {stage: _number(value) for stage, value in plan.values.items()},
        "efficiency": _number(plan.efficiency),
        "over_random": _number(plan.over_random),
        "candidates": plan.n_candidates,
        "travel": plan.travel,
        "notes": list(plan.notes),
    }
    if curve is not None:
        data["more"] = {"sentence": curve.sentence(), "to_halve": curve.to_halve()}
    return data


def print_plan(console: Console, plan: Plan, degrees: bool = False, *, curve: Curve | None = None) -> None:
    """The postures, the accuracy they will give, and what more of them would bring."""
    console.print(plan.summary, style="bold", end="\n\n")
    _print_postures(console, plan, degrees)
    console.print()
    if plan.place_names:
        console.print(_places(plan))
        console.print()
    console.print(_parameters(plan))
    console.print()
    stages = ", ".join(f"{stage} {value:.4g}" for stage, value in plan.values.items())
    console.print(f"criterion {plan.criterion}: {stages}")
    if plan.travel_unordered > 0:
        console.print(f"tour: {plan.travel:.3g} s of motion ({plan.travel_unordered:.3g} s unordered)")
    if curve is not None:
        console.print(curve.sentence())
    for note in plan.notes:
        console.print(f"note: {note}")


def _print_postures(console: Console, plan: Plan, degrees: bool) -> None:
    factors, units = shown_units(plan.coordinate_units, degrees)
    columns = [Column("posture", [str(k + 1) for k in range(len(plan.q))])]
    for k, (name, unit) in enumerate(zip(plan.coordinate_names, units, strict=True)):
        columns.append(Column(name, [number(x, 2 if degrees else 4) for x in plan.q[:, k] * factors[k]], unit))
    if plan.groups:
        columns.append(Column("place", plan.groups))
    print_columns(console, columns)


def _places(plan: Plan) -> Table:
    table = Table(title="what is touched, in the world", title_justify="left")
    table.add_column("")
    normal = ("normal x", "normal y", "normal z") if _has_normal(plan) else ()
    for name in ("x m", "y m", "z m", *normal):
        table.add_column(name, justify="right")
    for name, T in zip(plan.place_names, plan.places, strict=True):
        numbers = [*T[:3, 3], *(T[:3, 2] if normal else ())]
        table.add_row(name.partition(":")[2] or name, *(f"{x:.3f}" for x in numbers))
    return table


def _has_normal(plan: Plan) -> bool:
    return plan.measurement == "plane"


def _parameters(plan: Plan) -> Table:
    table = Table(title="predicted standard deviations", title_justify="left")
    table.add_column("parameter")
    if plan.sigma_before is not None:
        table.add_column("now", justify="right")
    table.add_column("with the plan", justify="right")
    for k, (name, unit) in enumerate(zip(plan.names, plan.units, strict=True)):
        before = [] if plan.sigma_before is None else [_spoken(plan.sigma_before[k], unit)]
        mark = "  worst" if name == plan.worst else ""
        table.add_row(name, *before, _spoken(plan.sigma[k], unit) + mark)
    return table


def _spoken(value: float, unit: str) -> str:
    return spoken(value, unit) if np.isfinite(value) else "not determined"


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _number(value) -> float | None:
    return float(value) if np.isfinite(value) else None
