"""One step at the level of velocities (Moreau 1988, Stewart and Trinkle 1996), in three parts; all of it is traced.

With k and d the stiffness and damping at the joints, of springs too, D the damping matrix of the drives, and
M̂ = M + diag(h d + h² k) + h D,

    v_f = v + h M̂⁻¹ (τ − H − h k v)                        velocities without contacts
    W = J M̂⁻¹ Jᵀ,  b = J v_f + s                           effect of a unit impulse on the rows
    0 ≤ λ_n ⟂ (W λ + b)_n ≥ 0,  |λ_t| ≤ μ λ_n opposite to the slip
    v⁺ = v_f + M̂⁻¹ Jᵀ λ,  q⁺ = q ⊕ h v⁺

M̂ = Lᵀ diag(1/r) L has no fill-in on a tree whose drives share no supply; Y = L⁻ᵀ Jᵀ gives W = Yᵀ diag(r) Y, for
the rows of bodies where contacts share them (`stepping`).

s = φ/h lets a contact close within the step; where it penetrates, a share of the depth is taken back, not faster
than `FASTEST`. After an impact faster than `BOUNCE` steps of free fall, s = e v_n⁻.

Velocities of a free joint are kept in body axes. Within the step its origin has the classical acceleration,
v̇ + ω × v, and axes that do not turn; at the end the same velocity is expressed in the new axes. Stepping the
numbers themselves feeds energy in.

Bilateral constraints (loops, welds, hinges) are eliminated before the sweeps. With Y_e = L⁻ᵀ J_eᵀ and A = Y_eᵀ
diag(r) Y_e the impulses are μ = −A⁻¹ (b_e + Y_eᵀ diag(r) Y λ). The contacts then see a velocity that satisfies the
constraints, and rows Y − Y_e A⁻¹ Y_eᵀ diag(r) Y of impulses that do not violate them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...algorithms.inverse_dynamics import bias, gravity_torque
from ...algorithms.mass_matrix import mass_matrix
from ...algorithms.springs import has_springs, spring_stiffness, spring_torque
from ...kernels.ops import abs as magnitude
from ...kernels.ops import greater, less, logical_and, maximum, minimum, sqrt, where
from ...mechanism import Mechanism
from ...spatial.rotations import from_quaternion
from ...spatial.vectors import cross, skew
from .stepping import Group, Stepping, combined, effects, gathered
from .touching import Rows

# --- blocks of W

SINGULAR = 1e-9
"""Share of its trace added to the diagonal of a contact's block, which few joints may leave singular."""
TINY = 1e-300


def scales(groups: tuple[Group, ...], W: Any) -> Any:
    """Return 1 over the diagonal of W; for two rows with a common disc, over their block's larger eigenvalue."""
    scales: list[Any] = []
    for group in groups:
        scales.append(1.0 / entry(W, group.row, group.row))
        row = group.row + 1
        for pair in (group.friction, None, group.rolling):
            if pair is None:
                if group.torsional:
                    scales.append(1.0 / entry(W, row, row))
                    row += 1
            elif pair:
                a, b, d = entry(W, row, row), entry(W, row + 1, row), entry(W, row + 1, row + 1)
                half = 0.5 * (a - d)
                scales += [1.0 / (0.5 * (a + d) + sqrt(half * half + b * b + TINY))] * 2
                row += 2
    return np.array(scales)


def inverses(groups: tuple[Group, ...], W: Any) -> Any:
    """Return the inverses of the blocks of normal and tangents, with `SINGULAR` of their trace on the diagonal."""
    parts = []
    for n in (group.row for group in groups if group.friction):
        a, b, d = entry(W, n, n), entry(W, n + 1, n), entry(W, n + 2, n)
        c, e, f = entry(W, n + 1, n + 1), entry(W, n + 2, n + 1), entry(W, n + 2, n + 2)
        small = SINGULAR * (a + c + f)
        a, c, f = a + small, c + small, f + small
        first = c * f - e * e, d * e - b * f, b * e - c * d  # cofactors of the first row
        scale = 1.0 / (a * first[0] + b * first[1] + d * first[2] + TINY)
        lower = first[0], first[1], a * f - d * d, first[2], b * d - a * e, a * c - b * b
        parts += [scale * cofactor for cofactor in lower]
    return np.array(parts) if parts else np.zeros(0)


