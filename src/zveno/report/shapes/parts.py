"""A robot as coloured parts, each fixed to a link: poses of the links carry them anywhere."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...mechanism import Mechanism
from ...mechanism.plausibility import rigid_clusters
from ...spatial.rotations import z_to
from . import solids
from .mesh import Mesh
from .skeleton import Skeleton, skeleton
from .visuals import visual_shapes

LINK, SLIDER, TYRE, PALM, FOOT = "#cdd6e0", "#94a1b0", "#4a545f", "#7d8a98", "#66727f"
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
PAGE, SCREEN = 6_000, 40_000
"""Triangles of all meshes of a robot: on a page that is sent by mail, and where only the eye limits them."""
PEDESTAL, GAP = 0.15, 0.04
"""Height of the root over the ground, and from the root down to the foot, which leaves the first joint in sight;
shares of the size."""


class Part(NamedTuple):
    """A shape of one colour that moves with a link."""

    link: int
    color: str
    shape: solids.Solid | Mesh
    """in the axes of the link, m"""


class RobotParts(NamedTuple):
    """A robot as parts in the axes of its links."""

    parts: list[Part]
    size: float
    """the longest way along the links from the root to an end, m"""
    bolted: bool
    """whether it stands on a foot"""
    drawn: Skeleton


def robot_parts(mechanism: Mechanism, triangles: int = SCREEN) -> RobotParts:
    """The parts of a robot.

    Links are drawn as the visual elements of a URDF say, where all its files are found and read (extra `mesh`), and
    otherwise from the kinematics, in the colours of the joints that move them.

    Args:
        mechanism: the robot.
        triangles: about how many its meshes have at most, all together.
    """
    return _parts(mechanism, triangles)


@lru_cache(maxsize=32)
def _parts(mechanism: Mechanism, triangles: int) -> RobotParts:
    drawn = skeleton(mechanism)
    seen = visual_shapes(mechanism, triangles)
    own = _solid_parts(drawn)
    # What is fixed to a link with a shape of its own is part of that shape.
    covered = {i for links in rigid_clusters(mechanism) if seen.keys() & set(links) for i in links}
    parts = [part for part in own if part.link not in covered]
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
    for wheel in drawn.wheels:
        parts.append(
            Part(wheel.link, TYRE, solids.drum(wheel.center, wheel.direction, wheel.radius, wheel.half_width))
        )
        hub = solids.drum(wheel.center, wheel.direction, 0.45 * wheel.radius, 1.12 * wheel.half_width)
        parts.append(Part(wheel.link, kind_color("continuous"), hub))
    for block in drawn.blocks:
        middle, way = 0.5 * (block.start + block.end), block.end - block.start
        length = float(np.linalg.norm(way))
        solid = solids.prism(middle, way / length, block.radius, 0.5 * length)
        parts.append(Part(block.link, kind_color(block.kind) if block.kind else PALM, solid))
    return parts


def kind_color(kind: str) -> str:
    """The colour of a joint, also of a type that users have made."""
    return KIND_COLORS.get(kind, OTHER_KIND)


def upright_axes(mechanism: Mechanism) -> np.ndarray:
    """The rotation (3, 3) into axes whose z points against gravity: up in pictures and pages."""
    strength = float(np.linalg.norm(mechanism.gravity))
    return np.eye(3) if strength < 1e-9 else z_to(-mechanism.gravity / strength).T


def ground_below(robot: RobotParts, lowest: float) -> float:
    """The height of the ground under something whose lowest point is given, m: a foot needs room below the root."""
    return min(lowest, -PEDESTAL * robot.size) if robot.bolted else lowest


def foot(robot: RobotParts, upright: np.ndarray, ground: float) -> list[Part]:
    """The pedestal from the ground to the root, where the robot is bolted down."""
    if not robot.bolted:
        return []
    up, size = upright.T @ np.array([0.0, 0.0, 1.0]), robot.size
    height = -GAP * size - ground
    wide, narrow, plate = (share * size for share in (0.085, 0.052, 0.016))
    profile = [(0.0, 0.0), (0.0, wide), (plate, wide), (plate, narrow), (height, narrow), (height, 0.0)]
    return [Part(0, FOOT, solids.revolved(ground * up, up, profile, sides=48))]


def rgb(color: str) -> np.ndarray:
    """(3,) from 0 to 1 of a colour such as #26303b."""
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
