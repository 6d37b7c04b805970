"""Coloured parts of a robot, each fixed to a link."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..mechanism import Mechanism
from ..mechanism.plausibility import rigid_clusters
from ..spatial.rotations import z_to
from . import solids
from ._skeleton import Skeleton, skeleton
from ._visuals import visual_shapes
from .solids import Mesh

LINK, SLIDER, FOOT = "#cdd6e0", "#94a1b0", "#66727f"
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
"""Colours of joints by type; other types have `OTHER_KIND`."""
OTHER_KIND = "#7a6f5d"
PAGE, SCREEN = 6_000, 40_000
"""Maximum number of triangles of a robot's meshes: on a page sent by mail, and on screen."""
PEDESTAL, GAP = 0.15, 0.04
"""Height of the root above the ground, and gap between root and pedestal, as fractions of the size. The gap keeps
the first joint visible."""


class Part(NamedTuple):
    """Shape of one colour that moves with a link."""

    link: int
    color: str
    shape: solids.Solid | Mesh
    """Shape in the axes of the link, m."""


class RobotParts(NamedTuple):
    """Parts of a robot in the axes of its links."""

    parts: list[Part]
    size: float
    """Longest path along the links from the root to an end, m."""
    bolted: bool
    """True if the robot stands on a pedestal."""
    drawn: Skeleton


def robot_parts(mechanism: Mechanism, triangles: int = SCREEN) -> RobotParts:
    """Build the parts of a robot.

    Links are drawn from the visual elements of the URDF if all files can be read (extra `mesh`), and otherwise from
    the kinematics, in the colours of the joints that move them.

    Args:
        mechanism: the robot.
        triangles: approximate maximum total number of triangles of the meshes.
    """
    return _parts(mechanism, triangles)


@lru_cache(maxsize=32)
def _parts(mechanism: Mechanism, triangles: int) -> RobotParts:
    drawn = skeleton(mechanism)
    seen = visual_shapes(mechanism, triangles)
    drawn_parts = _solid_parts(drawn)
    # Links fixed to a link with visual shapes are part of those shapes.
    covered = {i for links in rigid_clusters(mechanism) if seen.keys() & set(links) for i in links}
    parts = [part for part in drawn_parts if part.link not in covered]
    parts += [Part(link, color, shape) for link, shapes in sorted(seen.items()) for color, shape in shapes]
    return RobotParts(parts, drawn.size, drawn.bolted and 0 not in covered, drawn)


def _solid_parts(drawn: Skeleton) -> list[Part]:
    parts = []
    corners = set()
    for bar in drawn.bars:
        color = SLIDER if bar.sliding else LINK
        parts.append(Part(bar.link, color, solids.bar(bar.start, bar.end, bar.radius, bar.end_radius)))
        for end, radius in ((bar.start, bar.radius), (bar.end, bar.end_radius)):
            corner = (bar.link, *np.round(end / drawn.size, 6).tolist(), bar.sliding)
            if corner not in corners:
                corners.add(corner)
                parts.append(Part(bar.link, color, solids.ball(end, radius)))
    for axis in drawn.axes:
        shape, wide, half = (solids.drum, 1.22, 1.55) if axis.turns else (solids.prism, 1.7, 2.3)
        solid = shape(axis.center, axis.direction, wide * axis.radius, half * axis.radius)
        parts.append(Part(axis.link, kind_color(axis.kind), solid))
    for ball in drawn.balls:
        parts.append(Part(ball.link, kind_color(ball.kind), solids.ball(ball.center, ball.radius)))
    return parts


def kind_color(kind: str) -> str:
    """Colour of a joint type, user-defined types included."""
    return KIND_COLORS.get(kind, OTHER_KIND)


def upright_axes(mechanism: Mechanism) -> np.ndarray:
    """Rotation (3, 3) into axes whose z points up, against gravity."""
    strength = float(np.linalg.norm(mechanism.gravity))
    return np.eye(3) if strength < 1e-9 else z_to(-mechanism.gravity / strength).T


def ground_below(robot: RobotParts, lowest: float) -> float:
    """Height of the ground below a given lowest point, m, with room for the pedestal below the root."""
    return min(lowest, -PEDESTAL * robot.size) if robot.bolted else lowest


def foot(robot: RobotParts, upright: np.ndarray, ground: float) -> list[Part]:
    """Build the pedestal from the ground to the root, if the robot is bolted down."""
    if not robot.bolted:
        return []
    up, size = upright.T @ np.array([0.0, 0.0, 1.0]), robot.size
    height = -GAP * size - ground
    wide, narrow, plate = (share * size for share in (0.085, 0.052, 0.016))
    profile = [(0.0, 0.0), (0.0, wide), (plate, wide), (plate, narrow), (height, narrow), (height, 0.0)]
    return [Part(0, FOOT, solids.revolved(ground * up, up, profile, sides=48))]


def rgb(color: str) -> np.ndarray:
    """Components (3,) from 0 to 1 of a colour such as #26303b."""
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
