"""Sampled nodes: joints that share coordinates, and closed loops.

The recursion is that of `_closure`, except that rows are values at generic states instead of derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.constraints import Kinematics, Rows, closing, stacked
from ..errors import ModelError, ZvenoError
from ..mechanism import Loop, Mechanism
from ..mechanism.loops import checked_loops
from ..spatial.transforms import adjoint, inverse
from ._arithmetic import Arithmetic, Matrix, Pose
from ._closure import States
from ._floating import twist_matrix
from ._nodes import Node
from .drives import Motors

CLOSED = 1e-12
"""Maximum closure residual of a closed state, m or rad."""
STEP, STEPS = 0.15, 3
"""Length of a step along the branch, and number of steps between two states."""
WANDER = 0.2
"""Random part of the direction of every further step."""
SINGULAR = 0.02
"""Minimum ratio of the smallest to the largest singular value of the closure during the walk."""


def loops_of(mechanism: Mechanism, loops: Sequence[Loop] | None) -> tuple[Loop, ...]:
    """Check the given loops against the mechanism, or return its own if none are given."""
    if loops is None:
        return mechanism.loops
    return checked_loops(loops, {name: mechanism.frame(name).link for name in mechanism.frame_names})


def closure(mechanism: Mechanism, loops: Sequence[Loop], q: np.ndarray) -> Rows:
    """Closure residual φ(q) in m and rad, and its Jacobian ∂φ/∂v, which is exact for closed loops."""
    state = Kinematics(mechanism, q, np.zeros(mechanism.n_v))
    parts = [
        closing(state.frame(loop.frame), state.frame(loop.other), loop.locked, mechanism.n_v) for loop in loops
    ]
    return stacked(parts, mechanism.n_v)


def closed_states(
    mechanism: Mechanism,
    loops: Sequence[Loop],
    q0: np.ndarray | None,
    count: int,
    rng: np.random.Generator,
    movable: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Sample states that close the loops on the branch of q0, and bases of their free velocities.

    The first state is q0, closed by Newton's method. The others follow from a random walk along the branch in short
    steps, each closed again. Only the velocities in the mask `movable` (n_v,) move.

    Returns:
        q (count, n_q) and G (count, n_v, m) with v = G u̇.
    """
    walk = _Walk(mechanism, loops, np.asarray(movable))
    q = walk.closed(q0)
    if q is None:
        raise ModelError(
            "the loops cannot be closed near the given state",
            remedy="Give q0=, a state on the intended branch",
        )
    G, rank, margin = walk.free_velocities(q)
    if not G.shape[1]:  # bodies that are rigidly joined: there is one state
        return np.repeat(q[None], count, axis=0), np.repeat(G[None], count, axis=0)
    states, bases = [q], [G]
    direction = rng.normal(size=mechanism.n_v)
    tries = 0
    while len(states) < count:
        for _ in range(STEPS):
            while (onward := walk.step(q, G, direction, rank, margin)) is None:
                direction = rng.normal(size=mechanism.n_v)  # the branch ends in this direction
                tries += 1
                if tries > 100 * count:
                    raise ZvenoError("the branch of the loops could not be followed", remedy="Give another q0=")
            # The walk goes on in its direction: along a fixed one it would stop where the branch is across it.
            move = G @ (G.T @ direction)
            direction = move / np.linalg.norm(move) + WANDER * rng.normal(size=mechanism.n_v)
            q, G, margin = onward
        states.append(q)
        bases.append(G)
    return np.array(states), np.array(bases)


