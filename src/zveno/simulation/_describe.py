"""Descriptions of simulated motions and of constrained accelerations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..report.description import (
    PAGE,
    TABLE,
    TEXT,
    Block,
    Column,
    Curves,
    Description,
    Field,
    Scene,
    Series,
    Table,
    Text,
)

if TYPE_CHECKING:
    from .dynamics import ConstrainedMotion
    from .trajectory import Trajectory

MOST_EVENTS = 20


def trajectory_fields(run: Trajectory) -> list[Field]:
    """Return the report fields of a run; for a batch, the shared values and the worst of each."""
    fields = [
        Field("robot", run.robot_name),
        Field("status", run.status),
        Field("reason", run.reason),
        Field("finished", run.finished),
        Field("summary", run.summary),
        Field("method", run.method),
        Field("duration", float(run.t[-1]) if len(run.t) else 0.0, "s", "simulated"),
        Field("samples", len(run.t)),
        Field("steps", run.n_steps, "", f"steps of {run.method}"),
        Field("evaluations", run.n_evaluations),
        Field("", run.energy_drift, "J", "drift of the energy balance", ".2g"),
    ]
    if run.batch:
        return [
            *fields,
            Field("runs", math.prod(run.batch), "", "runs"),
            Field("energy", {"error": run.energy_drift}),
        ]
    energy = {"initial": run.energy[0], "final": run.energy[-1], "work": run.work[-1], "error": run.energy_drift}
    return [
        *fields,
        Field("energy", energy),
        Field("events", [{"t": event.t, "name": event.name} for event in run.events]),
        Field("initial_q", dict(zip(run.coordinate_names, run.q[0].tolist(), strict=True))),
        Field("final_q", dict(zip(run.coordinate_names, run.q[-1].tolist(), strict=True))),
    ]


def describe_trajectory(result: Trajectory) -> Description:
    """Describe a motion: coordinates, velocities, torques, reactions and energy; for a batch, the first run."""
    run = result.run(*(0,) * len(result.batch))
    blocks: list[Block] = []
    if not result.batch and len(run.t):
        blocks.append(
            Table(
                "Coordinates",
                [
                    Column("coordinate", run.coordinate_names),
                    Column("at the start", run.q[0].tolist(), format=".6f"),
                    Column("at the end", run.q[-1].tolist(), run.coordinate_units, ".6f"),
                ],
                media=TEXT,
            )
        )
    if result.mechanism is not None and len(run.t):
        labels = [f"{t:.2f} s" for t in run.t]
        seconds = float(run.t[-1] - run.t[0])
        blocks.append(Scene("Motion", result.mechanism, run.q, labels, seconds=seconds, media=PAGE))
    velocity_names = run.joint_names if len(run.joint_names) == run.v.shape[-1] else _numbered(run.v.shape[-1])
    energy = {"kinetic": run.kinetic, "potential": run.potential, "total": run.energy, "work done": run.work}
    panels = [
        ("Coordinates", "rad or m", run.q, run.coordinate_names),
        ("Velocities", "rad/s or m/s", run.v, velocity_names),
        ("Energy", "J", np.stack(list(energy.values()), axis=1), tuple(energy)),
    ]
    if np.nan_to_num(run.tau).any():
        panels.append(("Torques", "N·m or N", run.tau, velocity_names))
    if run.reaction_names:
        panels.append(("Reactions", "N or N·m", run.reactions, run.reaction_names))
    marks = sorted({event.t for event in run.events})
    for title, unit, values, names in panels:
        series = [Series(name, values[:, k], run.t) for k, name in enumerate(names)]
        blocks.append(Curves(title, series, "t, s", unit, marks=marks, span=4))
    if run.events:
        times = Column("t", [event.t for event in run.events], "s", ".6f")
        names = Column("event", [event.name for event in run.events])
        blocks.append(Table("Events", [times, names], shown=MOST_EVENTS, media=TABLE))
    blocks.append(Text("Notes", result.notes))
    tone = "good" if np.all(np.asarray(result.status) == "finished") else "warn"
    return Description(f"{result.robot_name}, simulated", result.summary, tone, trajectory_fields(result), blocks)


def describe_constrained(solved: ConstrainedMotion) -> Description:
    """Describe accelerations and reactions of one state; for a batch, the summary."""
    blocks: list[Block] = []
    if solved.a.ndim == 1:
        numbers = [str(k + 1) for k in range(len(solved.a))]
        columns = {"reaction": solved.reactions, "violation": solved.violation, "its rate": solved.violation_rate}
        rows = [Column("row", solved.names)]
        rows += [Column(name, values.tolist(), format=".6f") for name, values in columns.items()]
        accelerations = [Column("velocity", numbers), Column("acceleration", solved.a.tolist(), format=".6f")]
        blocks = [Table("Accelerations", accelerations), Table("Constraints", rows)]
    return Description("Constrained dynamics", solved.summary, "good", (), blocks)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"v{k + 1}" for k in range(n))
