"""Sliders of the joints, and what the configuration means: manipulability and the torques that hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ik.manipulability import manipulability
from ..mechanism.units import velocity_units
from .stage import Stage
from .values import coordinates

MOST_TORQUES = 8
"""Joints whose torques are listed; of more, those that carry most."""


def add_joints(stage: Stage, gui: Any) -> None:
    """The tab with sliders and live numbers."""
    numbers = gui.add_markdown("")
    sliders = []
    for coordinate in coordinates(stage.mechanism, stage.size):
        slider = gui.add_slider(
            f"{coordinate.name} {coordinate.unit}",
            min=np.floor(10 * coordinate.low) / 10,
            max=np.ceil(10 * coordinate.high) / 10,
            step=0.1,
            initial_value=coordinate.shown(stage.q[coordinate.place]),
        )

        def moved(event: Any, coordinate=coordinate) -> None:
            if event.client_id is None:  # set by the studio, not by a hand
                return
            stage.change(coordinate.place, coordinate.meant(event.target.value))

        slider.on_update(moved)
        sliders.append((coordinate, slider))
    home = gui.add_button("Neutral")
    home.on_click(lambda _: stage.set(np.array(stage.mechanism.neutral(), dtype=float)))

    def read(q: np.ndarray) -> None:
        numbers.content = live_numbers(stage, q)
        for coordinate, slider in sliders:
            value = coordinate.shown(q[coordinate.place])
            if abs(slider.value - value) > 0.05:
                slider.value = value

    stage.readers.append(read)
    numbers.content = live_numbers(stage, stage.q)


def live_numbers(stage: Stage, q: np.ndarray) -> str:
    """Where the frame is, how well it can move, and what holds it, as markdown."""
    mechanism, robot = stage.mechanism, stage.robot
    x, y, z = 1e3 * stage.pose(q)[:3, 3]
    lines = [f"**{stage.frame}** at {x:.1f}, {y:.1f}, {z:.1f} mm"]
    lines.append(f"manipulability {manipulability(robot, q, stage.frame):.3g}")
    if not any(link.inertia[0] > 0 for link in mechanism.links):
        return "  \n".join([*lines, "holding torques: the model has no masses"])
    torques = np.asarray(robot.gravity_torque(q))
    units = velocity_units(mechanism)
    names = [joint.name for joint in mechanism.joints if joint.mimic is None for _ in range(joint.type.n_v)]
    order = np.argsort(-np.abs(torques), kind="stable")[:MOST_TORQUES]
    held = [
        f"| {names[k]} | {round(float(torques[k]), 2) + 0.0:.2f} {'N' if units[k] == 'm' else 'N·m'} |"
        for k in sorted(order)
    ]
    return "  \n".join(lines) + "\n\n| holds with | |\n|---|---|\n" + "\n".join(held)