def entry(W: Any, i: int, j: int) -> Any:
    """Return W at row i and column j ≤ i."""
    return W[i * (i + 1) // 2 + j]


# --- gyroscopic moments


def free_joints(mechanism: Mechanism) -> list[int]:
    """Return the first velocity index of every free joint."""
    kinds = ((name, mechanism.joint(name).type.kind) for name in mechanism.joint_names)
    return [mechanism.v_slices[name].start for name, kind in kinds if kind == "free"]


def turning(mechanism: Mechanism, M: Any, v: Any, h: Any) -> Any:
    """Return the correction of the gyroscopic moments of free bodies to the midpoint of the step, (n_v,).

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
    """Solve A x = b for a regular A (3, 3), by Cramer's rule."""
    columns = [A[:, 0], A[:, 1], A[:, 2]]
    across = [cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])]
    return np.array([b @ part for part in across]) / (columns[0] @ across[0])


# --- bilateral constraints

REDUNDANT = 1e-9
"""Share of the diagonal of A that is added to it: dependent rows share their force."""
BACK = 0.2
"""Share of a violation that a step corrects."""


class Held(NamedTuple):
    """Step after elimination of the bilateral constraints."""

    free: Any
    """velocities that satisfy them, (n_v,)"""
    Y: list[Any]
    """rows of the contacts' motions, (n_v,) each"""
    impulses: Any
    """μ without contacts, (p,)"""
    coupling: Any
    """change of μ for unit impulses on these, (n_motions · p,)"""
    violation: Any
    """the largest |φ|"""


class Holding:
    """Constraints of `stepping.equations` at the beginning of a step."""

    def __init__(self, stepping: Stepping, t: Any, q: Any, v: Any, c: Any):
        self._rows = stepping.equations.rows(t, q, v, c[len(stepping.settings) :])
        self._moving = stepping.equations.moving(self._rows.J)
        self.J: Any = np.array([share * row for share, row in zip(self._moving, self._rows.J, strict=True)])
        """(p, n_v), zero where a row moves nothing"""

    def held(self, h: Any, factors: Any, free: Any, Y: list[Any]) -> Held:
        """Eliminate the constraints from a step, with the factors (L, r) of M̂."""
        L, r = factors
        rows, p = self._rows, len(self.J)
        Y_e = [linear.up(L, row) for row in self.J]
        A = [[(Y_e[i] * r) @ Y_e[j] for j in range(i + 1)] for i in range(p)]
        for i in range(p):
            # a row that moves nothing bears nothing
            A[i][i] = A[i][i] * (1.0 + REDUNDANT) + (1.0 - self._moving[i])
        A_factors = linear.factor(A)
        b = rows.J @ free + rows.rate + (BACK / h) * rows.value
        impulses = -linear.solve_factored(A_factors, b * np.array(self._moving))
        free = free + linear.down(L, r * sum(Y_e[i] * impulses[i] for i in range(p)))
        left, coupling = [], []
        for row in Y:
            shares = linear.solve_factored(A_factors, [(Y_e[i] * r) @ row for i in range(p)])
            left.append(row - sum(Y_e[i] * shares[i] for i in range(p)))
            coupling.append(-shares)
        violation: Any = 0.0
        for value in rows.value:
            violation = maximum(violation, magnitude(value))
        return Held(free, left, impulses, np.concatenate([np.zeros(0), *coupling]), violation)


# --- the step

SHARE = 0.2
"""Share of a penetration that a step corrects."""
FASTEST = 0.3
"""Largest speed, m/s, at which penetration is corrected."""
BOUNCE = 2.0
"""Number of steps of free fall, g h, below which an approach does not bounce."""


class Problem(NamedTuple):
    """Contact problem of one step."""

    W: Any
    """lower triangle of J M̂⁻¹ Jᵀ, (m (m + 1)/2,)"""
    b: Any
    """J v_f + s, (m,)"""
    scale: Any
    """1 over the effect of a unit impulse on its own row (m,); for tangents, the larger of two directions"""
    inverse: Any
    """of W's 3×3 block of every contact with friction, lower triangles, (6 c,)"""
    bound: Any
    """(m,): μ and the like at rows of friction, the largest impulse at rows of joints"""


N_PARTS = len(Problem._fields)


