"""A robot that can be turned, with its postures on a slider, pale copies, a line and points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...mechanism import Mechanism
from ..pictures.pieces import Piece, link_shapes, upright_axes
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
    shapes = link_shapes(mechanism)
    links = sorted({piece.link for piece in shapes.pieces})
    upright = upright_axes(mechanism)
    poses = _poses(mechanism, q[kept], links, upright)
    heights = poses[..., 2, 3]
    low = float(heights.min(initial=0.0)) - 0.15 * shapes.size
    center = np.array([0.0, 0.0, 0.15 * shapes.size]) if not heights.size else poses[0, :, :3, 3].mean(axis=0)
    data = {
        "size": shapes.size,
        "ground": low,
        "center": numbers(center),
        "camera": numbers(center + shapes.size * np.array([1.15, -1.15, 0.7])),
        "labels": [labels[k] for k in kept],
        "seconds": STEP_SECONDS * len(kept) if seconds is None else max(seconds, 0.1),
        "bodies": [_body(shapes.pieces, link) for link in links],
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


def _columns(poses: np.ndarray) -> str:
    """Matrices by columns, as the browser reads them."""
    return packed(np.swapaxes(poses, -1, -2))


def _body(pieces: Sequence[Piece], link: int) -> list[dict[str, Any]]:
    """The solids of a link."""
    return [
        {
            "color": piece.color,
            "origin": numbers(piece.solid.origin),
            "axis": numbers(piece.solid.axis),
            "profile": numbers(piece.solid.profile),
            "sides": piece.solid.sides,
        }
        for piece in pieces
        if piece.link == link
    ]
