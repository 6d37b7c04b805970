"""What all gaits share: a machine that knows where its feet stand and turns wishes into torques."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...errors import ZvenoError
from ...robot_functions import RobotFunctions
from ...simulation.time_stepping.grounds import Ground
from ..body_state import Felt
from ..checks import check_count, check_number, checked_stride
from ..feet import Foot
from ..terrain import checked_ground, foothold, heights
from ..whole_body_torques import Torques, WalkingGains, WalkingWeights, WholeBodyTorques

GRAVITY = 9.81
"""m/s², by which times are chosen."""
AROUND_FOOT, LEVEL, SEARCH = 0.02, 0.01, 0.08
"""m: level ground that a foot needs around it, how much heights may differ there, how far a foothold may move."""
CLIMB = 0.1
"""m/s, at which the height that is wanted follows the feet."""


class Walker(ABC):
    """A machine on its way; `step` is called at every control step with what the estimator says.

    Attributes:
        standing: which feet are taken to stand, (f,).
        placed: where feet were put down last, as estimated, (f, 3).
        footholds: (time, foot, place) of every step made.
        done: whether the walk is over.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        feet: tuple[Foot, ...],
        start: np.ndarray,
        friction: float,
        expected: Ground | None,
        h: float,
        weights: WalkingWeights,
        gains: WalkingGains,
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
        self.done = False
        self.weight: float = float(
            sum(link.inertia[0] for link in robot.mechanism.links) * np.linalg.norm(robot.mechanism.gravity)
        )

    @abstractmethod
    def step(self, t: float, q: np.ndarray, v: np.ndarray, loads: np.ndarray) -> Torques:
        """Torques at a time, for the state that is estimated and the loads that are measured."""

    def check_reach(self, stride: float, share: float, q: np.ndarray) -> None:
        """Refuse strides, m, in which a foot must be further from its hip than its leg is long.

        A foot comes to be a `share` of the stride, at least, in front of or behind where it is at the start. Only
        legs of turning joints have a length; what this does not refuse may still be out of reach.
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
            places = self.robot.forward_kinematics(q, frames=[*(joint.child for joint in leg), foot.frame])[
                :, :3, 3
            ]
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
        """Height that is expected for a foot's frame: of the ground as known, or level with another foot."""
        if self.expected is None:
            return float(self.placed[near, 2])
        return float(heights(self.expected, place)) + self._sole_height

    def level_place(self, k: int, goal: np.ndarray) -> np.ndarray:
        """The place (2,) nearest to a goal where the ground that is expected is level under the foot."""
        if self.expected is None:
            return goal
        return foothold(self.expected, goal, self.feet[k].radius + AROUND_FOOT, LEVEL, SEARCH)[:2]

    def nearest_standing(self, k: int) -> int:
        """The standing foot that is nearest to where foot k stood last."""
        distance = np.linalg.norm(self.placed[:, :2] - self.placed[k, :2], axis=1)
        distance[~self.standing] = np.inf
        distance[k] = np.inf
        return int(np.argmin(distance))

    @property
    def _sole_height(self) -> float:
        """Of a foot's frame above the ground it stands on, m."""
        return float(-(self.feet[0].points @ self.foot_attitudes[0].T)[:, 2].min())

    def highest_on(self, begin: np.ndarray, goal: np.ndarray) -> float:
        """Highest ground that is expected on a foot's way."""
        if self.expected is None:
            return -np.inf
        way = begin[:2] + np.linspace(0.0, 1.0, 21)[:, None] * (goal[:2] - begin[:2])
        return float(heights(self.expected, way).max()) + self._sole_height

    def touched(self, k: int, share: float, loads: np.ndarray, late: float) -> bool:
        """Whether a foot in the air carries something, after it was lifted for good."""
        return share > late and loads[k] > 0.08 * self.weight

    def follow_height(self) -> float:
        """Wanted height of the centre of mass: above the lowest foot, not faster than `CLIMB`."""
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
        """Torques for a horizontal acceleration of the centre of mass (2,), and ways of feet in the air."""
        kp, kd = self.torques.gains.height
        up = kp * (self.follow_height() - at.center[2]) - kd * at.rate[2]
        return self.torques.solve(q, v, self.standing, (center[0], center[1], up), swings)


def stride_of(stride: Any, default: float) -> tuple[float, float]:
    """x and y, m; forwards by the default if None."""
    x, y = (default, 0.0) if stride is None else checked_stride(stride).tolist()
    return (x, y)


def check_gait(gait: Any, *names: str) -> None:
    """Refuse times and lengths that are not above 0, and numbers of steps that are none."""
    for name in names:
        check_number(getattr(gait, name), name, "Give a finite number above 0", above=0.0)
    check_number(gait.below, "below", "Give metres, 0 or more", least=0.0)
    check_count(gait.steps, "steps", 1)
