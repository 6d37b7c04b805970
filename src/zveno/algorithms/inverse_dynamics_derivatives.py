"""First derivatives of inverse dynamics by composite bodies: each column visits a body only once.

A unit change of a joint's position or velocity changes the accelerations of all points it carries by one common
field. So the change of every torque follows from mass, first and second moments, and velocity moments, summed once
over each subtree. This is the composite form of Singh, Russo and Wensing (2022), with the moments ∫ x ẋᵀ dm and ∫ ẋ
dm in place of their 6×6 matrices.

Quantities of a link are in its own axes, for an observer who moves with the link's origin, so that the link's own
linear velocity is zero. This is allowed because torques do not depend on a constant velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import moved
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross
from . import linear
from .drives import friction_slopes, rotor_slope, with_coupled_slopes
from .flow import FLOW, Flow, bracket, drift_of, flow_at_parent, own_flow
from .inverse_dynamics import act_on_bodies, falling, link_wrench
from .mass_matrix import momentum
from .motion import AT_REST, Motion
from .tree import INERTIA, MOTION, PLACEMENT, VELOCITIES, WRENCH, Tree, numbers, tree_of
from .velocities import carried_motion


class _Column(NamedTuple):
    """Effects of one unit coordinate of a joint, in the axes of the joint's child, twists as `[v, w]`."""

    axis: Any
    """s: twist of the child for a unit velocity."""
    turned: Any
    """ψ̇ = V_f × s: change of the parent's velocity, in the child's axes, for a unit displacement."""
    speeded: Any
    """ψ̈ = A_f × s + V_f × ψ̇: the corresponding change of the parent's acceleration."""
    coriolis: Any
    """(V_f + V) × s: change of the child's acceleration for a unit velocity."""

    @classmethod
    def of(cls, numbers: Any) -> _Column:
        """Make a column from 24 numbers."""
        return cls(numbers[:6], numbers[6:12], numbers[12:18], numbers[18:])