class _Walk:
    """Walk along the closure of some loops that moves only some of the velocities."""

    def __init__(self, mechanism: Mechanism, loops: Sequence[Loop], movable: np.ndarray):
        self.mechanism, self.loops, self.movable = mechanism, loops, movable

    def step(self, q, G, direction, rank: int, margin: float):
        """Take a short step along the branch; return the state, its free velocities and its margin, or None.

        Branches meet where the closure loses rank, so the walk turns back before that.
        """
        move = G @ (G.T @ direction)
        size = np.linalg.norm(move)
        if size < 1e-3:
            return None
        onward = self.closed(self.mechanism.integrate(q, STEP * move / size))
        if onward is None or np.linalg.norm(self.mechanism.difference(q, onward)) > 2 * STEP:
            return None
        G, new_rank, new_margin = self.free_velocities(onward)
        return (onward, G, new_margin) if new_rank == rank and new_margin >= min(SINGULAR, margin) else None

    def closed(self, q) -> np.ndarray | None:
        """Close the loops by Newton's method from q; return None if it does not converge."""
        for _ in range(20):
            rows = closure(self.mechanism, self.loops, q)
            if abs(rows.value).max() < CLOSED:
                return q
            change = np.zeros(self.mechanism.n_v)
            change[self.movable] = np.linalg.lstsq(rows.J[:, self.movable], rows.value, rcond=1e-9)[0]
            q = self.mechanism.integrate(q, -change)
        return q if abs(closure(self.mechanism, self.loops, q).value).max() < 100 * CLOSED else None

    def free_velocities(self, q) -> tuple[np.ndarray, int, float]:
        """Basis (n_v, m) of the velocities that keep the loops closed; rank and margin of the closure."""
        _, s, Vt = np.linalg.svd(closure(self.mechanism, self.loops, q).J[:, self.movable])
        rank = int((s > 1e-7 * s[0]).sum()) if s.size and s[0] > 0 else 0
        G = np.zeros((self.mechanism.n_v, len(Vt) - rank))
        G[self.movable] = Vt[rank:].T
        return G, rank, float(s[rank - 1] / s[0]) if rank else 1.0


class Sample(NamedTuple):
    """Poses of a node's bodies in its parent's frame at one state, and their derivatives by coordinate."""

    T: Sequence[Pose]
    dT: Sequence[Sequence[Pose]]
    """Derivatives of the poses, indexed [coordinate][body]."""
    rates: np.ndarray | None = None
    """Driven velocities per independent velocity, (n_e, m); None without drives."""


def advance_sampled(
    K: Arithmetic, states: States, samples: Sequence[Sample], motors: Motors | None
) -> tuple[list[States], Matrix]:
    """Compute the states of every body of a node, and its block (rows, 10 n + drive columns)."""
    node = _SampledNode(K, states, motors)
    first = [node.square(T) for T in samples[0].T]
    blocks, bodies = [node.empty(len(first))], [([], [], [], []) for _ in first]
    for sample in samples:
        squares = [node.square(T) for T in sample.T]
        rows = [node.wide([square - start for square, start in zip(squares, first, strict=True)])]
        for x, slopes in enumerate(sample.dT):
            rates = [node.rate(T, d) for T, d in zip(sample.T, slopes, strict=True)]
            rows += [node.wide(rates, node.pairs(sample, x)), node.weight(sample, x)]
            for y in range(x, len(sample.dT)):
                both = [node.both(d, e) for d, e in zip(slopes, sample.dT[y], strict=True)]
                rows.append(node.wide(both, node.squares(sample, x, y)))
                _append(bodies, 0, both)
            _append(bodies, 0, rates)
            _append(bodies, 1, [node.moving(d, T, sample, x) for T, d in zip(sample.T, slopes, strict=True)])
        _append(bodies, 0, squares)
        for kind in (1, 2, 3):
            _append(bodies, kind, [node.carried(kind, T) for T in sample.T])
        blocks += [part for part in rows if len(part)]
    advanced = [States(*(K.state(kind, *rows) for kind, rows in enumerate(spaces))) for spaces in bodies]
    return advanced, K.averaged(blocks, len(samples))


def _append(bodies: Sequence[tuple[list, ...]], kind: int, rows: Sequence[Matrix]):
    for spaces, part in zip(bodies, rows, strict=True):
        spaces[kind].append(part)


