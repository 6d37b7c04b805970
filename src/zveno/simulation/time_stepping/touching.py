"""Gaps, normals and positions of all contacts at a configuration; traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...algorithms.jacobian import twist_columns
from ...geometry.distances import Touch, touches_of_pair
from ...geometry.shapes import Capsule, Wheel
from ...kernels.ops import greater, less, maximum, minimum, sqrt, where
from ...mechanism import Mechanism
from ...spatial.rotations import z_to
from ..contact import Contact
from .stepping import Stepping, about, along

MEETS = 1e-3
"""m: up to this gap a contact acts on the ground, where it closes, and not on the shape. While a sole
turns flat, its corners are at different heights z. If forces acted there, corners would slip by z times the rate
of the turn: they could not all stick, and the solver would look for forces inside the sole that make one of them
slide. At larger gaps, closed in a step of 1 ms at more than 1 m/s, the lever arm would be wrong by more."""
NO_TURN = 1e-9
"""Rotation of a ball joint, rad, below which its axis is rounding."""


def frame_poses(mechanism: Mechanism, T: list[Any], name: str) -> tuple[int, Any]:
    """Return (number of the link, T_world_frame) of a frame."""
    frame = mechanism.frame(name)
    link = mechanism.link_number(frame.link)
    return link, T[link] @ frame.T_link_frame


def probes(contact: Contact, T_frame: Any) -> list[tuple[Any, float]]:
    """Return (point, radius) of the parts that touch the ground: centres of balls, hubs of wheels."""
    if isinstance(contact.shape, Wheel):
        return [(hub, 0.0) for hub in contact.shape.hubs(T_frame)]
    balls = contact.shape.balls(T_frame)
    if isinstance(contact.shape, Capsule) and contact.surface.flat:
        balls = balls[:2]  # nothing between the ends of a capsule is lower than both
    return [(ball.center, ball.radius) for ball in balls]


def touches_on_ground(contact: Contact, T_frame: Any, cells: list[Any]) -> list[Touch]:
    """Return the possible contact points of a shape with the ground; `cells` are the looked-up heights of each."""
    touches, ground = [], contact.surface
    for (point, radius), cell in zip(probes(contact, T_frame), cells, strict=True):
        distance, normal = ground.nearest(point, cell)
        if isinstance(contact.shape, Wheel):
            point = contact.shape.lowest(T_frame, point, normal)
            distance, normal = ground.nearest(point, cell)
        gap = distance - radius
        below = minimum(maximum(gap, -MEETS), MEETS)
        touches.append(Touch(gap, normal, point - (radius + below) * normal))
    return touches


class Rows:
    """Rows B of body motions, matrices S from them to contacts (`stepping`), and gaps of contacts and limits."""

    def __init__(self, stepping: Stepping, q: Any, cells: list[Any], way: Any):
        self.stepping, self.q, self.way = stepping, q, way
        mechanism = stepping.mechanism
        self.T: list[Any] = link_poses(mechanism, q)
        self.B: list[Any] = []
        self.S: list[Any] = []
        self.gaps: list[Any] = []
        """of every contact point and limit, in order"""
        self._origins: dict[int, Any] = {}
        self._n_touched = 0
        looked_up = dict(zip([k for k, _, _ in stepping.fields], cells, strict=True))
        k = 0
        for contact in stepping.contacts:
            link, T_frame = frame_poses(mechanism, self.T, contact.frame)
            touches = [looked_up.get(k + j) for j in range(contact.n_touches)]
            k += contact.n_touches
            if contact.other is None:
                for touch in touches_on_ground(contact, T_frame, touches):
                    self._add(contact, touch, link, None)
            else:
                second, T_second = frame_poses(mechanism, self.T, contact.other)
                for touch in touches_of_pair(contact.shape, T_frame, contact.other_shape, T_second):
                    self._add(contact, touch, link, second)
        self._add_limits()
        self.B += [row for _, row, _ in stepping.dry]

    def _add(self, contact: Contact, touch: Touch, link: int, second: int | None) -> None:
        """Add the rows of one contact point; the first one of a body with shared motion is its reference point."""
        normal, (t1, t2) = touch.normal, tangents(touch.normal)
        pushes = [normal, t1, t2] if contact.friction else [normal]
        turns = [*[normal] * bool(contact.torsional), *([t1, t2] if contact.rolling else [])]
        place = self.stepping.sharing.places[self._n_touched]
        self._n_touched += len(pushes) + len(turns)
        self.gaps.append(touch.gap)
        if place.shared is None:
            columns = self._columns(link, second, touch.point)
            self.B += [*(push @ columns[:3] for push in pushes), *(turn @ columns[3:] for turn in turns)]
            return
        if place.first not in self._origins:
            self._origins[place.first] = touch.point
            self.B += list(self._columns(link, second, touch.point))
        arm = touch.point - self._origins[place.first]
        self.S += [*(along(push, arm) for push in pushes), *map(about, turns)]

    def _columns(self, link: int, second: int | None, point: Any) -> Any:
        """Return the twist of a link at a point, relative to another, (6, n_v)."""
        columns = twist_columns(self.stepping.mechanism, self.q, self.T, link, point)
        if second is None:
            return columns
        return columns - twist_columns(self.stepping.mechanism, self.q, self.T, second, point)

    def _add_limits(self) -> None:
        """Add one row per limited coordinate, directed inwards, from the limit that the step approaches."""
        mechanism, (lower, upper) = self.stepping.mechanism, self.stepping.ranges
        tangent = mechanism.tangent(self.q) if self.stepping.limited else np.zeros(0)
        for at in self.stepping.limited:
            low, high, rate, x = float(lower[at]), float(upper[at]), tangent[at], self.q[at]
            if not np.isfinite(high):
                gap, side = x - low, 1.0
            elif not np.isfinite(low):
                gap, side = high - x, -1.0
            else:
                downwards = less(x + rate @ self.way, 0.5 * (low + high))
                gap, side = where(downwards, x - low, high - x), where(downwards, 1.0, -1.0)
            self.B.append(rate * side)
            self.gaps.append(gap)
        for joint in self.stepping.limited_balls:
            self._add_ball_limit(joint)

    def _add_ball_limit(self, name: str) -> None:
        """Add the row of a ball joint: its angle θ grows with the angular velocity along the rotation axis."""
        joint, mechanism = self.stepping.mechanism.joint(name), self.stepping.mechanism
        turn = joint.type.difference(joint.type.neutral(), self.q[mechanism.q_slices[name]])
        angle = sqrt(turn @ turn)
        turned = greater(angle, NO_TURN)  # else the axis is arbitrary, and the limit far
        axis = [where(turned, -part / maximum(angle, NO_TURN), float(k == 0)) for k, part in enumerate(turn)]
        row = np.zeros(mechanism.n_v, dtype=object)
        row[mechanism.v_slices[name]] = axis
        self.B.append(row)
        self.gaps.append(joint.limits.angle - angle)


def tangents(normal: Any) -> tuple[Any, Any]:
    """Return two unit vectors across a normal: x and y, turned with z onto it (from below, Duff et al. 2017)."""
    if np.asarray(normal).dtype != object:
        turn = z_to(normal)
        return turn[:, 0], turn[:, 1]
    x, y, z = normal
    side = where(less(z, 0.0), -1.0, 1.0)
    a = -1.0 / (side + z)
    b = x * y * a
    first = np.array([1.0 + side * x * x * a, side * b, -side * x])
    return first, np.array([b, side + y * y * a, -y])


def cell_numbers(stepping: Stepping, q: Any) -> list[Any]:
    """Return the indices of the cells below every contact point on a height field."""
    mechanism = stepping.mechanism
    T = link_poses(mechanism, q)
    numbers, last = [], None
    for _, contact, ground in stepping.fields:
        if contact is last:
            continue
        last = contact
        _, T_frame = frame_poses(mechanism, T, contact.frame)
        numbers += [ground.number(point) for point, _ in probes(contact, T_frame)]
    return numbers