def inverse_dynamics_derivatives(
    mechanism: Mechanism | Tree,
    q: Any,
    v: Any,
    a: Any,
    external: Any = None,
    joint_friction: bool = False,
    smoothing: float = 0.0,
) -> tuple[Any, Any, Any]:
    """Return ∂τ/∂q in the tangent, ∂τ/∂v, and ∂τ/∂a (the mass matrix), (n_v, n_v) each, rotors included.

    Args:
        mechanism: the mechanism.
        q, v, a: (n_q,), (n_v,), (n_v,).
        external: wrenches on the links as in `inverse_dynamics`, (n_links, 6). They turn with the links, so a joint
            carries them like inertial forces.
        joint_friction: True to include friction, its sign smoothed over the velocity `smoothing`.
    """
    tree = tree_of(mechanism)
    by_q, by_v, M = (tree.result(f"dtau_d{x}", VELOCITIES, VELOCITIES) for x in "qva")
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    T, drift, motion, f = tree.column(PLACEMENT), tree.column(numbers(3)), tree.column(MOTION), tree.column(WRENCH)
    composite = tree.column(INERTIA, start=lambda i: i.inertia)
    flow = tree.column(FLOW, start=lambda i: own_flow(i.inertia, motion[i]))
    columns, shares = tree.column(numbers(24), per_velocity=True), tree.column(numbers(21), per_velocity=True)

    motion[tree.base] = falling(AT_REST, tree.gravity)
    for i in tree.outward():
        T[i], S = i.joint.transform(at[i]), i.joint.subspace(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
        f[i] = link_wrench(i.inertia, motion[i])
        columns[i] = _flat(_columns(i.joint, S, rate[i], change[i], motion[i]))
        drift[i] = drift_of(T[i], motion[i.parent], S @ rate[i])
    act_on_bodies(tree, external, f)
    for i in tree.inward():
        joint_columns = [_Column.of(row) for row in columns[i]]
        ahead = [_share(composite[i], flow[i], f[i], column) for column in joint_columns]
        shares[i] = _flat(ahead)
        by_q[i, i], slopes = _own_entries(joint_columns, ahead, i.joint.type.in_sequence)
        by_v[i, i] = slopes + rotor_slope(i, rate[i]) + friction_slopes(i, rate[i], joint_friction, smoothing)
        M[i, i] = linear.symmetric(
            [[x.axis @ y.by_acceleration for y in ahead] for x in joint_columns] + np.diag(i.rotor)
        )
        f[i.parent] = f[i.parent] + move_wrench(T[i], f[i])
        composite[i.parent] = composite[i.parent] + moved(composite[i], T[i])
        flow[i.parent] = flow[i.parent].plus(flow_at_parent(flow[i], composite[i], T[i], drift[i]))
    for i, j, below in tree.to_root(per_velocity=True):
        share = _passed(_Share.of(shares[i]), T[below], drift[below])
        shares[i] = np.concatenate(share)
        carrying = [_Column.of(row) for row in columns[j]]
        by_q[j, i], by_v[j, i] = np.array([_outer(column, share) for column in carrying]).reshape(-1, 2).T
        by_q[i, j], by_v[i, j] = np.array([_inner(column, share) for column in carrying]).reshape(-1, 2).T
        M[i, j] = M[j, i] = [column.axis @ share.by_acceleration for column in carrying]
    return with_coupled_slopes(tree, v, by_q.whole(), by_v.whole(), M.whole())


def _own_entries(columns: list[_Column], shares: list[_Share], in_sequence: bool) -> tuple[Any, Any]:
    """Return the entries of a joint with itself, by q and by v, (n_v, n_v) each."""
    entries = [
        [
            _outer(columns[k], shares[other]) if in_sequence and other > k else _inner(columns[other], share)
            for other in range(len(shares))
        ]
        for k, share in enumerate(shares)
    ]
    n = len(shares)
    by_q, by_v = (np.array([[entry[x] for entry in row] for row in entries]).reshape(n, n) for x in range(2))
    return by_q, by_v


def _outer(column: _Column, share: _Share) -> tuple[Any, Any]:
    """Return ∂τ/∂q and ∂τ/∂v of a joint's torque by a joint that it carries."""
    return column.axis @ share.by_position, column.axis @ share.by_velocity


def _inner(column: _Column, share: _Share) -> tuple[Any, Any]:
    """Return ∂τ/∂q and ∂τ/∂v of a joint's torque by a joint that carries it, or by itself."""
    by_q = column.speeded @ share.by_acceleration + column.turned[3:] @ share.sweep
    return by_q, column.coriolis @ share.by_acceleration + column.axis[3:] @ share.sweep


def _flat(parts: Sequence[Any]) -> Any:
    return [np.concatenate(part) for part in parts]


class _Share(NamedTuple):
    """Effect of one unit coordinate on all bodies that the joint carries, at some link on the path to the root."""

    by_position: Any
    """Change of the wrench for a unit displacement, (6,)."""
    by_velocity: Any
    """Change of the wrench for a unit velocity, (6,)."""
    by_acceleration: Any
    """Change of the wrench for a unit acceleration, (6,): also the momentum of a unit velocity."""
    sweep: Any
    """2 ∫ ẋ × s(x) dm, (3,)."""

    @classmethod
    def of(cls, numbers: Any) -> _Share:
        """Make a share from 21 numbers."""
        return cls(numbers[:6], numbers[6:12], numbers[12:18], numbers[18:])


def _share(p, flow: Flow, wrench, column: _Column) -> _Share:
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
    """Move a share to the parent; `drift` is twice the velocity of the child's origin relative to the parent's."""
    momentum_there = move_wrench(T, share.by_acceleration)
    return _Share(
        move_wrench(T, share.by_position),
        move_wrench(T, share.by_velocity),
        momentum_there,
        T[:3, :3] @ share.sweep + cross(drift, momentum_there[:3]),
    )


def _columns(joint: Joint, S, v, a, motion: Motion) -> list[_Column]:
    """Return the columns of a joint from the motion of its child.

    A joint with several coordinates is either a sequence of joints, each carrying the later ones, or has all its
    axes fixed on the child.
    """
    V, A = np.concatenate([np.zeros(3), motion.w]), np.concatenate([motion.a, motion.e])
    axes = [S[:, k] for k in range(S.shape[1])]
    if len(axes) > 1 and not joint.type.in_sequence:
        V_f, A_f = V - S @ v, A - S @ a - bracket(V, S @ v)
        return [_column(axis, V_f, A_f, bracket(V_f, axis) + bracket(V, axis)) for axis in axes]
    columns = []
    for axis, speed, change in reversed(list(zip(axes, v, a, strict=True))):
        turned = bracket(V, axis)  # with s × s = 0 the child's motion gives the same columns as the parent's
        columns.append(_column(axis, V, A, 2.0 * turned))
        V, A = V - speed * axis, A - change * axis - speed * turned
    return columns[::-1]


def _column(axis, V_f, A_f, coriolis) -> _Column:
    turned = bracket(V_f, axis)
    return _Column(axis, turned, bracket(A_f, axis) + bracket(V_f, turned), coriolis)
