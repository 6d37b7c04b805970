"""One step at the level of velocities (Moreau 1988, Stewart and Trinkle 1996), in three parts; all of it is traced.

With k and d the stiffness and damping that act at the joints, and M̂ = M + diag(h d + h² k),

    v_f = v + h M̂⁻¹ (τ − H − h k v)                        velocities without contacts
    W = J M̂⁻¹ Jᵀ,  b = J v_f + s                           what a unit impulse does to the rows
    0 ≤ λ_n ⟂ (W λ + b)_n ≥ 0,  |λ_t| ≤ μ λ_n opposite to the slip
    v⁺ = v_f + M̂⁻¹ Jᵀ λ,  q⁺ = q ⊕ h v⁺

M̂ = Lᵀ diag(1/r) L has no fill-in on a tree; Y = L⁻ᵀ Jᵀ gives W = Yᵀ diag(r) Y.

s = φ/h lets a contact close within the step; where it penetrates, a share of the depth is taken back, not faster
than `FASTEST`. After an impact faster than `BOUNCE` steps of free fall, s = e v_n⁻.

Velocities of a free joint are kept in body axes. Within the step its origin has the classical acceleration,
v̇ + ω × v, and axes that do not turn; at the end the same velocity is expressed in the new axes. Stepping the
numbers themselves feeds energy in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...algorithms.inverse_dynamics import bias
from ...algorithms.mass_matrix import mass_matrix
from ...kernels.math import greater, less, logical_and, maximum, minimum, select, sqrt
from ...mechanism import Mechanism
from ...spatial.rotations import from_quaternion
from ...spatial.vectors import cross, skew
from .stepping import Stepping
from .touching import Rows

SHARE = 0.2
"""Share of a penetration that a step takes back."""
FASTEST = 0.3
"""m/s, at which penetration is taken back at most."""
SPIN = 0.03
"""Turn of a body in one step, rad, beyond which its forces are taken in the middle of the step."""
BOUNCE = 2.0
"""Approaches slower than this many steps of free fall, g h, do not bounce."""
TINY = 1e-300


class Problem(NamedTuple):
    """The contacts of one step."""

    W: Any
    """lower triangle of J M̂⁻¹ Jᵀ, (m (m + 1)/2,)"""
    b: Any
    """J v_f + s, (m,)"""
    scale: Any
    """1 over what a unit impulse does to its own row (m,); for tangents, the larger of two directions"""
    bound: Any
    """(m,): μ and the like at rows of friction, the largest impulse at rows of joints"""


@dataclass(frozen=True)
class Prepared:
    """What the end of a step needs to know of its beginning."""

    problem: Problem
    free: Any
    """v_f, (n_v,)"""
    L: Any
    """below the diagonal, (n_v (n_v − 1)/2,)"""
    r: Any
    """(n_v,)"""
    Y: Any
    """(m · n_v,)"""
    tau: Any
    """what control and drives apply at v, (n_v,)"""
    acting: Any
    """τ − h k v less friction, (n_v,)"""
    implicit: Any
    """d + h k, (n_v,)"""
    command: Any
    """(n_v,)"""
    deepest: Any
    """the least gap, (1,), m or rad"""

    def rows(self) -> tuple[Any, ...]:
        """All of it, as rows of numbers."""
        rest = self.free, self.L, self.r, self.Y, self.tau, self.acting, self.implicit, self.command, self.deepest
        return (*self.problem, *rest)

    @staticmethod
    def of(rows: tuple[Any, ...]) -> Prepared:
        """From the rows."""
        return Prepared(Problem(*rows[:4]), *rows[4:])


def prepared(stepping: Stepping, t: Any, h: Any, row: Any, c: Any, u: Any, cells: list[Any]) -> Prepared:
    """Everything of a step up to the contacts, at a row of `stepping`."""
    mechanism, dynamic = stepping.mechanism, stepping.equations.dynamic
    q, v = row[stepping.q], row[stepping.v]
    tau, acting, stiffness, damping, command = _forces(stepping, t, h, row, u)
    M = mass_matrix(dynamic, q)
    force = acting - bias(dynamic, q, v) + _turning(mechanism, M, v, h)
    implicit = damping + h * stiffness
    L, r = linear.factor(M + np.diag(h * implicit))
    r = np.array(r)
    free = _classical(mechanism, v + h * linear.down(L, r * linear.up(L, force)), v, h)
    rows = Rows(stepping, q, cells)
    offsets, bound = _offsets(stepping, rows, v, h, c)
    Y = [linear.up(L, one) for one in rows.J]
    b = np.array([one @ free for one in rows.J]) + offsets
    W = np.array([(Y[i] * r) @ Y[j] for i in range(len(Y)) for j in range(i + 1)])
    problem = Problem(W, b, _scales(stepping, W), bound)
    below = np.array([L[i][j] for i in range(len(r)) for j in range(i)])
    deepest: Any = np.inf
    for gap in rows.gaps:
        deepest = minimum(deepest, gap)
    Y_row = np.concatenate([np.zeros(0), *Y])
    return Prepared(problem, free, below, r, Y_row, tau, acting, implicit, command, np.array([deepest]))


def free_joints(mechanism: Mechanism) -> list[int]:
    """Where the velocities of free joints begin."""
    kinds = ((name, mechanism.joint(name).type.kind) for name in mechanism.joint_names)
    return [mechanism.v_slices[name].start for name, kind in kinds if kind == "free"]


def _forces(stepping: Stepping, t: Any, h: Any, row: Any, u: Any) -> tuple[Any, ...]:
    """(τ at v, what acts at v⁺ = v, stiffness, damping, command), (n_v,) each."""
    equations, mechanism = stepping.equations, stepping.mechanism
    q, v = row[stepping.q], row[stepping.v]
    stiffness = damping = command = np.zeros(mechanism.n_v)
    if equations.control is not None:
        command = equations.control.torque(mechanism, t, q, v) if equations.control.traced else u
        stiffness, damping = equations.control.gains(mechanism, t, q, v)
    tau = command
    acting = tau - h * stiffness * v
    if stepping.friction:
        viscous = stepping.drive_numbers("viscous")
        acting, damping = acting - viscous * v - stepping.drive_numbers("offset"), damping + viscous
    return tau, acting, stiffness, damping, command


def _turning(mechanism: Mechanism, M: Any, v: Any, h: Any) -> Any:
    """What makes the gyroscopic moment of a free body that of the middle of the step, (n_v,).

    With I about the centre of mass of all that the joint carries, ω × I ω of the beginning is replaced by
    I (ω − ω′)/h, ω′ being one Newton step of the midpoint rule: taken explicitly, spinning bodies gain energy.
    """
    force: Any = np.zeros(mechanism.n_v)
    for at in free_joints(mechanism):
        w = v[at + 3 : at + 6]
        mass, first = M[at, at], M[at : at + 3, at + 3 : at + 6]  # m and −[m c]×
        c = np.array([first[1, 2], first[2, 0], first[0, 1]]) * (1.0 / mass)
        spread = mass * (np.eye(3) * (c @ c) - np.outer(c, c))
        inertia = M[at + 3 : at + 6, at + 3 : at + 6] - spread
        momentum = inertia @ w
        moment = cross(w, momentum)
        slope = inertia + (0.5 * h) * (skew(w) @ inertia - skew(momentum))
        moment = moment - inertia @ _solved(slope, moment)
        force = np.concatenate([force[: at + 3], moment, force[at + 6 :]])
    return force


def _solved(A: Any, b: Any) -> Any:
    """x with A x = b for a regular A (3, 3), by Cramer's rule."""
    columns = [A[:, 0], A[:, 1], A[:, 2]]
    across = [cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])]
    return np.array([b @ part for part in across]) / (columns[0] @ across[0])


