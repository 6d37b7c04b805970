"""One step at the level of velocities (Moreau 1988, Stewart and Trinkle 1996), in three parts; all of it is traced.

With k and d the stiffness and damping at the joints, of springs too, and M̂ = M + diag(h d + h² k),

    v_f = v + h M̂⁻¹ (τ − H − h k v)                        velocities without contacts
    W = J M̂⁻¹ Jᵀ,  b = J v_f + s                           what a unit impulse does to the rows
    0 ≤ λ_n ⟂ (W λ + b)_n ≥ 0,  |λ_t| ≤ μ λ_n opposite to the slip
    v⁺ = v_f + M̂⁻¹ Jᵀ λ,  q⁺ = q ⊕ h v⁺

M̂ = Lᵀ diag(1/r) L has no fill-in on a tree; Y = L⁻ᵀ Jᵀ gives W = Yᵀ diag(r) Y, for the rows of bodies where
contacts share them (`sharing`).

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
from ...algorithms.springs import has_springs, spring_stiffness, spring_torque
from ...kernels.math import greater, less, logical_and, maximum, minimum, select
from ...mechanism import Mechanism
from ...spatial.rotations import from_quaternion
from ...spatial.vectors import cross
from .blocks import inverses, scales
from .gyroscopic import free_joints, turning
from .holding import held
from .sharing import combined, effects, gathered
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


class Problem(NamedTuple):
    """The contacts of one step."""

    W: Any
    """lower triangle of J M̂⁻¹ Jᵀ, (m (m + 1)/2,)"""
    b: Any
    """J v_f + s, (m,)"""
    scale: Any
    """1 over what a unit impulse does to its own row (m,); for tangents, the larger of two directions"""
    inverse: Any
    """of W's 3×3 block of every contact with friction, lower triangles, (6 c,)"""
    bound: Any
    """(m,): μ and the like at rows of friction, the largest impulse at rows of joints"""


N_PARTS = len(Problem._fields)


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
    """of the motions of bodies, (n_motions · n_v,)"""
    S: Any
    """what combines them to rows, (n_shared · 6,)"""
    tau: Any
    """what control and drives apply at v⁺ = v, (n_v,)"""
    acting: Any
    """the same less friction, (n_v,)"""
    implicit: Any
    """d + h k, (n_v,)"""
    command: Any
    """(n_v,)"""
    impulses: Any
    """of constraints that hold both ways, without contacts, (p,)"""
    coupling: Any
    """their change for unit impulses on the motions, (n_motions · p,)"""
    deepest: Any
    """the least gap, or less the largest violation, (1,), m or rad"""

    def rows(self) -> tuple[Any, ...]:
        """All of it, as rows of numbers."""
        dynamics = self.free, self.L, self.r, self.Y, self.S
        forces = self.tau, self.acting, self.implicit, self.command, self.impulses, self.coupling
        return (*self.problem, *dynamics, *forces, self.deepest)

    @staticmethod
    def of(rows: tuple[Any, ...]) -> Prepared:
        """From the rows."""
        return Prepared(Problem(*rows[:N_PARTS]), *rows[N_PARTS:])


def prepared(stepping: Stepping, t: Any, h: Any, row: Any, c: Any, u: Any, cells: list[Any]) -> Prepared:
    """Everything of a step up to the contacts, at a row of `stepping`."""
    mechanism, dynamic = stepping.mechanism, stepping.equations.dynamic
    q, v = row[stepping.q], row[stepping.v]
    tau, acting, stiffness, damping, command = _forces(stepping, t, h, row, u)
    M = mass_matrix(dynamic, q)
    springs, elastic = _springs(mechanism, q, v, h)
    force = acting + springs - bias(dynamic, q, v) + turning(mechanism, M, v, h)
    implicit = damping + h * stiffness
    L, r = linear.factor(M + np.diag(h * (implicit + h * elastic)))
    free = _classical(mechanism, v + h * linear.down(L, (r := np.array(r)) * linear.up(L, force)), v, h)
    rows = Rows(stepping, q, cells)
    known, S = stepping.sharing, np.concatenate([np.zeros(0), *rows.S])
    offsets, bound = _offsets(stepping, rows, v, h, c)
    Y = [linear.up(L, one) for one in rows.B]
    deepest: Any = np.inf
    for gap in rows.gaps:
        deepest = minimum(deepest, gap)
    impulses, coupling = np.zeros(0), np.zeros(0)
    if stepping.n_held:
        free, Y, impulses, coupling, violation = held(stepping, t, h, q, v, c, (L, r), free, Y)
        deepest = minimum(deepest, -violation)
    b = combined(known, S, np.array([one @ free for one in rows.B])) + offsets
    W = effects(known, S, Y, r)
    parts = W, b, scales(stepping.groups, W), inverses(stepping.groups, W), bound
    below = np.array([L[i][j] for i in range(len(r)) for j in range(i)])
    factors = below, r, np.concatenate([np.zeros(0), *Y]), S
    forces = tau, acting, implicit, command, impulses, coupling, np.array([deepest])
    return Prepared(Problem(*parts), free, *factors, *forces)


