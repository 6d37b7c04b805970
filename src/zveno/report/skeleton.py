"""The shape a mechanism is drawn with: bars between joints, a symbol for every axis, and what stands on the ground.

Model files say where joints are and not what links look like, so a link is drawn as round bars from its joint
to the joints it carries. A bar first follows the joint's own axis and then leaves it at a right angle: that is
how most arms are built, and it keeps offsets of parallel axes visible.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..mechanism import Mechanism
from ..mechanism.plausibility import rigid_clusters
from ..spatial import inertia

_SMALL = 0.02
"""Lengths below this share of the mechanism's size are not drawn."""


@dataclass(frozen=True)
class Bar:
    """A round bar of a link, between two points of the world."""

    start: np.ndarray
    end: np.ndarray
    radius: float
    sliding: bool = False
    """The part of a sliding joint that comes out of its guide."""


@dataclass(frozen=True)
class Axis:
    """One axis of a joint in the world."""

    kind: str
    """The joint's kind, for the colour."""
    center: np.ndarray
    direction: np.ndarray
    turns: bool
    radius: float


@dataclass(frozen=True)
class Ball:
    """A joint that turns about a point."""

    kind: str
    center: np.ndarray
    radius: float


@dataclass(frozen=True)
class Skeleton:
    """Everything that is drawn of a mechanism at one configuration, in world coordinates."""

    bars: list[Bar] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)
    size: float = 1.0
    """The longest way from the root to an end, m."""
    foot: np.ndarray | None = None
    """Where the mechanism is bolted down, or None for one that floats or whose root is a body of its own."""
    foot_radius: float = 0.0

    @property
    def points(self) -> np.ndarray:
        """Ends of bars and centres of axes, (k, 3)."""
        found = [point for bar in self.bars for point in (bar.start, bar.end)] + [axis.center for axis in self.axes]
        return np.array(found) if found else np.zeros((1, 3))


def skeleton(mechanism: Mechanism, q) -> Skeleton:
    """The skeleton of a mechanism at q, (n_q,)."""
    T = link_poses(mechanism, q)
    bodies = _bodies(mechanism, T)
    carried = _floating(mechanism)
    routes = {k: _routes(mechanism, T, bodies, k) for k in range(len(bodies)) if k not in carried}
    reach = _reaches(bodies, routes)
    size = max(reach.values(), default=0.0) or 1.0
    q_own = mechanism.joint_positions(q)

    drawn = Skeleton(size=size, foot=_foot(mechanism, bodies, carried), foot_radius=0.055 * size)
    for k, ways in routes.items():
        radius = _radius(reach[k], size)
        if bodies[k].slid is not None and np.linalg.norm(bodies[k].anchor - bodies[k].slid) > _SMALL * size:
            drawn.bars.append(Bar(bodies[k].slid, bodies[k].anchor, 0.75 * radius, sliding=True))
        for way in ways:
            bends = _bends(way, bodies[k].axis, size)
            drawn.bars.extend(Bar(a, b, radius) for a, b in zip(bends[:-1], bends[1:], strict=True))
        if k > 0 and k - 1 not in carried or (k > 0 and k not in carried and 0 in carried and k != max(carried) + 1):
            _add_joint(drawn, mechanism, bodies[k], T, q_own, radius)
    return drawn


@dataclass(frozen=True)
class _Body:
    """Links that fixed joints hold together."""

    links: list[int]
    parent: int
    anchor: np.ndarray
    """Where its joint's moved frame is."""
    slid: np.ndarray | None
    """Where its joint's frame on the parent is, if the joint can slide."""
    axis: np.ndarray | None
    """Direction of the joint's only axis."""
