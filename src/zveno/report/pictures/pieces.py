"""Coloured solids of a mechanism, each with the link that carries it, for pictures and for pages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...mechanism import Mechanism
from ...mechanism.units import coordinate_units
from ...spatial.rotations import z_to
from . import solids
from .skeleton import Skeleton, skeleton

LINK, SLIDER = "#cdd6e0", "#94a1b0"
KIND_COLORS = {
    "revolute": "#ee8434",
    "continuous": "#e3b23c",
    "prismatic": "#2a9d8f",
    "helical": "#8e5cc2",
    "universal": "#3d7dca",
    "spherical": "#c2527f",
    "planar": "#6a994e",
    "free": "#9aa5b1",
}
"""Joints are coloured by kind; one that is not here has `OTHER_KIND`."""
OTHER_KIND = "#7a6f5d"


def kind_color(kind: str) -> str:
    """The colour of a joint, also of a type that users have made."""
    return KIND_COLORS.get(kind, OTHER_KIND)


class Piece(NamedTuple):
    """A solid of one colour that moves with a link."""

    link: int
    color: str
    solid: solids.Solid


def solid_pieces(drawn: Skeleton) -> list[Piece]:
    """The solids of a skeleton, in the world."""
    pieces = []
    for bar in drawn.bars:
        solid = solids.capsule(bar.start, bar.end, bar.radius, bar.end_radius)
        pieces.append(Piece(bar.link, SLIDER if bar.sliding else LINK, solid))
    for axis in drawn.axes:
        shape, wide, half = (solids.drum, 1.22, 1.55) if axis.turns else (solids.prism, 1.7, 2.3)
        solid = shape(axis.center, axis.direction, wide * axis.radius, half * axis.radius)
        pieces.append(Piece(axis.link, kind_color(axis.kind), solid))
    for ball in drawn.balls:
        pieces.append(Piece(ball.link, kind_color(ball.kind), solids.ball(ball.center, ball.radius)))
    return pieces


class LinkShapes(NamedTuple):
    """A mechanism as solids in the frames of its links, so that poses of the links move them."""

    pieces: list[Piece]
    size: float
    """the longest way along the links from the root to an end, m"""


def link_shapes(mechanism: Mechanism) -> LinkShapes:
    """The solids of a mechanism in the frames of its links, m.

    They are drawn where slides are out as far as they go, so that their rods are seen.
    """
    q = _drawn_out(mechanism)
    T_world = link_poses(mechanism, q)
    drawn = skeleton(mechanism, q)
    local = [
        piece._replace(solid=piece.solid.seen_from(np.asarray(T_world[piece.link])))
        for piece in solid_pieces(drawn)
    ]
    return LinkShapes(local, drawn.size)


def _drawn_out(mechanism: Mechanism) -> np.ndarray:
    """The neutral configuration with every limited slide at its upper limit."""
    q = np.array(mechanism.neutral(), dtype=float)
    for k, unit in enumerate(coordinate_units(mechanism)):
        if unit == "m" and np.isfinite(mechanism.upper[k]):
            q[k] = mechanism.upper[k]
    return q


def upright_axes(mechanism: Mechanism) -> np.ndarray:
    """The rotation (3, 3) into axes whose z points against gravity: up in pictures and pages."""
    strength = float(np.linalg.norm(mechanism.gravity))
    return np.eye(3) if strength < 1e-9 else z_to(-mechanism.gravity / strength).T
