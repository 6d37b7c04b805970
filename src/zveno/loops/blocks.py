"""All closed states for given joints, block by block.

Links that known joints connect are one body. A body R between two points that joints fix on bodies A and C keeps
the distance of these points, such as a rod between two balls or two hinges. That is one equation between A and C,
which every closed state satisfies. One joint with one such equation has two roots, and two hinges with two
equations have eight. A point that two bodies share leaves one or two. All roots of a block are computed. Each
root makes one body of the bodies of the block, and so on, until one body is left. Equations are necessary, and
those that were not used are checked in the end: nothing is missed, and states that do not close are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from ..mechanism import Loop, Mechanism
from ..mechanism.joints import Fixed, JointType, Revolute, Spherical
from ..mechanism.loops import CLOSING_JOINTS
from ..robot_functions import RobotFunctions
from ..spatial.rotations import to_quaternion
from ..spatial.transforms import inverse, transform
from .branch import GAP, closure_kernel, scaled

NEAR = 1e-7
"""Largest distance between two axes that count as meeting, relative to the size of the mechanism."""
FLAT = 1e-7
"""Amplitude of an equation, relative to the squared size of the mechanism, below which a joint does not move it."""
FITS = 1e-6
"""Largest mismatch of a root in the equations not used to find it, relative to the size of the mechanism."""
NEARLY = 1e-4
"""Distance of a complex root from the real ones below which two states nearly meet."""
HINGES = ("revolute", "continuous")
TURN = 2.0 * np.pi


class Unsolved(Exception):
    """No block of one or two joints is left; the text names the joints."""


@dataclass(frozen=True)
class Edge:
    """Joint of the tree, or loop, between two links; `T` is its frame on either link."""

    name: str
    links: tuple[int, int]
    T: tuple[np.ndarray, np.ndarray]
    type: JointType | None
    """None for loops that are only checked"""
    is_joint: bool


class PointLink(NamedTuple):
    """Point that is fixed on two bodies at once."""

    bodies: tuple[int, int]
    points: tuple[np.ndarray, np.ndarray]
    edges: frozenset[str]

    def on(self, body: int) -> np.ndarray:
        """Return the point in the axes of one of the bodies."""
        return self.points[self.bodies.index(body)]

    def beyond(self, body: int) -> int:
        """Return the other body."""
        return self.bodies[1 - self.bodies.index(body)]


class Rod(NamedTuple):
    """Constant distance of a point on one body from a point on another."""

    bodies: tuple[int, int]
    points: tuple[np.ndarray, np.ndarray]
    length: float
    edges: frozenset[str]

    def gap(self, T: np.ndarray, body: int) -> float:
        """Return |p − p'|² − l² for the pose T of the other body in the axes of `body`."""
        p, other = self.points if self.bodies[0] == body else self.points[::-1]
        d = T[:3, :3] @ other + T[:3, 3] - p
        return float(d @ d - self.length**2)


@dataclass(frozen=True)
class Chain:
    """One or two joints between two bodies, each turning or sliding: T(x) = B₀ M₁(x₁) B₁ M₂(x₂) B₂."""

    bodies: tuple[int, int]
    between: tuple[np.ndarray, ...]
    axes: tuple[np.ndarray, ...]
    turns: tuple[bool, ...]
    edges: tuple[Edge, ...]
    forward: tuple[bool, ...]
    """True for edges that lead from their first link to their second"""
    first: Chain | None = None
    """the first of two joints, which leads to the body between them"""

    def motion(self, k: int, x: float) -> np.ndarray:
        """Return the motion of the k-th joint."""
        axis = self.axes[k]
        return transform(_about(axis, x)) if self.turns[k] else transform(None, x * axis)

    def pose(self, x: Sequence[float]) -> np.ndarray:
        """Return the pose of the last body in the axes of the first."""
        T = self.between[0]
        for k, value in enumerate(x):
            T = T @ self.motion(k, value) @ self.between[k + 1]
        return T

    def merged(self, state: Bodies, x: Sequence[float]) -> Bodies:
        """Return the state with all bodies of the chain in one."""
        if self.first is not None:
            state = state.merged(*self.first.bodies, self.first.pose(x[:1]))
        return state.merged(*self.bodies, self.pose(x))

    def values(self, x: Sequence[float]) -> dict[str, np.ndarray]:
        """Return the coordinates of joints of the tree."""
        values, k = {}, 0
        for edge, forward in zip(self.edges, self.forward, strict=True):
            count = 2 if edge.type is not None and edge.type.kind == "universal" else 1
            part = np.array(x[k : k + count]) if forward else -np.array(x[k : k + count])[::-1]
            if edge.is_joint:
                values[edge.name] = part
            k += count
        return values