class _SampledNode:
    """States of the parent of a node, and the rows that they give at one sample."""

    def __init__(self, K: Arithmetic, states: States, motors: Motors | None):
        self.K, self.motors, self.states = K, motors, states
        self.c = states.c @ K.double
        self.b, self.a, self.p = states.b[:, :16], states.a[:, :10] @ K.double, states.p[:, :4]
        self.n_drive = 0 if motors is None else motors.n_columns

    def square(self, T: Pose) -> Matrix:
        """Rows of TᵀcT."""
        return self.c @ self.K.kron(T, T) @ self.K.symmetric

    def rate(self, T: Pose, d: Pose) -> Matrix:
        """Rows of TᵀbT,x."""
        return self.b @ self.K.kron(T, d) @ self.K.symmetric

    def both(self, d: Pose, e: Pose) -> Matrix:
        """Rows of T,xᵀaT,y."""
        return self.a @ self.K.kron(d, e) @ self.K.symmetric

    def moving(self, d: Pose, T: Pose, sample: Sample, x: int) -> Matrix:
        """Rows of T,xᵀaT, with the constant part of a at the coordinates that velocity x moves."""
        rows = self.a @ self.K.kron(d, T)
        if self.motors is None or sample.rates is None:
            return rows
        constant = self.states.a[:, 10:] @ self.K.matrix(sample.rates[:, x][None], len(self.motors.place))
        return self.K.beside(rows, constant)

    def carried(self, kind: int, T: Pose) -> Matrix:
        """State b, a or p moved with the body."""
        K, rows = self.K, self.states[kind]
        width = (10, 16, 10, 4)[kind]
        if kind == 3:
            carried = self.p @ K.four(T)
        else:
            carried = self.b @ K.kron(T, T) if kind == 1 else self.a @ K.kron(T, T) @ K.symmetric
        return carried if rows.shape[1] == width else K.beside(carried, rows[:, width:])

    def wide(self, bodies: Sequence[Matrix], drive: Matrix | None = None) -> Matrix:
        """Assemble rows over the parameters of all bodies and the drives."""
        K = self.K
        parts = [part @ K.weights for part in bodies]
        if self.n_drive:
            rest = K.matrix([[0] * self.n_drive] * len(parts[0]), self.n_drive) if drive is None else drive
            parts.append(rest)
        return K.beside(*parts)

    def weight(self, sample: Sample, x: int) -> Matrix:
        """Rows of gravity torques p T,x, with those of the offsets."""
        K = self.K
        parts = [self.p @ K.four(d) @ K.moments for d in sample.dT[x]]
        if self.motors is not None and sample.rates is not None:
            columns = np.zeros((1, self.n_drive))
            if self.motors.offsets:
                columns[0, len(self.motors.forms) :] = -sample.rates[:, x] * self.motors.offset_scale
            parts.append(self.states.p[:, 4:] @ K.matrix(columns, self.n_drive))
        return K.beside(*parts)

    def pairs(self, sample: Sample, x: int) -> Matrix | None:
        """Contribution of motors to the rows TᵀbT,x."""
        if self.motors is None or sample.rates is None:
            return None
        return self.states.b[:, 16:] @ self._columns((self.motors.forms @ sample.rates[:, x]).T)

    def squares(self, sample: Sample, x: int, y: int) -> Matrix | None:
        """Contribution of motors to the rows T,xᵀaT,y."""
        if self.motors is None or sample.rates is None:
            return None
        forms = sample.rates[:, x] @ self.motors.forms @ sample.rates[:, y]
        return self.states.a[:, 10:] @ self._columns(forms[None])

    def _columns(self, rotors: np.ndarray) -> Matrix:
        return self.K.matrix(np.pad(rotors, ((0, 0), (0, self.n_drive - rotors.shape[1]))), self.n_drive)

    def empty(self, bodies: int) -> Matrix:
        """Block without rows."""
        return self.K.matrix([], 10 * bodies + self.n_drive)


REACH = 4.0
"""Half-width of the sampling range, rad or m: enough to distinguish cos q from cos 1.1 q."""