@dataclass(frozen=True)
class Prepared:
    """Values from the beginning of a step that its end needs."""

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
    """their combinations to rows, (n_shared · 6,)"""
    tau: Any
    """torque of control and drives at v⁺ = v, (n_v,)"""
    acting: Any
    """the same less friction, (n_v,)"""
    implicit: Any
    """d + h k without the drives' D, (n_v,)"""
    command: Any
    """(n_v,)"""
    unheld: Any
    """v_f without bilateral constraints, (n_v,)"""
    hits: Any
    """1 where something bounces in this step, (1,)"""
    rising: Any
    """v_f with the potential energy of impulses, v_f + h M̂⁻¹ G, if something may bounce, (n_v,)"""
    impulses: Any
    """of bilateral constraints, without contacts, (p,)"""
    coupling: Any
    """their change for unit impulses on the motions, (n_motions · p,)"""
    deepest: Any
    """the least gap, or less the largest violation, (1,), m or rad"""

    def rows(self) -> tuple[Any, ...]:
        """Return all fields as flat arrays."""
        dynamics = self.free, self.L, self.r, self.Y, self.S
        forces = self.tau, self.acting, self.implicit, self.command, self.unheld, self.hits, self.rising
        forces = *forces, self.impulses, self.coupling
        return (*self.problem, *dynamics, *forces, self.deepest)

    @staticmethod
    def of(rows: tuple[Any, ...]) -> Prepared:
        """Build from the result of `rows`."""
        return Prepared(Problem(*rows[:N_PARTS]), *rows[N_PARTS:])


def prepared(stepping: Stepping, t: Any, h: Any, row: Any, c: Any, u: Any, cells: list[Any]) -> Prepared:
    """Compute a step up to the contacts, at a row of `stepping`."""
    mechanism, dynamic = stepping.mechanism, stepping.equations.dynamic
    q, v = row[stepping.q], row[stepping.v]
    tau, acting, stiffness, damping, D, command = _forces(stepping, t, h, row, u)
    M = mass_matrix(dynamic, q)
    springs, elastic = _springs(mechanism, q, v, h)
    implicit = damping + h * stiffness
    L, r = linear.factor(M + np.diag(h * (implicit + h * elastic)) + h * D)
    r = np.array(r)

    def moved(push: Any) -> Any:
        return linear.down(L, r * linear.up(L, push))

    force = acting + springs - bias(dynamic, q, v) + turning(mechanism, M, v, h)
    free = _classical(mechanism, v + h * moved(force), v, h)
    rows = Rows(stepping, q, cells, h * v)
    known, S = stepping.sharing, np.concatenate([np.zeros(0), *rows.S])
    before = combined(known, S, np.array([b @ v for b in rows.B]))
    offsets, bound, hits = _offsets(stepping, rows, before, h, c)
    Y = [linear.up(L, b) for b in rows.B]
    holding = Holding(stepping, t, q, v, c) if stepping.n_held else None
    if spins(mechanism):
        mean = 0.5 * (v + free + moved(_last_pushes(stepping, row, rows, S, before, h, holding)))
        force = acting + springs - bias(dynamic, q, mean)
        free = _classical(mechanism, v + h * moved(force), mean, h)
    unheld = free
    deepest: Any = np.inf
    for gap in rows.gaps:
        deepest = minimum(deepest, gap)
    impulses, coupling = np.zeros(0), np.zeros(0)
    if holding is not None:
        free, Y, impulses, coupling, violation = holding.held(h, (L, r), free, Y)
        deepest = minimum(deepest, -violation)
    b = combined(known, S, np.array([b @ free for b in rows.B])) + offsets
    W = effects(known, S, Y, r)
    parts = W, b, scales(stepping.groups, W), inverses(stepping.groups, W), bound
    below = np.array([L[i][j] for i in range(len(r)) for j in range(i)])
    factors = below, r, np.concatenate([np.zeros(0), *Y]), S
    rising = free + h * moved(gravity_torque(dynamic, q)) if stepping.bounces else np.zeros(0)
    forces = tau, acting, implicit, command, unheld, np.array([hits]), rising
    forces = *forces, impulses, coupling, np.array([deepest])
    return Prepared(Problem(*parts), free, *factors, *forces)


