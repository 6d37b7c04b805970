"""A simulated motion as data and as text: how it ended, where the robot is, and how far the run can be trusted."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table


def trajectory_data(trajectory: Any) -> dict[str, Any]:
    """The outcome of a single run as plain data."""

    def number(x) -> float | None:
        return float(x) if math.isfinite(x) else None

    units = dict(zip(trajectory.coordinate_names, trajectory.q[-1].tolist(), strict=True))
    return {
        "robot": trajectory.robot,
        "status": trajectory.status,
        "finished": trajectory.finished,
        "summary": trajectory.summary,
        "method": trajectory.method,
        "duration": float(trajectory.t[-1]),
        "samples": len(trajectory.t),
        "steps": trajectory.n_steps,
        "evaluations": trajectory.n_evaluations,
        "energy": {
            "initial": number(trajectory.energy[0]),
            "final": number(trajectory.energy[-1]),
            "work": number(trajectory.work[-1]),
            "error": number(trajectory.energy_drift),
        },
        "events": [{"t": one.t, "name": one.name, "what": one.what} for one in trajectory.events],
        "initial_q": dict(zip(trajectory.coordinate_names, trajectory.q[0].tolist(), strict=True)),
        "final_q": units,
    }


def print_trajectory(console: Console, data: dict[str, Any]):
    """The outcome for people."""
    console.print(data["summary"])
    table = Table(box=None, pad_edge=False)
    table.add_column("coordinate")
    table.add_column("at the start", justify="right")
    table.add_column("at the end", justify="right")
    for name, last in data["final_q"].items():
        table.add_row(name, f"{data['initial_q'][name]:.6f}", f"{last:.6f}")
    console.print(table)
    for one in data["events"][:20]:
        console.print(f"t = {one['t']:.6f} s: {one['name']} {one['what']}")
    if len(data["events"]) > 20:
        console.print(f"… and {len(data['events']) - 20} more")
