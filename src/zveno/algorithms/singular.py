"""Joints without inertia: a mechanism with one has a singular mass matrix and no forward dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.ops import sqrt
from ..mechanism import Joint, Mechanism
from ..spatial import inertia
from . import linear
from .articulated import ARTICULATED, rigid
from .bodies import Bodies
from .drives import couples_joints, rotor_inertias, rotor_torque
from .mass_matrix import mass_matrix
from .tree import VELOCITIES, Packing, Tree, tree_of

RELATIVE = 1e-13
"""Relative inertia below which a joint counts as having none. The scale is a bound of the carried inertia without
cancellation and with all joints locked. A chain of 10 000 equal rods still has 1e-12 of it."""


class Scale(NamedTuple):
    """Bounds of the mass, first and second moments of a link's subtree about the link's origin."""

    mass: Any
    first: Any
    second: Any

    def plus(self, other: Scale) -> Scale:
        """Return the sum of two scales."""
        return Scale(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def moved(self, T_parent_child: Any) -> Scale:
        """Return the scale about the parent's origin."""
        distance = _norm(T_parent_child[:3, 3])
        first = self.first + self.mass * distance
        return Scale(self.mass, first, self.second + (self.first + first) * distance)

    def along(self, S: Any) -> Any:
        """Return bounds of the inertia along the axes of a joint with subspace S (6, n_v), (n_v,)."""
        lengths = [(_norm(column[:3]), _norm(column[3:])) for column in S.T]
        return np.array([self.mass * v * v + 2.0 * self.first * v * w + self.second * w * w for v, w in lengths])


SCALE = Packing(3, lambda scale, _: np.array(scale), lambda x, _: Scale(*x), Scale(0.0, 0.0, 0.0))


def refuse_singular(mechanism: Mechanism) -> None:
    """Raise an error that names link and joint if the mass matrix is singular in every configuration.

    One inward pass of articulated-body inertias at a random configuration, O(n). A joint is rejected if neither its
    subtree nor a rotor has inertia along its axes. Massless links within a chain are allowed.
    """
    q = anywhere(mechanism)
    singular = _coupled(mechanism, q) if couples_joints(mechanism) else _separate(mechanism, q)
    if not singular:
        return
    first, *others = singular
    more = f"; the same holds for {', '.join(f'joint {joint.name}' for joint in others[:5])}" if others else ""
    more += f" and {len(others) - 5} more" if len(others) > 5 else ""
    raise ModelError(
        f"the mass matrix is singular: link {first.child} and its subtree have no inertia that resists "
        f"{first.type.kind} joint {first.name}{more}",
        element=f"{mechanism.name}, joint {first.name}",
        remedy="Give the link a mass and moments of inertia, the joint a rotor inertia, or fix the joint",
    )


def _separate(mechanism: Mechanism, q: np.ndarray) -> list[Joint]:
    """Return joints with a singular D = Sᵀ M* S + rotor, leaves first; each then counts as locked."""
    tree = tree_of(mechanism)
    at, rotor, scale = (
        tree.positions(q),
        tree.velocities(_rotors(mechanism)),
        tree.velocities(_scales(mechanism, q)),
    )
    M, singular = tree.column(ARTICULATED, start=lambda i: rigid(i.inertia)), []
    for i in tree.inward():
        S, body = i.joint.subspace(at[i]), M[i]
        if i.joint.type.n_v:
            U = np.stack([body @ column for column in S.T], axis=1)
            D = S.T @ U + np.diag(rotor[i])
            if _is_singular(D, scale[i]):
                singular.append(i.joint)
            else:
                body = body.without(U, linear.solve(D, U.T).T)
        M[i.parent] = M[i.parent].plus(body.moved(i.joint.transform(at[i])))
    return singular


def margins(mechanism: Mechanism | Tree, q: Any) -> Any:
    """Return a lower bound, (n_v,), of every joint's inertia in any direction, as a fraction of its scale.

    With D = Sᵀ M* S + rotor scaled to order 1, 1/‖D⁻¹‖ is at most its smallest eigenvalue.
    """
    tree = tree_of(mechanism)
    margin, at = tree.result("margin", VELOCITIES), tree.positions(q)
    M = tree.column(ARTICULATED, start=lambda i: rigid(i.inertia))
    scale = tree.column(SCALE, start=lambda i: _scale(i.inertia))
    for i in tree.inward():
        S, T = i.joint.subspace(at[i]), i.joint.transform(at[i])
        U = np.stack([M[i] @ column for column in S.T], axis=1)
        root = np.array([sqrt(x) for x in scale[i].along(S) + i.rotor])
        scaling = np.outer(root, root)
        inverted = linear.inverse((S.T @ U + np.diag(i.rotor)) / scaling)
        margin[i] = [1.0 / _norm(inverted.ravel())] * len(root)
        M[i.parent] = M[i.parent].plus(M[i].without(U, U @ (inverted / scaling)).moved(T))
        scale[i.parent] = scale[i.parent].plus(scale[i].moved(T))
    return margin.whole()