def _last_pushes(
    stepping: Stepping, row: Any, rows: Rows, S: Any, before: Any, h: Any, holding: Holding | None
) -> Any:
    """Return Jᵀ λ of the impulses of the last step, (n_v,): an estimate of contacts and constraints in this one.

    A contact that has just bounced is left out.
    """
    pushes: Any = np.zeros(stepping.mechanism.n_v)
    impulses = list(row[stepping.impulses])
    for contact, group in stepping.touches:
        if contact.restitution:
            stays = where(greater(before[group.row], _bounce(stepping, h)), 0.0, 1.0)
            for k in range(group.row, group.row + group.size):
                impulses[k] = stays * impulses[k]
    if rows.B:
        for b, impulse in zip(rows.B, gathered(stepping.sharing, S, impulses), strict=True):
            pushes = pushes + b * impulse
    return pushes if holding is None else pushes + holding.J.T @ row[stepping.impulses.stop :]


def _bounce(stepping: Stepping, h: Any) -> Any:
    """Return the speed, m/s, above which approaches bounce."""
    fall = max(float(np.linalg.norm(np.asarray(stepping.mechanism.gravity, dtype=float))), 1.0)
    return BOUNCE * fall * h


def _forces(stepping: Stepping, t: Any, h: Any, row: Any, u: Any) -> tuple[Any, ...]:
    """Return (τ − h k v at v, the same less friction, stiffness, damping, drives' D, command), (n_v,) but D."""
    equations, mechanism = stepping.equations, stepping.mechanism
    q, v = row[stepping.q], row[stepping.v]
    stiffness = damping = command = np.zeros(mechanism.n_v)
    D: Any = np.zeros((mechanism.n_v, mechanism.n_v))
    if equations.control is not None:
        command = equations.control.torque(mechanism, t, q, v) if equations.control.traced else u
        stiffness, damping = equations.control.gains(mechanism, t, q, v)
    if equations.drive is not None:
        at_rest, D, _ = equations.drive.affine(mechanism, q, v, row[stepping.z], command, h)
        tau, stiffness, damping = at_rest - D @ v, np.zeros(mechanism.n_v), np.zeros(mechanism.n_v)
    else:
        tau = command - h * stiffness * v
    acting = tau
    if stepping.friction:
        acting, damping = (
            acting - stepping.viscous * v - stepping.friction_at_rest,
            damping + stepping.viscous,
        )
    return tau, acting, stiffness, damping, D, command


def _springs(mechanism: Mechanism, q: Any, v: Any, h: Any) -> tuple[Any, Any]:
    """Return (τ − h k v at v, stiffness) of the joint springs, (n_v,) each; they do no external work."""
    stiffness = spring_stiffness(mechanism)
    if not has_springs(mechanism):
        return stiffness, stiffness  # zeros
    return spring_torque(mechanism, q) - h * stiffness * v, stiffness


