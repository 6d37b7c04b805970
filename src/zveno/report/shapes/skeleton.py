"""The shape a mechanism is drawn with where its file has none: round bars between joints, a symbol for every axis.

A link is drawn as bars from its joint to the joints it carries. A bar first follows the joint's own axis and then
leaves it at a right angle: that is how most arms are built, and it keeps the offsets of parallel axes visible.
Wheels and hands are recognised and look like such. Everything is fixed to a link and given in its axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...mechanism import Mechanism
from ...mechanism.units import coordinate_units
from ...spatial import inertia
from ...spatial.transforms import inverse
from .bodies import Body, carriers_of_floating_base, rigid_bodies
from .hands import Block, hands
from .wheels import Wheel, wheels

_SMALL = 0.02
"""Lengths below this share of the mechanism's size are not drawn."""
_TAPERS = 10
"""Bars taper in tenths: bars of the same taper are copies of one."""


@dataclass(frozen=True)
class Bar:
    """A round bar of a link, between two points."""

    POINTS: ClassVar[tuple[str, ...]] = ("start", "end")
    DIRECTIONS: ClassVar[tuple[str, ...]] = ()
    link: int
    start: np.ndarray
    end: np.ndarray
    radius: float
    end_radius: float
    sliding: bool = False
    """Whether it is the rod of a sliding joint, which goes through its guide."""


@dataclass(frozen=True)
class Axis:
    """One axis of a joint, on the link that it moves; the guide of a slide, on the link before."""

    POINTS: ClassVar[tuple[str, ...]] = ("center",)
    DIRECTIONS: ClassVar[tuple[str, ...]] = ("direction",)
    link: int
    kind: str
    center: np.ndarray
    direction: np.ndarray
    turns: bool
    radius: float


@dataclass(frozen=True)
class Ball:
    """A joint that turns about a point in every direction, on the link that it moves."""

    POINTS: ClassVar[tuple[str, ...]] = ("center",)
    DIRECTIONS: ClassVar[tuple[str, ...]] = ()
    link: int
    kind: str
    center: np.ndarray
    radius: float


@dataclass(frozen=True)
class Skeleton:
    """Everything that is drawn of a mechanism, each in the axes of its link."""

    size: float
    """The longest way along the links from the root to an end, m."""
    bolted: bool
    """Whether it stands on a foot; not where it floats or its root is a body with several limbs."""
    bars: list[Bar] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)
    wheels: list[Wheel] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    """Palms and fingers."""


def skeleton(mechanism: Mechanism) -> Skeleton:
    """The skeleton of a mechanism. Sizes are judged where slides are out as far as they go."""
    q = _drawn_out(mechanism)
    T = link_poses(mechanism, q)
    bodies = rigid_bodies(mechanism, q, T)
    skipped = carriers_of_floating_base(mechanism, bodies)
    shown = [k for k in range(len(bodies)) if k not in skipped]
    ends = {k: _ends(mechanism, T, bodies, k) for k in shown}
    reach = _reaches(bodies, ends)
    size = max(reach.values(), default=0.0) or 1.0
    limbs = sum(body.parent == 0 for body in bodies[1:])
    drawn = Skeleton(size, not skipped and limbs == 1)
    rolling = wheels(mechanism, bodies, T, shown, size)
    grasping = hands(mechanism, bodies, T, shown, size)
    drawn.wheels.extend(rolling.values())
    for hand in grasping:
        drawn.blocks.extend((hand.palm, *hand.fingers.values()))
        ends[hand.body] = [hand.center]
    special = rolling.keys() | {k for hand in grasping for k in hand.fingers}
    for k in shown:
        if k in special:
            continue
        body, radius = bodies[k], _radius(reach[k], size)
        directions = body.columns()
        along = directions[0][0] if len(directions) == 1 else None
        if body.parent not in skipped:
            drawn.bars.extend(_rod(body, 0.7 * radius, _SMALL * size))
        carried = [_radius(reach[j], size) for j in shown if bodies[j].parent == k]
        carried = carried if len(carried) == len(ends[k]) else []
        for j, end in enumerate(ends[k]):
            end_radius = carried[j] if carried else 0.8 * radius
            corners = _route(body.anchor, end, along if len(ends[k]) == 1 else None, _SMALL * size)
            drawn.bars.extend(_tapered(body.links[0], corners, radius, end_radius))
        if body.joint is not None and body.parent not in skipped:
            _add_joint(drawn, body, bodies[body.parent].links[0], directions, radius)
    return _in_link_axes(drawn, T)


def _add_joint(drawn: Skeleton, body: Body, carrier: int, directions, radius: float):
    assert body.joint is not None
    link = body.links[0]
    kind = body.joint.type.kind
    if sum(turns for _, turns in directions) == 3:
        drawn.balls.append(Ball(link, kind, body.anchor, 1.5 * radius))
        return
    for direction, turns in directions:
        center = body.anchor if turns else body.T_world_joint[:3, 3]
        direction = direction / np.linalg.norm(direction)
        drawn.axes.append(Axis(link if turns else carrier, kind, center, direction, turns, radius))


