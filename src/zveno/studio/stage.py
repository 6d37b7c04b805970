"""One robot in the scene: its parts, axes and frames, and the configuration that everything else reads and sets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UnknownNameError
from ..mechanism import Mechanism
from ..report.shapes import solids
from ..report.shapes.parts import Part, RobotParts, foot, ground_below, kind_color, robot_parts, upright_axes
from ..robot import Robot
from ..spatial.rotations import to_quaternion
from .instances import Instances, quaternions
from .values import within
from .worker import Worker

TEXT_SECONDS = 0.12
"""Between two updates of texts and sliders: eyes do not read faster."""


class Stage:
    """A robot that stands in the scene.

    Coordinates below its node are those of the robot's world; the node turns gravity down and shifts the robot
    beside others.
    """

    def __init__(
        self, server: Any, worker: Worker, robot: Robot, node: str, offset: float = 0.0, frame: str | None = None
    ):
        self.server: Any = server
        self.worker: Worker = worker
        self.robot: Robot = robot
        self.node: str = node
        self.mechanism: Mechanism = robot.mechanism
        self.shape: RobotParts = robot_parts(self.mechanism)
        self.frame: str = _shown_frame(self.mechanism) if frame is None else frame
        self.size: float = self.shape.size
        self.q: np.ndarray = within(self.mechanism, np.array(self.mechanism.neutral(), dtype=float))
        self._changing = threading.Lock()
        self.readers: list[Callable[[np.ndarray], None]] = []
        """called in the worker's thread when q has changed, at most eight times a second"""
        upright = upright_axes(self.mechanism)
        place = np.array([0.0, offset, 0.0])
        self.root: Any = server.scene.add_frame(node, show_axes=False, wxyz=to_quaternion(upright), position=place)
        self.instances: Instances = Instances(server.scene, f"{node}/robot", self.shape.parts)
        T = self.link_poses(self.q)
        self.ground: float = ground_below(self.shape, self._lowest(T, upright))
        self.pedestal: Instances = Instances(server.scene, f"{node}/foot", foot(self.shape, upright, self.ground))
        self.pedestal.place(T[None])
        self.followers: list[Instances] = []
        """other parts that move with the links"""
        self._axes: Instances | None = None
        self._frames: Any = None
        self.placed: int = 0
        self.place()

    def pose(self, q: np.ndarray, frame: str | None = None) -> np.ndarray:
        """The pose of a frame, of the one that is shown if none is named, (..., 4, 4)."""
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
        """Move the robot; values outside limits are taken to them. May be called from any thread."""
        q = within(self.mechanism, q)
        if not np.isfinite(q).all():
            return
        self.q = q
        self.worker.mark((self.node, "place"), self.place)
        self.worker.mark((self.node, "read"), self._read, after=TEXT_SECONDS)

    def change(self, place: int, value: float) -> None:
        """Set one coordinate; hands in two pages may do so at once."""
        with self._changing:
            q = self.q.copy()
            q[place] = value
            self.set(q)

    def place(self) -> None:
        """Put the parts where q says."""
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
        """A plate at a height of the robot's world."""
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
        """Lines along the axes of all joints."""
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
        """Red, green and blue axes of all links and named frames."""
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
    """The default frame; of trees with several ends, the first frame that is named, or the last link."""
    try:
        return mechanism.default_frame.name
    except UnknownNameError:
        return mechanism.frames[0].name if mechanism.frames else mechanism.link_names[-1]
