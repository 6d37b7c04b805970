"""Robot in the scene, with sliders in degrees and millimetres."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..closed_robot import ClosedRobot
from ..errors import UnknownNameError, ZvenoError
from ..ik._manipulability import manipulability
from ..loops import close
from ..loops.selection import driven_entries, selection
from ..mechanism import Mechanism
from ..mechanism.units import coordinate_units, velocity_names, velocity_units
from ..report import solids
from ..report.robot_parts import Part, RobotParts, foot, ground_below, kind_color, robot_parts, upright_axes
from ..robot import Robot
from ..spatial.rotations import to_quaternion
from .instances import Instances, quaternions
from .worker import Worker

_SHOWN = {"rad": (180.0 / np.pi, "°", 1), "m": (1e3, "mm", 1)}
"""Factor, unit and number of decimals for display."""
_FREE_TURN = 2.0 * np.pi
"""Slider range of revolute joints without limits, rad; prismatic joints have twice the robot's size."""


class Coordinate(NamedTuple):
    """Coordinate shown by a slider."""

    place: int
    """Index in q."""
    name: str
    factor: float
    unit: str
    low: float
    """Lower limit in the displayed unit."""
    high: float

    def shown(self, value: float) -> float:
        """Convert a coordinate to the displayed unit, clipped to the limits."""
        return float(np.clip(round(self.factor * float(value), 2), self.low, self.high))

    def meant(self, value: float) -> float:
        """Convert a displayed value to a coordinate, clipped to the limits."""
        return float(np.clip(float(value), self.low, self.high)) / self.factor


def coordinates(mechanism: Mechanism, size: float) -> Iterator[Coordinate]:
    """List the coordinates that have sliders: quaternions have none, and of closed loops the motors alone."""
    units = coordinate_units(mechanism)
    free_places = driven_entries(selection(mechanism)) if mechanism.loops else range(mechanism.n_q)
    for place, (name, unit) in enumerate(zip(mechanism.coordinate_names, units, strict=True)):
        if unit not in _SHOWN or place not in free_places:
            continue
        factor, shown, _ = _SHOWN[unit]
        free = _FREE_TURN if unit == "rad" else 2.0 * size
        low, high = max(float(mechanism.lower[place]), -free), min(float(mechanism.upper[place]), free)
        if low < high:
            yield Coordinate(place, name, factor, shown, factor * low, factor * high)


