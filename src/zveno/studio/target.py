"""Draggable target: all inverse kinematics solutions as selectable ghosts and in a table."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..ik._manipulability import manipulability
from ..ik.proof import prove
from ..ik.solutions import Solutions
from ..mechanism.units import coordinate_units
from ..spatial.rotations import from_quaternion, to_quaternion
from ..spatial.transforms import transform
from .instances import NOWHERE, Instances
from .stage import TEXT_SECONDS, Stage, in_words, within

MOST_GHOSTS = 16
GHOST_OPACITY = 0.28
SECONDS = 2.0
"""Time limit for one pose while the target is dragged, s."""
GREEN, VIOLET, YELLOW, RED = "#2b9348", "#8e5cc2", "#d9a400", "#d62828"
LAMPS = {
    "complete": GREEN,
    "proved": GREEN,
    "within tolerance": GREEN,
    "self-motion": VIOLET,
    "sampled": YELLOW,
    "undecided": YELLOW,
    "not proved": YELLOW,
}
"""Colours of the status lamp; red if there is no solution."""
NONE, GAP = "–", "\u2002"
"""Label without solutions, and a space that separates the columns of the table."""
TASKS = ("pose", "position")
MANY = 8
"""Number of velocities above which solving starts only on request, because it may take long."""
TRIED = 64
"""Number of random configurations from which the first target is chosen."""


class Target:
    """Draggable target of one robot, with its ghosts and tab."""

    def __init__(self, stage: Stage, gui: Any):
        self.stage: Stage = stage
        self.gui: Any = gui
        mechanism = stage.mechanism
        self.frame: str = stage.frame
        self.found: Solutions | None = None
        self.solved: int = 0
        self.verdict: str = ""
        self.enabled: Any = gui.add_checkbox("Solve while dragging", mechanism.n_v <= MANY)
        frames = gui.add_dropdown("frame", tuple(mechanism.frame_names), initial_value=self.frame)
        frames.on_update(self._choose_frame)
        few = mechanism.n_v < 4
        self.task: Any = gui.add_dropdown("task", TASKS, initial_value="position" if few else "pose")
        self.task.on_update(lambda event: self.changed() if event.target.value in TASKS else None)
        self.show: Any = gui.add_checkbox("All solutions as ghosts", True)
        self.status: Any = gui.add_html("")
        self.choices: Any = gui.add_button_group("choose", (NONE,))
        self.table: Any = gui.add_markdown("")
        self.proof: Any = gui.add_button("Prove it")
        here = gui.add_button("Target to the robot")
        self.ghosts: Instances = Instances(
            stage.server.scene,
            f"{stage.node}/ghosts",
            stage.shape.parts,
            copies=MOST_GHOSTS,
            opacity=GHOST_OPACITY,
            clicked=self.choose,
        )
        T = self._first_pose()
        self.control: Any = stage.server.scene.add_transform_controls(
            f"{stage.node}/target",
            scale=0.24 * stage.size,
            position=T[:3, 3],
            wxyz=to_quaternion(T[:3, :3]),
            depth_test=False,
        )
        self.control.on_update(lambda _: self.changed())
        self.enabled.on_update(lambda _: self.changed())
        self.show.on_update(lambda _: self.changed())
        self.choices.on_click(self._clicked)
        self.proof.on_click(lambda _: self.prove())
        here.on_click(lambda _: self.to_robot())
        self.changed()

    @property
    def T(self) -> np.ndarray:
        """Pose of the target in the robot's world, (4, 4), limited to a hundred times the robot's size."""
        far = 100.0 * self.stage.size
        wxyz = np.asarray(self.control.wxyz, dtype=float)
        position = np.clip(np.asarray(self.control.position, dtype=float), -far, far)
        return transform(from_quaternion(wxyz / np.linalg.norm(wxyz)), position)

    def move(self, T: np.ndarray) -> None:
        """Move the target to a pose."""
        self.control.position = T[:3, 3]
        self.control.wxyz = to_quaternion(T[:3, :3])
        self.changed()

    def to_robot(self) -> None:
        """Move the target to the robot's frame."""
        self.move(self._pose_of_robot())

    def changed(self) -> None:
        """Request a new solution after a change of the target or the options."""
        self.stage.worker.mark((self.stage.node, "solve"), self.solve)

    def choose(self, number: int) -> None:
        """Move the robot to a solution, counted from 0."""
        solutions = self.found
        if solutions is not None and 0 <= number < int(solutions.count):
            self.stage.set(solutions.q[number])

    def solve(self) -> None:
        """Solve for the target in the worker's thread."""
        if not self.enabled.value:
            self._show(None, "not asked: tick the box above")
            return
        try:
            solutions = self._solutions(self.T)
        except ZvenoError as error:
            self._show(None, str(error))
            return
        self._show(solutions, "")

    def _solutions(self, T: np.ndarray) -> Solutions:
        robot = self.stage.robot
        return robot.ik(T, self.frame, task=self.task.value, timeout=SECONDS)

    def _show(self, solutions: Solutions | None, why: str) -> None:
        stage, self.found, self.verdict = self.stage, solutions, ""
        shown = np.zeros((0, stage.mechanism.n_q))
        if solutions is not None and self.show.value:
            shown = solutions.of()[:MOST_GHOSTS] if len(solutions) else solutions.nearest[None]
            shown = shown[np.isfinite(shown).all(axis=1)]
        poses = stage.link_poses(shown) if len(shown) else NOWHERE
        with stage.server.atomic():
            self.ghosts.place(poses)
        self.solved += 1
        stage.worker.mark((stage.node, "tell"), lambda: self._tell(why), after=TEXT_SECONDS)

    def _tell(self, why: str) -> None:
        solutions = self.found
        if solutions is None:
            self.status.content, self.table.content, self.choices.options = lamp(RED, "", why), "", (NONE,)
            return
        self.status.content = lamp(
            LAMPS.get(str(solutions.status), RED), str(solutions.status), solutions.summary, self.verdict
        )
        self.table.content = solution_table(solutions)
        self.choices.options = tuple(str(k + 1) for k in range(min(int(solutions.count), MOST_GHOSTS))) or (NONE,)

    def prove(self) -> None:
        """Prove the status of the solutions; this may take seconds."""
        solutions = self.found
        if solutions is None:
            return

        def show_verdict(verdict: Any) -> None:
            if self.found is solutions:
                self.verdict = verdict.summary
                self._tell("")

        self.verdict = "proving …"
        self._tell("")
        self.stage.worker.aside((self.stage.node, "prove"), lambda: prove(solutions), show_verdict)

    def _clicked(self, event: Any) -> None:
        value = event.target.value
        if isinstance(value, str) and value.isdigit():
            self.choose(int(value) - 1)

    def _choose_frame(self, event: Any) -> None:
        if event.target.value in self.stage.mechanism.frame_names:
            self.frame = event.target.value
            self.to_robot()

    def _first_pose(self) -> np.ndarray:
        """Pose in the least singular of a few configurations; the current pose of many joints or closed loops."""
        robot = self.stage.robot
        if robot.n_q > 7 or robot.mechanism.loops:
            return self._pose_of_robot()
        q = robot.random(TRIED, 0)
        best = q[int(manipulability(robot, q, self.frame).argmax())]
        return self.stage.pose(best, self.frame)

    def _pose_of_robot(self) -> np.ndarray:
        return self.stage.pose(self.stage.q, self.frame)


