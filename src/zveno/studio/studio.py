"""Class `Studio`: a secured server, a stage per robot, a view per result, and offline pages of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..io.files import write_text
from ..report.result import Result
from ..report.robot_parts import robot_parts
from ..report.robot_picture import round_length
from ..robot import Robot
from .drop import DropPanel, can_fall
from .path import PathPanel
from .playback import Playback
from .server import LOOPBACK, guarded_server
from .stage import Stage, add_joints
from .target import RED, Target, lamp
from .views import result_view
from .worker import Worker

PAPER, CELL, SECTION = (247, 249, 252), (226, 231, 237), (205, 212, 221)


def open_studio(
    robots: Robot | Sequence[Robot],
    results: Result | Sequence[Result] = (),
    *,
    frame: str | None = None,
    host: str = LOOPBACK,
    port: int = 0,
) -> Studio:
    """Open a studio in the browser for robots and results; `print(studio.url)` prints its link.

    Args:
        robots: one or several robots, shown side by side.
        results: trajectories, calibrations, identifications, plans, excitations, solutions, paths.
        frame: frame of the first robot that the target places; the default frame if not given.
        host: an address of this machine. Any other than 127.0.0.1 opens it to the network, with a warning.
        port: port number, 0 for any free port; a port in use is an error.
    """
    chosen = [robots] if isinstance(robots, Robot) else list(robots)
    shown = [results] if isinstance(results, Result) else list(results)
    return Studio(chosen, shown, frame, host, port)


class Studio:
    """Browser view of robots and results, open until `stop()` or the end of a `with` block.

    Attributes:
        url: link that opens the studio, with its token.
        stages: robots in the scene.
        targets: draggable target of each robot, by the name of its stage.
    """

    def __init__(self, robots: Sequence[Robot], results: Sequence[Result], frame: str | None, host: str, port: int):
        if not robots and not results:
            raise ZvenoError("there is no robot to show", remedy="Give a robot, or a result that holds one")
        robots = list(robots) or [Robot(_mechanism(results[0]))]
        if frame is not None:
            robots[0].mechanism.frame(frame)
        self.server: Any
        self.url: str
        self.server, self.url = guarded_server(host, port, f"zveno · {robots[0].name}")
        self.worker: Worker = Worker(self._failed)
        self.stages: list[Stage] = []
        self.targets: dict[str, Target] = {}
        self.paths: dict[str, PathPanel] = {}
        self.drops: dict[str, DropPanel] = {}
        self.playbacks: list[tuple[Stage, Playback]] = []
        self.message: Any = self.server.gui.add_html("", visible=False)
        self._stopped = False
        try:
            self._furnish()
            for robot in robots:
                self._add(robot, frame if robot is robots[0] else None)
            for result in results:
                self._add_result(result)
            self._finish()
        except BaseException:
            self.stop()
            raise
        self.worker.start()

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        names = ", ".join(stage.robot.name for stage in self.stages)
        return f"<Studio of {names}: {'stopped' if self._stopped else self.url}>"

    def stop(self) -> None:
        """Close connections, end threads and free the port."""
        if not self._stopped:
            self._stopped = True
            self.worker.stop()
            with contextlib.redirect_stdout(None):
                self.server.stop()

    def wait(self) -> None:
        """Wait until the studio is stopped or interrupted by Ctrl-C."""
        try:
            while not self._stopped:
                time.sleep(0.2)
        finally:
            self.stop()

    def save(self, path: str | PathLike[str]) -> Path:
        """Save the scene, or the motion of the first time bar, as one offline page; return the file."""
        return save_scene(self, path)

    def _failed(self, error: BaseException) -> None:
        self.message.content = lamp(RED, "" if isinstance(error, ZvenoError) else type(error).__name__, str(error))
        self.message.visible = True

    def _furnish(self) -> None:
        scene = self.server.scene
        scene.world_axes.visible = False
        scene.set_background_image(np.full((2, 2, 3), PAPER, np.uint8))
        scene.configure_default_lights(enabled=True, cast_shadow=False)

    def _add(self, robot: Robot, frame: str | None = None) -> Stage:
        """Add a stage beside the others, with its tabs."""
        taken = {stage.node for stage in self.stages}
        node = next(name for k in range(len(taken) + 1) if (name := f"/robot{k + 1}") not in taken)
        reach = [stage.size for stage in self.stages]
        offset = -sum(reach) - (0.5 * robot_parts(robot.mechanism).size if reach else 0.0)
        stage = Stage(self.server, self.worker, robot, node, offset, frame)
        self.stages.append(stage)
        gui = self.server.gui
        folder = gui.add_folder(
            f"{robot.name}, {(stage.closed or robot).n_v} degrees of freedom",
            expand_by_default=len(self.stages) == 1,
        )
        with folder:
            tabs = gui.add_tab_group()
            with tabs.add_tab("Joints"):
                add_joints(stage, gui)
            with tabs.add_tab("Target"):
                self.targets[node] = Target(stage, gui)
            with tabs.add_tab("Path"):
                self.paths[node] = PathPanel(stage, self.targets[node], gui)
            if can_fall(stage):
                with tabs.add_tab("Drop"):
                    self.drops[node] = DropPanel(stage, gui)
            with tabs.add_tab("View"):
                self._add_view(stage)
        return stage

    def _add_view(self, stage: Stage) -> None:
        gui, target = self.server.gui, self.targets[stage.node]
        axes, frames = gui.add_checkbox("Joint axes", False), gui.add_checkbox("Frames", False)
        control = gui.add_checkbox("Target", True)
        axes.on_update(lambda event: stage.show_axes(bool(event.target.value)))
        frames.on_update(lambda event: stage.show_frames(bool(event.target.value)))
        control.on_update(lambda event: setattr(target.control, "visible", bool(event.target.value)))

    def _add_result(self, result: Result) -> None:
        """Add a view of a result on the stage of its robot."""
        mechanism = _mechanism(result)
        stage = next((stage for stage in self.stages if stage.mechanism.n_q == mechanism.n_q), None)
        stage = self._add(Robot(mechanism)) if stage is None else stage
        gui = self.server.gui
        with gui.add_folder(f"{type(result).kind} of {mechanism.name}"):
            target = self.targets[stage.node]
            target.enabled.value = False
            target.control.visible = False
            playback = result_view(result)(stage, gui, result)
        if playback is not None:
            self.playbacks.append((stage, playback))

    def _finish(self) -> None:
        low = min(stage.ground for stage in self.stages)
        first, last = self.stages[0], self.stages[-1]
        far = abs(float(last.root.position[1]))
        step = round_length(0.15 * first.size)
        wide = 10 * step * np.ceil(0.4 * (first.size + far) / step)
        middle = np.array([0.0, -0.5 * far, 0.1 * first.size])
        self.server.scene.add_grid(
            "/ground",
            width=wide,
            height=wide,
            cell_size=step,
            section_size=5 * step,
            cell_color=CELL,
            section_color=SECTION,
            position=(0, middle[1], low),
        )
        camera = self.server.initial_camera
        camera.look_at = tuple(middle)
        camera.position = tuple(middle + (first.size + 0.4 * far) * np.array([1.0, -1.0, 0.6]))
        save = self.server.gui.add_button("Save as HTML")

        def download(event: Any) -> None:
            client = event.client
            name = f"{first.robot.name}.html"
            self.worker.mark(
                "save", lambda: client.send_file_download(name, scene_page(self), save_immediately=True)
            )

        save.on_click(download)


def _mechanism(result: Result) -> Any:
    mechanism = getattr(getattr(result, "trajectory", result), "mechanism", None)  # a walk contains its trajectory
    if mechanism is None:
        raise ZvenoError(
            f"the {type(result).kind} does not hold its robot", remedy="Compute it again with this version"
        )
    return mechanism


MOST_FRAMES = 300
"""Maximum number of frames of a motion; more are subsampled evenly."""


def save_scene(studio: Studio, path: str | PathLike[str]) -> Path:
    """Write the page and return the file."""
    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise ZvenoError(f"a scene cannot be saved as {file.suffix!r}", file=file, remedy="Use .html")
    return write_text(file, scene_page(studio).decode())


def scene_page(studio: Studio) -> bytes:
    """Render the page: the motion of the first time bar, or else the current scene."""
    serializer = studio.server.get_scene_serializer()
    if studio.playbacks:
        stage, playback = studio.playbacks[0]
        t, before = playback.t, playback.at
        kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_FRAMES)).round().astype(int))
        pauses = np.append(np.diff(t[kept]), 0.5) if playback.unit == "s" else np.full(len(kept), 0.5)
        for k, pause in zip(kept.tolist(), pauses.tolist(), strict=True):
            playback.show(k)
            stage.place()
            serializer.insert_sleep(max(pause, 1e-3))
        playback.show(before)
        stage.place()
    return serializer.as_html().encode()
