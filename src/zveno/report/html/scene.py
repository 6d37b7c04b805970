"""A robot that can be turned, with its postures on a slider, pale copies, a line and points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...mechanism import Mechanism
from ..shapes.mesh import Mesh
from ..shapes.parts import PAGE, Part, foot, ground_below, robot_parts, upright_axes
from ..shapes.solids import Solid
from .blocks import Block, numbers, packed

MOST_FRAMES = 300
"""Postures on a slider: more are thinned out evenly."""
STEP_SECONDS = 0.5
"""How long a posture without a time of its own is shown when playing."""


def robot_scene(
    title: str,
    mechanism: Mechanism,
    q: Any,
    labels: Sequence[str],
    *,
    ghosts: Any = (),
    seconds: float | None = None,
    trail: Any = None,
    points: Any = None,
    note: str = "",
    wide: bool = False,
) -> Block:
    """The robot at q, (n, n_q), with a label each.

    Args:
        title: above it.
        mechanism: the robot.
        q: configurations; the first is shown first.
        labels: what stands beside the slider, (n,).
        ghosts: configurations shown pale, (k, n_q).
        seconds: how long it takes to play all of it.
        trail: points of the world joined by a line, (k, 3).
        points: points of the world, (k, 3).
        note: a sentence below.
        wide: whether it takes the whole width.
    """
    q = np.asarray(q, dtype=float).reshape(-1, mechanism.n_q)
    kept = np.unique(np.linspace(0, len(q) - 1, min(len(q), MOST_FRAMES)).round().astype(int))
    robot = robot_parts(mechanism, PAGE)
    links = sorted({part.link for part in robot.parts})
    upright = upright_axes(mechanism)
    poses = _poses(mechanism, q[kept], links, upright)
    ground = ground_below(robot, _lowest(robot.parts, links, poses))
    center = np.array([0.0, 0.0, 0.15 * robot.size]) if not poses.size else poses[0, :, :3, 3].mean(axis=0)
    data = {
        "size": robot.size,
        "ground": ground,
        "center": numbers(center),
        "camera": numbers(center + robot.size * np.array([1.15, -1.15, 0.7])),
        "labels": [labels[k] for k in kept],
        "seconds": STEP_SECONDS * len(kept) if seconds is None else max(seconds, 0.1),
        "bodies": [[_part(part) for part in robot.parts if part.link == link] for link in links],
        "foot": [_part(part) for part in foot(robot, np.eye(3), ground)],
        "poses": _columns(poses),
        "ghosts": [
            _columns(_poses(mechanism, ghost[None], links, upright)) for ghost in np.asarray(ghosts, dtype=float)
        ],
    }
    if trail is not None:
        data["trail"] = packed(np.asarray(trail) @ upright.T)
    if points is not None:
        data["points"] = packed(np.asarray(points) @ upright.T)
    return Block(title, "scene", data, note=note, wide=wide)


def _poses(mechanism: Mechanism, q: np.ndarray, links: Sequence[int], upright: np.ndarray) -> np.ndarray:
    """(n, links, 4, 4) in axes whose z points up."""
    turn = np.eye(4)
    turn[:3, :3] = upright
    all_poses = [
        np.stack([T for k, T in enumerate(link_poses(mechanism, state)) if k in set(links)]) for state in q
    ]
    return turn @ np.stack(all_poses)


def _lowest(parts: Sequence[Part], links: Sequence[int], poses: np.ndarray) -> float:
    """The lowest point of a robot over all its postures, m."""
    lowest = 0.0 if not len(parts) or not poses.size else np.inf
    for k, link in enumerate(links if poses.size else ()):
        corners = [part.shape.facets().reshape(-1, 3) for part in parts if part.link == link]
        heights = np.concatenate(corners) @ poses[:, k, 2, :3].T + poses[:, k, 2, 3]
        lowest = min(lowest, float(heights.min()))
    return lowest


def _columns(poses: np.ndarray) -> str:
    """Matrices by columns, as the browser reads them."""
    return packed(np.swapaxes(poses, -1, -2))


def _part(part: Part) -> dict[str, Any]:
    """A part for the page's script: a profile to turn about an axis, or triangles."""
    shape = part.shape
    return {"color": part.color, **(_turned(shape) if isinstance(shape, Solid) else _triangles(shape))}


def _turned(solid: Solid) -> dict[str, Any]:
    return {
        "origin": numbers(solid.origin),
        "axis": numbers(solid.axis),
        "profile": numbers(solid.profile),
        "sides": solid.sides,
    }


def _triangles(mesh: Mesh) -> dict[str, Any]:
    corners = mesh.faces if np.prod(mesh.scale) > 0 else mesh.faces[:, ::-1]
    points = (mesh.scale * mesh.vertices) @ mesh.T[:3, :3].T + mesh.T[:3, 3]
    wide = len(points) > 0xFFFF
    return {"vertices": packed(points), "wide": wide, "faces": packed(corners, "<u4" if wide else "<u2")}
