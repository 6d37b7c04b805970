"""Capsules around the links, taken from the kinematics alone, and how far they keep from each other and the ground.

A link is a bar from its own joint to each joint it carries, or to its frames where it carries none, as thick as its
radius says. That is coarse, but needs no meshes: a posture whose bars cross is not one to measure in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import ZvenoError
from ..mechanism.bars import link_bars
from ..robot_functions import RobotFunctions

DEFAULT_SHARE = 0.03
"""Radius of the capsules as a share of the reach, where none is given."""


@dataclass(frozen=True)
class Clearance:
    """How far links must keep from each other and from the ground.

    Attributes:
        radius: of every link's capsule, m, or by link name; 3 % of the reach where none is given. A link without
            length that is named is a sphere.
        ground: height of the floor along the world's z, m; no floor if None.
        links: whether links must keep clear of each other.
    """

    radius: float | Mapping[str, float] | None = None
    ground: float | None = None
    links: bool = True


class Capsules:
    """Bars of a robot's links with a radius.

    Pairs of neighbours, and pairs or bars that are never clear in a sample of postures (they belong together, or
    stand on the floor), are not looked at.
    """

    robot: RobotFunctions
    clearance: Clearance

    def __init__(self, robot: RobotFunctions, clearance: Clearance, sample: np.ndarray):
        self.robot, self.clearance = robot, clearance
        mechanism = robot.mechanism
        given = clearance.radius if isinstance(clearance.radius, Mapping) else {}
        bars = link_bars(mechanism, tuple(given))
        self.links: np.ndarray = np.array([i for i, _, _ in bars], dtype=int)
        self.ends: np.ndarray = np.array([[a, b] for _, a, b in bars]).reshape(len(bars), 2, 3)
        reach = float(np.sum(np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=-1))) if bars else 1.0
        usual = DEFAULT_SHARE * reach if clearance.radius is None or given else clearance.radius
        names = [mechanism.link_names[i] for i in self.links]
        self.radii: np.ndarray = np.array([_radius(given.get(name, usual), name) for name in names])
        parents = mechanism.tree.parents
        pairs = [
            (a, b)
            for a in range(len(bars))
            for b in range(a + 1, len(bars))
            if self.links[a] != self.links[b]
            and parents[self.links[a]] != self.links[b]
            and parents[self.links[b]] != self.links[a]
        ]
        self.pairs: np.ndarray = np.array(pairs, dtype=int).reshape(-1, 2)
        self.floor: np.ndarray = np.arange(len(bars))
        if len(bars) and len(sample):
            points = self.points(sample)
            self.pairs = self.pairs[(self._between(points) > 0.0).any(axis=0)]
            self.floor = self.floor[(self._above(points) > 0.0).any(axis=0)]

    def points(self, q: np.ndarray) -> np.ndarray:
        """Ends of the bars in the world, (n, bars, 2, 3)."""
        T = self.robot.link_poses(q)[:, self.links]
        return np.einsum("nbij,bej->nbei", T[..., :3, :3], self.ends) + T[:, :, None, :3, 3]

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Whether every posture keeps clear, (n,)."""
        ok = np.ones(len(q), dtype=bool)
        if not len(self.ends):
            return ok
        points = self.points(q)
        if self.clearance.links and len(self.pairs):
            ok &= (self._between(points) > 0.0).all(axis=1)
        if self.clearance.ground is not None and len(self.floor):
            ok &= (self._above(points)[:, self.floor] > 0.0).all(axis=1)
        return ok

    def _between(self, points: np.ndarray) -> np.ndarray:
        a, b = points[:, self.pairs[:, 0]], points[:, self.pairs[:, 1]]
        return segment_distance(a[:, :, 0], a[:, :, 1], b[:, :, 0], b[:, :, 1]) - self.radii[self.pairs].sum(axis=1)

    def _above(self, points: np.ndarray) -> np.ndarray:
        ground = 0.0 if self.clearance.ground is None else self.clearance.ground
        return points[..., 2].min(axis=2) - ground - self.radii


def _radius(value, link: str) -> float:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value >= 0):
        raise ZvenoError(f"the radius is {value!r}", element=f"link {link}", remedy="Give metres, 0 or more")
    return float(value)


def segment_distance(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """Shortest distance between segments a0–a1 and b0–b1, (...,) for points (..., 3)."""
    s, t = closest_shares(a0, a1, b0, b1)
    return np.linalg.norm(a0 - b0 + s[..., None] * (a1 - a0) - t[..., None] * (b1 - b0), axis=-1)


def closest_shares(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the segments a0–a1 and b0–b1 are closest: shares s, t in [0, 1] of the way from a0 and b0, (...)."""
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv = np.sum(u * u, -1), np.sum(u * v, -1), np.sum(v * v, -1)
    uw, vw = np.sum(u * w, -1), np.sum(v * w, -1)
    det = uu * vv - uv * uv
    parallel = det <= 1e-12 * uu * vv
    s = np.where(parallel, 0.0, (uv * vw - vv * uw) / np.where(parallel, 1.0, det))
    s = np.clip(s, 0.0, 1.0)
    # The best t for this s, then the best s for the t that was possible: enough, the distance is convex in (s, t).
    t = np.clip((uv * s + vw) / np.maximum(vv, 1e-300), 0.0, 1.0)
    return np.clip((uv * t - uw) / np.maximum(uu, 1e-300), 0.0, 1.0), t