class Bodies:
    """Links in bodies: the body of every link, and the link's pose on it."""

    def __init__(self, body: list[int], place: list[np.ndarray]) -> None:
        self.body, self.place = body, place

    def merged(self, A: int, C: int, T_A_C: np.ndarray) -> Bodies:
        """Return the state with body C fixed on body A."""
        body, place = list(self.body), list(self.place)
        for link, number in enumerate(body):
            if number == C:
                body[link], place[link] = A, T_A_C @ place[link]
        return Bodies(body, place)

    def ends(self, edge: Edge) -> tuple[int, int]:
        """Return the bodies that an edge connects."""
        return self.body[edge.links[0]], self.body[edge.links[1]]

    def frame(self, edge: Edge, side: int) -> np.ndarray:
        """Return the frame of an edge on one of its bodies."""
        return self.place[edge.links[side]] @ edge.T[side]


class States(NamedTuple):
    """All closed states for given joints.

    Attributes:
        q: (n, n_q).
        bound: largest possible number of states.
        is_doubtful: True if two states nearly meet, or a state nearly closes.
    """

    q: np.ndarray
    bound: int
    is_doubtful: bool


def all_states(
    robot: RobotFunctions,
    q: np.ndarray,
    unknown: frozenset[str],
    open_by: float = 0.0,
    goals: Sequence[Edge] = (),
) -> States:
    """Find all closed states with the known joints at their values in q (n_q,).

    Args:
        robot: a robot with loops.
        q: values of the known joints. The others are brought nearest to it where several coordinates are one pose.
        unknown: names of the other joints.
        open_by: largest mismatch of redundant rows that rounding of the file leaves, over the size of its loop.
        goals: edges that close further loops, such as a frame's on its target; states meet them nearly.

    Raises:
        Unsolved: the loops do not reduce to blocks of one or two joints.
    """
    mechanism = robot.mechanism
    if any(joint.mimic is not None and joint.mimic.joint in unknown for joint in mechanism.joints):
        raise Unsolved("joints that mimic others are among those to be found")
    size = float(scaled(mechanism).lengths.max())
    search = _Search(mechanism, q, unknown, size, max(FITS, 10.0 * open_by), goals)
    states, bound = search.run()
    candidates = np.array(states).reshape(-1, mechanism.n_q)
    polished, closes = _polished(robot, candidates, unknown, max(1e-9, 10.0 * open_by))
    return States(polished[closes], bound, search.is_doubtful or not bool(closes.all()))


