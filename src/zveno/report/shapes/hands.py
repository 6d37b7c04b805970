"""Hands among the bodies of a mechanism: short sliding bodies that one body carries, which close on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanism import Mechanism
from ...spatial import inertia
from .bodies import Body

_SHORT = 0.2
"""Fingers slide by less than this share of the mechanism's size."""


@dataclass(frozen=True)
class Block:
    """A square bar of a link, between two points."""

    POINTS: ClassVar[tuple[str, ...]] = ("start", "end")
    DIRECTIONS: ClassVar[tuple[str, ...]] = ()
    link: int
    start: np.ndarray
    end: np.ndarray
    radius: float
    """from the middle to an edge"""
    kind: str = ""
    """of the joint that moves it; empty for the palm"""


@dataclass(frozen=True)
class Hand:
    """A palm with fingers on it."""

    body: int
    palm: Block
    fingers: dict[int, Block]
    """by body"""
    center: np.ndarray
    """of the palm's back"""


def hands(mechanism: Mechanism, bodies: list[Body], T: list, shown: list[int], size: float) -> list[Hand]:
    """Bodies that carry two fingers or more and nothing else."""
    found = []
    for k in shown:
        fingers = [j for j in shown if bodies[j].parent == k]
        if len(fingers) > 1 and all(_is_finger(bodies, j, size) for j in fingers):
            found.append(_hand(mechanism, bodies, T, k, fingers, size))
    return found


def _is_finger(bodies: list[Body], k: int, size: float) -> bool:
    directions, ends = bodies[k].columns(), bodies[k].origins()
    slides = len(directions) == 1 and not directions[0][1]
    short = len(ends) == 2 and float(np.linalg.norm(ends[1] - ends[0])) < _SHORT * size
    return slides and short and not any(other.parent == k for other in bodies)


def _hand(mechanism: Mechanism, bodies: list[Body], T: list, k: int, fingers: list[int], size: float) -> Hand:
    along = bodies[fingers[0]].columns()[0][0]
    roots = np.array([bodies[j].T_world_joint[:3, 3] for j in fingers])
    middle = roots.mean(axis=0)
    forward = _forward(mechanism, bodies, T, fingers, middle - bodies[k].anchor, along)
    thick = 0.014 * size
    blocks = {}
    for j in fingers:
        body = bodies[j]
        reach = [(point - body.anchor) @ forward for point in _points(mechanism, body, T)]
        length = max(max(reach, default=0.0), 3.5 * thick)
        assert body.joint is not None
        blocks[j] = Block(
            body.links[0], body.anchor, body.anchor + length * forward, 0.8 * thick, body.joint.type.kind
        )
    places = np.concatenate([roots, *(bodies[j].origins() for j in fingers)])
    places = np.concatenate([places, 2 * middle - places])  # fingers open to both sides
    wide = float(np.abs((places - middle) @ along).max()) + thick
    link = bodies[k].links[0]
    palm = Block(
        link,
        middle - wide * along - 0.5 * thick * forward,
        middle + wide * along - 0.5 * thick * forward,
        1.4 * thick,
    )
    return Hand(k, palm, blocks, middle - 0.5 * thick * forward)


def _forward(mechanism, bodies, T, fingers, way: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Where the fingers point: away from the joint of the hand, or to their centres of mass."""
    masses = [point - bodies[j].anchor for j in fingers for point in _points(mechanism, bodies[j], T)]
    for direction in (way, np.sum(masses, axis=0) if masses else np.zeros(3), *np.eye(3)[::-1]):
        across = direction - (direction @ along) * along
        if np.linalg.norm(across) > 1e-3 * max(float(np.linalg.norm(direction)), 1e-9):
            return across / np.linalg.norm(across)
    raise AssertionError("one of three axes is across")


def _points(mechanism: Mechanism, body: Body, T: list) -> list[np.ndarray]:
    """Twice the way to the centres of mass of a finger: about its tip."""
    held = [(np.asarray(T[i]), mechanism.links[i].inertia) for i in body.links if mechanism.links[i].inertia[0] > 0]
    centers = [pose[:3, :3] @ inertia.center_of_mass(p) + pose[:3, 3] for pose, p in held]
    return [body.anchor + 2.0 * (center - body.anchor) for center in centers]
