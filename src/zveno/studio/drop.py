"""Let a machine fall onto the ground and watch it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simulation.controllers import unactuated
from ..simulation.drop import drop
from .playback import Playback
from .stage import Stage
from .views.trajectory import show_trajectory

MOST_SECONDS = 10.0


class DropPanel:
    """The tab of a machine that floats."""

    def __init__(self, stage: Stage, gui: Any):
        self.stage: Stage = stage
        self.gui: Any = gui
        self.playback: Playback | None = None
        self.folder: Any = None
        gui.add_markdown("Let go above the ground from the posture it has; spheres at its ends touch.")
        self.height: Any = gui.add_slider("height mm", min=0.0, max=1000.0, step=10.0, initial_value=200.0)
        self.duration: Any = gui.add_slider("duration s", min=0.2, max=MOST_SECONDS, step=0.1, initial_value=2.0)
        self.hold: Any = gui.add_checkbox("Joints hold", True)
        button = gui.add_button("Drop it")
        self.status: Any = gui.add_markdown("")
        button.on_click(lambda _: self.start())

    def start(self) -> None:
        """Simulate and show it; the first time it is compiled, which takes seconds."""
        stage, q = self.stage, self.stage.q.copy()
        height = 1e-3 * float(np.clip(self.height.value, 0.0, 1000.0))
        duration = float(np.clip(self.duration.value, 0.2, MOST_SECONDS))
        hold = bool(self.hold.value)
        self.status.content = "simulating …"
        if not stage.worker.aside(
            (stage.node, "drop"), lambda: drop(stage.robot, q, duration, height=height, hold=hold), self._done
        ):
            self.status.content = "something else is being computed"

    def _done(self, result: Any) -> None:
        self.status.content = ""
        if self.playback is not None and self.playback.playing:
            self.playback.toggle()
        if self.folder is not None:
            self.folder.remove()
        self.folder = self.gui.add_folder("The fall")
        with self.folder:
            self.playback = show_trajectory(self.stage, self.gui, result)
        self.stage.show_ground(0.0)
        self.playback.toggle()


def can_fall(stage: Stage) -> bool:
    """Whether the machine floats and has masses."""
    mechanism = stage.mechanism
    return mechanism.n_v >= 6 and bool(unactuated(mechanism)[:6].all())