def _rod(body: Body, radius: float, small: float) -> list[Bar]:
    """What comes out of the guide of a slide: long enough for all of its range."""
    ends = body.rod()
    if not ends or np.linalg.norm(ends[1] - ends[0]) < small:
        return []
    return [Bar(body.links[0], ends[0], ends[1], radius, radius, sliding=True)]


def _in_link_axes(drawn: Skeleton, T: list) -> Skeleton:
    """What was drawn in the world, in the axes of the link that carries each."""
    to_link = [inverse(np.asarray(pose)) for pose in T]

    def local(part: Any) -> Any:
        T_link = to_link[part.link]
        points = {name: T_link[:3, :3] @ getattr(part, name) + T_link[:3, 3] for name in part.POINTS}
        return replace(part, **points, **{name: T_link[:3, :3] @ getattr(part, name) for name in part.DIRECTIONS})

    lists = ("bars", "axes", "balls", "wheels", "blocks")
    return replace(drawn, **{name: [local(part) for part in getattr(drawn, name)] for name in lists})


def _drawn_out(mechanism: Mechanism) -> np.ndarray:
    """The neutral configuration with every limited slide at its upper limit."""
    q = np.array(mechanism.neutral(), dtype=float)
    for k, unit in enumerate(coordinate_units(mechanism)):
        if unit == "m" and np.isfinite(mechanism.upper[k]):
            q[k] = mechanism.upper[k]
    return q


def _ends(mechanism: Mechanism, T: list, bodies: list[Body], k: int) -> list[np.ndarray]:
    """Points that the bars of body k lead to: the joints it carries, or else what it holds at its end."""
    carried = [body.T_world_joint[:3, 3] for body in bodies if body.parent == k]
    if carried or k == 0:
        return carried
    held = bodies[k].links
    names = {mechanism.links[i].name for i in held}
    ends = [
        (T[mechanism.link_number(frame.link)] @ frame.T_link_frame)[:3, 3]
        for frame in mechanism.frames
        if frame.link in names
    ]
    ends += [T[i][:3, 3] for i in held if i == held[0] or mechanism.links[i].inertia.any()]
    if max(np.linalg.norm(end - bodies[k].anchor) for end in ends) > 1e-6:
        return ends
    # Nothing marks the end of the body: twice the way to its centre of mass is about its length.
    masses = [(T[i], mechanism.links[i].inertia) for i in held if mechanism.links[i].inertia[0] > 0]
    centers = [pose[:3, :3] @ inertia.center_of_mass(p) + pose[:3, 3] for pose, p in masses]
    return [bodies[k].anchor + 2.0 * (center - bodies[k].anchor) for center in centers] or ends


def _reaches(bodies: list[Body], ends: dict[int, list[np.ndarray]]) -> dict[int, float]:
    """The longest way from every body's joint to an end beyond it, m."""
    reach: dict[int, float] = {}
    for k in reversed(ends):
        lengths = [float(np.linalg.norm(end - bodies[k].anchor)) for end in ends[k]]
        beyond = [reach[j] for j, body in enumerate(bodies) if body.parent == k]
        if beyond:
            lengths = [length + more for length, more in zip(lengths, beyond, strict=True)]
        slide = bodies[k].anchor - bodies[k].T_world_joint[:3, 3] if bodies[k].parent in ends else np.zeros(3)
        reach[k] = max(lengths, default=0.0) + float(np.linalg.norm(slide))
    return reach


def _radius(reach: float, size: float) -> float:
    """Bars get thinner towards the ends, as links do."""
    return size * (0.009 + 0.026 * min(reach / size, 1.0))


def _route(start, end, axis, small: float) -> list[np.ndarray]:
    """Corners of the way from start to end: along the axis first, then at a right angle to it."""
    way = end - start
    if np.linalg.norm(way) < small:
        return [start]
    if axis is None:
        return [start, end]
    along = (way @ axis) / (axis @ axis) * axis
    if min(np.linalg.norm(along), np.linalg.norm(way - along)) < small:
        return [start, end]
    return [start, start + along, end]


def _tapered(link: int, corners: list[np.ndarray], radius: float, end_radius: float) -> list[Bar]:
    """Bars through the corners whose radius goes evenly from one end of the way to the other."""
    lengths = [float(np.linalg.norm(b - a)) for a, b in pairwise(corners)]
    done = np.concatenate([[0.0], np.cumsum(lengths)]) / max(sum(lengths), 1e-30)
    radii = radius + done * (end_radius - radius)
    ends = zip(pairwise(corners), pairwise(radii.tolist()), strict=True)
    return [Bar(link, start, end, wide, _in_tenths(narrow, wide)) for (start, end), (wide, narrow) in ends]


def _in_tenths(end_radius: float, radius: float) -> float:
    return max(round(_TAPERS * end_radius / radius), 1) / _TAPERS * radius
