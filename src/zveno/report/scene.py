"""Data of an interactive robot view for the script of a page: bodies, poses, ghosts, a line and points."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..mechanism import Mechanism
from .description import Scene
from .robot_parts import PAGE, Part, foot, ground_below, robot_parts, upright_axes
from .solids import Mesh, Solid

MOST_FRAMES = 300
"""Maximum number of configurations on a slider; more are subsampled evenly."""
STEP_SECONDS = 0.5
"""Display time of a configuration without a time of its own during playback, s."""
FIGURES = 6
"""Significant figures of numbers on a page."""


def scene_data(scene: Scene) -> dict[str, Any]:
    """Return the data that the script of a page draws."""
    mechanism = scene.mechanism
    q = np.asarray(scene.q, dtype=float).reshape(-1, mechanism.n_q)
    labels = scene.labels or [""] * len(q)
    kept = np.unique(np.linspace(0, len(q) - 1, min(len(q), MOST_FRAMES)).round().astype(int))
    robot = robot_parts(mechanism, PAGE)
    links = sorted({part.link for part in robot.parts})
    upright = upright_axes(mechanism)
    poses = _poses(mechanism, q[kept], links, upright)
    ground = ground_below(robot, _lowest(robot.parts, links, poses))
    center = np.array([0.0, 0.0, 0.15 * robot.size]) if not poses.size else poses[0, :, :3, 3].mean(axis=0)
    ghosts = np.asarray(scene.ghosts, dtype=float).reshape(-1, mechanism.n_q)
    data = {
        "size": robot.size,
        "ground": ground,
        "center": numbers(center),
        "camera": numbers(center + robot.size * np.array([1.15, -1.15, 0.7])),
        "labels": [labels[k] for k in kept],
        "seconds": STEP_SECONDS * len(kept) if scene.seconds is None else max(scene.seconds, 0.1),
        "bodies": [[_part(part) for part in robot.parts if part.link == link] for link in links],
        "foot": [_part(part) for part in foot(robot, np.eye(3), ground)],
        "poses": _columns(poses),
        "ghosts": [_columns(_poses(mechanism, ghost[None], links, upright)) for ghost in ghosts],
    }
    if scene.trail is not None:
        data["trail"] = packed(np.asarray(scene.trail) @ upright.T)
    if scene.points is not None:
        data["points"] = packed(np.asarray(scene.points) @ upright.T)
    return data


def numbers(values: Any) -> list[Any]:
    """Return rounded numbers as lists; a number that is not finite becomes null."""
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [numbers(row) for row in array]
    return [float(f"{value:.{FIGURES}g}") if np.isfinite(value) else None for value in array.tolist()]


def packed(array: Any, dtype: str = "<f4") -> str:
    """Return an array as base64 text."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


def _poses(mechanism: Mechanism, q: np.ndarray, links: Sequence[int], upright: np.ndarray) -> np.ndarray:
    """Link poses (n, links, 4, 4) in axes whose z points up."""
    turn = np.eye(4)
    turn[:3, :3] = upright
    all_poses = [
        np.stack([T for k, T in enumerate(link_poses(mechanism, state)) if k in set(links)]) for state in q
    ]
    return turn @ np.stack(all_poses)


def _lowest(parts: Sequence[Part], links: Sequence[int], poses: np.ndarray) -> float:
    """Height of the lowest point of a robot over all configurations, m."""
    lowest = 0.0 if not len(parts) or not poses.size else np.inf
    for k, link in enumerate(links if poses.size else ()):
        corners = [part.shape.facets().reshape(-1, 3) for part in parts if part.link == link]
        heights = np.concatenate(corners) @ poses[:, k, 2, :3].T + poses[:, k, 2, 3]
        lowest = min(lowest, float(heights.min()))
    return lowest


def _columns(poses: np.ndarray) -> str:
    """Matrices in column-major order, as the browser expects."""
    return packed(np.swapaxes(poses, -1, -2))


def _part(part: Part) -> dict[str, Any]:
    """Data of a part for the script: the profile of a solid of revolution, or triangles."""
    shape = part.shape
    return {"color": part.color, **(_revolution_data(shape) if isinstance(shape, Solid) else _triangle_data(shape))}


def _revolution_data(solid: Solid) -> dict[str, Any]:
    return {
        "origin": numbers(solid.origin),
        "axis": numbers(solid.axis),
        "profile": numbers(solid.profile),
        "sides": solid.sides,
    }


def _triangle_data(mesh: Mesh) -> dict[str, Any]:
    corners = mesh.faces if np.prod(mesh.scale) > 0 else mesh.faces[:, ::-1]
    points = (mesh.scale * mesh.vertices) @ mesh.T[:3, :3].T + mesh.T[:3, 3]
    wide = len(points) > 0xFFFF
    return {"vertices": packed(points), "wide": wide, "faces": packed(corners, "<u4" if wide else "<u2")}
