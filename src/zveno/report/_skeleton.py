"""Default shape of a mechanism without visual elements: round bars between joints, and a symbol for every axis.

A link is drawn as bars from its joint to the joints it carries. A bar first follows the joint's own axis and then
leaves it at a right angle. Most arms are built this way, and it keeps the offsets of parallel axes visible. Every
element is fixed to a link and given in its axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import Any, ClassVar

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..mechanism import Joint, Mechanism
from ..mechanism.plausibility import rigid_clusters
from ..mechanism.units import coordinate_units
from ..spatial import inertia
from ..spatial.transforms import inverse

_SMALL = 0.02
"""Shortest length that is drawn, as a fraction of the mechanism's size."""
_TAPERS = 10
"""Number of taper levels: bars of equal taper share one shape."""


@dataclass(frozen=True)
class Bar:
    """Round bar of a link between two points."""

    POINTS: ClassVar[tuple[str, ...]] = ("start", "end")
    DIRECTIONS: ClassVar[tuple[str, ...]] = ()
    link: int
    start: np.ndarray
    end: np.ndarray
    radius: float
    end_radius: float
    sliding: bool = False
    """True for the rod of a prismatic joint, which passes through its guide."""


@dataclass(frozen=True)
class Axis:
    """Axis of a joint on the link that it moves, or the guide of a prismatic joint on the parent link."""

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
    """Ball joint, on the link that it moves."""

    POINTS: ClassVar[tuple[str, ...]] = ("center",)
    DIRECTIONS: ClassVar[tuple[str, ...]] = ()
    link: int
    kind: str
    center: np.ndarray
    radius: float


@dataclass(frozen=True)
class Skeleton:
    """Elements of the drawing of a mechanism, each in the axes of its link."""

    size: float
    """Longest path along the links from the root to an end, m."""
    bolted: bool
    """True if the mechanism stands on a pedestal; False if it floats or its root has several limbs."""
    bars: list[Bar] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)


def skeleton(mechanism: Mechanism) -> Skeleton:
    """Build the skeleton of a mechanism. Its size is that with all prismatic joints fully extended."""
    q = _extended_configuration(mechanism)
    T = link_poses(mechanism, q)
    bodies = rigid_bodies(mechanism, q, T)
    skipped = carriers_of_floating_base(mechanism, bodies)
    shown = [k for k in range(len(bodies)) if k not in skipped]
    ends = {k: _ends(mechanism, T, bodies, k) for k in shown}
    reach = _reaches(bodies, ends)
    size = max(reach.values(), default=0.0) or 1.0
    limbs = sum(body.parent == 0 for body in bodies[1:])
    drawn = Skeleton(size, not skipped and limbs == 1)
    for k in shown:
        body, radius = bodies[k], _radius(reach[k], size)
        directions = body.columns()
        along = directions[0][0] if len(directions) == 1 else None
        if body.parent not in skipped:
            drawn.bars.extend(_rod(body, 0.7 * radius, _SMALL * size))
        carried = [_radius(reach[j], size) for j in shown if bodies[j].parent == k]
        for j, end in enumerate(ends[k]):
            end_radius = carried[j] if j < len(carried) else 0.8 * radius
            corners = _route(body.anchor, end, along if len(ends[k]) == 1 else None, _SMALL * size)
            drawn.bars.extend(_taper_bars(body.links[0], corners, radius, end_radius))
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
    """Rod of a prismatic joint, long enough for its whole range."""
    ends = body.rod()
    if not ends or np.linalg.norm(ends[1] - ends[0]) < small:
        return []
    return [Bar(body.links[0], ends[0], ends[1], radius, radius, sliding=True)]


