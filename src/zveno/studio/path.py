"""Path through way-points: straight lines between poses of the target, with all branches and jumps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..ik.paths.joint_path import JointPath
from ..ik.paths.pose_curves import PosePath
from .instances import NOWHERE, Instances, quaternions
from .playback import Playback
from .stage import Stage
from .target import GHOST_OPACITY, MOST_GHOSTS, Target

POSES = 24
"""Number of poses along a line between two way-points."""
LINE, JUMP = (214, 51, 108), (214, 40, 40)


class PathPanel:
    """Panel for the way-points of one robot and the joint motion along them."""

    def __init__(self, stage: Stage, target: Target, gui: Any):
        self.stage: Stage = stage
        self.target: Target = target
        self.gui: Any = gui
        self.points: list[np.ndarray] = []
        self.result: JointPath | None = None
        self.poses: np.ndarray = np.zeros((0, 4, 4))
        self.playback: Playback | None = None
        self.ghosts: Instances | None = None
        self.folder: Any = None
        gui.add_markdown("Drag the target and add way-points; the path runs straight between them.")
        add, solve, clear = (gui.add_button(word) for word in ("Add way-point", "Solve the path", "Clear"))
        self.status: Any = gui.add_markdown("no way-points")
        add.on_click(lambda _: self.add())
        solve.on_click(lambda _: self.solve())
        clear.on_click(lambda _: self.clear())

    def add(self) -> None:
        """Add the pose of the target as the next way-point."""
        self.points.append(self.target.T)
        self._draw()

    def clear(self) -> None:
        """Remove the way-points and the path."""
        self.points, self.result = [], None
        self._draw()
        self._forget()

    def solve(self) -> None:
        """Solve for all branches along the path; this may take seconds."""
        if len(self.points) < 2:
            self.status.content = "two way-points are needed"
            return
        poses = waypoint_poses(self.points)
        self.status.content = "solving …"
        robot, frame = self.stage.robot, self.target.frame
        if not self.stage.worker.aside(
            (self.stage.node, "path"),
            lambda: robot.ik_path(poses, frame=frame),
            lambda path: self._solved(path, poses),
        ):
            self.status.content = "something else is being computed"

    def _solved(self, result: JointPath, poses: np.ndarray) -> None:
        self._forget()
        self.result, self.poses = result, poses
        ended = [f"branch {k}: {branch.reason}" for k, branch in enumerate(result.branches, 1) if branch.reason]
        self.status.content = "  \n".join([f"**{result.status}**: {result.summary}", *ended])
        self._draw()
        self.target.enabled.value = False
        self.target.changed()
        if self.ghosts is None:
            self.ghosts = Instances(
                self.stage.server.scene,
                f"{self.stage.node}/branches",
                self.stage.shape.parts,
                copies=MOST_GHOSTS,
                opacity=GHOST_OPACITY,
            )
        self.folder = self.gui.add_folder("Along the path")
        with self.folder:
            self.playback = Playback(
                self.stage.worker, self.gui, np.arange(len(result.q)) / 12.0, self._show, unit="pose"
            )

    def _show(self, k: int) -> None:
        if self.result is None or self.ghosts is None:
            return
        others = [branch.q[k] for branch in self.result.branches if k < len(branch.q)][:MOST_GHOSTS]
        with self.stage.server.atomic():
            self.ghosts.place(self.stage.link_poses(np.array(others)) if others else NOWHERE)
        if np.isfinite(self.result.q[k]).all():
            self.stage.set(self.result.q[k])

    def _forget(self) -> None:
        if self.playback is not None and self.playback.playing:
            self.playback.toggle()
        self.playback = None
        if self.folder is not None:
            self.folder.remove()
            self.folder = None
        if self.ghosts is not None:
            self.ghosts.place(NOWHERE)

    def _draw(self) -> None:
        scene, node, size = self.stage.server.scene, f"{self.stage.node}/path", self.stage.size
        for part in ("points", "line", "jumps"):
            scene.remove_by_name(f"{node}/{part}")
        if not self.points:
            self.status.content = "no way-points"
            return
        points = np.array(self.points)
        scene.add_batched_axes(
            f"{node}/points",
            quaternions(points[:, :3, :3]),
            points[:, :3, 3],
            axes_length=0.07 * size,
            axes_radius=0.004 * size,
        )
        if len(points) > 1:
            lines = np.stack([points[:-1, :3, 3], points[1:, :3, 3]], axis=1)
            scene.add_line_segments(f"{node}/line", lines, LINE, thickness=0.005 * size)
        if self.result is None:
            self.status.content = f"{len(points)} way-points"
        elif self.result.jumps:
            places = self.poses[list(self.result.jumps), :3, 3]
            scene.add_point_cloud(f"{node}/jumps", places.astype(np.float32), JUMP, point_size=0.025 * size)


def waypoint_poses(points: list[np.ndarray]) -> np.ndarray:
    """Poses (n, 4, 4) along straight lines through way-points, without duplicates."""
    lines = [PosePath.line(a, b, POSES).poses for a, b in pairwise(points)]
    return np.concatenate([lines[0], *(line[1:] for line in lines[1:])])