def lamp(color: str, word: str, *sentences: str) -> str:
    """Format a coloured dot, a word and sentences as HTML; the sentences are escaped."""
    dot = f'<span style="color: {color}; font-size: 1.3em">●</span>'
    said = "<br>".join(html.escape(sentence) for sentence in sentences if sentence)
    return f'<div style="padding: 0 1em 0.5em; font-size: 0.9em">{dot} <b>{html.escape(word)}</b> {said}</div>'


def solution_table(solutions: Solutions) -> str:
    """Format solutions as Markdown in degrees and millimetres; without solutions, the nearest configuration."""
    mechanism = solutions.mechanism
    assert mechanism is not None
    places = solutions.chain
    rows = [[str(k + 1), *in_words(mechanism, q, places)] for k, q in enumerate(solutions.of()[:MOST_GHOSTS])]
    if not rows and np.isfinite(solutions.nearest).all():
        rows = [["nearest", *in_words(mechanism, within(mechanism, solutions.nearest), places)]]
    units = {coordinate_units(mechanism)[k] for k in places}
    head = ["°" if units == {"rad"} else "°, mm", *(mechanism.coordinate_names[k] for k in places)]
    spaced = [[f"{cell}{GAP}" for cell in cells] for cells in (head, *rows)]
    lines = ["| " + " | ".join(cells) + " |" for cells in (spaced[0], ["---"] * len(head), *spaced[1:])]
    more = int(solutions.count) - MOST_GHOSTS
    return "\n".join(lines) + (f"\n\n{more} more are not shown." if more > 0 else "")
