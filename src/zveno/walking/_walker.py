"""Base class of all gaits: standing feet, the trajectory of a swinging foot, torques for desired accelerations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..geometry.grounds import Ground
from ..robot_functions import RobotFunctions
from ._checks import check_count, check_number, checked_stride
from ._torques import Felt, Gains, Torques, Weights, WholeBodyTorques
from .feet import Foot, heading
from .terrain import checked_ground, foothold, heights

GRAVITY = 9.81
"""Gravity for the choice of times, m/s²."""
AROUND_FOOT, LEVEL, SEARCH = 0.02, 0.01, 0.08
"""m: radius of level ground around a foot, largest height difference there, largest foothold displacement."""
TOUCHING = 0.08
"""Share of the weight that a descending foot must carry to count as touching."""
CLIMB = 0.1
"""Speed, m/s, at which the desired height follows the feet."""


class Walker(ABC):
    """Walk in progress; `step` is called at every control step with the estimated state.

    Attributes:
        standing: mask of the feet that are assumed to stand, (f,).
        placed: estimated positions of the last touchdowns, (f, 3).
        footholds: (time, foot, position) of every step made.
        done: True once the walk is over.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        feet: tuple[Foot, ...],
        start: np.ndarray,
        friction: float,
        expected: Ground | None,
        h: float,
        weights: Weights,
        gains: Gains,
    ):
        self.robot: RobotFunctions = robot
        self.feet: tuple[Foot, ...] = feet
        self.h: float = h
        self.expected: Ground | None = None if expected is None else checked_ground(expected)
        self.torques: WholeBodyTorques = WholeBodyTorques(robot.mechanism, feet, friction, weights, gains)
        at = self.torques.felt(start, np.zeros(robot.n_v))
        self.start: Felt = at
        self.q_start: np.ndarray = start
        self.posture: np.ndarray = start[7:].copy()
        self.attitude: np.ndarray = at.base[:3, :3].copy()
        self.ahead: np.ndarray = heading(self.attitude)
        """heading at the start, (2, 2)"""
        self.foot_attitudes: np.ndarray = at.feet[:, :3, :3].copy()
        self.placed: np.ndarray = at.feet[:, :3, 3].copy()
        self.home: np.ndarray = self.placed.copy()
        self.torques.hold(self.attitude, self.posture, self.foot_attitudes)
        self.above: float = float(at.center[2] - self.placed[:, 2].min())
        """height of the centre of mass above the lowest foot, m"""
        self.offset: np.ndarray = at.center[:2] - self.placed[:, :2].mean(axis=0)
        self.height: float = float(at.center[2])
        self.standing: np.ndarray = np.ones(len(feet), dtype=bool)
        self.footholds: list[tuple[float, int, np.ndarray]] = []
        self.done: bool = False
        self.weight: float = float(
            sum(link.inertia[0] for link in robot.mechanism.links) * np.linalg.norm(robot.mechanism.gravity)
        )

    @abstractmethod
    def step(self, t: float, q: np.ndarray, v: np.ndarray, loads: np.ndarray) -> Torques:
        """Return the torques at a time, for the estimated state and the measured loads."""

    def check_reach(self, stride: float, share: float, q: np.ndarray) -> None:
        """Refuse strides, m, for which a foot must be further from its hip than its leg is long.

        A foot moves by at least a `share` of the stride in front of or behind its start. Only legs of revolute
        joints have a length; a stride that passes may still be out of reach.
        """
        mechanism = self.robot.mechanism
        above = {joint.child: joint for joint in mechanism.joints}
        base = mechanism.joints[0].child
        for foot in self.feet:
            link, leg = mechanism.frame(foot.frame).link, []
            while link != base:
                leg.append(above[link])
                link = above[link].parent
            if not leg or any(joint.type.kind not in ("revolute", "fixed") for joint in leg):
                continue
            places = self.robot.frame_poses(q, frames=[*(joint.child for joint in leg), foot.frame])[:, :3, 3]
            chain = np.concatenate([places[-1:], places[:-1]])  # from the foot to the hip
            length = float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())
            below = float(chain[-1, 2] - chain[0, 2])
            needed = float(np.hypot(share * stride, below))
            if needed > length:
                longest = np.sqrt(max(length**2 - below**2, 0.0)) / share
                raise ZvenoError(
                    f"a stride of {stride:.3g} m is a step too long to reach: {foot.frame} would be {needed:.3g} m "
                    f"from its hip, and its leg is {length:.3g} m long; no stride above {longest:.3g} m can be "
                    "reached",
                    element="stride",
                    remedy=f"Give a stride well below {longest:.3g} m, or a start with the body lower",
                )

    # --- parts of gaits

    def ground_at(self, place: np.ndarray, near: int) -> float:
        """Return the expected height of a foot's frame: on the known ground, or level with another foot."""
        if self.expected is None:
            return float(self.placed[near, 2])
        return float(heights(self.expected, place)) + self._sole_height

    def level_place(self, k: int, goal: np.ndarray) -> np.ndarray:
        """Return the point (2,) nearest to a goal with expected level ground under the foot."""
        if self.expected is None:
            return goal
        return foothold(self.expected, goal, self.feet[k].radius + AROUND_FOOT, LEVEL, SEARCH)[:2]

    def nearest_standing(self, k: int) -> int:
        """Return the standing foot that is nearest to the last position of foot k."""
        distance = np.linalg.norm(self.placed[:, :2] - self.placed[k, :2], axis=1)
        distance[~self.standing] = np.inf
        distance[k] = np.inf
        return int(np.argmin(distance))

    @property
    def _sole_height(self) -> float:
        """Height of a foot's frame above the ground it stands on, m."""
        return float(-(self.feet[0].points @ self.foot_attitudes[0].T)[:, 2].min())

    def highest_on(self, begin: np.ndarray, goal: np.ndarray) -> float:
        """Return the highest expected ground on a foot's path."""
        if self.expected is None:
            return -np.inf
        way = begin[:2] + np.linspace(0.0, 1.0, 21)[:, None] * (goal[:2] - begin[:2])
        return float(heights(self.expected, way).max()) + self._sole_height

    def touched(self, k: int, share: float, loads: np.ndarray, late: float) -> bool:
        """Return True if a swinging foot carries load, later than a share of its swing."""
        return share > late and loads[k] > TOUCHING * self.weight

    def follow_height(self) -> float:
        """Return the desired height of the centre of mass: above the lowest foot, changing at most by `CLIMB`."""
        way = min(self.placed[:, 2].tolist()) + self.above - self.height
        most = CLIMB * self.h
        self.height += min(max(way, -most), most)
        return self.height

    def torques_for(
        self,
        at: Felt,
        q: np.ndarray,
        v: np.ndarray,
        center: np.ndarray,
        swings: dict[int, tuple[np.ndarray, np.ndarray]],
    ) -> Torques:
        """Return torques for a horizontal acceleration of the centre of mass (2,), and swing trajectories."""
        kp, kd = self.torques.gains.height
        up = kp * (self.follow_height() - at.center[2]) - kd * at.rate[2]
        return self.torques.solve(q, v, self.standing, (center[0], center[1], up), swings)