class Samples(NamedTuple):
    """Poses of a node's bodies in its parent's frame and their derivatives at S states, the first the reference."""

    T: np.ndarray
    """Poses, (S, n, 4, 4)."""
    dT: np.ndarray
    """Derivatives along each of m independent velocities, (S, m, n, 4, 4)."""
    velocities: np.ndarray
    """Matrices that map the independent velocities to all velocities, (S, n_v, m)."""
    q: np.ndarray
    """Reference state, (n_q,)."""
    closed: bool
    """True if loops constrain the velocities, so that the independent ones are combinations of them."""

    def scaled(self, length: float, lengths: np.ndarray) -> Samples:
        """Convert the samples to another unit of length; `lengths` (n_v,) marks coordinates that are lengths."""
        T, dT = self.T.copy(), self.dT.copy()
        T[..., :3, 3] /= length
        dT[..., :3, 3] /= length
        unit = np.where(lengths, length, 1.0)
        # Velocities are in the new unit as well, and so are the independent ones if they are coordinates.
        factors = np.ones(dT.shape[1]) if self.closed else unit @ abs(self.velocities[0])
        velocities = self.velocities * factors / unit[:, None]
        return Samples(T, dT * factors[:, None, None, None], velocities, self.q, self.closed)


def node_samples(
    mechanism: Mechanism, node: Node, loops: Sequence[Loop], q0: np.ndarray | None, rng: np.random.Generator
) -> Samples:
    """Sample enough generic states of a node to span the spaces of functions of its bodies.

    Each generic state adds at least one dimension until the space is full, so the row length is a sufficient
    number.
    """
    count = 10 * len(node.bodies) + 20
    inside = [loop for loop in loops if _inside(mechanism, node, loop)]
    movable = np.zeros(mechanism.n_v, dtype=bool)
    for body in node.bodies:
        movable[mechanism.v_slices[mechanism.joints[body - 1].name]] = True
    start = mechanism.neutral() if q0 is None else np.array(mechanism.checked_q(q0, "q0"), dtype=float)
    if inside:
        q, G = closed_states(mechanism, inside, start, count, rng, movable)
    else:
        moved = rng.uniform(-REACH, REACH, (count, mechanism.n_v)) * movable
        moved[0] = 0.0
        q = np.array([mechanism.integrate(start, step) for step in moved])
        G = np.broadcast_to(np.eye(mechanism.n_v)[:, movable], (count, mechanism.n_v, movable.sum()))
    T, dT = zip(*(_poses(mechanism, node, state, basis) for state, basis in zip(q, G, strict=True)), strict=True)
    return Samples(np.array(T), np.array(dT), np.array(G), q[0], bool(inside))


def floating_samples(
    mechanism: Mechanism, samples: Samples, scale: float, driven: Sequence[int] | None
) -> list[Sample]:
    """Divide the lengths of samples by `scale` and add the rates of the driven coordinates if they count."""
    units = [unit for joint in mechanism.joints if joint.mimic is None for unit in joint.type.units]
    scaled = samples.scaled(scale, np.array(units) == "m")
    return [
        Sample(T, dT, None if driven is None else rates[list(driven)])
        for T, dT, rates in zip(scaled.T, scaled.dT, scaled.velocities, strict=True)
    ]


def _poses(mechanism: Mechanism, node: Node, q, G) -> tuple[np.ndarray, np.ndarray]:
    """Poses (n, 4, 4) and derivatives (m, n, 4, 4) along the columns of G."""
    q_own = mechanism.joint_positions(q)
    pose: dict[int, np.ndarray] = {node.parent: np.eye(4)}
    twist: dict[int, np.ndarray] = {node.parent: np.zeros((6, G.shape[1]))}
    for i in node.bodies:
        joint, f = mechanism.joints[i - 1], mechanism.tree.parents[i]
        A = joint.transform(q_own[i])
        pose[i] = pose[f] @ A
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        rates = factor * G[mechanism.v_slices[joint.name]]
        twist[i] = adjoint(inverse(A)) @ twist[f] + joint.subspace(q_own[i]) @ rates
    T = np.array([pose[i] for i in node.bodies])
    dT = np.array([[pose[i] @ twist_matrix(twist[i][:, a]) for i in node.bodies] for a in range(G.shape[1])])
    return T, dT.reshape(G.shape[1], len(node.bodies), 4, 4)


def _inside(mechanism: Mechanism, node: Node, loop: Loop) -> bool:
    """Return True if a loop constrains bodies of the node."""
    links = {mechanism.link_number(link) for link in mechanism.loop_links(loop)}
    return not links.isdisjoint(node.bodies)