def _in_link_axes(drawn: Skeleton, T: list) -> Skeleton:
    """Transform elements from world axes to the axes of their links."""
    to_link = [inverse(np.asarray(pose)) for pose in T]

    def local(part: Any) -> Any:
        T_link = to_link[part.link]
        points = {name: T_link[:3, :3] @ getattr(part, name) + T_link[:3, 3] for name in part.POINTS}
        return replace(part, **points, **{name: T_link[:3, :3] @ getattr(part, name) for name in part.DIRECTIONS})

    lists = ("bars", "axes", "balls")
    return replace(drawn, **{name: [local(part) for part in getattr(drawn, name)] for name in lists})


def _extended_configuration(mechanism: Mechanism) -> np.ndarray:
    """Neutral configuration with every limited prismatic joint at its upper limit."""
    q = np.array(mechanism.neutral(), dtype=float)
    for k, unit in enumerate(coordinate_units(mechanism)):
        if unit == "m" and np.isfinite(mechanism.upper[k]):
            q[k] = mechanism.upper[k]
    return q


def _ends(mechanism: Mechanism, T: list, bodies: list[Body], k: int) -> list[np.ndarray]:
    """End points of the bars of body k: the joints it carries, then ends of closed loops; or else its frames."""
    held = bodies[k].links
    names = {mechanism.links[i].name for i in held}
    loops = [mechanism.frame(name) for loop in mechanism.loops for name in (loop.frame, loop.other)]
    closing = [(T[mechanism.link_number(f.link)] @ f.T_link_frame)[:3, 3] for f in loops if f.link in names]
    carried = [body.T_world_joint[:3, 3] for body in bodies if body.parent == k]
    if carried or k == 0:
        return carried + (closing if k else [])
    ends = [
        (T[mechanism.link_number(frame.link)] @ frame.T_link_frame)[:3, 3]
        for frame in mechanism.frames
        if frame.link in names
    ]
    ends += [T[i][:3, 3] for i in held if i == held[0] or closing or mechanism.links[i].inertia.any()]
    if max(np.linalg.norm(end - bodies[k].anchor) for end in ends) > 1e-6:
        return ends
    # The body has no end point: twice the distance to its centre of mass is about its length.
    masses = [(T[i], mechanism.links[i].inertia) for i in held if mechanism.links[i].inertia[0] > 0]
    centers = [pose[:3, :3] @ inertia.center_of_mass(p) + pose[:3, 3] for pose, p in masses]
    return [bodies[k].anchor + 2.0 * (center - bodies[k].anchor) for center in centers] or ends


def _reaches(bodies: list[Body], ends: dict[int, list[np.ndarray]]) -> dict[int, float]:
    """Longest path from every body's joint to an end beyond it, m."""
    reach: dict[int, float] = {}
    for k in reversed(ends):
        lengths = [float(np.linalg.norm(end - bodies[k].anchor)) for end in ends[k]]
        beyond = [reach[j] for j, body in enumerate(bodies) if body.parent == k]
        lengths = [length + more for length, more in zip_longest(lengths, beyond, fillvalue=0.0)]
        slide = bodies[k].anchor - bodies[k].T_world_joint[:3, 3] if bodies[k].parent in ends else np.zeros(3)
        reach[k] = max(lengths, default=0.0) + float(np.linalg.norm(slide))
    return reach


def _radius(reach: float, size: float) -> float:
    """Radius of a bar, which decreases towards the ends of the mechanism."""
    return size * (0.009 + 0.026 * min(reach / size, 1.0))


def _route(start, end, axis, small: float) -> list[np.ndarray]:
    """Corners of the path from start to end: along the axis first, then perpendicular to it."""
    way = end - start
    if np.linalg.norm(way) < small:
        return [start]
    if axis is None:
        return [start, end]
    along = (way @ axis) / (axis @ axis) * axis
    if min(np.linalg.norm(along), np.linalg.norm(way - along)) < small:
        return [start, end]
    return [start, start + along, end]


