"""A simulated motion as data and as text: how it ended, where the robot is, and how far the run can be trusted."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console

from ...simulation.dynamics import Constrained
from ...simulation.trajectory import Trajectory
from .columns import Column, number, print_columns, shown_units

MOST_EVENTS = 20


def trajectory_data(trajectory: Trajectory) -> dict[str, Any]:
    """The outcome of a run as plain data; of a batch, what its runs have in common and the worst of them."""

    def finite(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    batch = trajectory.q.shape[:-2]
    common = {
        "robot": trajectory.robot,
        "status": trajectory.status,
        "finished": trajectory.finished,
        "summary": trajectory.summary,
        "method": trajectory.method,
        "duration": float(trajectory.t[-1]),
        "samples": len(trajectory.t),
        "steps": trajectory.n_steps,
        "evaluations": trajectory.n_evaluations,
    }
    if batch:
        worst = {"error": finite(trajectory.energy_drift)}
        return common | {"runs": math.prod(batch), "energy": worst}
    return common | {
        "energy": {
            "initial": finite(trajectory.energy[0]),
            "final": finite(trajectory.energy[-1]),
            "work": finite(trajectory.work[-1]),
            "error": finite(trajectory.energy_drift),
        },
        "events": [{"t": event.t, "name": event.name, "what": event.what} for event in trajectory.events],
        "initial_q": dict(zip(trajectory.coordinate_names, trajectory.q[0].tolist(), strict=True)),
        "final_q": dict(zip(trajectory.coordinate_names, trajectory.q[-1].tolist(), strict=True)),
    }


def print_trajectory(console: Console, trajectory: Trajectory, degrees: bool = False) -> None:
    """The outcome for people; of a batch, the summary only."""
    console.print(trajectory.summary)
    if trajectory.q.ndim > 2:
        return
    factors, units = shown_units(trajectory.coordinate_units, degrees)
    names = trajectory.coordinate_names
    print_columns(
        console,
        [
            Column("coordinate", [name.ljust(max(map(len, names))) for name in names]),
            Column("at the start", [number(x) for x in trajectory.q[0] * factors]),
            Column("at the end", [number(x) for x in trajectory.q[-1] * factors]),
            Column("unit", units),
        ],
    )
    for event in trajectory.events[:MOST_EVENTS]:
        console.print(f"t = {event.t:.6f} s: {event.name} {event.what}")
    if len(trajectory.events) > MOST_EVENTS:
        console.print(f"… and {len(trajectory.events) - MOST_EVENTS} more")


def print_constrained(console: Console, solved: Constrained, degrees: bool = False) -> None:
    """Accelerations and reactions of one state, in SI units; of a batch, the summary only."""
    del degrees  # accelerations and forces are not angles
    console.print(solved.summary)
    if solved.a.ndim > 1:
        return
    console.print("accelerations  " + "  ".join(number(x) for x in solved.a), soft_wrap=True)
    columns = {"reaction": solved.reactions, "violation": solved.violation, "its rate": solved.violation_rate}
    names = Column("row", [name.ljust(max(map(len, solved.names))) for name in solved.names])
    print_columns(console, [names, *(Column(name, [number(x) for x in row]) for name, row in columns.items())])
