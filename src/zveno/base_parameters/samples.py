"""Samples of the motion of a node whose joints share coordinates or close loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..mechanism import Loop, Mechanism
from ..spatial.transforms import adjoint, inverse
from .floating import twist_matrix
from .loops import closed_states
from .nodes import Node
from .sampled import Sample

REACH = 4.0
"""Coordinates are sampled this far to both sides, rad or m: far enough to tell cos q from cos 1.1 q."""


class Samples(NamedTuple):
    """Poses of a node's bodies in its parent's frame and their derivatives at S states, the first the reference."""

    T: np.ndarray
    """(S, n, 4, 4)"""
    dT: np.ndarray
    """(S, m, n, 4, 4): derivative along each of m independent velocities."""
    velocities: np.ndarray
    """(S, n_v, m): all velocities from the independent ones."""
    q: np.ndarray
    """(n_q,) the reference state."""
    closed: bool
    """Whether loops tie the velocities, so that the independent ones are combinations of them."""

    def scaled(self, length: float, lengths: np.ndarray) -> Samples:
        """The same in another unit of length; `lengths` (n_v,) says which coordinates are lengths."""
        T, dT = self.T.copy(), self.dT.copy()
        T[..., :3, 3] /= length
        dT[..., :3, 3] /= length
        unit = np.where(lengths, length, 1.0)
        # Velocities are measured in the new unit as well, the independent ones too where they are coordinates.
        factors = np.ones(dT.shape[1]) if self.closed else unit @ abs(self.velocities[0])
        velocities = self.velocities * factors / unit[:, None]
        return Samples(T, dT * factors[:, None, None, None], velocities, self.q, self.closed)


def node_samples(
    mechanism: Mechanism, node: Node, loops: Sequence[Loop], q0: np.ndarray | None, rng: np.random.Generator
) -> Samples:
    """Enough generic states of a node to span every space of functions that its bodies can take part in.

    Each generic state adds at least one dimension until the space is full, so as many as the rows are long suffice.
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
    """The samples with lengths divided by `scale`, and the rates of the driven coordinates where they count."""
    units = [unit for joint in mechanism.joints if joint.mimic is None for unit in joint.type.units]
    scaled = samples.scaled(scale, np.array(units) == "m")
    return [
        Sample(T, dT, None if driven is None else rates[list(driven)])
        for T, dT, rates in zip(scaled.T, scaled.dT, scaled.velocities, strict=True)
    ]


def _poses(mechanism: Mechanism, node: Node, q, G) -> tuple[np.ndarray, np.ndarray]:
    """(n, 4, 4) poses and (m, n, 4, 4) derivatives along the columns of G."""
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
    """Whether a loop holds bodies of the node."""
    links = {mechanism.link_number(link) for link in mechanism.loop_links(loop)}
    return not links.isdisjoint(node.bodies)