def _forces(stepping: Stepping, t: Any, h: Any, row: Any, u: Any) -> tuple[Any, ...]:
    """(τ − h k v at v, the same less friction, stiffness, damping, command), (n_v,) each."""
    equations, mechanism = stepping.equations, stepping.mechanism
    q, v = row[stepping.q], row[stepping.v]
    stiffness = damping = command = np.zeros(mechanism.n_v)
    if equations.control is not None:
        command = equations.control.torque(mechanism, t, q, v) if equations.control.traced else u
        stiffness, damping = equations.control.gains(mechanism, t, q, v)
    if equations.drive is not None:
        at_rest, damping, _ = equations.drive.affine(mechanism, q, v, row[stepping.z], command, h)
        tau, stiffness = at_rest - damping * v, np.zeros(mechanism.n_v)
    else:
        tau = command - h * stiffness * v
    acting = tau
    if stepping.friction:
        acting, damping = (
            acting - stepping.viscous * v - stepping.drive_numbers("offset"),
            damping + stepping.viscous,
        )
    return tau, acting, stiffness, damping, command


def _springs(mechanism: Mechanism, q: Any, v: Any, h: Any) -> tuple[Any, Any]:
    """(τ − h k v at v, stiffness) of the springs of the joints, (n_v,) each; they do no work from outside."""
    stiffness = spring_stiffness(mechanism)
    if not has_springs(mechanism):
        return stiffness, stiffness  # zeros
    return spring_torque(mechanism, q) - h * stiffness * v, stiffness


def _offsets(stepping: Stepping, rows: Rows, v: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """(s, bounds), (m,) each."""
    fall = max(float(np.linalg.norm(np.asarray(stepping.mechanism.gravity, dtype=float))), 1.0)
    offsets: list[Any] = []
    bounds: list[Any] = []
    gaps = iter(rows.gaps)
    before = combined(
        stepping.sharing, np.concatenate([np.zeros(0), *rows.S]), np.array([one @ v for one in rows.B])
    )
    for contact, group, (mu, restitution, torsional, rolling) in stepping.numbers_of(c):
        gap = next(gaps)
        offset = _closing(gap, h)
        if contact.restitution:
            speed = before[group.row]
            hits = logical_and(less(speed, -BOUNCE * fall * h), less(gap + h * speed, 0.0))
            offset = select(hits, minimum(offset, 0.0) + restitution * speed, offset)
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


def spinning(stepping: Stepping) -> list[int]:
    """Where the angular velocities of free and ball joints begin; none with constraints that hold both ways."""
    found, mechanism = [], stepping.mechanism
    if stepping.n_held:
        return []
    for name in mechanism.joint_names:
        joint = mechanism.joint(name).type
        if joint.n_q > joint.n_v:
            found.append(mechanism.v_slices[name].stop - 3)
    return found


def spins(stepping: Stepping, v: Any, h: Any) -> Any:
    """1 where a body turns by more than `SPIN` in a step, else 0."""
    most: Any = 0.0
    for at in spinning(stepping):
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
    force = at.acting + _springs(mechanism, q, v, h)[0] - bias(dynamic, q, mean)
    free = v + h * linear.down(L, at.r * linear.up(L, force))
    free = _classical(mechanism, free, mean, h)
    shift = free - at.free
    half = np.array([shift[i] + sum((L[i][j] * shift[j] for j in range(i)), 0.0) for i in range(len(shift))])
    n = mechanism.n_v
    known = stepping.sharing
    changes = np.array([at.Y[k * n : (k + 1) * n] @ half for k in range(known.n_motions)])  # B = Yᵀ L
    return at.problem.b + combined(known, at.S, changes) if stepping.n_rows else at.problem.b, free


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
    """L⁻ᵀ Jᵀ λ, (n_v,)."""
    n = stepping.mechanism.n_v
    half: Any = np.zeros(n)
    for k, impulse in enumerate(gathered(stepping.sharing, at.S, impulses)):
        half = half + at.Y[k * n : (k + 1) * n] * impulse
    return half


class Ended(NamedTuple):
    """A step's end."""

    row: Any
    """of `stepping`"""
    a: Any
    """change of v over h, (n_v,)"""
    tau: Any
    """what control and drives applied, (n_v,)"""


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
    if stepping.equations.drive is not None:
        rest = stepping.equations.drive.affine(mechanism, q, v, rest, at.command, h)[2](after)
    held_by = at.impulses
    p = stepping.n_held
    if p:
        for k, impulse in enumerate(gathered(stepping.sharing, at.S, impulses)):
            held_by = held_by + at.coupling[k * p : (k + 1) * p] * impulse
    new = np.concatenate([moved, turned, rest, np.array([work]), impulses, held_by])
    return Ended(new, (turned - v) * (1.0 / h), at.tau - (at.implicit - stepping.viscous) * (after - v))


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