def _polished(
    robot: RobotFunctions, q: np.ndarray, unknown: frozenset[str], tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return candidates (n, n_q) after Gauss–Newton steps of the unknown joints, and True for those that close."""
    if not len(q):
        return q, np.zeros(0, dtype=bool)
    mechanism = robot.mechanism
    scale, kernel = scaled(mechanism), closure_kernel(mechanism)
    slices = [mechanism.v_slices[name] for name in mechanism.joint_names if name in unknown]
    columns = np.concatenate([np.arange(mechanism.n_v)[at] for at in slices] or [np.zeros(0, dtype=int)])
    start = q
    for _ in range(4):
        value, J = kernel(np.ascontiguousarray(q))
        K = J[:, :, columns] / scale.lengths[:, None] * scale.columns[columns]
        change = np.zeros((len(q), mechanism.n_v))
        step = -(np.linalg.pinv(K, rcond=GAP) @ (value / scale.lengths)[..., None])[..., 0]
        change[:, columns] = step * scale.columns[columns]
        q = robot.integrate(q, change)
    off = abs(kernel(np.ascontiguousarray(q))[0] / scale.lengths).max(axis=1)
    moves = [mechanism.difference(*pair) for pair in zip(start, q, strict=True)]
    moved = abs(np.array(moves) / scale.columns).max(axis=1)
    return q, (off < tolerance) & (moved < 0.01)


class _Search:
    def __init__(
        self,
        mechanism: Mechanism,
        q: np.ndarray,
        unknown: frozenset[str],
        size: float,
        fits: float,
        goals: Sequence[Edge],
    ) -> None:
        self.mechanism, self.q, self.size, self.fits = mechanism, q, size, fits
        self.is_doubtful = False
        self.unknown = unknown
        self.edges = [_joint_edge(mechanism, i) for i in range(1, mechanism.n_links)]
        self.edges += [_loop_edge(mechanism, loop, q) for loop in mechanism.loops]
        self.edges += goals

    def run(self) -> tuple[list[np.ndarray], int]:
        """Return states and the largest possible number of them."""
        n = self.mechanism.n_links
        state = Bodies(list(range(n)), [np.eye(4)] * n)
        rest = []
        for edge in self.edges:
            motion = self._known_motion(edge)
            if motion is None:
                rest.append(edge)
            else:
                A, C = state.ends(edge)
                if A != C:  # a weld between links that are one body already is only checked
                    T = state.frame(edge, 0) @ motion @ inverse(state.frame(edge, 1))
                    state = state.merged(A, C, T)
        solutions, bound = self.solve(state, rest)
        states = []
        for values in solutions:
            q = self.q.copy()
            for name, value in values.items():
                q[self.mechanism.q_slices[name]] = value
            states.append(q)
        return states, bound

    def _known_motion(self, edge: Edge) -> np.ndarray | None:
        if edge.type is None:
            return None
        if edge.type.kind == "fixed":
            return np.eye(4)
        if not edge.is_joint or edge.name in self.unknown:
            return None
        joint = self.mechanism.joint(edge.name)
        leader = joint.name if joint.mimic is None else joint.mimic.joint
        value = self.q[self.mechanism.q_slices[leader]]
        if joint.mimic is not None:
            value = joint.mimic.multiplier * value + joint.mimic.offset
        return np.asarray(joint.type.motion(value), dtype=float)

    def solve(self, state: Bodies, edges: list[Edge]) -> tuple[list[dict[str, np.ndarray]], int]:
        """Return the values of the edges' joints in all closed states, and the largest possible number of them."""
        values: dict[str, np.ndarray] = {}
        live = []
        for edge in edges:
            A, C = state.ends(edge)
            if A != C:
                live.append(edge)
            elif edge.is_joint:
                value = self._coordinates(edge, inverse(state.frame(edge, 0)) @ state.frame(edge, 1))
                if value is None:
                    return [], 1
                values[edge.name] = value
            elif edge.type is not None and edge.type.kind != "fixed":
                off = state.frame(edge, 0)[:3, 3] - state.frame(edge, 1)[:3, 3]
                if not self._is_fit(float(np.linalg.norm(off))):
                    return [], 1
        if not live:
            return [values], 1
        groups = _components(state, live)
        if len(groups) > 1:
            parts = [self.solve(state, group) for group in groups]
            combined = [
                {name: value for part in choice for name, value in part.items()} | values
                for choice in product(*(solutions for solutions, _ in parts))
            ]
            return combined, int(np.prod([bound for _, bound in parts]))
        for chain, roots, most in self._blocks(state, live):
            solutions, bounds = [], []
            for x in roots:
                onward, bound = self.solve(chain.merged(state, x), live)
                bounds.append(bound)
                solved = values | chain.values(x)
                solutions += [solved | further for further in onward]
            return solutions, most * max(bounds, default=1)
        return self._spun(state, live, values)

    def _blocks(self, state: Bodies, live: list[Edge]) -> Iterator[tuple[Chain, list[tuple[float, ...]], int]]:
        """Yield a chain of joints, all its roots, and how many there can be, for every block, simple ones first."""
        links = _point_links(state, live, self.size)
        rods = _rods(links, self.size)
        chains = _chains(state, live)
        for count in (1, 2):
            for chain in chains:
                if len(chain.axes) != count:
                    continue
                ends, names = set(chain.bodies), {edge.name for edge in chain.edges}
                shared = [link for link in links if set(link.bodies) == ends and not link.edges & names]
                if shared:
                    roots = self._of_shared_points(chain, shared)
                    if roots is not None:
                        if self._is_rod(chain, state, live, shared):
                            roots = sorted(roots, key=lambda x: self._cost(chain.values(x)))[:1]
                            yield chain, roots, 1
                        else:
                            yield chain, roots, count
                usable = [rod for rod in rods if set(rod.bodies) == ends and not rod.edges & names]
                for chosen in combinations(usable, count):
                    if count == 2 and chosen[0].edges & chosen[1].edges:
                        continue
                    roots = self._one_rod(chain, chosen[0]) if count == 1 else self._two_rods(chain, chosen)
                    if roots is not None:
                        yield chain, roots, 2 if count == 1 else 8

    # --- roots of blocks

    def _of_shared_points(self, chain: Chain, links: list[PointLink]) -> list[tuple[float, ...]] | None:
        """Return all x at which the points on the last body are those on the first; None if x is not determined."""
        A, C = chain.bodies
        goals = np.array([link.on(A) for link in links])
        points = np.array([link.on(C) for link in links])
        if len(chain.axes) == 1:
            x = _onto(chain, 0, goals, points @ chain.between[1][:3, :3].T + chain.between[1][:3, 3], self.size)
            roots = None if x is None else [(x,)]
        else:
            roots = self._two_joints(chain, goals, points)
        if roots is None:
            return None
        T = [chain.pose(x) for x in roots]
        off = [np.linalg.norm(points @ t[:3, :3].T + t[:3, 3] - goals, axis=1).max() for t in T]
        return [x for x, distance in zip(roots, off, strict=True) if self._is_fit(float(distance))]

    def _two_joints(self, chain: Chain, goals: np.ndarray, points: np.ndarray) -> list[tuple[float, ...]] | None:
        """Return candidates of two joints that bring the first point to its goal: a point that two bodies share.

        The first joint does not move the component along its axis and the distance from it, or for a slide the
        components across it. One of these determines the second joint.
        """
        w = inverse(chain.between[0]) @ np.append(goals[0], 1.0)
        n = chain.axes[0]

        def moved(x: float) -> np.ndarray:
            T = chain.between[1] @ chain.motion(1, x) @ chain.between[2]
            return T[:3, :3] @ points[0] + T[:3, 3]

        def across(u: np.ndarray) -> np.ndarray:
            return u - n * (n @ u)

        L = self.size
        if chain.turns[0]:
            equations: list[Callable[[float], float]] = [
                lambda x: L * float(n @ (moved(x) - w[:3])),
                lambda x: float(across(moved(x)) @ across(moved(x)) - across(w[:3]) @ across(w[:3])),
            ]
        else:
            e = np.linalg.svd(n[None])[2][1:]
            equations = [lambda x, d=d: L * float(d @ (moved(x) - w[:3])) for d in e]
        best = max(equations, key=lambda f: _amplitude(f, chain.turns[1], L))
        seconds = self._roots(best, chain.turns[1])
        if seconds is None:
            return None
        roots = []
        for x in seconds:
            T = chain.between[1] @ chain.motion(1, x) @ chain.between[2]
            first = _onto(chain, 0, goals, points @ T[:3, :3].T + T[:3, 3], L)
            if first is None:
                return None
            roots.append((first, x))
        return roots

    def _one_rod(self, chain: Chain, rod: Rod) -> list[tuple[float, ...]] | None:
        A, _ = chain.bodies
        roots = self._roots(lambda x: rod.gap(chain.pose((x,)), A), chain.turns[0])
        return None if roots is None else [(x,) for x in roots]

    def _roots(self, f: Callable[[float], float], turns: bool) -> list[float] | None:
        """Return the roots of a cos x + b sin x + c, or of a quadratic function of a slide; None if constant."""
        L2 = self.size**2
        if not turns:
            low, middle, high = (f(x) for x in (-self.size, 0.0, self.size))
            a, b, c = (low + high) / 2 - middle, (high - low) / 2, middle
            if max(abs(a), abs(b)) < FLAT * L2:
                return None
            if abs(a) < FLAT * abs(b):
                return [-c / b * self.size]
            half = b * b - 4 * a * c
            scale = b * b + abs(4 * a * c)
            self.is_doubtful |= abs(half) < NEARLY**2 * scale
            if half < -1e-12 * scale:
                return []
            root = np.sqrt(max(half, 0.0))
            return [self.size * (-b + sign * root) / (2 * a) for sign in (1.0, -1.0)]
        values = np.array([f(x) for x in TURN * np.arange(3) / 3])
        c = values.mean()
        a, b = (2 / 3 * values @ g(TURN * np.arange(3) / 3) for g in (np.cos, np.sin))
        r = np.hypot(a, b)
        if r < FLAT * L2:
            return None
        share = -c / r
        self.is_doubtful |= abs(abs(share) - 1.0) < NEARLY**2
        if abs(share) > 1.0 + 1e-12:
            return []
        middle, half = np.arctan2(b, a), np.arccos(np.clip(share, -1.0, 1.0))
        return [middle + half, middle - half]

    def _two_rods(self, chain: Chain, rods: tuple[Rod, ...]) -> list[tuple[float, ...]] | None:
        """Return all roots of two distances for two hinges, by a trigonometric polynomial of degree four.

        Both distances are linear in (1, cos, sin) of either angle. For a value of the second angle they are two
        lines in the plane of (cos, sin) of the first, whose intersection must be on the unit circle.
        """
        if not all(chain.turns):
            return None
        A, _ = chain.bodies
        grid = TURN * np.arange(3) / 3
        samples = np.array([[[rod.gap(chain.pose((s, t)), A) for rod in rods] for t in grid] for s in grid])
        basis = np.linalg.inv(np.stack([np.ones(3), np.cos(grid), np.sin(grid)], axis=1))
        C = np.einsum("as,bt,stk->kab", basis, basis, samples) / self.size**2
        if (abs(C).max(axis=(1, 2)) < FLAT).any() or abs(C[:, 1:]).max() < FLAT:
            return None

        def lines(t: np.ndarray) -> np.ndarray:
            return C @ np.stack([np.ones_like(t), np.cos(t), np.sin(t)])  # (2, 3, …): c + a cos + b sin

        def cross(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            (c1, a1, b1), (c2, a2, b2) = lines(t)
            return a1 * b2 - a2 * b1, b1 * c2 - b2 * c1, c1 * a2 - c2 * a1

        d, x, y = cross(TURN * np.arange(9) / 9)
        scale = float((d * d + x * x + y * y).max())
        angles = self._circle_roots(x * x + y * y - d * d, 4, scale)
        if angles is None:
            return None
        roots = []
        for t in angles:
            d, x, y = (float(v) for v in cross(np.array(t)))
            if abs(d) > 1e-5 * np.sqrt(scale):
                roots.append((float(np.arctan2(y / d, x / d)), t))
                continue
            # Both lines are one: any point of it on the circle is a root.
            c, a, b = max(lines(np.array(t)), key=lambda line: np.hypot(line[1], line[2]))
            r = np.hypot(a, b)
            if r < FLAT:
                return None
            if abs(c) <= r * (1.0 + 1e-6):
                middle, half = np.arctan2(b, a), np.arccos(np.clip(-c / r, -1.0, 1.0))
                roots += [(float(middle + half), t), (float(middle - half), t)]
        return roots

    def _circle_roots(self, values: np.ndarray, degree: int, scale: float) -> list[float] | None:
        """Return the real roots of a trigonometric polynomial from values at equidistant angles; None if zero."""
        c = np.fft.fft(values) / len(values)
        coefficients = np.array([c[k] for k in range(degree, -degree - 1, -1)])
        if abs(coefficients).max() < 1e-12 * scale:
            return None
        while len(coefficients) > 2 and abs(coefficients[0]) < 1e-12 * abs(coefficients).max():
            coefficients = coefficients[1:-1]
        z = np.roots(coefficients)
        size = abs(z)
        off = abs(np.log(np.where(size > 0, size, 1e-300)))
        # A pair of complex roots just off the circle is a pair of states that nearly met, or one double root.
        self.is_doubtful |= bool(((off > 1e-9) & (off < NEARLY)).any())
        return [float(angle) for angle in np.angle(z[off < NEARLY])]

    def _is_rod(self, chain: Chain, state: Bodies, live: list[Edge], shared: list[PointLink]) -> bool:
        """Return True if roots are coordinates of one pose of a rod: it hangs on by points at both ends.

        The two axes meet in one of these points, and nothing but a link without mass is between them.
        """
        if len(chain.axes) != 2 or not all(chain.turns):
            return False
        if chain.first is not None:
            middle = [link for link, body in enumerate(state.body) if body == chain.first.bodies[1]]
            second = chain.between[1][:3, 3], chain.between[1][:3, :3] @ chain.axes[1]
            has_mass = any(self.mechanism.links[link].inertia[0] > 0 for link in middle)
            if has_mass or _meeting((np.zeros(3), chain.axes[0]), second, self.size) is None:
                return False
        names = {edge.name for edge in chain.edges} | set().union(*(link.edges for link in shared))
        around = [[edge for edge in live if end in state.ends(edge)] for end in chain.bodies]
        hangs = any(edge.type is not None and edge.type.kind == "spherical" for edges in around for edge in edges)
        return hangs and any({edge.name for edge in edges} <= names for edges in around)

    def _cost(self, values: dict[str, np.ndarray]) -> tuple[float, float]:
        """Return by how much limits are exceeded, and the distance from q."""
        excess = distance = 0.0
        for name, value in values.items():
            limits, near = self.mechanism.joint(name).limits, self._near(name, value)
            excess += float(np.maximum(0.0, np.maximum(limits.lower - near, near - limits.upper)).sum())
            distance += float(abs(near - self.q[self.mechanism.q_slices[name]]).sum())
        return round(excess, 9), distance

    def _near(self, name: str, value: np.ndarray) -> np.ndarray:
        """Return angles moved by whole turns, nearest to those of q."""
        kind = self.mechanism.joint(name).type
        if kind.n_q != kind.n_v:
            return value
        turns = np.array([unit == "rad" for unit in kind.units]) & (kind.kind not in ("helical", "planar"))
        reference = self.q[self.mechanism.q_slices[name]]
        return value + TURN * np.round((reference - value) / TURN) * turns

    def _spun(
        self, state: Bodies, live: list[Edge], values: dict[str, np.ndarray]
    ) -> tuple[list[dict[str, np.ndarray]], int]:
        """Place rods that spin between two balls, as near to q as they can be; raise an error for anything else."""
        for edge in live:
            if not (edge.is_joint and edge.type is not None and edge.type.kind == "spherical"):
                continue
            A, C = state.ends(edge)
            links = _point_links(state, live, self.size)
            for link in links:
                used = link.edges | {edge.name}
                around = [{e.name for e in live if body in state.ends(e)} for body in (A, C)]
                if set(link.bodies) != {A, C} or edge.name in link.edges or not any(a <= used for a in around):
                    continue
                before, after = state.frame(edge, 0), inverse(state.frame(edge, 1))
                goal = (inverse(before) @ np.append(link.on(A), 1.0))[:3]
                point = (after @ np.append(link.on(C), 1.0))[:3]
                if not self._is_fit(abs(float(np.linalg.norm(goal) - np.linalg.norm(point)))):
                    return [], 1
                near = edge.type.motion(self.q[self.mechanism.q_slices[edge.name]])[:3, :3]
                R = _least_turn(near @ point, goal) @ near
                onward, bound = self.solve(state.merged(A, C, before @ transform(R) @ after), live)
                solved = values | {edge.name: to_quaternion(R)}
                return [solved | further for further in onward], bound
        names = sorted({edge.name for edge in live if edge.is_joint})
        raise Unsolved(f"{', '.join(names[:8])}{' …' * (len(names) > 8)} form no block of one or two joints")

    def _is_fit(self, off: float) -> bool:
        """Return True if a mismatch, m, is zero; one that nearly is makes the answer doubtful."""
        share = off / self.size
        self.is_doubtful |= self.fits < share < 10.0 * self.fits
        return share <= self.fits

    def _coordinates(self, edge: Edge, T: np.ndarray) -> np.ndarray | None:
        """Return the coordinates of a joint for the pose T of its moved frame; None if it does not allow T."""
        kind = edge.type
        assert kind is not None
        value = coordinates_of(kind, T)
        near = self._near(edge.name, value)
        off = abs(np.asarray(kind.motion(near), dtype=float) - T)
        fits = self._is_fit(self.size * float(off[:3, :3].max())) and self._is_fit(float(off[:3, 3].max()))
        return near if fits else None


def coordinates_of(kind: JointType, T: np.ndarray) -> np.ndarray:
    """Return the coordinates of a joint type whose motion comes nearest to T."""
    R, p = T[:3, :3], T[:3, 3]
    parameters = kind.parameters()
    if kind.kind in (*HINGES, "prismatic", "helical"):
        axis = np.asarray(parameters["axis"])
        if kind.kind == "prismatic":
            return np.array([axis @ p])
        angle = _angle(R, axis)
        if kind.kind == "helical" and abs(float(parameters["pitch"])) > 1e-9:
            angle += TURN * np.round((axis @ p / float(parameters["pitch"]) - angle) / TURN)
        return np.array([angle])
    if kind.kind == "universal":
        first, second = np.asarray(parameters["first"]), np.asarray(parameters["second"])
        turned = R @ second
        u, w = second - first * (first @ second), turned - first * (first @ turned)
        a = float(np.arctan2(first @ np.cross(u, w), u @ w))
        return np.array([a, _angle(_about(first, a).T @ R, second)])
    if kind.kind == "spherical":
        return to_quaternion(R)
    if kind.kind == "free":
        return np.concatenate([p, to_quaternion(R)])
    if kind.kind == "planar":
        normal = np.asarray(parameters["normal"])
        x, y = (
            np.asarray(kind.motion(np.array([1.0, 0, 0])))[:3, 3],
            np.asarray(kind.motion(np.array([0, 1.0, 0])))[:3, 3],
        )
        return np.array([x @ p, y @ p, _angle(R, normal)])
    return np.zeros(kind.n_q)


# --- edges


def _joint_edge(mechanism: Mechanism, i: int) -> Edge:
    joint = mechanism.joints[i - 1]
    ends = mechanism.link_number(joint.parent), i
    return Edge(joint.name, ends, (joint.T_parent_joint, inverse(joint.T_joint_child)), joint.type, True)


def _loop_edge(mechanism: Mechanism, loop: Loop, q: np.ndarray) -> Edge:
    """Return a loop as a joint from `other` to `frame`; a loop in a plane is a hinge across it."""
    frames = [mechanism.frame(name) for name in (loop.other, loop.frame)]
    links = mechanism.link_number(frames[0].link), mechanism.link_number(frames[1].link)
    T = [frame.T_link_frame for frame in frames]
    kinds = {
        CLOSING_JOINTS["point"]: Spherical(),
        CLOSING_JOINTS["hinge"]: Revolute(),
        CLOSING_JOINTS["weld"]: Fixed(),
    }
    kind = kinds.get(tuple(loop.locked))
    if kind is None and len([name for name in loop.locked if len(name) == 1]) == 2:
        kind, T = _plane_hinge(mechanism, loop, links, T, q)
    return Edge(loop.label, links, (T[0], T[1]), kind, False)


def _plane_hinge(mechanism, loop, links, T, q):
    """Return a hinge and its frames if every joint of the loop moves in one plane, across the free direction."""
    (free,) = {"x", "y", "z"} - set(loop.locked)
    poses = _neutral_poses(mechanism)
    normal = (poses[links[0]] @ T[0])[:3, "xyz".index(free)]
    paths = [{*mechanism.tree.ancestors(link), link} for link in links]
    for i in paths[0] ^ paths[1]:
        joint = mechanism.joints[i - 1]
        if joint.type.kind == "fixed":
            continue
        if joint.type.kind not in (*HINGES, "prismatic"):
            return None, T
        axis = poses[i][:3, :3] @ joint.T_joint_child[:3, :3].T @ np.asarray(joint.type.parameters()["axis"])
        off = abs(normal @ axis) if joint.type.kind == "prismatic" else np.linalg.norm(np.cross(normal, axis))
        if off > GAP:
            return None, T
    # The plane keeps the height of one end over the other, and the direction of the normal, on both links.
    ends = [poses[link] @ t for link, t in zip(links, T, strict=True)]
    height = normal @ (ends[1][:3, 3] - ends[0][:3, 3])
    local = [poses[link][:3, :3].T @ normal for link in links]
    R = [_least_turn(np.array([0.0, 0.0, 1.0]), axis) for axis in local]
    shifted = [T[0][:3, 3] + height * local[0], T[1][:3, 3]]
    return Revolute(), [transform(turn, p) for turn, p in zip(R, shifted, strict=True)]


def _neutral_poses(mechanism: Mechanism) -> list[np.ndarray]:
    """Return the poses of all links at the neutral configuration."""
    poses = [np.eye(4)]
    for i in range(1, mechanism.n_links):
        joint = mechanism.joints[i - 1]
        motion = np.asarray(joint.transform(joint.type.neutral()), dtype=float)
        poses.append(poses[mechanism.link_number(joint.parent)] @ motion)
    return poses


# --- blocks


def _components(state: Bodies, live: list[Edge]) -> list[list[Edge]]:
    """Split edges into parts that only the body of the base connects: they do not depend on one another."""
    base = state.body[0]
    label = {body: body for edge in live for body in state.ends(edge)}

    def root(body: int) -> int:
        while label[body] != body:
            body = label[body]
        return body

    for edge in live:
        A, C = state.ends(edge)
        if base not in (A, C):
            label[root(A)] = root(C)
    groups: dict[int, list[Edge]] = {}
    for edge in live:
        A, C = state.ends(edge)
        groups.setdefault(root(C if base == A else A), []).append(edge)
    return list(groups.values())


def _lines(state: Bodies, edge: Edge, body: int) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return a point and the axis of a joint on one of its bodies; a ball has no axis. None if no point is kept."""
    if edge.type is None:
        return None
    T = state.frame(edge, state.ends(edge).index(body))
    if edge.type.kind in HINGES:
        return T[:3, 3], T[:3, :3] @ np.asarray(edge.type.parameters()["axis"])
    return (T[:3, 3], None) if edge.type.kind in ("universal", "spherical") else None


def _point_links(state: Bodies, live: list[Edge], size: float) -> list[PointLink]:
    """Return the points that joints, or chains of joints whose axes meet in one point, fix on two bodies."""
    links, pairs = [], []
    around: dict[int, list[Edge]] = {}
    for edge in live:
        A, C = state.ends(edge)
        around.setdefault(A, []).append(edge)
        around.setdefault(C, []).append(edge)
        on = _lines(state, edge, A), _lines(state, edge, C)
        if on[0] is None or on[1] is None:
            continue
        links.append(PointLink((A, C), (on[0][0], on[1][0]), frozenset([edge.name])))
        if on[0][1] is not None and on[1][1] is not None:  # a hinge fixes its whole axis
            points = on[0][0] + size * on[0][1], on[1][0] + size * on[1][1]
            links.append(PointLink((A, C), points, frozenset([edge.name])))
    for body, edges in around.items():
        if len(edges) != 2:
            continue
        first, second = edges
        ends = [_other(state, edge, body) for edge in edges]
        if ends[0] == ends[1] or None in (_lines(state, first, body), _lines(state, second, body)):
            continue
        point = _meeting(_lines(state, first, body), _lines(state, second, body), size)
        if point is not None:
            pairs.append((body, edges, ends, point))
            points = [_carried(state, edge, body, end, point) for edge, end in zip(edges, ends, strict=True)]
            link = PointLink((ends[0], ends[1]), (points[0], points[1]), frozenset(e.name for e in edges))
            links.append(link)
    for (body, edges, _, point), (other, more, _, point2) in combinations(pairs, 2):
        middle = [edge for edge in edges if edge in more]
        if len(middle) != 1 or set(state.ends(middle[0])) != {body, other}:
            continue
        if np.linalg.norm(_carried(state, middle[0], body, other, point) - point2) > NEAR * size:
            continue
        outer = [(body, e, point) for e in edges if e is not middle[0]] + [
            (other, e, point2) for e in more if e is not middle[0]
        ]
        ends = [_other(state, e, b) for b, e, _ in outer]
        if len(outer) == 2 and ends[0] != ends[1]:
            points = [_carried(state, e, b, end, p) for (b, e, p), end in zip(outer, ends, strict=True)]
            names = frozenset(e.name for e in (*edges, *more))
            links.append(PointLink((ends[0], ends[1]), (points[0], points[1]), names))
    return links


def _other(state: Bodies, edge: Edge, body: int) -> int:
    A, C = state.ends(edge)
    return C if body == A else A


def _carried(state: Bodies, edge: Edge, body: int, end: int, point: np.ndarray) -> np.ndarray:
    """Return a point of a joint's axis, given on one of its bodies, on the other one."""
    ends = state.ends(edge)
    T = state.frame(edge, ends.index(end)) @ inverse(state.frame(edge, ends.index(body)))
    return T[:3, :3] @ point + T[:3, 3]


def _meeting(line, other, size: float) -> np.ndarray | None:
    """Return the point where two lines, or a line and a point, meet."""
    (p, u), (r, w) = line, other
    if u is None and w is None:
        return p if np.linalg.norm(p - r) < NEAR * size else None
    if u is None or w is None:
        ball, (o, d) = (p, other) if u is None else (r, line)
        off = ball - o - d * (d @ (ball - o))
        return ball if np.linalg.norm(off) < NEAR * size else None
    if np.linalg.norm(np.cross(u, w)) < 1e-6:
        return None
    s = np.linalg.lstsq(np.column_stack([u, -w]), r - p, rcond=None)[0]
    a, b = p + s[0] * u, r + s[1] * w
    return a if np.linalg.norm(a - b) < NEAR * size else None


def _rods(links: list[PointLink], size: float) -> list[Rod]:
    """Return the distances that every body keeps between points on two others."""
    rods, seen = [], set()
    for first, second in combinations(links, 2):
        for body in set(first.bodies) & set(second.bodies):
            A, C = first.beyond(body), second.beyond(body)
            length = float(np.linalg.norm(first.on(body) - second.on(body)))
            key = body, first.edges | second.edges
            if A == C or first.edges & second.edges or length < 1e-6 * size or key in seen:
                continue
            seen.add(key)  # one point of every axis
            rods.append(Rod((A, C), (first.on(A), second.on(C)), length, first.edges | second.edges))
    return rods


def _chains(state: Bodies, live: list[Edge]) -> list[Chain]:
    """Return chains of one or two joints that turn or slide."""
    singles = []
    for edge in live:
        if edge.type is None:
            continue
        if edge.type.kind in (*HINGES, "prismatic", "universal"):
            singles += [_single(state, edge, True), _single(state, edge, False)]
    chains = [chain for chain in singles if chain.forward[0]]
    for first, second in combinations(singles, 2):
        if len(first.axes) == len(second.axes) == 1 and first.bodies[1] == second.bodies[0]:
            if first.bodies[0] == second.bodies[1]:
                continue
            between = (first.between[0], first.between[1] @ second.between[0], second.between[1])
            chains.append(
                Chain(
                    (first.bodies[0], second.bodies[1]),
                    between,
                    first.axes + second.axes,
                    first.turns + second.turns,
                    first.edges + second.edges,
                    first.forward + second.forward,
                    first,
                )
            )
    return chains


def _single(state: Bodies, edge: Edge, forward: bool) -> Chain:
    A, C = state.ends(edge)
    before, after = state.frame(edge, 0), inverse(state.frame(edge, 1))
    assert edge.type is not None
    parameters = edge.type.parameters()
    names = ("first", "second") if edge.type.kind == "universal" else ("axis",)
    axes = tuple(np.asarray(parameters[name], dtype=float) for name in names)
    turns = (edge.type.kind != "prismatic",) * len(axes)
    if not forward:
        before, after, axes, A, C = inverse(after), inverse(before), axes[::-1], C, A
    between = (before, *[np.eye(4)] * (len(axes) - 1), after)
    return Chain((A, C), between, axes, turns, (edge,), (forward,))


# --- geometry


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def _angle(R: np.ndarray, axis: np.ndarray) -> float:
    """Return the angle of the rotation about an axis that is nearest to R."""
    twist = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(axis @ twist, np.trace(R) - axis @ R @ axis))


def _least_turn(u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the rotation by the least angle that turns the direction of u to that of w."""
    u, w = u / np.linalg.norm(u), w / np.linalg.norm(w)
    axis = np.cross(u, w)
    size = np.linalg.norm(axis)
    if size < 1e-12:
        if u @ w > 0:
            return np.eye(3)
        axis = np.linalg.svd(u[None])[2][1]
        return _about(axis, np.pi)
    return _about(axis / size, float(np.arctan2(size, u @ w)))


def _onto(chain: Chain, k: int, goals: np.ndarray, points: np.ndarray, size: float) -> float | None:
    """Return the coordinate of joint k that brings points (s, 3) behind it nearest to goals (s, 3) before it."""
    T, n = inverse(chain.between[0]), chain.axes[k]
    goals = goals @ T[:3, :3].T + T[:3, 3]
    if not chain.turns[k]:
        return float((goals - points).mean(axis=0) @ n)
    u, w = points - np.outer(points @ n, n), goals - np.outer(goals @ n, n)
    sine, cosine = float((np.cross(u, w) @ n).sum()), float((u * w).sum())
    return None if np.hypot(sine, cosine) < FLAT * size**2 else float(np.arctan2(sine, cosine))


def _amplitude(f: Callable[[float], float], turns: bool, size: float) -> float:
    x = TURN * np.arange(3) / 3 if turns else size * np.array([-1.0, 0.0, 1.0])
    return float(np.ptp([f(value) for value in x]))
