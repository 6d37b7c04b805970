"""First derivatives of inverse dynamics by composite bodies: no column visits a body twice.

What a unit change of a joint's position or velocity does to the acceleration of the points it carries is a field
that all of them share, so that their mass, first and second moments, and the moments of their velocities, summed
once over what each joint carries, give the change of every torque (the composite form of Singh, Russo and Wensing
2022, here with the moments ∫ x ẋᵀ dm and ∫ ẋ dm in place of their 6×6 matrices).

Everything about a link is in its own axes, seen by an observer who moves with the link's origin: torques do not
depend on a constant velocity, and the link's own linear velocity is then zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import moved, pseudo_inertia
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross, skew
from .drives import rotor_bias_slope
from .inverse_dynamics import falling, joint_wrenches
from .mass_matrix import mass_matrix, momentum, place
from .velocities import AT_REST, Motion, body_motions


class _Column(NamedTuple):
    """What a unit of one coordinate of a joint does, in the axes of the joint's child, twists as `[v, w]`."""

    axis: Any
    """s: the twist of the child for a unit velocity."""
    turned: Any
    """ψ̇ = V_f × s: the change of the parent's velocity, seen by the child, for a unit displacement."""
    speeded: Any
    """ψ̈ = A_f × s + V_f × ψ̇: likewise that of its acceleration."""
    coriolis: Any
    """(V_f + V) × s: the change of the child's acceleration for a unit velocity."""


class _Flow(NamedTuple):
    """Twice the moments of the velocities ẋ of all points a link carries, relative to the link's origin."""

    Q: Any
    """2 ∫ x ẋᵀ dm, (3, 3)"""
    P: Any
    """2 ∫ ẋ dm, (3,)"""

    def twirl(self, w):
        """`[2 ∫ w × ẋ dm, 2 ∫ x × (w × ẋ) dm]`: Coriolis forces and their moments for a unit angular velocity."""
        return np.concatenate([cross(w, self.P), np.trace(self.Q) * w - self.Q.T @ w])

    def sweep(self, axis):
        """2 ∫ ẋ × s(x) dm for the field s(x) = v + w × x of a twist."""
        v, w = axis[:3], axis[3:]
        return cross(self.P, v) + np.trace(self.Q) * w - self.Q @ w