def _offsets(stepping: Stepping, rows: Rows, before: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    """Return (s, bounds), (m,) each, and 1 if something bounces, else 0; for row velocities `before` (m,)."""
    fast = _bounce(stepping, h)
    offsets: list[Any] = []
    bounds: list[Any] = []
    gaps, bounces = iter(rows.gaps), 0.0
    for contact, group, (mu, restitution, torsional, rolling) in stepping.numbers_of(c):
        gap = next(gaps)
        offset = _closing(gap, h)
        if contact.restitution:
            speed = before[group.row]
            hits = logical_and(less(speed, -fast), less(gap + h * speed, 0.0))
            offset = where(hits, minimum(offset, 0.0) + restitution * speed, offset)
            bounces = where(hits, 1.0, bounces)
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
    for _, _, coulomb in stepping.dry:
        offsets.append(0.0)
        bounds.append(coulomb * h)
    return np.array(offsets), np.array(bounds), bounces


def _closing(gap: Any, h: Any) -> Any:
    """Return s of a gap, m/s."""
    return where(greater(gap, 0.0), gap / h, maximum(SHARE * gap / h, -FASTEST))


def spins(mechanism: Mechanism) -> bool:
    """Return True if the robot has free or ball joints: forces are then evaluated at the midpoint of the step.

    Explicit gyroscopic moments feed energy into a fast top: by (h Ω)²/2 per step, and by (h Ω)⁴/8 with this.
    """
    kinds = (mechanism.joint(name).type for name in mechanism.joint_names)
    return any(kind.n_q > kind.n_v for kind in kinds)


def _classical(mechanism: Mechanism, free: Any, v: Any, h: Any) -> Any:
    """Return velocities of free joints with h ω × v, in axes that do not turn."""
    for at in free_joints(mechanism):
        w = v[at + 3 : at + 6]
        free = np.concatenate([free[:at], free[at : at + 3] + h * cross(w, v[at : at + 3]), free[at + 3 :]])
    return free


def _lower(below: Any, n: int) -> list[Any]:
    """Return the rows of L from the numbers below its diagonal."""
    return [below[i * (i - 1) // 2 : i * (i + 1) // 2] for i in range(n)]


def _pushed(stepping: Stepping, at: Prepared, impulses: Any) -> Any:
    """Return L⁻ᵀ Jᵀ λ, (n_v,)."""
    n = stepping.mechanism.n_v
    half: Any = np.zeros(n)
    for k, impulse in enumerate(gathered(stepping.sharing, at.S, impulses)):
        half = half + at.Y[k * n : (k + 1) * n] * impulse
    return half


class Ended(NamedTuple):
    """End of a step."""

    row: Any
    """of `stepping`"""
    a: Any
    """change of v over h, (n_v,)"""
    tau: Any
    """torque of control and drives, (n_v,)"""


def ended(stepping: Stepping, h: Any, row: Any, at: Prepared, impulses: Any) -> Ended:
    """Return the row after a step with the impulses λ (m,)."""
    mechanism = stepping.mechanism
    q, v = row[stepping.q], row[stepping.v]
    n = mechanism.n_v
    L, half = _lower(at.L, n), _pushed(stepping, at, impulses)
    if stepping.bounces:
        share = _passive(L, at, half)
        impulses, half = share * impulses, share * half
    after = at.free + linear.down(L, at.r * half)
    mean = 0.5 * (v + after)
    if stepping.n_held:  # bilateral constraints may move, and then do work too
        half = _upwards(L, after - at.unheld) / at.r
    pushed = _downwards(L, half)
    rest, yielding = row[stepping.z], at.implicit * (after - v)
    if stepping.equations.drive is not None:
        _, D, advance = stepping.equations.drive.affine(mechanism, q, v, rest, at.command, h)
        rest, yielding = advance(after), yielding + D @ (after - v)
    work = row[stepping.work] + mean @ (pushed + h * (at.acting - yielding))
    moved, turned = carried(mechanism, q, after, h)
    held_by = at.impulses
    p = stepping.n_held
    if p:
        for k, impulse in enumerate(gathered(stepping.sharing, at.S, impulses)):
            held_by = held_by + at.coupling[k * p : (k + 1) * p] * impulse
    new = np.concatenate([moved, turned, rest, np.array([work]), impulses, held_by])
    return Ended(new, (turned - v) * (1.0 / h), at.tau - yielding + stepping.viscous * (after - v))


def _passive(L: Any, at: Prepared, half: Any) -> Any:
    """Return the largest share of the impulses of a bounce that adds no energy, at most 1.

    Newton's restitution with friction may add energy (Kane and Levinson 1985). Impulses β λ change kinetic and
    potential energy by β λᵀ J (v_f + h M̂⁻¹ G) + β² λᵀ W λ/2, which is zero at the largest passive share.
    """
    first, second = _downwards(L, half) @ at.rising, half @ (at.r * half)
    gains = logical_and(greater(at.hits[0], 0.5), greater(first + 0.5 * second, 0.0))
    share = maximum(-2.0 * first, 0.0) / where(gains, second, 1.0)
    return where(gains, minimum(share, 1.0), 1.0)


def _downwards(L: Any, x: Any) -> Any:
    """Return Lᵀ x."""
    n = len(x)
    return x + np.array([sum((L[i][j] * x[i] for i in range(j + 1, n)), 0.0) for j in range(n)])


def _upwards(L: Any, x: Any) -> Any:
    """Return L x."""
    return x + np.array([sum((L[i][j] * x[j] for j in range(i)), 0.0) for i in range(len(x))])


def carried(mechanism: Mechanism, q: Any, after: Any, h: Any) -> tuple[Any, Any]:
    """Return (q⁺, v⁺): coordinates moved by h v⁺, and the velocities of free joints in their new axes."""
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
