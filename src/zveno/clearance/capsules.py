"""Capsules around the links, and their distances to each other and to the ground.

By default, capsules follow from the kinematics alone: a link is a bar of given radius from its own joint to each
joint it carries, or to its frames if it carries none. This is coarse, but needs no meshes. Alternatively, each
shape of a link in the model file gets a bounding capsule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import ZvenoError, unknown_name
from ..geometry.bounding import bounding_capsule, link_bars
from ..geometry.distances import segment_distance
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from .distances import Layout, distances, distances_and_slopes

DEFAULT_SHARE = 0.03
"""Default radius of the capsules as a fraction of the reach."""
STILL = 1e-9
"""Share of the reach by which the height of an end at rest may vary."""
SAMPLE = 256
"""Number of random configurations that select the checked pairs by default."""


@dataclass(frozen=True)
class Clearance:
    """Clearance requirements of links with respect to each other and the ground.

    Attributes:
        radius: capsule radius, m, one for all links or by link name; 3 % of the reach if not given. A named link
            without length is a sphere.
        ground: height of the floor along the world's z, m; no floor if None.
        links: True if links must keep clear of each other.
        pairs: names of the two links of every checked pair. By default all pairs, except adjacent links and links
            that touch in every configuration of a sample.
        shapes: True to put a capsule around each shape of a link in the model file (URDF), including STL and OBJ
            meshes; collision shapes take precedence over visual ones. Links without shapes are bars.
    """

    radius: float | Mapping[str, float] | None = None
    ground: float | None = None
    links: bool = True
    pairs: Sequence[tuple[str, str]] | None = None
    shapes: bool = False


class Capsules:
    """Capsules of a robot's links.

    Not checked are capsules of the same body and of adjacent bodies, pairs that touch in every configuration of a
    sample (they belong together), and ends that stand still on the floor. `left_out` names the latter two.
    """

    robot: RobotFunctions
    clearance: Clearance
    left_out: tuple[tuple[str, ...], ...]
    """Pairs of links that touch in every configuration of the sample, and links that stand on the floor: neither
    is checked."""

    def __init__(self, robot: RobotFunctions, clearance: Clearance, sample: np.ndarray | None = None):
        if not isinstance(clearance, Clearance):
            raise ZvenoError(f"must be a zveno.Clearance, got {clearance!r:.100}", element="clearance")
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
        pairs = _pairs_by_name(clearance.pairs, names, mechanism) if named else _apart(mechanism, self.links)
        self.pairs: np.ndarray = np.array(pairs, dtype=int).reshape(-1, 2)
        self.floor: np.ndarray = np.array([(a, end) for a in range(len(bars)) for end in (0, 1)]).reshape(-1, 2)
        self.left_out = ()
        sample = robot.random(SAMPLE, 0) if sample is None else sample
        if len(bars) and len(sample):
            self._omit_permanent_contacts(self.points(sample), names, named)

    def _omit_permanent_contacts(self, points: np.ndarray, names: list[str], named: bool) -> None:
        a, b = points[:, self.pairs[:, 0]], points[:, self.pairs[:, 1]]
        gaps = segment_distance(a[:, :, 0], a[:, :, 1], b[:, :, 0], b[:, :, 1]) - self.radii[self.pairs].sum(axis=1)
        apart = np.ones(len(self.pairs), dtype=bool) if named else (gaps > 0.0).any(axis=0)
        if self.clearance.links and self.clearance.radius is not None and len(apart) and not apart.any():
            raise ZvenoError(
                f"links with a radius of {self.radii.max():g} m touch each other in every configuration",
                element="radius",
                remedy="Give the radius in m, or none for 3 % of the reach",
            )
        self.left_out = tuple((names[a], names[b]) for a, b in self.pairs[~apart])
        self.pairs = self.pairs[apart]
        if self.clearance.ground is not None:
            self._omit_ends_on_floor(points, names, float(self.clearance.ground))

    def _omit_ends_on_floor(self, points: np.ndarray, names: list[str], ground: float) -> None:
        """Leave out ends that stand still on or below the floor; refuse a floor above a whole capsule at rest."""
        heights = points[:, self.floor[:, 0], self.floor[:, 1], 2] - ground
        radii = self.radii[self.floor[:, 0]]
        still = np.ptp(heights, axis=0) < STILL * self.reach
        top = points[..., 2].max(axis=(0, 2))[self.floor[:, 0]] - ground
        below = still & (top < -radii)
        if below.any():
            k = int(np.argmin(np.where(below, heights[0], np.inf)))
            raise ZvenoError(
                f"no configuration is above the floor at {ground:g} m: {names[self.floor[k, 0]]} stands still "
                f"{-heights[0, k]:.3g} m below it",
                element="ground",
                remedy="Give the height of the floor in the robot's world, in m",
            )
        standing = still & (heights[0] <= radii)
        self.left_out += tuple(dict.fromkeys((names[a],) for a in self.floor[standing, 0]))
        self.floor = self.floor[~standing]

    @property
    def reach(self) -> float:
        """Total length of all bars, m."""
        return float(np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=-1).sum()) or 1.0

    @cached_property
    def layout(self) -> Layout:
        """Layout of the checked capsules and pairs."""
        pairs = self.pairs if self.clearance.links else self.pairs[:0]
        floor = self.floor if self.clearance.ground is not None else self.floor[:0]
        return Layout(
            links=tuple(self.links.tolist()),
            ends=self.ends,
            radii=self.radii,
            pairs=tuple((a, b) for a, b in pairs.tolist()),
            floor=tuple((a, end) for a, end in floor.tolist()),
            ground=0.0 if self.clearance.ground is None else float(self.clearance.ground),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the two objects of each distance."""
        links, layout = [self.robot.link_names[i] for i in self.links], self.layout
        pairs = [f"{links[a]} – {links[b]}" for a, b in layout.pairs]
        return (*pairs, *(f"{links[a]} – ground" for a, _ in layout.floor))

    def points(self, q: np.ndarray) -> np.ndarray:
        """Ends of the bars in the world, (n, bars, 2, 3)."""
        T = self.robot.link_poses(q)[:, self.links]
        return np.einsum("nbij,bej->nbei", T[..., :3, :3], self.ends) + T[:, :, None, :3, 3]

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Return True for collision-free configurations (..., n_q), as an array (...)."""
        return np.asarray((self.distances(q) > 0.0).all(axis=-1))

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Distances (..., n), m, in the order of `names`, at configurations (..., n_q); negative for overlaps."""
        return self._distances(q) if self.layout.n else np.zeros((*np.shape(q)[:-1], 0))

    def distances_and_slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute distances (..., n) and their Jacobian with respect to the velocities, (..., n, n_v)."""
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
    """Convert `accept` (a function, a `Clearance` or None) to a function of configurations (s, n_q)."""
    if accept is not None and not isinstance(accept, Clearance) and not callable(accept):
        raise ZvenoError(
            f"must be a Clearance or a function, got {accept!r:.100}",
            element="where",
            remedy="Give a Clearance, or a function of configurations (s, n_q)",
        )
    if not isinstance(accept, Clearance):
        return accept
    return Capsules(RobotFunctions(robot) if isinstance(robot, Mechanism) else robot, accept).clear


@lru_cache(maxsize=16)
def shape_capsules(mechanism: Mechanism) -> list[tuple[int, np.ndarray, np.ndarray, float]]:
    """List bounding capsules (link, start, end, radius) of the shapes of all links."""
    from ..io.shapes import link_shapes  # keeps the import of the package fast

    capsules = []
    for shape in link_shapes(mechanism):
        start, end, radius = bounding_capsule(shape.corners)
        capsules.append((mechanism.link_number(shape.link), start, end, radius + shape.radius))
    return capsules


def _apart(mechanism: Mechanism, links: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of bars on bodies that are neither the same nor adjacent; links on fixed joints are one body."""
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


def _pairs_by_name(pairs: Any, names: list[str], mechanism: Mechanism) -> list[tuple[int, int]]:
    """Convert pairs of link names to pairs of bars."""
    bars = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 or pair[0] == pair[1]:
            raise ZvenoError(
                f"a pair must be two link names, got {pair!r}",
                element="pairs",
                remedy="Give the names of two links",
            )
        for name in pair:
            if name not in mechanism.link_names:
                raise unknown_name("link", name, mechanism.link_names)
            if name not in names:
                raise ZvenoError(
                    "it has no length", element=f"link {name}", remedy="Give its radius by name to make it a sphere"
                )
        bars += [(a, b) for a, x in enumerate(names) for b, y in enumerate(names) if (x, y) == tuple(pair)]
    return bars


def _finite(value: Any, name: str) -> None:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value)):
        raise ZvenoError(f"must be a finite number in m, got {value!r}", element=name)


def _radius(value: Any, link: str) -> float:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value >= 0):
        raise ZvenoError(
            f"the radius must be at least 0, got {value!r}", element=f"link {link}", remedy="Give metres, 0 or more"
        )
    return float(value)