def surely_regular(bodies: Bodies, margin: float) -> bool:
    """Return True if the own inertia of every body along its joint axis is above a fraction of the total scale.

    Carried bodies can only add inertia if all inertias are positive. The test is therefore sufficient, not
    necessary.
    """
    c = bodies.constants
    if any(kind.n_v != 1 or "axis" not in kind.type.parameters() for kind in bodies.kinds):
        return False
    m, h, I = c[:, 12], c[:, 13:16], c[:, 16:22]
    tensor = I[:, [0, 1, 3, 1, 2, 4, 3, 4, 5]].reshape(-1, 3, 3)
    if m.min() <= 0.0:
        return False
    square = np.einsum("ni,ni->n", h, h)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", h, h)
    if np.linalg.eigvalsh(tensor - square / m[:, None, None]).min() < 0.0:  # about the centre of mass
        return False
    S = np.array([kind.type.subspace(np.zeros(1))[:, 0] for kind in bodies.kinds])[bodies.which]
    v, w = S[:, 2], S[:, 5]  # along and about z
    own_inertia = m * v * v + tensor[:, 2, 2] * w * w
    length = (np.linalg.norm(c[:, 9:12], axis=1) + np.pi * abs(v)).sum()
    largest = (v * v + length * length * w * w).max() * m.sum()
    largest += 2.0 * (length * w * w + abs(v * w)).max() * np.linalg.norm(h, axis=1).sum()
    return bool(own_inertia.min() > margin * (largest + np.linalg.norm(tensor, axis=(1, 2)).sum()))


def _coupled(mechanism: Mechanism, q) -> list[Joint]:
    """Return joints with a zero pivot of the mass matrix, for mechanisms with coupled joints."""
    M, scale = mass_matrix(mechanism, q), _scales(mechanism, q)
    singular = []
    for joint in reversed([joint for joint in mechanism.joints if joint.mimic is None and joint.type.n_v]):
        velocities = mechanism.v_slices[joint.name]
        if _is_singular(M[velocities, velocities], scale[velocities]):
            singular.append(joint)
        else:
            inner = slice(0, velocities.start)
            M[inner, inner] -= M[inner, velocities] @ np.linalg.solve(
                M[velocities, velocities], M[velocities, inner]
            )
    return singular


def _scales(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the scale of the inertia of every velocity, (n_v,): bodies, mimic relations and rotors included."""
    tree = tree_of(mechanism)
    at, total = tree.positions(q), abs(_rotors(mechanism))
    scale = tree.column(SCALE, start=lambda i: _scale(i.inertia))
    for i in tree.inward():
        total[i.velocities] += i.multiplier * i.multiplier * scale[i].along(i.joint.subspace(at[i]))
        scale[i.parent] = scale[i.parent].plus(scale[i].moved(i.joint.transform(at[i])))
    return total


def _rotors(mechanism: Mechanism) -> np.ndarray:
    """Return the rotors' part of the diagonal of the mass matrix, (n_v,)."""
    N = mechanism.transmission
    if N is None:  # the matrix is diagonal
        return rotor_torque(mechanism, np.ones(mechanism.n_v))
    return rotor_inertias(mechanism) @ (N * N)


def _is_singular(D: np.ndarray, scale: np.ndarray) -> bool:
    if not scale.all():
        return True
    root = np.sqrt(scale)
    return bool(abs(np.linalg.eigvalsh(D / np.outer(root, root))).min() <= RELATIVE)


def _scale(p: Any) -> Scale:
    return Scale(sqrt(p[0] * p[0]), _norm(p[1:4]), _norm(inertia.tensor(p).ravel()))


def _norm(x: Any) -> Any:
    return sqrt(x @ x)


def anywhere(mechanism: Mechanism) -> np.ndarray:
    """Return a configuration without any special position, regardless of limits; always the same one."""
    rng = np.random.default_rng(0)
    if mechanism.n_q == mechanism.n_v:  # no quaternions: all coordinates in one random sample
        units = [unit for joint in mechanism.joints if joint.mimic is None for unit in joint.type.units]
        reach = np.array([np.pi if unit == "rad" else 1.0 for unit in units])
        return rng.uniform(-reach, reach)
    free = [
        joint.type.random(rng, np.full(joint.type.n_q, -np.inf), np.full(joint.type.n_q, np.inf))
        for joint in mechanism.joints
        if joint.mimic is None
    ]
    return np.concatenate([np.zeros(0), *free])
