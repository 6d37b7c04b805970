"""Plans as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...design.result import Curve, Plan, spoken
from ...mechanism import Mechanism


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


def print_plan(
    console: Console, mechanism: Mechanism, plan: Plan, curve: Curve | None = None, degrees: bool = False
):
    """The postures, the accuracy they will give, and what more of them would bring."""
    console.print(plan.summary, style="bold", markup=False, end="\n\n")
    console.print(_postures(mechanism, plan, degrees))
    console.print()
    if plan.place_names:
        console.print(_places(plan))
        console.print()
    console.print(_parameters(plan))
    console.print()
    stages = ", ".join(f"{stage} {value:.4g}" for stage, value in plan.values.items())
    console.print(f"criterion {plan.criterion}: {stages}", markup=False)
    if plan.travel_unordered > 0:
        console.print(f"tour: {plan.travel:.3g} s of motion ({plan.travel_unordered:.3g} s unordered)")
    if curve is not None:
        console.print(curve.sentence(), markup=False)
    for note in plan.notes:
        console.print(f"note: {note}", markup=False)


def _postures(mechanism: Mechanism, plan: Plan, degrees: bool) -> Table:
    table = Table(title="postures", title_justify="left")
    table.add_column("", justify="right")
    scales = np.ones(len(plan.coordinate_names))
    for k, name in enumerate(plan.coordinate_names):
        angle = name in mechanism.joint_names and mechanism.joint(name).type.sigma == 1
        if angle and degrees:
            scales[k] = 180.0 / np.pi
        unit = ("°" if degrees else "rad") if angle else "m"
        table.add_column(f"{name} {unit}", justify="right")
    if plan.groups:
        table.add_column("place")
    for number, q in enumerate(plan.q * scales, start=1):
        cells = [f"{x:.2f}" if degrees else f"{x:.4f}" for x in q]
        table.add_row(str(number), *cells, *([plan.groups[number - 1]] if plan.groups else []))
    return table


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
    return spoken(value, unit) if np.isfinite(value) else "unknown"


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _number(value) -> float | None:
    return float(value) if np.isfinite(value) else None
