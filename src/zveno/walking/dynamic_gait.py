"""Dynamic walking by the divergent component of motion (Englsberger, Ott, Albu-Schäffer 2015); balance recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ._torques import Felt, Torques
from ._walker import GRAVITY, Swing, Walker, check_gait, smooth, stride_of
from .feet import Foot
from .support import stability_margin, support_polygon

AHEAD = 6
"""Number of footholds of the preview."""
GAIN = 2.0
"""k: rate at which an error of ξ is corrected, relative to its divergence."""
PULL = 50.0
"""Rate, 1/s, at which a foothold follows the request of ξ."""
LOOK = 0.005
"""Time between two foothold updates, s."""
SHIFT = 1.7
"""Duration of the first and the last shift, in steps."""
LOST = 0.05
"""Share of the height by which ξ may miss its goal at the end of a step without the feet waiting."""
PATIENCE = 2.0
"""Longest wait of the feet before they are lifted, in steps."""
ADJUSTING = (0.0, 0.8)
"""Shares of the swing phase between which footholds may move."""


@dataclass(frozen=True)
class DynamicGait:
    """Walk that is not statically balanced, on ground that may differ from the expected one.

    Attributes:
        stride: (x, y), m in world axes, by which every foot steps per cycle of two steps; if None, 0.28 of the
            height of the centre of mass, in the initial heading of the body.
        steps: of a group of feet, in all.
        groups: names of the feet that step together, two groups; left and right foot, or the diagonals of four
            feet, if None.
        step_time: s, of one step; 2 √(height/g) if None.
        double_support: share of it, at its beginning, in which all feet stand.
        clearance: of a foot in the air, m; a tenth of the height if None.
        below: depth below the expected ground that a foot aims at, m.
        lowered: lowering of the centre of mass from the start, as a share of its height.
        adjust: largest foothold displacement forwards or backwards, outwards, inwards, as shares of the height;
            zeros for none. Inwards, soles stay 2 cm apart.
    """

    stride: Sequence[float] | None = None
    steps: int = 12
    groups: Sequence[Sequence[str]] | None = None
    step_time: float | None = None
    double_support: float = 0.2
    clearance: float | None = None
    below: float = 0.02
    lowered: float = 0.05
    adjust: Sequence[float] = (0.18, 0.12, 0.09)

    @property
    def words(self) -> str:
        """Name in reports."""
        return "dynamic"

    def sized(self, height: float, ahead: Sequence[float] = (1.0, 0.0)) -> DynamicGait:
        """Return the gait with missing values chosen for the height of the centre of mass, m, and heading."""
        return replace(
            self,
            stride=stride_of(self.stride, 0.28 * height, ahead),
            clearance=0.1 * height if self.clearance is None else self.clearance,
            step_time=2.0 * float(np.sqrt(height / GRAVITY)) if self.step_time is None else self.step_time,
        )

    def walker(self, *machine: Any) -> DynamicWalker:
        """Return the walker of this gait for one robot."""
        return DynamicWalker(self, *machine)


def check_shares(gait: DynamicGait) -> None:
    """Refuse invalid shares."""
    for name, value in (("double_support", gait.double_support), ("lowered", gait.lowered)):
        if not 0.0 <= value < 1.0:
            raise ZvenoError(f"is {value}", element=name, remedy="Give a share, 0 to below 1")
    if len(gait.adjust) != 3 or not (np.isfinite(gait.adjust).all() and min(gait.adjust) >= 0):
        raise ZvenoError(f"is {gait.adjust}", element="adjust", remedy="Give three shares of the height, 0 or more")


class DynamicWalker(Walker):
    """Dynamic walk in progress."""

    def __init__(self, gait: DynamicGait, *machine: Any):
        super().__init__(*machine)
        self.gait: DynamicGait = gait.sized(self.above, self.ahead[:, 0].tolist())
        gait = self.gait
        assert gait.step_time is not None  # chosen by `sized`
        assert gait.clearance is not None
        check_gait(gait, "step_time", "clearance")
        check_shares(gait)
        self.step_time: float = gait.step_time
        self.clearance: float = gait.clearance
        self.double_support: float = gait.double_support * gait.step_time
        self.start_time: float = SHIFT * gait.step_time
        self.groups: tuple[tuple[int, ...], ...] = self._groups()
        self.stride: np.ndarray = np.asarray(gait.stride, dtype=float)
        # A foot stands for half of a cycle, in which the body moves by half a stride.
        self.check_reach(float(np.linalg.norm(self.stride)), 0.25, self.q_start)
        self.centers: np.ndarray = np.array([self.home[list(group), :2].mean(axis=0) for group in self.groups])
        """of the groups at the start"""
        along, outwards, inwards = (self.above * float(share) for share in gait.adjust)
        self.adjusted: tuple[float, float, float] = along, outwards, inwards
        self.width: float = widest(self.feet, self.foot_attitudes, self.ahead)
        self.above *= 1.0 - gait.lowered
        self.extents: list[tuple[Any, Any]] = [
            (foot.points[:, :2].min(axis=0).tolist(), foot.points[:, :2].max(axis=0).tolist()) for foot in self.feet
        ]
        """of the soles, from the feet's origins"""
        self.omega: float = float(np.sqrt(np.linalg.norm(self.robot.mechanism.gravity) / self.above))
        self.begin_dcm: np.ndarray = self.start.center[:2].copy()
        self.began: float = 0.0
        self.walking: bool = False
        self.made: int = 0
        self.swinging: int = 1
        self.swings: dict[int, Swing] = {}
        self.landed: set[int] = set()
        self.stance: np.ndarray = self._center(0)
        """middle of the group that stands during this step"""
        self.planned: np.ndarray = self._next_center()
        self.moved: np.ndarray = np.zeros(2)
        """by which the next foothold was adjusted"""
        self.dcm_end: np.ndarray = self._end()
        """ξ* at the end of this step"""
        self.next_look: float = 0.0
        self.waited: float = 0.0
        """s, that the feet of this step stayed down to keep balance"""

    @property
    def longest(self) -> float:
        """Longest duration of the walk, s."""
        return self.start_time + 1.5 * (self.gait.steps + 2) * self.step_time + 2.0

    def step(self, t: float, q: np.ndarray, v: np.ndarray, loads: np.ndarray) -> Torques:
        """Return the torques of the phase; start the next step once its time has come and its feet have touched."""
        at = self.torques.felt(q, v)
        rate = at.rate[:2]
        dcm = at.center[:2] + rate / self.omega
        ways: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        s = t - self.began
        if not self.walking:
            wanted, wanted_rate = self._resting(s)
            if not self.done and s >= self.start_time:
                self._begin_step(t)
                s = 0.0
        if self.walking:
            s = self._wait(t, s, at, dcm)
            self._look_at_feet(t, s, at, loads)
            if self.walking and s >= self.step_time and len(self.landed) == len(self.groups[self.swinging]):
                self._end_step(t, at, dcm)
                s = 0.0
            if self.walking:
                self._adjust(s, dcm)
                wanted = self._reference(min(s, self.step_time))
                wanted_rate = self.omega * (wanted - self.stance)
                for k, swing in self.swings.items():
                    if k not in self.landed:
                        ways[k] = swing.at(s - self.double_support)
            else:
                wanted, wanted_rate = self._resting(0.0)
        pressure = dcm - wanted_rate / self.omega + GAIN * (dcm - wanted)
        pressure = reachable(pressure, self.standing, self.feet, at.feet, self.extents)
        return self.torques_for(at, q, v, self.omega**2 * (at.center[:2] - pressure), ways)

    # --- the divergent component

    def _resting(self, s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return ξ* while all feet stand: towards the start of the first step, or to the middle at the end."""
        T = self.start_time
        if self.done:
            goal = self.placed[:, :2].mean(axis=0) + self.offset
        else:
            goal = self._reference(0.0)
        a, rate, _ = smooth(s / T)
        way = goal - self.begin_dcm
        return self.begin_dcm + a * way, way * (rate / T)

    def _reference(self, s: float) -> np.ndarray:
        """Return ξ* at s seconds of this step."""
        here = self.stance
        return here + math.exp(-self.omega * (self.step_time - s)) * (self.dcm_end - here)

    def _end(self) -> np.ndarray:
        """Return ξ* at the end of this step, by recursion from the following footholds."""
        here, following = self.stance, self.planned + self.moved
        places = [here, following]
        group = 1 - self.swinging
        left = self.gait.steps - self.made  # this step included
        for k in range(2, min(left, AHEAD) + 1):
            places.append(places[-1] + self._between(group) + self._advance(self.made + k))
            group = 1 - group
        # At the end of the last step that is looked at, ξ is between the feet.
        dcm = 0.5 * (places[-1] + places[-2])
        decay = math.exp(-self.omega * self.step_time)
        for place in reversed(places[1:-1]):
            dcm = place + decay * (dcm - place)
        return dcm

    def _center(self, group: int) -> np.ndarray:
        feet = self.groups[group]
        total = self.placed[feet[0], :2]
        for k in feet[1:]:
            total = total + self.placed[k, :2]
        return total / len(feet)

    def _between(self, group: int) -> np.ndarray:
        """Return the vector from the other group to this one at the start."""
        return self.centers[group] - self.centers[1 - group]

    def _advance(self, number: int) -> np.ndarray:
        """Return the advance of the n-th step, from 1, over the other feet; the last one is zero."""
        return 0.5 * self.stride if number < self.gait.steps else np.zeros(2)

    def _next_center(self) -> np.ndarray:
        return self.stance + self._between(self.swinging) + self._advance(self.made + 1)

    def _adjust(self, s: float, dcm: np.ndarray) -> None:
        """Move the footholds by the predicted error of ξ at the end of the step."""
        left = self.step_time - s
        air = self.step_time - self.double_support
        share = (s - self.double_support) / air
        if not ADJUSTING[0] < share < ADJUSTING[1] or self.landed:
            return
        if s < self.next_look:
            return
        self.next_look = s + LOOK
        stance = self.stance
        moved, self.moved = self.moved, np.zeros(2)
        missed = stance + math.exp(self.omega * left) * (dcm - stance) - self._end()
        self.moved = moved + min(1.0, PULL * LOOK) * (self._allowed(missed) - moved)
        self.dcm_end = self._end()
        for k, swing in self.swings.items():
            swing.goal = self._goal(k)

    def _wait(self, t: float, s: float, at: Felt, dcm: np.ndarray) -> float:
        """Return the phase time s, held at the end of double support while lifting the feet would lose balance."""
        if s < self.double_support or self.swings or self.waited > PATIENCE * self.step_time:
            return s
        if self._can_be_caught(s, at, dcm) or beyond_all(self.feet, at.feet, dcm):
            return s
        self.waited += self.h
        self.began += self.h
        return t - self.began

    def _can_be_caught(self, s: float, at: Felt, dcm: np.ndarray) -> bool:
        """Return True if pressure in the standing sole and another foothold can correct the error of ξ."""
        stance, growth = self.stance, math.exp(self.omega * (self.step_time - s))
        missed = stance + growth * (dcm - stance) - self._end()
        foot = self.groups[1 - self.swinging][0]
        lost = left_over(missed - self._allowed(missed), growth, at.feet[foot], self.extents[foot])
        return lost <= LOST * self.above

    def _allowed(self, by: np.ndarray) -> np.ndarray:
        way = self._between(self.swinging) + self._advance(self.made + 1)
        return allowed(by, way, self.ahead, self.adjusted, self.width)

    # --- feet

    def _groups(self) -> tuple[tuple[int, ...], ...]:
        names = [foot.frame for foot in self.feet]
        if self.gait.groups is not None:
            groups = tuple(
                tuple(names.index(name) for name in group if name in names) for group in self.gait.groups
            )
        elif len(names) == 2:
            groups = ((0,), (1,))
        elif len(names) == 4:
            relative = (self.home[:, :2] - self.home[:, :2].mean(axis=0)) @ self.ahead
            turned = np.argsort(np.arctan2(relative[:, 1], relative[:, 0]))
            groups = (tuple(turned[[0, 2]].tolist()), tuple(turned[[1, 3]].tolist()))
        else:
            groups = ()
        if len(groups) != 2 or sorted(k for group in groups for k in group) != list(range(len(names))):
            raise ZvenoError(
                f"{len(names)} feet do not tell which of them step together",
                element="groups",
                remedy="Give two groups of names that hold every foot once",
            )
        return groups

    def _begin_step(self, t: float) -> None:
        self.walking, self.began = True, t
        self.landed, self.swings = set(), {}
        self.stance = self._center(1 - self.swinging)
        self.planned, self.moved = self._next_center(), np.zeros(2)
        self.dcm_end, self.next_look, self.waited = self._end(), 0.0, 0.0

    def _goal(self, k: int) -> np.ndarray:
        """Return the landing position of a foot of the group."""
        home_place = self.home[k, :2] - self.centers[self.swinging]
        return self.planned + self.moved + home_place

    def _look_at_feet(self, t: float, s: float, at: Felt, loads: np.ndarray) -> None:
        """Lift the feet after double support, and let them stand once they touch."""
        gait = self.gait
        if s < self.double_support:
            return
        air = self.step_time - self.double_support
        for k in self.groups[self.swinging]:
            if k not in self.swings:
                begin, goal = at.feet[k, :3, 3].copy(), self._goal(k)
                near = self.nearest_standing(k)
                ground = self.ground_at(goal, near)
                top = max(begin[2], ground, self.highest_on(begin, goal)) + self.clearance
                low = ground - gait.below
                self.swings[k] = Swing(begin, goal, top, low, air, 0.45, (0.15, 0.85), 0.5, low - 0.06)
                self.standing[k] = False
            elif k not in self.landed and self.touched(k, (s - self.double_support) / air, loads, 0.6):
                self.landed.add(k)
                self.standing[k] = True
                self.placed[k] = at.feet[k, :3, 3]
                self.footholds.append((t, k, self.placed[k].copy()))

    def _end_step(self, t: float, at: Felt, dcm: np.ndarray) -> None:
        self.made += 1
        if self.made >= self.gait.steps:
            self.walking, self.done = False, True
            self.began, self.begin_dcm = t, dcm.copy()
            return
        self.swinging = 1 - self.swinging
        self._begin_step(t)


SOLES_APART = 0.02
"""Smallest distance between the soles of two feet, m."""
BESIDE = 1e-6
"""Distance across, m, below which feet do not stand side by side."""


def widest(feet: Sequence[Foot], attitudes: np.ndarray, ahead: np.ndarray) -> float:
    """Return the width of the widest sole across a heading (2, 2), m."""
    across = [(foot.points @ R.T)[:, :2] @ ahead[:, 1] for foot, R in zip(feet, attitudes, strict=True)]
    return max(float(np.ptp(coordinates)) for coordinates in across)


def allowed(
    by: np.ndarray, way: np.ndarray, ahead: np.ndarray, limits: tuple[float, float, float], width: float
) -> np.ndarray:
    """Clip a foothold change (2,) along and across a heading (2, 2) to (along, outwards, inwards).

    `way` (2,) is the vector from the standing feet to the foothold; soles of that width stay `SOLES_APART`.
    """
    along, outwards, inwards = limits
    by, beside = by @ ahead, float(way @ ahead[:, 1])
    if abs(beside) < BESIDE:
        return ahead @ np.clip(by, -along, along)
    inwards = min(inwards, abs(beside) - width - SOLES_APART)
    low, high = (-inwards, outwards) if beside > 0 else (-outwards, inwards)
    return ahead @ np.array([np.clip(by[0], -along, along), np.clip(by[1], low, high)])


def left_over(beyond: np.ndarray, growth: float, pose: np.ndarray, extents: tuple[Any, Any]) -> float:
    """Return the error (2,) of ξ that remains at the end of a step with the best pressure in a sole, m.

    Pressure at p instead of the foot's origin takes (growth − 1) p from ξ there.
    """
    most = growth - 1.0
    local = beyond @ pose[:2, :2]
    return float(np.linalg.norm(local - most * np.clip(local / most, *extents)))


def beyond_all(feet: Sequence[Foot], poses: np.ndarray, place: np.ndarray) -> bool:
    """Return True if a point (2,) is outside the support of all feet, where no pressure brings ξ back."""
    soles = [(foot.points @ T[:3, :3].T + T[:3, 3])[:, :2] for foot, T in zip(feet, poses, strict=True)]
    return bool(stability_margin(support_polygon(np.concatenate(soles)), place) < 0.0)


def reachable(
    pressure: np.ndarray, standing: np.ndarray, feet: Sequence[Foot], poses: np.ndarray, extents: Sequence[Any]
) -> np.ndarray:
    """Return the nearest point (2,) that the standing feet can press on, if they are one sole or two points."""
    which = [k for k, stands in enumerate(standing.tolist()) if stands]
    if len(which) == 1 and not feet[which[0]].is_point:
        (a, b, _, x), (c, d, _, y), *_ = poses[which[0]].tolist()
        dx, dy = pressure[0] - x, pressure[1] - y
        low, high = extents[which[0]]
        along = min(max(a * dx + c * dy, low[0]), high[0])
        across = min(max(b * dx + d * dy, low[1]), high[1])
        return np.array([x + a * along + b * across, y + c * along + d * across])
    if len(which) == 2 and feet[which[0]].is_point:
        a, b = poses[which, :2, 3]
        return a + (b - a) * min(max((pressure - a) @ (b - a) / ((b - a) @ (b - a)), 0.0), 1.0)
    return pressure