def within(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Clip every limited coordinate of q to its limits, unless that would open loops."""
    q = np.asarray(q, dtype=float)
    return q if mechanism.loops else np.clip(q, mechanism.lower, mechanism.upper)


def in_words(mechanism: Mechanism, q: np.ndarray, places: tuple[int, ...]) -> list[str]:
    """Format coordinates for tables."""
    units = coordinate_units(mechanism)
    factors = [_SHOWN.get(units[k], (1.0, "", 2)) for k in places]
    return [
        f"{round(factor * q[k], digits) + 0.0:.{digits}f}"
        for k, (factor, _, digits) in zip(places, factors, strict=True)
    ]


TEXT_SECONDS = 0.12
"""Time between two updates of texts and sliders, s."""


class Stage:
    """Robot in the scene.

    Coordinates below its node are those of the robot's world. The node rotates gravity downwards and shifts the
    robot beside others.
    """

    def __init__(
        self, server: Any, worker: Worker, robot: Robot, node: str, offset: float = 0.0, frame: str | None = None
    ):
        self.server: Any = server
        self.worker: Worker = worker
        self.robot: Robot = robot
        self.node: str = node
        self.mechanism: Mechanism = robot.mechanism
        self.closed: ClosedRobot | None = ClosedRobot(robot) if self.mechanism.loops else None
        self.shape: RobotParts = robot_parts(self.mechanism)
        self.frame: str = _shown_frame(self.mechanism) if frame is None else frame
        self.size: float = self.shape.size
        self.q: np.ndarray = self.home
        self._changing = threading.Lock()
        self.readers: list[Callable[[np.ndarray], None]] = []
        """Functions called in the worker's thread after changes of q, at most eight times per second."""
        upright = upright_axes(self.mechanism)
        place = np.array([0.0, offset, 0.0])
        self.root: Any = server.scene.add_frame(node, show_axes=False, wxyz=to_quaternion(upright), position=place)
        self.instances: Instances = Instances(server.scene, f"{node}/robot", self.shape.parts)
        T = self.link_poses(self.q)
        self.ground: float = ground_below(self.shape, self._lowest(T, upright))
        self.pedestal: Instances = Instances(server.scene, f"{node}/foot", foot(self.shape, upright, self.ground))
        self.pedestal.place(T[None])
        self.followers: list[Instances] = []
        """Other parts that move with the links."""
        self._axes: Instances | None = None
        self._frames: Any = None
        self.placed: int = 0
        self.place()

    @property
    def home(self) -> np.ndarray:
        """Configuration shown first: neutral, or the closed reference."""
        home = self.mechanism.home if self.closed is None else self.closed.q
        return within(self.mechanism, np.array(home, dtype=float))

    def pose(self, q: np.ndarray, frame: str | None = None) -> np.ndarray:
        """Pose of a frame, by default the displayed one, (..., 4, 4)."""
        return np.asarray(self.robot.forward_kinematics(q, self.frame if frame is None else frame))

    def link_poses(self, q: np.ndarray) -> np.ndarray:
        """Poses of all links, (..., n_links, 4, 4)."""
        return self.robot.link_poses(q)

    def _lowest(self, T: np.ndarray, upright: np.ndarray) -> float:
        heights = [
            (part.shape.facets() @ T[part.link][:3, :3].T + T[part.link][:3, 3]) @ upright[2]
            for part in self.shape.parts
        ]
        return float(min((each.min() for each in heights), default=0.0))

    def set(self, q: np.ndarray) -> None:
        """Move the robot; values are clipped to the limits. This may be called from any thread."""
        q = within(self.mechanism, q)
        if not np.isfinite(q).all():
            return
        self.q = q
        self.worker.mark((self.node, "place"), self.place)
        self.worker.mark((self.node, "read"), self._read, after=TEXT_SECONDS)

    def change(self, place: int, value: float) -> None:
        """Set one coordinate; several pages may do so concurrently. Loops follow, or nothing moves."""
        with self._changing:
            q = self.q.copy()
            q[place] = value
            if self.closed is not None:
                try:
                    closure = close(self.robot, {self.mechanism.coordinate_names[place]: value}, q0=self.q)
                except ZvenoError:  # a singular state: no branch is meant
                    return
                if closure.status != "closed":
                    return
                q = closure.q
            self.set(q)

    def place(self) -> None:
        """Place the parts at the current q."""
        q = self.q
        T = self.link_poses(q)
        with self.server.atomic():
            self.instances.place(T[None])
            for follower in self.followers:
                follower.place(T[None])
            if self._frames is not None:
                self._place_frames(T)
        self.placed += 1

    def _read(self) -> None:
        for reader in self.readers:
            reader(self.q)

    def show_ground(self, height: float) -> None:
        """Show the ground as a plate at a height of the robot's world."""
        self.server.scene.add_grid(
            f"{self.node}/ground",
            width=6 * self.size,
            height=6 * self.size,
            cell_size=0.25 * self.size,
            position=(0.0, 0.0, height),
            cell_color=(198, 206, 216),
            section_color=(160, 170, 182),
        )

    def show_axes(self, visible: bool) -> None:
        """Show or hide lines along the axes of all joints."""
        if self._axes is None:
            length, thin = 0.16 * self.size, 0.004 * self.size
            parts = [
                Part(
                    axis.link,
                    kind_color(axis.kind),
                    solids.bar(axis.center - length * axis.direction, axis.center + length * axis.direction, thin),
                )
                for axis in self.shape.drawn.axes
            ]
            self._axes = Instances(self.server.scene, f"{self.node}/axes", parts)
            self.followers.append(self._axes)
        self._axes.show(visible)
        self.worker.mark((self.node, "place"), self.place)

    def show_frames(self, visible: bool) -> None:
        """Show or hide red, green and blue axes of all links and named frames."""
        if self._frames is None:
            n = self.mechanism.n_links + len(self.mechanism.frames)
            self._frames = self.server.scene.add_batched_axes(
                f"{self.node}/frames",
                np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
                np.zeros((n, 3)),
                axes_length=0.09 * self.size,
                axes_radius=0.004 * self.size,
            )
        self._frames.visible = visible
        self.worker.mark((self.node, "place"), self.place)

    def _place_frames(self, T: np.ndarray) -> None:
        named = [T[self.mechanism.link_number(frame.link)] @ frame.T_link_frame for frame in self.mechanism.frames]
        poses = np.concatenate([T, np.array(named).reshape(-1, 4, 4)])
        self._frames.batched_wxyzs = quaternions(poses[:, :3, :3]).astype(np.float32)
        self._frames.batched_positions = poses[:, :3, 3].astype(np.float32)


def _shown_frame(mechanism: Mechanism) -> str:
    """Name of the default frame; for trees with several ends, the first named frame or the last link."""
    try:
        return mechanism.default_frame.name
    except UnknownNameError:
        return mechanism.frames[0].name if mechanism.frames else mechanism.link_names[-1]


MOST_TORQUES = 8
"""Maximum number of joints whose torques are listed; the largest torques are shown."""


def add_joints(stage: Stage, gui: Any) -> None:
    """Add the tab with sliders and live numbers."""
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
            if event.client_id is None:  # set by the studio, not by a user
                return
            stage.change(coordinate.place, coordinate.meant(event.target.value))

        slider.on_update(moved)
        sliders.append((coordinate, slider))
    home = gui.add_button("Neutral")
    home.on_click(lambda _: stage.set(stage.home))

    def read(q: np.ndarray) -> None:
        numbers.content = live_numbers(stage, q)
        for coordinate, slider in sliders:
            value = coordinate.shown(q[coordinate.place])
            if abs(slider.value - value) > 0.05:
                slider.value = value

    stage.readers.append(read)
    numbers.content = live_numbers(stage, stage.q)


def live_numbers(stage: Stage, q: np.ndarray) -> str:
    """Format frame position, manipulability and holding torques (of loops: those along motors) as Markdown."""
    mechanism, robot = stage.mechanism, stage.robot
    x, y, z = 1e3 * stage.pose(q)[:3, 3]
    lines = [f"**{stage.frame}** at {x:.1f}, {y:.1f}, {z:.1f} mm"]
    if stage.closed is None:
        lines.append(f"manipulability {manipulability(robot, q, stage.frame):.3g}")
    if not any(link.inertia[0] > 0 for link in mechanism.links):
        return "  \n".join([*lines, "holding torques: the model has no masses"])
    units = dict(zip(velocity_names(mechanism), velocity_units(mechanism), strict=True))
    try:
        torques = np.asarray((stage.closed or robot).gravity_torque(q))
    except ZvenoError as error:  # a singular state of loops
        return "  \n".join([*lines, str(error)])
    names = velocity_names(mechanism) if stage.closed is None else stage.closed.velocity_names
    order = np.argsort(-np.abs(torques), kind="stable")[:MOST_TORQUES]
    held = [
        f"| {names[k]} | {round(float(torques[k]), 2) + 0.0:.2f} {'N' if units[names[k]] == 'm' else 'N·m'} |"
        for k in sorted(order)
    ]
    return "  \n".join(lines) + "\n\n| holds with | |\n|---|---|\n" + "\n".join(held)
