"""The shape a mechanism is drawn with: round bars between joints, and a symbol for every joint axis.

Model files say where joints are and not what links look like, so a link is drawn as bars from its joint to the
joints it carries. A bar first follows the joint's own axis and then leaves it at a right angle: that is how most
arms are built, and it keeps the offsets of parallel axes visible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...mechanism import Joint, Mechanism
from ...mechanism.plausibility import rigid_clusters
from ...spatial import inertia

_SMALL = 0.02
"""Lengths below this share of the mechanism's size are not drawn."""


@dataclass(frozen=True)
class Bar:
    """A round bar of a link, between two points of the world."""

    link: int
    start: np.ndarray
    end: np.ndarray
    radius: float
    end_radius: float
    sliding: bool = False
    """Whether it is the part of a sliding joint that comes out of its guide."""


@dataclass(frozen=True)
class Axis:
    """One axis of a joint, in the world, on the link that it moves; the guide of a slide, on the link before."""

    link: int
    kind: str
    center: np.ndarray
    direction: np.ndarray
    turns: bool
    radius: float


@dataclass(frozen=True)
class Ball:
    """A joint that turns about a point in every direction, on the link that it moves."""

    link: int
    kind: str
    center: np.ndarray
    radius: float


@dataclass(frozen=True)
class Skeleton:
    """Everything that is drawn of a mechanism at one configuration, in world coordinates."""

    size: float
    """The longest way along the links from the root to an end, m."""
    foot: np.ndarray | None
    """Where the mechanism is bolted down; None where it floats or its root is a body with several limbs."""
    bars: list[Bar] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)

    @property
    def points(self) -> np.ndarray:
        """Ends of bars and centres of axes, (k, 3)."""
        ends = [point for bar in self.bars for point in (bar.start, bar.end)] + [axis.center for axis in self.axes]
        return np.array(ends) if ends else np.zeros((1, 3))


@dataclass(frozen=True)
class _Body:
    """Links that fixed joints hold together, and the joint that moves them."""

    links: list[int]
    parent: int
    joint: Joint | None
    q: np.ndarray
    T_world_joint: np.ndarray
    """The joint frame on the parent."""
    T_world_moved: np.ndarray
    """The joint frame on the body."""

    @property
    def anchor(self) -> np.ndarray:
        """Where the body begins."""
        return self.T_world_moved[:3, 3]

    def columns(self) -> list[tuple[np.ndarray, bool]]:
        """Direction in the world of every velocity of the joint, and whether it turns."""
        if self.joint is None:
            return []
        R = self.T_world_moved[:3, :3]
        S = self.joint.type.subspace(self.q)
        turns = [bool(np.linalg.norm(S[3:, k]) > 1e-12) for k in range(S.shape[1])]
        return [(R @ (S[3:, k] if turning else S[:3, k]), turning) for k, turning in enumerate(turns)]


def skeleton(mechanism: Mechanism, q: Any) -> Skeleton:
    """The skeleton of a mechanism at q, (n_q,)."""
    T = link_poses(mechanism, q)
    bodies = _bodies(mechanism, q, T)
    skipped = _carriers_of_floating_base(mechanism, bodies)
    shown = [k for k in range(len(bodies)) if k not in skipped]
    ends = {k: _ends(mechanism, T, bodies, k) for k in shown}
    reach = _reaches(bodies, ends)
    size = max(reach.values(), default=0.0) or 1.0
    limbs = sum(body.parent == 0 for body in bodies[1:])
    bolted = not skipped and limbs == 1
    drawn = Skeleton(size, T[0][:3, 3] if bolted else None)
    for k in shown:
        body, radius = bodies[k], _radius(reach[k], size)
        directions = body.columns()
        along = directions[0][0] if len(directions) == 1 else None
        origin = body.T_world_joint[:3, 3]
        if k > 0 and np.linalg.norm(body.anchor - origin) > _SMALL * size and body.parent not in skipped:
            drawn.bars.append(Bar(body.links[0], origin, body.anchor, 0.7 * radius, 0.7 * radius, sliding=True))
        carried = [_radius(reach[j], size) for j in shown if bodies[j].parent == k]
        for j, end in enumerate(ends[k]):
            end_radius = carried[j] if carried else 0.8 * radius
            corners = _route(body.anchor, end, along if len(ends[k]) == 1 else None, _SMALL * size)
            drawn.bars.extend(_tapered(body.links[0], corners, radius, end_radius))
        if body.joint is not None and body.parent not in skipped:
            _add_joint(drawn, body, bodies[body.parent].links[0], directions, radius)
    return drawn


def _add_joint(drawn: Skeleton, body: _Body, carrier: int, directions, radius: float):
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


def _bodies(mechanism: Mechanism, q, T: list) -> list[_Body]:
    q_own = mechanism.joint_positions(q)
    clusters = rigid_clusters(mechanism)
    cluster_of = {i: k for k, links in enumerate(clusters) for i in links}
    bodies = [_Body(clusters[0], -1, None, q_own[0], T[0], T[0])]
    for links in clusters[1:]:
        i = links[0]
        joint, parent = mechanism.joint_of(i), mechanism.tree.parents[i]
        T_world_joint = T[parent] @ joint.T_parent_joint
        T_world_moved = T_world_joint @ joint.type.motion(q_own[i])
        bodies.append(_Body(links, cluster_of[parent], joint, q_own[i], T_world_joint, T_world_moved))
    return bodies


def _carriers_of_floating_base(mechanism: Mechanism, bodies: list[_Body]) -> set[int]:
    """Bodies that only carry a floating base: the root and massless ones up to six degrees of freedom."""

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


def _ends(mechanism: Mechanism, T: list, bodies: list[_Body], k: int) -> list[np.ndarray]:
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


def _reaches(bodies: list[_Body], ends: dict[int, list[np.ndarray]]) -> dict[int, float]:
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
    return [Bar(link, start, end, wide, narrow) for (start, end), (wide, narrow) in ends]
