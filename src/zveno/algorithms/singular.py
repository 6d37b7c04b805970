"""Joints that nothing resists: a mechanism with one has a singular mass matrix and no forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..mechanism import Joint, Mechanism
from ..spatial import inertia
from . import linear
from .articulated import rigid
from .drives import couples_joints, rotor_inertias, rotor_torque
from .mass_matrix import mass_matrix

RELATIVE = 1e-13
"""A joint's inertia below this part of its scale is rounding. The scale is what the carried bodies would resist if
nothing gave way and nothing cancelled; a chain of 10 000 equal rods still has 1e-12 of it."""


class Scale(NamedTuple):
    """Bounds of the mass, first and second moments of a link and all that it carries, about its origin."""

    mass: float
    first: float
    second: float

    def plus(self, other: Scale) -> Scale:
        """Both together."""
        return Scale(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def moved(self, distance: float) -> Scale:
        """About a point at a distance."""
        first = self.first + self.mass * distance
        return Scale(self.mass, first, self.second + (self.first + first) * distance)

    def along(self, column: np.ndarray) -> float:
        """A bound of the inertia that a joint with subspace `column` (6,) can feel."""
        v, w = np.linalg.norm(column[:3]), np.linalg.norm(column[3:])
        return float(self.mass * v * v + 2.0 * self.first * v * w + self.second * w * w)


def refuse_singular(mechanism: Mechanism) -> None:
    """Raise an error that names link and joint if the mass matrix is singular everywhere.

    One inward pass of articulated inertias at a random configuration, O(n): a joint is refused where neither its
    link, nor what that carries, nor a rotor resists it. Massless links within a chain are fine.
    """
    q = anywhere(mechanism)
    singular = _coupled(mechanism, q) if couples_joints(mechanism) else _separate(mechanism, q)
    if not singular:
        return
    first, *others = singular
    more = f"; the same holds for {', '.join(f'joint {joint.name}' for joint in others[:5])}" if others else ""
    more += f" and {len(others) - 5} more" if len(others) > 5 else ""
    raise ModelError(
        f"the mass matrix is singular: link {first.child} and what it carries have no inertia that resists "
        f"{first.type.kind} joint {first.name}{more}",
        element=f"{mechanism.name}, joint {first.name}",
        remedy="Give the link a mass and moments of inertia, the joint a rotor inertia, or fix the joint",
    )


def _separate(mechanism: Mechanism, q) -> list[Joint]:
    """Joints with a singular D = Sᵀ M* S + rotor, from the leaves to the root; each then counts as locked."""
    q_own = mechanism.joint_positions(q)
    rotor, scale = (mechanism.joint_velocities(part) for part in (_rotors(mechanism), _scales(mechanism, q)))
    bodies = [rigid(link.inertia) for link in mechanism.links]
    singular = []
    for i, f, joint in mechanism.inward():
        S, body = joint.subspace(q_own[i]), bodies[i]
        if joint.type.n_v:
            U = np.stack([body @ column for column in S.T], axis=1)
            D = S.T @ U + np.diag(rotor[i])
            if _is_singular(D, scale[i]):
                singular.append(joint)
            else:
                body = body.without(U, linear.solve(D, U.T).T)
        bodies[f] = bodies[f].plus(body.moved(joint.transform(q_own[i])))
    return singular


def _coupled(mechanism: Mechanism, q) -> list[Joint]:
    """The same from the pivots of the mass matrix, where rotors or mimic relations tie joints together."""
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


def _scales(mechanism: Mechanism, q) -> np.ndarray:
    """The scale of every velocity's inertia, (n_v,): bodies through joints and mimic relations, and rotors."""
    q_own = mechanism.joint_positions(q)
    bodies = [_scale(link.inertia) for link in mechanism.links]
    total = abs(_rotors(mechanism))
    for i, f, joint in mechanism.inward():
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        columns = joint.subspace(q_own[i]).T
        total[mechanism.v_slices[joint.name]] += [factor * factor * bodies[i].along(column) for column in columns]
        distance = float(np.linalg.norm(joint.transform(q_own[i])[:3, 3]))
        bodies[f] = bodies[f].plus(bodies[i].moved(distance))
    return total


def _rotors(mechanism: Mechanism) -> np.ndarray:
    """What the rotors add to the diagonal of the mass matrix, (n_v,)."""
    N = mechanism.transmission
    if N is None:  # the matrix is diagonal
        return rotor_torque(mechanism, np.ones(mechanism.n_v))
    return rotor_inertias(mechanism) @ (N * N)


def _is_singular(D: np.ndarray, scale: np.ndarray) -> bool:
    if not scale.all():
        return True
    root = np.sqrt(scale)
    return bool(abs(np.linalg.eigvalsh(D / np.outer(root, root))).min() <= RELATIVE)


def _scale(p: np.ndarray) -> Scale:
    return Scale(abs(p[0]), float(np.linalg.norm(p[1:4])), float(np.linalg.norm(inertia.tensor(p))))


def anywhere(mechanism: Mechanism) -> np.ndarray:
    """A configuration without any special position, limits or not; always the same one."""
    rng = np.random.default_rng(0)
    if mechanism.n_q == mechanism.n_v:  # no quaternions: all coordinates in one draw
        units = [unit for joint in mechanism.joints if joint.mimic is None for unit in joint.type.units]
        reach = np.array([np.pi if unit == "rad" else 1.0 for unit in units])
        return rng.uniform(-reach, reach)
    free = [
        joint.type.random(rng, np.full(joint.type.n_q, -np.inf), np.full(joint.type.n_q, np.inf))
        for joint in mechanism.joints
        if joint.mimic is None
    ]
    return np.concatenate([np.zeros(0), *free])