def inverse_dynamics_derivatives(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂τ/∂q in the tangent, ∂τ/∂v and ∂τ/∂a, the mass matrix; (n_v, n_v) each. Rotors count, friction does not.

    Args:
        mechanism: the mechanism.
        q, v, a: (n_q,), (n_v,), (n_v,).
        external: wrenches on the links as in `inverse_dynamics`, (n_links, 6). They turn with the links: a joint
            carries them as it carries inertial forces.
    """
    motions = body_motions(mechanism, q, v, a, falling(AT_REST, mechanism.gravity))
    wrenches = joint_wrenches(mechanism, q, v, a, external)
    q_own = mechanism.joint_positions(q)
    v_own, a_own = mechanism.joint_velocities(v), mechanism.joint_velocities(a)
    T: list[Any] = [None]
    drift: list[Any] = [None]
    columns: list[list[_Column]] = [[]]
    for i, f, joint in mechanism.outward():
        transform = joint.transform(q_own[i])
        T.append(transform)
        S = joint.subspace(q_own[i])
        columns.append(_columns(joint, S, v_own[i], a_own[i], motions[i]))
        drift.append(2.0 * (cross(motions[f].w, transform[:3, 3]) + transform[:3, :3] @ (S @ v_own[i])[:3]))
    tables = _Tables(mechanism, columns)
    composite = [link.inertia for link in mechanism.links]
    flows = [_own_flow(p, motion) for p, motion in zip(composite, motions, strict=True)]
    for i, f, joint in mechanism.inward():
        p, flow = composite[i], flows[i]
        shares = [_share(p, flow, wrenches[i], column) for column in columns[i]]
        tables.enter_own(i, shares, joint.type.in_sequence)
        j = i
        while mechanism.tree.parents[j]:
            shares = [_passed(share, T[j], drift[j]) for share in shares]
            j = mechanism.tree.parents[j]
            tables.enter(j, i, shares)
        composite[f] = composite[f] + moved(p, T[i])
        flows[f] = _joined(flows[f], flow, p, T[i], drift[i])
    by_q, by_v = tables.finished()
    return by_q, by_v + rotor_bias_slope(mechanism, v), mass_matrix(mechanism, q)


class _Share(NamedTuple):
    """What a unit of one coordinate does to all that the joint carries, at some link on the way to the root."""

    by_position: Any
    """The wrench that must be added for a unit displacement, (6,)."""
    by_velocity: Any
    """For a unit velocity, (6,)."""
    by_acceleration: Any
    """For a unit acceleration, (6,): also the momentum of a unit velocity."""
    sweep: Any
    """2 ∫ ẋ × s(x) dm, (3,)."""


def _share(p, flow: _Flow, wrench, column: _Column) -> _Share:
    v, w = column.axis[:3], column.axis[3:]
    f, n = wrench[:3], wrench[3:]
    carried = np.concatenate([cross(w, f), cross(w, n) + cross(v, f)])
    return _Share(
        momentum(p, column.speeded) + flow.twirl(column.turned[3:]) + carried,
        momentum(p, column.coriolis) + flow.twirl(w),
        momentum(p, column.axis),
        flow.sweep(column.axis),
    )


def _passed(share: _Share, T, drift) -> _Share:
    """The same at the parent; `drift` is twice the velocity of the child's origin relative to the parent's."""
    momentum_there = move_wrench(T, share.by_acceleration)
    return _Share(
        move_wrench(T, share.by_position),
        move_wrench(T, share.by_velocity),
        momentum_there,
        T[:3, :3] @ share.sweep + cross(drift, momentum_there[:3]),
    )


def _own_flow(p, motion: Motion) -> _Flow:
    """Of the link itself: ẋ = ω × x."""
    return _Flow((2.0 * pseudo_inertia(p)[:3, :3]) @ skew(motion.w).T, cross(motion.w, 2.0 * p[1:4]))


def _joined(flow: _Flow, child: _Flow, p, T, drift) -> _Flow:
    """The flow of a link with that of a child, for which x becomes R x + r and 2 ẋ becomes 2 R ẋ + drift."""
    R, r = T[:3, :3], T[:3, 3]
    P = R @ child.P + p[0] * drift
    Q = R @ child.Q @ R.T + np.outer(R @ p[1:4], drift) + np.outer(r, P)
    return _Flow(flow.Q + Q, flow.P + P)


def _columns(joint: Joint, S, v, a, motion: Motion) -> list[_Column]:
    """The columns of a joint, from the motion of its child.

    A joint of several coordinates is either a sequence of joints, each of which carries the later ones, or all of
    its axes are fixed on the child.
    """
    V, A = np.concatenate([np.zeros(3), motion.w]), np.concatenate([motion.a, motion.e])
    axes = [S[:, k] for k in range(S.shape[1])]
    if len(axes) > 1 and not joint.type.in_sequence:
        V_f, A_f = V - S @ v, A - S @ a - _bracket(V, S @ v)
        return [_column(axis, V_f, A_f, _bracket(V_f, axis) + _bracket(V, axis)) for axis in axes]
    columns = []
    for axis, speed, change in reversed(list(zip(axes, v, a, strict=True))):
        turned = _bracket(V, axis)  # with s × s = 0 the child's motion gives the same columns as the parent's
        columns.append(_column(axis, V, A, 2.0 * turned))
        V, A = V - speed * axis, A - change * axis - speed * turned
    return columns[::-1]


def _column(axis, V_f, A_f, coriolis) -> _Column:
    turned = _bracket(V_f, axis)
    return _Column(axis, turned, _bracket(A_f, axis) + _bracket(V_f, turned), coriolis)


def _bracket(s, t):
    """The cross product of twists `[v, w]`."""
    return np.concatenate([cross(s[3:], t[:3]) + cross(s[:3], t[3:]), cross(s[3:], t[3:])])


class _Tables:
    """∂τ/∂q and ∂τ/∂v under construction. Joints that follow another add to its rows and columns."""

    def __init__(self, mechanism: Mechanism, columns: list[list[_Column]]):
        n = mechanism.n_v
        self.by_q, self.by_v = ([[0.0] * n for _ in range(n)] for _ in range(2))
        self.columns = columns
        self.places = [place(mechanism, i) if i else (0, 1.0) for i in range(mechanism.n_links)]

    def enter(self, j: int, i: int, shares: list[_Share]) -> None:
        """Entries of a joint j and a joint i farther from the root."""
        for k, share in enumerate(shares):
            for row in range(len(self.columns[j])):
                self._outer(j, row, i, k, share)
                self._inner(i, k, share, j, row)

    def enter_own(self, i: int, shares: list[_Share], in_sequence: bool) -> None:
        """Entries of a joint with itself."""
        for k, share in enumerate(shares):
            for other in range(len(shares)):
                if in_sequence and other > k:
                    self._outer(i, k, i, other, shares[other])
                else:
                    self._inner(i, k, share, i, other)

    def _outer(self, j: int, row: int, i: int, k: int, share: _Share) -> None:
        """The torque of a joint, by a joint that it carries."""
        axis = self.columns[j][row].axis
        self._add(j, row, i, k, axis @ share.by_position, axis @ share.by_velocity)

    def _inner(self, i: int, k: int, share: _Share, j: int, row: int) -> None:
        """The torque of a joint, by a joint that carries it, or by itself."""
        column = self.columns[j][row]
        by_q = column.speeded @ share.by_acceleration + column.turned[3:] @ share.sweep
        by_v = column.coriolis @ share.by_acceleration + column.axis[3:] @ share.sweep
        self._add(i, k, j, row, by_q, by_v)

    def _add(self, i: int, k: int, j: int, m: int, by_q, by_v) -> None:
        (row, factor), (column, other) = self.places[i], self.places[j]
        row, column, factor = row + k, column + m, factor * other
        self.by_q[row][column] = self.by_q[row][column] + factor * by_q
        self.by_v[row][column] = self.by_v[row][column] + factor * by_v

    def finished(self):
        """Both as arrays."""
        n = len(self.by_q)
        return np.array(self.by_q).reshape(n, n), np.array(self.by_v).reshape(n, n)
