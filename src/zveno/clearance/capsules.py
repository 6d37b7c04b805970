"""Capsules around the links, and how far they keep from each other and the ground.

They are taken from the kinematics alone: a link is a bar from its own joint to each joint it carries, or to its
frames where it carries none, as thick as its radius says. That is coarse, but needs no meshes: a posture whose bars
cross is not one to measure in. Or each of a link's shapes in the model's file is held by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import ZvenoError, unknown_name
from ..kernels.door import compiled
from ..kernels.kernel import Kernel
from ..mechanism import Mechanism
from ..mechanism.bars import link_bars
from ..robot_functions import RobotFunctions
from .bounding import bounding_capsule
from .distances import Layout, distances, distances_and_slopes
from .segments import segment_distance

DEFAULT_SHARE = 0.03
"""Radius of the capsules as a share of the reach, where none is given."""
SAMPLE = 256
"""Random postures that decide which pairs are looked at, where none are given."""


@dataclass(frozen=True)
class Clearance:
    """How far links must keep from each other and from the ground.

    Attributes:
        radius: of every link's capsule, m, or by link name; 3 % of the reach where none is given. A link without
            length that is named is a sphere.
        ground: height of the floor along the world's z, m; no floor if None.
        links: whether links must keep clear of each other.
        pairs: names of the two links of every pair that is looked at. By default all pairs but those of
            neighbours, and of links that touch in every posture of a sample.
        shapes: links that have shapes in the model's file (URDF) are taken as these: a capsule about each of them,
            meshes in STL and OBJ included; collision shapes before visual ones. Other links are bars.
    """

    radius: float | Mapping[str, float] | None = None
    ground: float | None = None
    links: bool = True
    pairs: Sequence[tuple[str, str]] | None = None
    shapes: bool = False


class Capsules:
    """Bars of a robot's links with a radius.

    Bars of one body, of neighbouring bodies, and pairs or bars that are never clear in a sample of postures (they
    belong together, or stand on the floor), are not looked at; `left_out` names the last.
    """

    robot: RobotFunctions
    clearance: Clearance
    left_out: tuple[tuple[str, ...], ...]
    """Links, or pairs of links, that touch in every posture of the sample and are not looked at."""

    def __init__(self, robot: RobotFunctions, clearance: Clearance, sample: np.ndarray | None = None):
        if not isinstance(clearance, Clearance):
            raise ZvenoError(f"is {clearance!r:.100}", element="clearance", remedy="Give a zveno.Clearance")
        if clearance.ground is not None:
            _finite(clearance.ground, "ground")
        self.robot, self.clearance = robot, clearance
        mechanism = robot.mechanism
        given = clearance.radius if isinstance(clearance.radius, Mapping) else {}
        bars = link_bars(mechanism, tuple(given))
        held = shape_capsules(mechanism) if clearance.shapes else []
        shaped = {i for i, _, _, _ in held}
        bars = [bar for bar in bars if bar[0] not in shaped] + [capsule[:3] for capsule in held]
        self.links: np.ndarray = np.array([i for i, _, _ in bars], dtype=int)
        self.ends: np.ndarray = np.array([[a, b] for _, a, b in bars]).reshape(len(bars), 2, 3)
        usual = DEFAULT_SHARE * self.reach if clearance.radius is None or given else clearance.radius
        names = [mechanism.link_names[i] for i in self.links]
        self.radii: np.ndarray = np.array([_radius(given.get(name, usual), name) for name in names])
        if held:
            self.radii[-len(held) :] = [radius for _, _, _, radius in held]
        named = clearance.pairs is not None
        pairs = _named(clearance.pairs, names, mechanism) if named else _apart(mechanism, self.links)
        self.pairs: np.ndarray = np.array(pairs, dtype=int).reshape(-1, 2)
        self.floor: np.ndarray = np.arange(len(bars))
        self.left_out = ()
        sample = robot.random(SAMPLE, 0) if sample is None else sample
        if len(bars) and len(sample):
            self._leave_out_what_always_touches(self.points(sample), names, named)

    def _leave_out_what_always_touches(self, points: np.ndarray, names: list[str], named: bool) -> None:
        a, b = points[:, self.pairs[:, 0]], points[:, self.pairs[:, 1]]
        gaps = segment_distance(a[:, :, 0], a[:, :, 1], b[:, :, 0], b[:, :, 1]) - self.radii[self.pairs].sum(axis=1)
        apart = np.ones(len(self.pairs), dtype=bool) if named else (gaps > 0.0).any(axis=0)
        ground = 0.0 if self.clearance.ground is None else self.clearance.ground
        high = (points[..., 2].min(axis=2) - ground - self.radii > 0.0).any(axis=0)
        self.left_out = tuple((names[a], names[b]) for a, b in self.pairs[~apart])
        if self.clearance.ground is not None:
            self.left_out += tuple((names[a],) for a in self.floor[~high])
        self.pairs, self.floor = self.pairs[apart], self.floor[high]

    @property
    def reach(self) -> float:
        """The length of all bars together, m."""
        return float(np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=-1).sum()) or 1.0

    @cached_property
    def layout(self) -> Layout:
        """What is looked at."""
        pairs = self.pairs if self.clearance.links else self.pairs[:0]
        floor = self.floor if self.clearance.ground is not None else self.floor[:0]
        return Layout(
            links=tuple(self.links.tolist()),
            ends=self.ends,
            radii=self.radii,
            pairs=tuple((a, b) for a, b in pairs.tolist()),
            floor=tuple(floor.tolist()),
            ground=0.0 if self.clearance.ground is None else float(self.clearance.ground),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each of the distances is between."""
        links, layout = [self.robot.link_names[i] for i in self.links], self.layout
        pairs = [f"{links[a]} – {links[b]}" for a, b in layout.pairs]
        return (*pairs, *(f"{links[a]} – ground" for a in layout.floor for _ in range(2)))

    def points(self, q: np.ndarray) -> np.ndarray:
        """Ends of the bars in the world, (n, bars, 2, 3)."""
        T = self.robot.link_poses(q)[:, self.links]
        return np.einsum("nbij,bej->nbei", T[..., :3, :3], self.ends) + T[:, :, None, :3, 3]

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Whether postures (..., n_q) keep clear, (...)."""
        return np.asarray((self.distances(q) > 0.0).all(axis=-1))

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Free space (..., n), m, between what `names` lists, for postures (..., n_q); negative at overlaps."""
        return self._distances(q) if self.layout.n else np.zeros((*np.shape(q)[:-1], 0))

    def distances_and_slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distances (..., n) and their Jacobian by the velocities (..., n, n_v)."""
        if not self.layout.n:
            batch = np.shape(q)[:-1]
            return np.zeros((*batch, 0)), np.zeros((*batch, 0, self.robot.n_v))
        return self._with_slopes(q)

    @cached_property
    def _distances(self) -> Kernel:
        return self._kernel(distances, "distances")

    @cached_property
    def _with_slopes(self) -> Kernel:
        return self._kernel(distances_and_slopes, "distances", "slopes")

    def _kernel(self, function: Callable[..., Any], *outputs: str) -> Kernel:
        mechanism = self.robot.mechanism
        return compiled(function, {"q": (mechanism.n_q,)}, constants=(mechanism, self.layout), outputs=outputs)


def acceptance(
    robot: RobotFunctions | Mechanism, accept: Callable[[np.ndarray], np.ndarray] | Clearance | None
) -> Callable[[np.ndarray], np.ndarray] | None:
    """A function of postures (s, n_q) from what users give as `accept`: one, a `Clearance`, or None."""
    if accept is not None and not isinstance(accept, Clearance) and not callable(accept):
        raise ZvenoError(
            f"is {accept!r:.100}", element="accept", remedy="Give a Clearance, or a function of postures (s, n_q)"
        )
    if not isinstance(accept, Clearance):
        return accept
    return Capsules(RobotFunctions(robot) if isinstance(robot, Mechanism) else robot, accept).clear


@lru_cache(maxsize=16)
def shape_capsules(mechanism: Mechanism) -> list[tuple[int, np.ndarray, np.ndarray, float]]:
    """(link, start, end, radius) about every shape of the links."""
    from ..io.shapes import link_shapes  # not needed to import the package

    capsules = []
    for shape in link_shapes(mechanism):
        start, end, radius = bounding_capsule(shape.corners)
        capsules.append((mechanism.link_number(shape.link), start, end, radius + shape.radius))
    return capsules


def _apart(mechanism: Mechanism, links: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of bars on bodies that are neither the same nor neighbours; links on fixed joints are one body."""
    bodies, carriers = [0], [-1]
    for i, f, joint in mechanism.outward():
        rigid = joint.type.n_v == 0
        bodies.append(bodies[f] if rigid else i)
        carriers.append(carriers[f] if rigid else bodies[f])

    def neighbours(a: int, b: int) -> bool:
        return bodies[a] == bodies[b] or carriers[a] == bodies[b] or carriers[b] == bodies[a]

    return [
        (a, b) for a in range(len(links)) for b in range(a + 1, len(links)) if not neighbours(links[a], links[b])
    ]


def _named(pairs: Any, names: list[str], mechanism: Mechanism) -> list[tuple[int, int]]:
    """Pairs of bars from pairs of link names."""
    bars = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 or pair[0] == pair[1]:
            raise ZvenoError(f"{pair!r} is not a pair", element="pairs", remedy="Give the names of two links")
        for name in pair:
            if name not in mechanism.link_names:
                raise unknown_name("link", name, mechanism.link_names)
            if name not in names:
                raise ZvenoError(
                    "has no length", element=f"link {name}", remedy="Give its radius by name, and it is a sphere"
                )
        bars += [(a, b) for a, x in enumerate(names) for b, y in enumerate(names) if (x, y) == tuple(pair)]
    return bars


def _finite(value: Any, name: str) -> None:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value)):
        raise ZvenoError(f"is {value!r}", element=name, remedy="Give a finite number of metres")


def _radius(value: Any, link: str) -> float:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value >= 0):
        raise ZvenoError(f"the radius is {value!r}", element=f"link {link}", remedy="Give metres, 0 or more")
    return float(value)
