"""The report of a simulated motion."""

from __future__ import annotations

import numpy as np

from ...simulation.trajectory import Trajectory
from .blocks import Block, Series, record, table, words
from .page import Chapter
from .scene import robot_scene

MOST_LINES, MOST_SAMPLES, MOST_EVENTS = 12, 4000, 400


def trajectory_chapter(result: Trajectory) -> Chapter:
    """The motion, coordinates, velocities, torques, reactions and the energy balance; of a batch, the first run."""
    one = result.run(*(0,) * len(result.batch))
    blocks: list[Block] = []
    if result.mechanism is not None and len(one.t):
        labels = [f"{t:.2f} s" for t in one.t]
        seconds = float(one.t[-1] - one.t[0])
        blocks.append(robot_scene("The motion", result.mechanism, one.q, labels, seconds=seconds))
    balance = {"kinetic": one.kinetic, "potential": one.potential, "total": one.energy, "work done": one.work}
    blocks.append(_record("Energy", one, np.stack(list(balance.values()), 1), tuple(balance), "J"))
    blocks.append(_record("Coordinates", one, one.q, one.coordinate_names, "rad or m"))
    names = one.joint_names if len(one.joint_names) == one.v.shape[-1] else _numbered(one.v.shape[-1])
    blocks.append(_record("Velocities", one, one.v, names, "rad/s or m/s"))
    if np.nan_to_num(one.tau).any():
        blocks.append(_record("Torques", one, one.tau, names, "N·m or N"))
    if one.reaction_names:
        blocks.append(_record("Reactions", one, one.reactions, one.reaction_names, "N or N·m"))
    shown = one.events[:MOST_EVENTS]
    if shown:
        rows = [[f"{event.t:.6g}", event.name, event.what] for event in shown]
        blocks.append(table("Events", ("t, s", "of", "what"), rows))
    if result.notes:
        blocks.append(words("Notes", result.notes))
    tiles = (
        (f"{result.t[-1]:.3g} s" if len(result.t) else "–", "simulated"),
        (f"{result.n_steps}", f"steps of {result.method}"),
        (f"{result.energy_drift:.1e}", "drift of the energy balance, J"),
        (f"{len(result.events)}", "events"),
    )
    tone = "good" if result.finished else "warn"
    return Chapter(f"{result.robot}, simulated", result.summary, tone, tiles, tuple(blocks))


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"v{k + 1}" for k in range(n))


def _record(title: str, result: Trajectory, values: np.ndarray, names: tuple[str, ...], unit: str) -> Block:
    """Lines over time, thinned out evenly where there are more samples than a screen shows."""
    kept = np.unique(np.linspace(0, len(result.t) - 1, min(len(result.t), MOST_SAMPLES)).round().astype(int))
    shown = names[:MOST_LINES]
    note = f"The first {len(shown)} of {len(names)}." if len(shown) < len(names) else ""
    series = [Series(name, values[kept, k]) for k, name in enumerate(shown)]
    return record(title, result.t[kept], series, "t, s", unit, note=note)
