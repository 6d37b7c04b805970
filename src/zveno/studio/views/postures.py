"""Views of configurations and motions: plans, solutions, paths and exciting trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calibration.planning.result import MeasurementPlan
from ...errors import ZvenoError
from ...identification.excitation.result import Excitation
from ...ik._whole_body.posture_result import Configurations
from ...ik.paths.joint_path import JointPath
from ...ik.solutions import Solutions
from ..playback import Playback
from ..stage import Stage

TRAIL, PLACES = (214, 51, 108), (29, 95, 209)
RATE = 50.0
"""Sampling rate of an exciting motion, Hz."""
STEP_SECONDS = 0.5


def show_plan(stage: Stage, gui: Any, result: MeasurementPlan) -> Playback:
    """Show planned configurations, with contact targets and predicted accuracy points."""
    gui.add_markdown(result.summary)
    if len(result.places):
        add_points(stage, "places", result.places[:, :3, 3], PLACES)
    return steps(stage, gui, result.q, "posture")


def show_solutions(stage: Stage, gui: Any, result: Solutions) -> Playback:
    """Show the solutions of all poses, one after the other."""
    gui.add_markdown(result.summary)
    q = np.concatenate([result.of(*pose) for pose in np.ndindex(*result.batch)])
    return steps(stage, gui, q if len(q) else result.nearest.reshape(-1, result.nearest.shape[-1]), "solution")


def show_postures(stage: Stage, gui: Any, result: Configurations) -> Playback:
    """Show whole-body configurations, or the nearest one."""
    gui.add_markdown(result.summary)
    return steps(stage, gui, result.q if result.count else result.nearest[None], "posture")


def show_path(stage: Stage, gui: Any, result: JointPath) -> Playback:
    """Show the best sequence, with the path of its frame."""
    gui.add_markdown(f"**{result.status}**: {result.summary}")
    solved = result.q[np.isfinite(result.q).all(axis=1)]
    if len(solved):
        add_trail(stage, stage.pose(solved, result.frame)[:, :3, 3])
    return steps(stage, gui, solved, "pose")


def show_excitation(stage: Stage, gui: Any, result: Excitation) -> Playback:
    """Show the exciting motion at its own speed; joints that are not excited keep their values."""
    gui.add_markdown(result.summary)
    t, q = result.sample(RATE)[:2]
    whole = np.tile(stage.q, (len(t), 1))
    names = list(stage.mechanism.coordinate_names)
    whole[:, [names.index(name) for name in result.joint_names if name in names]] = q
    for name, value in result.held.items():
        if name in names:
            whole[:, names.index(name)] = value
    add_trail(stage, stage.pose(whole)[:, :3, 3])
    return Playback(stage.worker, gui, t, lambda k: stage.set(whole[k]))


def steps(stage: Stage, gui: Any, q: np.ndarray, word: str) -> Playback:
    """Show configurations on a time bar, for half a second each during playback."""
    if not len(q):
        raise ZvenoError("there is no configuration to show", element=word, remedy="Show a result with solutions")
    return Playback(stage.worker, gui, STEP_SECONDS * np.arange(len(q)), lambda k: stage.set(q[k]), unit=word)


def add_trail(stage: Stage, points: np.ndarray) -> None:
    """Add a line through points of the robot's world, (n, 3)."""
    if len(points) > 1:
        lines = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        stage.server.scene.add_line_segments(f"{stage.node}/trail", lines, TRAIL, thickness=0.004 * stage.size)


def add_points(stage: Stage, name: str, points: np.ndarray, colors: Any, size: float = 0.018) -> Any:
    """Add dots at points of the robot's world, (n, 3)."""
    return stage.server.scene.add_point_cloud(
        f"{stage.node}/{name}",
        points.astype(np.float32),
        colors,
        point_size=size * stage.size,
        point_shape="circle",
    )
