"""Static walking of any tree with feet: shift the centre of mass, lift a foot, carry it, put it down."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ..ik.whole_body.postures import solve_postures
from ..io.results import hash_of
from ..robot_functions import RobotFunctions
from ..simulation.time_stepping.grounds import Ground, GroundPlane
from .checks import check_count, check_friction, check_number, checked_start, checked_stride
from .feet import Foot, checked_feet, contact_points
from .order import Footprint, checked_order, foot_order, supported_center
from .result import WalkPlan
from .standing import torque_share
from .support import stability_margin, support_polygon
from .terrain import checked_ground, foothold, heights

TOLERANCE = 1e-5
"""m and rad, within which feet, attitude and centre of mass are where they are planned to be."""
ALONG = np.linspace(0.0, 1.0, 21)
"""Places of a foot's way at which the ground below it is looked at."""
HALVINGS = 8
"""Of a step that is too long, to find how long it may be."""
UP, DOWN = 0.3, 0.7
"""Shares of a swing at which the foot has risen and at which it begins to come down."""


def plan_walk(
    robot: RobotFunctions,
    feet: Sequence[Foot | str],
    start: ArrayLike,
    *,
    stride: Sequence[float] = (0.1, 0.0),
    cycles: int = 2,
    ground: Ground | None = None,
    margin: float = 0.02,
    clearance: float = 0.04,
    order: Sequence[str] | None = None,
    friction: float = 0.6,
    level: float = 0.01,
    search: float = 0.05,
    shift_time: float = 0.6,
    swing_time: float = 0.6,
    samples: int = 10,
) -> WalkPlan:
    """A static walk: at every sample the centre of mass is above the feet that stand, with a margin.

    Each step has two phases: with all feet on the ground the centre of mass goes to where the other feet support
    it; then the foot goes up, across and down. The body keeps its attitude, and its height above the feet's mean.
    Two feet walk too, if their soles are polygons.

    Args:
        robot: a tree on a floating base.
        feet: names of frames that touch the ground at a point, or Feet with soles; two or more.
        start: q (n_q,) of the standing machine; its feet are put onto the ground below them.
        stride: (x, y), m in world axes, by which every foot steps once a cycle.
        cycles: how often every foot steps.
        ground: what it walks on; level at z = 0 if None.
        margin: least distance of the centre of mass from the edge of the support polygon, m.
        clearance: of a swinging foot above the highest ground on its way, m.
        order: names of the feet in the order in which they step; the one with the shortest way of the centre of
            mass if None.
        friction: of the feet on the ground, for the static torques.
        level: m, by which the ground may differ in height under a foot; footholds move, by up to `search` m, to
            where it does not.
        search: m.
        shift_time, swing_time: s, of the two phases.
        samples: of each phase.

    Raises:
        ZvenoError: the machine cannot stand, no support is wide enough, or no posture reaches a step.
    """
    made = checked_feet(robot.mechanism, feet, 2)
    terrain = checked_ground(GroundPlane() if ground is None else ground)
    step = checked_stride(stride)
    for name, value in (("margin", margin), ("clearance", clearance), ("level", level), ("search", search)):
        check_number(value, name, "Give metres, 0 or more", least=0.0)
    for name, value in (("shift_time", shift_time), ("swing_time", swing_time)):
        check_number(value, name, "Give seconds, more than 0", above=0.0)
    check_count(cycles, "cycles", 1)
    check_count(samples, "samples", 2)
    check_friction(friction)
    walk = _Walk(robot, made, terrain, checked_start(robot.mechanism, start), margin, friction)
    names = [foot.frame for foot in made]
    print_ = walk.footprint()
    if order is None:
        numbers = foot_order(print_, names, step, margin)
    else:
        numbers = checked_order(order, names)
    for cycle in range(cycles):
        for foot in numbers:
            print_ = walk.footprint()
            center = supported_center(print_, foot, step, margin)
            if center is None:
                raise ZvenoError(
                    f"step {len(walk.steps) + 1}: the feet that stand do not support {margin:g} m of margin with "
                    f"{names[foot]} in the air",
                    element="margin",
                    remedy="Give a shorter stride, another order, or a smaller margin",
                )
            wanted = walk.home[foot, :2] + (cycle + 1) * step
            place = foothold(terrain, wanted, made[foot].radius + 0.01, level, search)
            times = (clearance, shift_time, swing_time, samples)
            before = walk.copied()
            try:
                walk.step(foot, center, place, *times)
            except _NoPostureError as error:
                raise before.too_long(foot, step, place, times, error) from None
    return walk.finished(numbers, (names, step.tolist(), cycles, margin, terrain.structure))