def _taper_bars(link: int, corners: list[np.ndarray], radius: float, end_radius: float) -> list[Bar]:
    """Build bars through the corners whose radius changes linearly along the path."""
    lengths = [float(np.linalg.norm(b - a)) for a, b in pairwise(corners)]
    done = np.concatenate([[0.0], np.cumsum(lengths)]) / max(sum(lengths), 1e-30)
    radii = radius + done * (end_radius - radius)
    ends = zip(pairwise(corners), pairwise(radii.tolist()), strict=True)
    return [Bar(link, start, end, wide, _in_tenths(narrow, wide)) for (start, end), (wide, narrow) in ends]


def _in_tenths(end_radius: float, radius: float) -> float:
    return max(round(_TAPERS * end_radius / radius), 1) / _TAPERS * radius


@dataclass(frozen=True)
class Body:
    """Links connected by fixed joints, and the joint that moves them."""

    links: list[int]
    parent: int
    joint: Joint | None
    q: np.ndarray
    T_world_joint: np.ndarray
    """Pose of the joint frame on the parent."""
    T_world_moved: np.ndarray
    """Pose of the joint frame on the body."""

    @property
    def anchor(self) -> np.ndarray:
        """Point where the body begins."""
        return self.T_world_moved[:3, 3]

    def columns(self) -> list[tuple[np.ndarray, bool]]:
        """World direction of every velocity of the joint, and True for rotations."""
        if self.joint is None:
            return []
        R = self.T_world_moved[:3, :3]
        S = self.joint.type.subspace(self.q)
        turns = [bool(np.linalg.norm(S[3:, k]) > 1e-12) for k in range(S.shape[1])]
        return [(R @ (S[3:, k] if turning else S[:3, k]), turning) for k, turning in enumerate(turns)]

    def rod(self) -> list[np.ndarray]:
        """Ends of the rod that connects the body with the guide of its prismatic joint over the whole range."""
        points = [*self.origins(), self.anchor]
        if len(points) < 3:
            return []
        way = points[1] - points[0]
        return [
            min(points, key=lambda point: float(point @ way)),
            max(points, key=lambda point: float(point @ way)),
        ]

    def origins(self) -> list[np.ndarray]:
        """Origins of the parent's joint frame relative to the body, at both limits of a single coordinate.

        Points are in the world with the body at its current pose; there are none without limits.
        """
        if self.joint is None or self.joint.type.n_q != 1:
            return []
        limits = [float(np.ravel(limit)[0]) for limit in (self.joint.limits.lower, self.joint.limits.upper)]
        if not np.isfinite(limits).all():
            return []
        back = [inverse(self.joint.type.motion(np.array([limit]))) for limit in limits]
        return [(self.T_world_moved @ T)[:3, 3] for T in back]


def rigid_bodies(mechanism: Mechanism, q: np.ndarray, T: list) -> list[Body]:
    """Group links into bodies, parents before children; T are the link poses."""
    q_own = mechanism.joint_positions(q)
    clusters = rigid_clusters(mechanism)
    cluster_of = {i: k for k, links in enumerate(clusters) for i in links}
    bodies = [Body(clusters[0], -1, None, q_own[0], T[0], T[0])]
    for links in clusters[1:]:
        i = links[0]
        joint, parent = mechanism.joint_of(i), mechanism.tree.parents[i]
        T_world_joint = T[parent] @ joint.T_parent_joint
        T_world_moved = T_world_joint @ joint.type.motion(q_own[i])
        bodies.append(Body(links, cluster_of[parent], joint, q_own[i], T_world_joint, T_world_moved))
    return bodies


def carriers_of_floating_base(mechanism: Mechanism, bodies: list[Body]) -> set[int]:
    """Bodies that only carry a floating base: the root and massless bodies up to six degrees of freedom."""

    def massive(k: int) -> bool:
        return any(mechanism.links[i].inertia.any() for i in bodies[k].links)

    carriers, k, freedom = set(), 0, 0
    while freedom < 6:
        children = [j for j, body in enumerate(bodies) if body.parent == k]
        if len(children) != 1 or massive(k):
            return set()
        carriers.add(k)
        k = children[0]
        joint = bodies[k].joint
        freedom += joint.type.n_v if joint is not None else 0
    return carriers if massive(k) else set()