def stride_of(stride: Any, default: float, ahead: Any) -> tuple[float, float]:
    """Return the stride (x, y), m; by default a stride of standard length along `ahead` (2,)."""
    x, y = (default * ahead[0], default * ahead[1]) if stride is None else checked_stride(stride).tolist()
    return (x, y)


def check_gait(gait: Any, *names: str) -> None:
    """Refuse times and lengths that are not above 0, and invalid numbers of steps."""
    for name in names:
        check_number(getattr(gait, name), name, "Give a finite number above 0", above=0.0)
    check_number(gait.below, "below", "Give metres, 0 or more", least=0.0)
    check_count(gait.steps, "steps", 1)


def smooth(x: float) -> tuple[float, float, float]:
    """Return a polynomial from 0 to 1, with zero rate and acceleration at both ends, and two derivatives."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    rest = 1.0 - x
    return (
        x * x * x * (10.0 + x * (6.0 * x - 15.0)),
        30.0 * x * x * rest * rest,
        60.0 * x * rest * (1.0 - 2.0 * x),
    )


@dataclass
class Swing:
    """Swing of one foot; its goal may be moved.

    Attributes:
        begin: lift-off position, (3,), m.
        goal: x and y of the landing, (2,), m.
        top: largest height, m.
        low: target height, below the expected ground, m.
        duration: s, after which it is at `low`.
        up: share of the duration in which it rises.
        across: shares between which it moves horizontally.
        descent: speed, m/s, below `low`, and of the whole descent if `slow`.
        deepest: lowest height of the search for ground, m.
        slow: True to descend at constant speed.
    """

    begin: np.ndarray
    goal: np.ndarray
    top: float
    low: float
    duration: float
    up: float
    across: tuple[float, float]
    descent: float
    deepest: float
    slow: bool = False

    def at(self, s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return position and velocity (3,) at s seconds after lift-off."""
        share = s / self.duration
        first, last = self.across
        a, rate, _ = smooth((share - first) / (last - first))
        z, speed = self._height(s, share)
        (x, y, _), (goal_x, goal_y) = self.begin.tolist(), self.goal.tolist()
        across, rate = (goal_x - x, goal_y - y), rate / ((last - first) * self.duration)
        position = np.array([x + a * across[0], y + a * across[1], z])
        return position, np.array([rate * across[0], rate * across[1], speed])

    def _height(self, s: float, share: float) -> tuple[float, float]:
        rising = self.up * self.duration
        if share < self.up:
            a, rate, _ = smooth(share / self.up)
            return self.begin[2] + a * (self.top - self.begin[2]), rate * (self.top - self.begin[2]) / rising
        if self.slow:
            # The speed grows over a tenth of the duration, then stays.
            ramp, past = 0.1 * self.duration, s - rising
            z = self.top - self.descent * (past * past / (2 * ramp) if past < ramp else past - 0.5 * ramp)
            speed = -self.descent * min(past / ramp, 1.0)
        elif share < 1.0:
            falling = (1.0 - self.up) * self.duration
            a, rate, _ = smooth((share - self.up) / (1.0 - self.up))
            z, speed = self.top + a * (self.low - self.top), rate * (self.low - self.top) / falling
        else:
            z, speed = self.low - self.descent * (s - self.duration), -self.descent
        return (z, speed) if z > self.deepest else (self.deepest, 0.0)