def _offsets(stepping: Stepping, rows: Rows, v: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """(s, bounds), (m,) each."""
    fall = max(float(np.linalg.norm(np.asarray(stepping.mechanism.gravity, dtype=float))), 1.0)
    offsets: list[Any] = []
    bounds: list[Any] = []
    gaps = iter(rows.gaps)
    for contact, group, (mu, restitution, torsional, rolling) in stepping.numbers_of(c):
        gap = next(gaps)
        offset = _closing(gap, h)
        if contact.restitution:
            before = rows.J[group.row] @ v
            hits = logical_and(less(before, -BOUNCE * fall * h), less(gap + h * before, 0.0))
            offset = select(hits, minimum(offset, 0.0) + restitution * before, offset)
        offsets += [offset, *[0.0] * (group.size - 1)]
        bounds += [
            0.0,
            *[mu] * (2 * group.friction),
            *[torsional] * group.torsional,
            *[rolling] * (2 * group.rolling),
        ]
    for gap in gaps:
        offsets.append(_closing(gap, h))
        bounds.append(0.0)
    for velocity in stepping.dry:
        offsets.append(0.0)
        bounds.append(float(stepping.coulomb[velocity]) * h)
    return np.array(offsets), np.array(bounds)


def _closing(gap: Any, h: Any) -> Any:
    """s of a gap, m/s."""
    return select(greater(gap, 0.0), gap / h, maximum(SHARE * gap / h, -FASTEST))


def _scales(stepping: Stepping, W: Any) -> Any:
    """1 over the diagonal of W; for two rows that share a disc, over the larger eigenvalue of their block."""

    def at(i: int, j: int) -> Any:
        return W[i * (i + 1) // 2 + j]

    scales: list[Any] = []
    for group in stepping.groups:
        scales.append(1.0 / at(group.row, group.row))
        row = group.row + 1
        for pair in (group.friction, None, group.rolling):
            if pair is None:
                if group.torsional:
                    scales.append(1.0 / at(row, row))
                    row += 1
            elif pair:
                a, b, d = at(row, row), at(row + 1, row), at(row + 1, row + 1)
                half = 0.5 * (a - d)
                scales += [1.0 / (0.5 * (a + d) + sqrt(half * half + b * b + TINY))] * 2
                row += 2
    return np.array(scales)


def spinning(mechanism: Mechanism) -> list[int]:
    """Where the angular velocities of free and ball joints begin."""
    found = []
    for name in mechanism.joint_names:
        joint = mechanism.joint(name).type
        if joint.n_q > joint.n_v:
            found.append(mechanism.v_slices[name].stop - 3)
    return found


def spins(mechanism: Mechanism, v: Any, h: Any) -> Any:
    """1 where a body turns by more than `SPIN` in a step, else 0."""
    most: Any = 0.0
    for at in spinning(mechanism):
        most = maximum(most, v[at : at + 3] @ v[at : at + 3])
    return select(greater(most * h * h, SPIN * SPIN), 1.0, 0.0)


def corrected(stepping: Stepping, h: Any, row: Any, at: Prepared, impulses: Any) -> tuple[Any, Any]:
    """(b, v_f) with H of the middle of the step, from the impulses of a first solution.

    Explicit gyroscopic moments feed energy into a fast top: by (h Ω)²/2 a step, and by (h Ω)⁴/8 with this.
    """
    mechanism, dynamic = stepping.mechanism, stepping.equations.dynamic
    q, v = row[stepping.q], row[stepping.v]
    L = _lower(at.L, mechanism.n_v)
    mean = 0.5 * (v + at.free + linear.down(L, at.r * _pushed(stepping, at, impulses)))
    force = at.acting - bias(dynamic, q, mean)
    free = v + h * linear.down(L, at.r * linear.up(L, force))
    free = _classical(mechanism, free, mean, h)
    shift = free - at.free
    half = np.array([shift[i] + sum((L[i][j] * shift[j] for j in range(i)), 0.0) for i in range(len(shift))])
    n = mechanism.n_v
    changes = [at.Y[k * n : (k + 1) * n] @ half for k in range(stepping.n_rows)]  # J = Yᵀ L
    return at.problem.b + np.array(changes) if changes else at.problem.b, free


def _classical(mechanism: Mechanism, free: Any, v: Any, h: Any) -> Any:
    """Velocities of free joints with h ω × v, in axes that do not turn."""
    for at in free_joints(mechanism):
        w = v[at + 3 : at + 6]
        free = np.concatenate([free[:at], free[at : at + 3] + h * cross(w, v[at : at + 3]), free[at + 3 :]])
    return free


def _lower(below: Any, n: int) -> list[Any]:
    """Rows of L from the numbers below its diagonal."""
    return [below[i * (i - 1) // 2 : i * (i + 1) // 2] for i in range(n)]


def _pushed(stepping: Stepping, at: Prepared, impulses: Any) -> Any:
    """Y λ = L⁻ᵀ Jᵀ λ, (n_v,)."""
    n = stepping.mechanism.n_v
    half: Any = np.zeros(n)
    for k in range(stepping.n_rows):
        half = half + at.Y[k * n : (k + 1) * n] * impulses[k]
    return half


class Ended(NamedTuple):
    """A step's end."""

    row: Any
    """of `stepping`"""
    a: Any
    """change of v over h, (n_v,)"""
    tau: Any
    """(n_v,)"""


def ended(stepping: Stepping, h: Any, row: Any, at: Prepared, impulses: Any) -> Ended:
    """The row after a step with the impulses λ (m,)."""
    mechanism = stepping.mechanism
    q, v = row[stepping.q], row[stepping.v]
    n = mechanism.n_v
    L, half = _lower(at.L, n), _pushed(stepping, at, impulses)
    after = at.free + linear.down(L, at.r * half)
    mean = 0.5 * (v + after)
    pushed = half + np.array([sum((L[i][j] * half[i] for i in range(j + 1, n)), 0.0) for j in range(n)])  # Jᵀ λ
    work = row[stepping.work] + mean @ (pushed + h * (at.acting - at.implicit * (after - v)))
    moved, turned = carried(mechanism, q, after, h)
    rest = row[stepping.z]
    new = np.concatenate([moved, turned, rest, np.array([work]), impulses])
    return Ended(new, (turned - v) * (1.0 / h), at.tau)


def carried(mechanism: Mechanism, q: Any, after: Any, h: Any) -> tuple[Any, Any]:
    """(q⁺, v⁺): coordinates moved by h v⁺, and the velocities of free joints in their new axes."""
    moved = mechanism.normalized(mechanism.integrate(q, h * after))
    for name in mechanism.joint_names:
        if mechanism.joint(name).type.kind != "free":
            continue
        at, first = mechanism.q_slices[name].start, mechanism.v_slices[name].start
        velocity = from_quaternion(q[at + 3 : at + 7]) @ after[first : first + 3]
        place = q[at : at + 3] + h * velocity
        moved = np.concatenate([moved[:at], place, moved[at + 3 :]])
        local = from_quaternion(moved[at + 3 : at + 7]).T @ velocity
        after = np.concatenate([after[:first], local, after[first + 3 :]])
    return moved, after
