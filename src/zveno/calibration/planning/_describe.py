"""Description of a measurement plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...io.expressions import DEVIATIONS
from ...report.description import TEXT, Bars, Block, Column, Description, Field, Map, Panel, Scene, Table, Text

if TYPE_CHECKING:
    from .result import MeasurementPlan


def describe_plan(result: MeasurementPlan) -> Description:
    """Describe a plan: its postures, and the predicted accuracy of parameters and tool."""
    blocks: list[Block] = []
    if result.mechanism is not None:
        labels = [f"posture {k + 1}" for k in range(len(result.q))]
        points = result.places[:, :3, 3] if len(result.places) else None
        blocks.append(
            Scene("Postures to measure", result.mechanism, result.q, labels, points=points, media=("html",))
        )
    blocks += [*_postures(result), *_sigmas(result), *_tool(result)]
    stages = ", ".join(f"{stage} {value:.4g}" for stage, value in result.values.items())
    lines = [f"criterion {result.criterion}: {stages}"]
    if result.travel_unordered > 0:
        lines.append(f"tour: {result.travel:.3g} s of motion ({result.travel_unordered:.3g} s unordered)")
    blocks += [Text("Search", lines), Text("Notes", result.notes)]
    tone = "good" if np.isfinite(result.sigma).all() else "warn"
    return Description(f"{result.robot_name}, measurement plan", result.summary, tone, _fields(result), blocks)


def _fields(plan: MeasurementPlan) -> list[Field]:
    rms = float(np.sqrt(np.mean(plan.tool_sigma**2))) if len(plan.tool_sigma) else 0.0
    has_normal = plan.measurement == "plane"
    places = [
        {"name": name, "position": T[:3, 3], "normal": T[:3, 2] if has_normal else None}
        for name, T in zip(plan.place_names, plan.places, strict=True)
    ]
    before = plan.sigma_before
    parameters = [
        {
            "name": name,
            "unit": unit,
            "sigma": plan.sigma[k],
            "sigma_before": None if before is None else before[k],
        }
        for k, (name, unit) in enumerate(zip(plan.names, plan.units, strict=True))
    ]
    beside = f" beside {plan.n_have} measured" if plan.n_have else ""
    return [
        Field("robot", plan.robot_name),
        Field("measurement", plan.measurement),
        Field("frame", plan.frame),
        Field("criterion", plan.criterion),
        Field("status", plan.status),
        Field("summary", plan.summary),
        Field("coordinates", plan.coordinate_names),
        Field("", len(plan.q), meaning=f"postures{beside}"),
        Field("q", plan.q),
        Field("groups", plan.groups),
        Field("places", places),
        Field("measured_before", plan.n_have),
        Field("parameters", parameters),
        Field("", 1e3 * rms, "mm", "σ of the tool over the workspace", ".3g"),
        Field("tool_sigma", {"typical": rms, "worst": plan.tool_sigma.max(initial=0.0)}),
        Field("values", plan.values),
        Field("efficiency", plan.efficiency),
        Field("over_random", plan.over_random, "×", "value over that of a random plan", ".2f"),
        Field("candidates", plan.n_candidates),
        Field("travel", plan.travel, "s", "motion between postures", ".3g"),
        Field("notes", plan.notes),
    ]


def _postures(plan: MeasurementPlan) -> list[Block]:
    columns = [Column("posture", list(range(1, len(plan.q) + 1)))]
    for k, (name, unit) in enumerate(zip(plan.coordinate_names, plan.coordinate_units, strict=True)):
        columns.append(Column(name, plan.q[:, k].tolist(), unit, ".4f"))
    if plan.groups:
        columns.append(Column("place", plan.groups))
    blocks: list[Block] = [Table("Postures", columns, shown=len(plan.q))]
    if plan.place_names:
        places = [Column("", [name.partition(":")[2] or name for name in plan.place_names])]
        places += [Column(axis, plan.places[:, k, 3].tolist(), "m", ".3f") for k, axis in enumerate("xyz")]
        if plan.measurement == "plane":
            names = ("normal x", "normal y", "normal z")
            places += [Column(name, plan.places[:, k, 2].tolist(), "", ".3f") for k, name in enumerate(names)]
        blocks.append(Table("Places to touch, in the world", places))
    return blocks


def _sigmas(plan: MeasurementPlan) -> list[Block]:
    """Return predicted standard deviations: all in a table, bars by unit."""
    factors = np.array([DEVIATIONS[unit][0] for unit in plan.units])
    shown = [DEVIATIONS[unit][1] for unit in plan.units]
    before = plan.sigma_before
    columns = [Column("parameter", plan.names)]
    if before is not None:
        columns.append(Column("now", _finite(factors * before).tolist(), "", ".3g"))
    columns.append(Column("with the plan", _finite(factors * plan.sigma).tolist(), shown, ".3g"))
    columns.append(Column("", ["worst" if name == plan.worst else "" for name in plan.names]))
    note = "An empty cell is a parameter that the postures do not determine."
    missing = note if not np.isfinite(plan.sigma).all() else ""
    blocks: list[Block] = [
        Table("Predicted standard deviations", columns, note=missing, media=TEXT, shown=len(plan.names))
    ]
    for unit in dict.fromkeys(plan.units):
        some = [k for k, each in enumerate(plan.units) if each == unit]
        factor, word = DEVIATIONS[unit]
        groups = {"with the plan": _finite(factor * plan.sigma[some])}
        if before is not None:
            groups["now"] = _finite(factor * before[some])
        title = f"Predicted standard deviations, {word}"
        blocks.append(Bars(title, [plan.names[k] for k in some], groups, f"σ, {word}"))
    return blocks


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def _tool(plan: MeasurementPlan) -> list[Block]:
    if not len(plan.tool_sigma) or not np.isfinite(plan.tool_sigma).all():
        return []
    radius = np.linalg.norm(plan.tool_positions[:, :2], axis=1)
    sigma = 1e3 * plan.tool_sigma
    # Colours span at least a fifth of the value: a tool equally good everywhere should look so.
    limits = (float(min(sigma.min(), 0.8 * sigma.max())), float(sigma.max()))
    labels = ("distance from the z axis, m", "height, m", "σ of the tool, mm")
    panel = Panel("", radius, plan.tool_positions[:, 2], sigma)
    return [Map("Accuracy over the workspace", [[panel]], labels, limits=limits)]
