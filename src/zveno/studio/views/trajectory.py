"""View of a simulated motion, with contact forces as arrows, energies over time and events."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ...errors import ZvenoError
from ...simulation.time_stepping.touching import tangents
from ...simulation.trajectory import Trajectory
from ...walking.result import Walk
from ..playback import Playback, add_plot
from ..stage import Stage
from .postures import PLACES, add_points, add_trail

FORCE = (29, 95, 209)
LONGEST = 0.5
"""Length of the largest force arrow relative to the robot's size."""
MOST_EVENTS = 12
_LABEL = re.compile(r"(?:Ground|Point)?Contact\(([^,)]+)[^)]*\)")
"""Default label of a contact, which contains its frame."""


class Forces(NamedTuple):
    """Contact forces over a motion, in the robot's world."""

    frames: tuple[str, ...]
    values: np.ndarray
    """Forces, (n, contacts, 3), N."""
    left_out: tuple[str, ...]
    """Labels of reactions that are not drawn."""


def show_trajectory(stage: Stage, gui: Any, result: Trajectory) -> Playback:
    """Show a motion; of a batch, the first run."""
    single_run = result.run(*(0,) * len(result.batch))
    good = np.isfinite(single_run.q).all(axis=-1)
    if not good.any():
        raise ZvenoError("the motion has no finite state", remedy="Look at its status")
    q, t = single_run.q[good], single_run.t[good]
    gui.add_markdown(result.summary)
    forces = contact_forces(single_run)
    arrows: Any = None
    points = tips = np.zeros((len(q), 0, 3))
    if forces.frames:
        values = forces.values[good]
        points = np.stack([stage.pose(q, frame)[:, :3, 3] for frame in forces.frames], axis=1)
        largest = float(np.abs(np.linalg.norm(values, axis=2)).max(initial=0.0)) or 1.0
        tips = points + LONGEST * stage.size / largest * values
        arrows = stage.server.scene.add_arrows(
            f"{stage.node}/forces",
            np.stack([points[0], tips[0]], axis=1),
            FORCE,
            shaft_radius=0.006 * stage.size,
            head_radius=0.016 * stage.size,
            head_length=0.04 * stage.size,
        )
        gui.add_markdown(f"Arrows: forces of contacts at the origins of their frames, the longest {largest:.3g} N.")
    if forces.left_out:
        gui.add_markdown("Not drawn as arrows: " + ", ".join(forces.left_out))

    def show(k: int) -> None:
        stage.set(q[k])
        if arrows is not None:
            arrows.points = np.stack([points[k], tips[k]], axis=1).astype(np.float32)

    playback = Playback(stage.worker, gui, t, show)
    energies = {
        "kinetic": single_run.kinetic,
        "potential": single_run.potential,
        "total": single_run.energy,
        "work": single_run.work,
    }
    add_plot(gui, "Energy, J", t, {name: each[good] for name, each in energies.items()})
    if single_run.events:
        rows = [f"| {event.t:.4g} s | {event.name} |" for event in single_run.events[:MOST_EVENTS]]
        gui.add_markdown("| at | event |\n|---|---|\n" + "\n".join(rows))
    return playback


def show_walk(stage: Stage, gui: Any, result: Walk) -> Playback:
    """Show a simulated walk: motion, forces, footholds and support margin."""
    gui.add_markdown(result.summary)
    _add_way(stage, result)
    playback = show_trajectory(stage, gui, result.trajectory)
    add_plot(gui, "Support margin, mm", result.trajectory.t, {"margin": 1e3 * result.margin})
    return playback


def _add_way(stage: Stage, walk: Walk) -> None:
    """Add the ground, footholds as dots, and the path of the centre of mass."""
    stage.ground = float(walk.positions[0, :, 2].min())
    if len(walk.footholds):
        add_points(stage, "footholds", walk.footholds, PLACES)
    add_trail(stage, walk.center_of_mass)


def contact_forces(result: Trajectory) -> Forces:
    """Collect the forces of contacts with horizontal ground; of a batch, those of the first run.

    A contact has rows (N, T1, T2) per contact point, or N alone; a fixed point has a force in world axes. Contact
    points of the sole of a legged robot are drawn as one force at its frame. Contacts with moments, contacts with a
    name of their own, and other constraints are omitted.
    """
    assert result.mechanism is not None
    first = (0,) * (result.q.ndim - 2)
    reactions = result.reactions[first]
    labels = list(dict.fromkeys(name.partition("[")[0] for name in result.reaction_names))
    axes = np.stack([np.array([0.0, 0.0, 1.0]), *tangents(np.array([0.0, 0.0, 1.0]))])
    frames, values, left_out = [], [], []
    for label in labels:
        rows = [k for k, name in enumerate(result.reaction_names) if name.partition("[")[0] == label]
        called = _LABEL.fullmatch(label)
        points = "][" in result.reaction_names[rows[0]]  # several points of a sole, named by its frame
        frame = called[1] if called else label if points else ""
        if frame not in result.mechanism.frame_names or (len(rows) != 1 and len(rows) % 3):
            left_out.append(label)
            continue
        frames.append(frame)
        parts = reactions[:, rows]
        if label.startswith("BallJoint"):
            values.append(parts)
        elif len(rows) == 1:
            values.append(parts * axes[0])
        else:
            values.append(parts.reshape(len(parts), -1, 3).sum(axis=1) @ axes)
    stacked = np.stack(values, axis=1) if values else np.zeros((len(reactions), 0, 3))
    return Forces(tuple(frames), np.nan_to_num(stacked), tuple(left_out))