class _NoPostureError(ZvenoError):
    """No posture was found for a sample of a walk."""


class _Walk:
    """A walk under construction."""

    def __init__(self, robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, q, margin, friction):
        self.robot, self.feet, self.ground, self.margin, self.friction = robot, feet, ground, margin, friction
        self.poses: np.ndarray = robot.forward_kinematics(q, frames=[foot.frame for foot in feet])
        self.places: np.ndarray = self.poses[:, :3, 3].copy()
        below = heights(ground, self.places) - np.array([self._sole(k) for k in range(len(feet))])
        center = robot.center_of_mass(q)
        self.above: float = float(center[2] - self.places[:, 2].mean())
        """height of the centre of mass above the mean of the feet, m"""
        self.places[:, 2] = below
        self.height: float = float(self.places[:, 2].mean())
        """of the ground that the body's height is counted from, m: it follows the mean of the feet"""
        self.home: np.ndarray = self.places.copy()
        self.center: np.ndarray = center[:2]
        self.offset: np.ndarray = center[:2] - self.places[:, :2].mean(axis=0)
        self.body: str = robot.mechanism.joints[0].child
        self.attitude: np.ndarray = robot.forward_kinematics(q, frame=self.body)[:3, :3]
        self.q, self.time, self.residual = q, 0.0, 0.0
        self.steps: list[int] = []
        self.footholds: list[np.ndarray] = []
        self.shares: list[float] = []
        self.rows: list[tuple[Any, ...]] = []
        self._record(None)
        gap = float(self.rows[0][-1])
        if gap < 0:
            raise ZvenoError(
                f"its centre of mass is {-gap:.3f} m outside the polygon of all feet",
                element=f"{robot.mechanism.name} cannot stand",
                remedy="Give a start with the mass above the feet",
            )
        torque_share(robot, feet, self.q, friction)

    def footprint(self) -> Footprint:
        """The feet seen from above, and the centre that moves with them."""
        points = tuple(p[:, :2] for p in contact_points(self.robot, self.feet, self.q))
        return Footprint(points, self.places[:, :2].mean(axis=0) + self.offset)

    def copied(self) -> _Walk:
        """As far as it is made; what either does from now on, the other does not see."""
        other = copy(self)
        other.places = self.places.copy()
        for name in ("steps", "footholds", "shares", "rows"):
            setattr(other, name, list(getattr(self, name)))
        return other

    def step(
        self, foot: int, center: np.ndarray, place: np.ndarray, clearance: float, shift: float, swing: float, n: int
    ) -> None:
        """The centre of mass goes to another place, then a foot does; `shift` and `swing` are seconds."""
        self.shift(center, shift, n)
        self.swing(foot, place, clearance, swing, n)

    def too_long(
        self, foot: int, stride: np.ndarray, place: np.ndarray, times: tuple[Any, ...], why: ZvenoError
    ) -> ZvenoError:
        """The error for a step that no posture was found for, with the longest one that was found."""
        below = self.places[foot] + [0.0, 0.0, self._sole(foot)]  # the ground that the foot leaves
        way = place - below

        def found(share: float) -> bool:
            center = supported_center(self.footprint(), foot, share * stride, self.margin)
            if center is None:
                return False
            try:
                self.copied().step(foot, center, below + share * way, *times)
            except ZvenoError:
                return False
            return True

        if not found(0.0):
            return why
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            half = 0.5 * (low + high)
            low, high = (half, high) if found(half) else (low, half)
        length, rise = float(np.linalg.norm(way[:2])), float(way[2])
        up = f", {rise:+.3g} m in height," if abs(rise) > TOLERANCE else ""
        longest = f"{low * length:.3g} m" + (f" with {low * rise:+.3g} m in height" if up else "")
        return ZvenoError(
            f"a step of {length:.3g} m{up} is too long: {why.problem}; the longest in this direction for which "
            f"postures were found is {longest}",
            element=f"step {len(self.steps) + 1} ({self.feet[foot].frame})",
            remedy=("Give lower steps, " if up else f"Give a stride below {low * length:.3g} m, ")
            + "a lower body, or feet nearer to the body",
        )

    def shift(self, center: np.ndarray, duration: float, n: int) -> None:
        """All feet stand, the centre of mass goes to another place."""
        before, below = self.center, self.height
        for k in range(1, n + 1):
            self.center = before + _smooth(k / n) * (center - before)
            self.height = below + _smooth(k / n) * (self.places[:, 2].mean() - below)
            self.time += duration / n
            self._record(None)

    def swing(self, foot: int, place: np.ndarray, clearance: float, duration: float, n: int) -> None:
        """One foot goes up, across and down to a place."""
        lowest = self._sole(foot)
        place = place - [0.0, 0.0, lowest]
        begin = self.places[foot].copy()
        path = begin + ALONG[:, None] * (place - begin)
        top = max(begin[2], place[2], float(heights(self.ground, path).max()) - lowest) + clearance
        self.steps.append(foot)
        for k in range(1, n + 1):
            share = k / n
            across = _smooth(np.clip((share - UP) / (DOWN - UP), 0.0, 1.0))
            now = begin + across * (place - begin)
            now[2] = (
                begin[2] + _smooth(min(share / UP, 1.0)) * (top - begin[2])
                if share <= DOWN
                else place[2] + _smooth((1.0 - share) / (1.0 - DOWN)) * (top - place[2])
            )
            self.places[foot] = now
            self.time += duration / n
            self._record(None if k == n else foot)
            if k == n // 2:
                standing = [one for i, one in enumerate(self.feet) if i != foot]
                self.shares.append(torque_share(self.robot, standing, self.q, self.friction))
        self.footholds.append(place)

    def _sole(self, foot: int) -> float:
        """z of the lowest point of a sole above the foot's origin, m."""
        return float((self.feet[foot].points @ self.poses[foot][:3, :3].T)[:, 2].min())

    def _record(self, swinging: int | None) -> None:
        """A posture with the feet and the centre of mass where they are now."""
        targets: dict[str, Any] = {}
        for foot, T, place in zip(self.feet, self.poses, self.places, strict=True):
            targets[foot.frame] = place if foot.is_point else np.block([[T[:3, :3], place[:, None]], [T[3:]]])
        targets[self.body] = self.attitude
        center = np.append(self.center, self.height + self.above)
        found = solve_postures(
            self.robot, targets, center_of_mass=center, start=self.q, tolerance=(TOLERANCE, TOLERANCE)
        )
        if not found.count:
            miss = max(found.misses[found.worst])
            worst = {"center_of_mass": "the centre of mass", self.body: "the body"}.get(found.worst, found.worst)
            step = f"step {len(self.steps)}" if self.steps else "the start"
            raise _NoPostureError(
                f"no posture was found: {worst} misses its place by {miss:.3g} m or rad",
                element=f"{step} at t = {self.time:.3g} s",
                remedy="Give a shorter stride, less clearance, a lower body, or feet nearer to the body",
            )
        self.q, self.residual = found.q[0], max(self.residual, float(found.residual[0]))
        points = contact_points(self.robot, self.feet, self.q)
        standing = [p for i, p in enumerate(points) if i != swinging]
        polygon = support_polygon(np.concatenate(standing))
        place = self.robot.center_of_mass(self.q)
        contacts = np.arange(len(self.feet)) != (-1 if swinging is None else swinging)
        positions = self.robot.forward_kinematics(self.q, frames=[foot.frame for foot in self.feet])[:, :3, 3]
        self.rows.append((self.time, self.q, place, positions, contacts, polygon, stability_margin(polygon, place)))

    def finished(self, order: tuple[int, ...], inputs: tuple[Any, ...]) -> WalkPlan:
        """The plan."""
        t, q, center, positions, contacts, polygons, margin = zip(*self.rows, strict=True)
        most = max(len(polygon) for polygon in polygons)
        corners = [np.concatenate([p, np.repeat(p[-1:], most - len(p), axis=0)]) for p in polygons]
        mechanism = self.robot.mechanism
        return WalkPlan(
            mechanism.name,
            tuple(foot.frame for foot in self.feet),
            order,
            np.array(t),
            np.array(q),
            np.array(center),
            np.array(positions),
            np.array(contacts),
            np.array(corners),
            np.array(margin),
            float(self.margin),
            np.array(self.footholds).reshape(-1, 3),
            np.array(self.steps),
            np.array(self.shares),
            self.residual,
            mechanism,
            hash_of(mechanism.fingerprint, *map(list, inputs[:2]), *inputs[2:4], list(inputs[4]), q[0]),
        )


def _smooth(x: Any) -> Any:
    """From 0 to 1 with speeds and accelerations zero at both ends."""
    return x * x * x * (10.0 + x * (6.0 * x - 15.0))
