"""Candidate postures: within limits, in reach of the instrument, visible, clear of links and ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Capsules, Clearance
from ...errors import ShapeError, ZvenoError
from ...motion_limits import joint_ranges
from ...robot_functions import RobotFunctions

AT_LIMITS = 0.4
"""Share of candidates with some joints at the ends of their range, where optimal plans often are."""


FARTHEST = 1e6
"""Coordinates of an instrument that are refused, m."""


@dataclass(frozen=True, eq=False)
class Visibility:
    """Instrument that must see the frame.

    Attributes:
        viewer: place of the instrument in the world, (3,), m.
        half_angle: the frame's `axis` may point past the instrument by at most this, rad (a retroreflector's cone).
        axis: direction in the frame that must face the instrument, (3,).
        direction, field: the instrument looks along `direction` (None: everywhere) and sees a cone of half angle
            `field`, rad.
        nearest, farthest: range of the instrument, m.
    """

    viewer: ArrayLike
    half_angle: float = np.pi / 3
    axis: ArrayLike = (0.0, 0.0, 1.0)
    direction: ArrayLike | None = None
    field: float = np.pi / 4
    nearest: float = 0.0
    farthest: float = np.inf

    def sees(self, T: np.ndarray) -> np.ndarray:
        """Return True for each pose T_world_frame (n, 4, 4) that is seen, (n,)."""
        viewer = np.asarray(self.viewer, dtype=float)
        if viewer.shape != (3,) or not (abs(viewer) < FARTHEST).all():
            raise ShapeError(
                f"is {self.viewer!r:.100}", element="viewer", remedy=f"Give three coordinates below {FARTHEST:g} m"
            )
        line = viewer - T[:, :3, 3]
        distance = np.linalg.norm(line, axis=1)
        line = line / np.maximum(distance, 1e-12)[:, None]
        facing = T[:, :3, :3] @ _unit(self.axis, "axis")
        ok = (np.sum(facing * line, axis=1) >= np.cos(self.half_angle)) & (distance >= self.nearest)
        ok &= distance <= self.farthest
        if self.direction is not None:
            ok &= -line @ _unit(self.direction, "direction") >= np.cos(self.field)
        return ok


class Admissible:
    """Conditions that a posture must satisfy to be measured.

    Args:
        robot: the robot.
        frame: the measured frame.
        limits: narrower (or, for joints without limits, finite) ranges by joint name: (lower, upper).
        margin: kept free at both ends of every range, as a share of it.
        box: ((x, y, z) lowest, (x, y, z) highest) for the frame's origin in the world, m; None: everywhere.
        visibility: an instrument that must see the frame, or several.
        clearance: of links and ground; None: not checked.
    """

    robot: RobotFunctions
    frame: str | None
    lower: np.ndarray
    upper: np.ndarray

    def __init__(
        self,
        robot: RobotFunctions,
        frame: str | None = None,
        *,
        limits: Mapping[str, tuple[float, float]] | None = None,
        margin: float = 0.0,
        box: ArrayLike | None = None,
        visibility: Visibility | Sequence[Visibility] | None = None,
        clearance: Clearance | None = None,
    ):
        self.robot, self.frame = robot, frame
        self.lower, self.upper = joint_ranges(robot, limits or {}, margin)
        self.box: np.ndarray | None = None if box is None else _box(box)
        several = [visibility] if isinstance(visibility, Visibility) else list(visibility or ())
        self.visibility: list[Visibility] = several
        sample = self.drawn(256, np.random.default_rng(0)) if clearance is not None else np.zeros((0, robot.n_q))
        self.capsules: Capsules | None = None if clearance is None else Capsules(robot, clearance, sample)

    def drawn(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n random postures within the ranges, some with joints at their ends, not yet checked otherwise."""
        if self.robot.n_q != self.robot.n_v:
            return np.clip(self.robot.random(n, rng), self.lower, self.upper)
        q = rng.uniform(self.lower, self.upper, (n, self.robot.n_q))
        ends = np.where(rng.random(q.shape) < 0.5, self.lower, self.upper)
        at_end = (rng.random(q.shape) < 0.5) & (rng.random(n) < AT_LIMITS)[:, None]
        return np.where(at_end, ends, q)

    def rules(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return, for every rule, whether each posture (n, n_q) satisfies it."""
        slack = 1e-9 * (1.0 + abs(q))
        satisfied = {"limits": np.all((q >= self.lower - slack) & (q <= self.upper + slack), axis=1)}
        ground = None if self.capsules is None else self.capsules.clearance.ground
        if self.box is not None or self.visibility or ground is not None:
            T = self.robot.forward_kinematics(q, frame=self.frame)
            if ground is not None:
                satisfied["ground"] = T[:, 2, 3] >= ground
            if self.box is not None:
                satisfied["box"] = np.all((T[:, :3, 3] >= self.box[0]) & (T[:, :3, 3] <= self.box[1]), axis=1)
            if self.visibility:
                satisfied["visibility"] = np.all([instrument.sees(T) for instrument in self.visibility], axis=0)
        if self.capsules is not None:
            satisfied["clearance"] = self.capsules.clear(q)
        return satisfied

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """Return True for each posture (n, n_q) that satisfies every rule, (n,)."""
        return np.all(list(self.rules(q).values()), axis=0)

    def candidates(self, n: int, rng: np.random.Generator, most: int = 200) -> tuple[np.ndarray, dict[str, float]]:
        """Return n random postures that satisfy every rule, and the share of drawn ones that each rule accepts.

        Args:
            n: requested number; fewer are returned if most of those drawn are rejected.
            rng: random numbers.
            most: drawn at most, as a multiple of n.
        """
        kept: list[np.ndarray] = []
        passed: dict[str, int] = {}
        drawn = have = 0
        while have < n and drawn < most * n:
            q = self.drawn(n, rng)
            rules = self.rules(q)
            for name, ok in rules.items():
                passed[name] = passed.get(name, 0) + int(ok.sum())
            drawn += n
            kept.append(q[np.all(list(rules.values()), axis=0)])
            have += len(kept[-1])
            if drawn >= 20 * n and have == 0:
                break
        shares = {name: count / drawn for name, count in passed.items()}
        q = np.concatenate(kept)[:n] if kept else np.zeros((0, self.robot.n_q))
        if not len(q):
            tightest = min(shares, key=lambda name: shares[name])
            let_through = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares.items())
            raise ZvenoError(
                f"none of {drawn} random postures is allowed (let through: {let_through})",
                element="candidates",
                remedy=f"Loosen {tightest}, or give candidates of your own",
            )
        return q, shares


def _box(box: ArrayLike) -> np.ndarray:
    try:
        ends = np.asarray(box, dtype=float)
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.shape != (2, 3) or not np.all(ends[0] < ends[1]):
        raise ShapeError("is not a box", element="box", remedy="Give ((x, y, z) lowest, (x, y, z) highest)")
    return ends


def _unit(direction: ArrayLike, element: str) -> np.ndarray:
    v = np.asarray(direction, dtype=float)
    length = np.linalg.norm(v)
    if v.shape != (3,) or not length > 0:
        raise ShapeError("is not a direction", element=element, remedy="Give three numbers, not all zero")
    return v / length
