"""Constraints on a tree: value, Jacobian and bias of each kind, and the accelerations and reactions under them.

A constraint is φ(q, t) = 0 with one row for every direction it takes away. Its Jacobian J and its bias P satisfy
φ̇ = J v + φ_t and φ̈ = J a + P, so that the motion obeys document 003's

    [[M, −Jᵀ], [J, 0]] [a; R] + [H; P] = [τ; 0].

The reaction R of a row is positive where it pushes towards larger φ; it acts on the first frame of the constraint,
and its opposite on the second. Everything is written for two frames, A and B, either of which may be fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.math import atan2, logical_and, maximum, minimum, select, sqrt
from ..mechanism import Mechanism
from ..spatial.transforms import transform
from ..spatial.vectors import cross
from . import linear
from .factors import BodyFactors, MassFactors
from .forward_kinematics import link_poses
from .jacobian import twist_columns
from .velocities import Motion, world_motions


class Rows(NamedTuple):
    """Rows of constraints, m of them."""

    value: Any
    """φ, (m,)"""
    J: Any
    """(m, n_v)"""
    rate: Any
    """φ_t = ∂φ/∂t, (m,), zero unless the constraint moves by itself"""
    bias: Any
    """P = φ̈ − J a, (m,)"""


class Placed(NamedTuple):
    """A frame with its motion, all in world axes: what the constraint functions take as A and B."""

    T: Any
    """T_world_frame"""
    J: Any
    """(6, n_v) Jacobian of `[v, w]` at the frame's origin"""
    motion: Motion
    """of the frame's origin, with joint accelerations zero"""

    @property
    def p(self) -> np.ndarray:
        """The frame's origin, (3,)."""
        return self.T[:3, 3]

    @property
    def R(self) -> np.ndarray:
        """The frame's axes as columns, (3, 3)."""
        return self.T[:3, :3]


class Kinematics:
    """Poses, motions and Jacobians at one state, shared by all constraints."""

    def __init__(self, mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        self.v: np.ndarray = v
        self.poses: list[np.ndarray] = link_poses(mechanism, q)
        self.motions: list[Motion] = world_motions(mechanism, q, v, np.zeros(mechanism.n_v))

    def frame(self, name: str | None, T_frame_point: np.ndarray | None = None) -> Placed:
        """A frame of the mechanism, or a place given in it; `None` is the fixed link 0."""
        mechanism = self.mechanism
        target = mechanism.frame(mechanism.links[0].name if name is None else name)
        link = mechanism.link_number(target.link)
        T_link_point = target.T_link_frame if T_frame_point is None else target.T_link_frame @ T_frame_point
        T = self.poses[link] @ T_link_point
        motion = self.motions[link].at(T[:3, 3] - self.poses[link][:3, 3])
        return Placed(T, twist_columns(mechanism, self.q, self.poses, link, T[:3, 3]), motion)

    def point(self, name: str | None, point: ArrayLike) -> Placed:
        """A point given in a frame's axes, with the axes of that frame."""
        return self.frame(name, transform(None, point))


def stacked(parts: list[Rows], n_v: int) -> Rows:
    """All rows of several constraints in order."""
    if not parts:
        return Rows(np.zeros(0), np.zeros((0, n_v)), np.zeros(0), np.zeros(0))
    return Rows(*(np.concatenate([np.asarray(part[k]) for part in parts]) for k in range(4)))


def _row(value, J, bias) -> Rows:
    return Rows(np.array([value]), np.array(J)[None], np.zeros(1), np.array([bias]))


def coincidence(A: Placed, B: Placed) -> Rows:
    """The origins coincide: three rows in world axes; the reaction is the force on A."""
    return Rows(A.p - B.p, A.J[:3] - B.J[:3], np.zeros(3), A.motion.a - B.motion.a)


def same_attitude(A: Placed, B: Placed) -> Rows:
    """The axes coincide: three rows in world axes; the reaction is the moment on A.

    φ is the rotation vector from B to A. J is ω_A − ω_B, which is φ̇ where φ = 0.
    """
    turn = 0.5 * sum((cross(B.R[:, k], A.R[:, k]) for k in range(3)), start=np.zeros(3))
    squared = turn @ turn
    c = 0.5 * (sum((B.R[:, k] @ A.R[:, k] for k in range(3)), start=0.0) - 1.0)
    small = squared < 1e-12
    safe = sqrt(select(small, 1.0, squared))
    angle = turn * select(small, 1.0 + squared / 6.0, atan2(safe, c) / safe)
    # A half turn leaves no trace in the antisymmetric part; its axis does not matter, that it is far off does.
    half_turn = logical_and(small, c < 0.0)
    value = np.array([select(half_turn, np.pi if k == 0 else 0.0, angle[k]) for k in range(3)])
    return Rows(value, A.J[3:] - B.J[3:], np.zeros(3), A.motion.e - B.motion.e)


def along(A: Placed, B: Placed, direction: Any) -> Rows:
    """A's origin has no coordinate along a direction fixed in B: one row; the reaction is that force on A."""
    u, r, w = B.R @ direction, A.p - B.p, B.motion.w
    rate, spin = A.motion.v - B.motion.v, cross(w, u)
    turning = cross(B.motion.e, u) + cross(w, spin)
    J = u @ (A.J[:3] - B.J[:3]) + cross(u, r) @ B.J[3:]
    return _row(u @ r, J, u @ (A.motion.a - B.motion.a) + 2.0 * (spin @ rate) + turning @ r)


def perpendicular(A: Placed, a: Any, B: Placed, b: Any) -> Rows:
    """A direction a fixed in A stays square to a direction b fixed in B: one row.

    The reaction is a moment on A about a × b in world axes.
    """
    a, b = A.R @ a, B.R @ b
    axis = cross(a, b)
    w_A, w_B = A.motion.w, B.motion.w
    change = cross(cross(w_A, a), b) + cross(a, cross(w_B, b))
    return _row(a @ b, axis @ (A.J[3:] - B.J[3:]), axis @ (A.motion.e - B.motion.e) + change @ (w_A - w_B))


def closing(A: Placed, B: Placed, locked: Sequence[str], n_v: int) -> Rows:
    """A cannot move against B in the locked directions of a `Loop`, in B's axes: translations, then rotations."""
    axes = np.eye(3)
    parts = [along(A, B, axes["xyz".index(name)]) for name in ("x", "y", "z") if name in locked]
    turns = ["xyz".index(name[1]) for name in ("rx", "ry", "rz") if name in locked]
    if len(turns) == 3:
        parts.append(same_attitude(A, B))
    elif len(turns) == 2:
        (free,) = {0, 1, 2} - set(turns)
        parts += [perpendicular(A, axes[k], B, axes[free]) for k in turns]
    elif len(turns) == 1:
        k = turns[0]
        parts.append(perpendicular(A, axes[(k + 2) % 3], B, axes[(k + 1) % 3]))
    return stacked(parts, n_v)


def distance(A: Placed, B: Placed, length: Any) -> Rows:
    """The origins stay `length` apart: one row; the reaction is the force that pushes A away from B."""
    r, rate = A.p - B.p, A.motion.v - B.motion.v
    d = sqrt(r @ r)
    u = r / d
    lengthening = u @ rate
    bias = u @ (A.motion.a - B.motion.a) + (rate @ rate - lengthening * lengthening) / d
    return _row(d - length, u @ (A.J[:3] - B.J[:3]), bias)


def joint_coordinate(
    mechanism: Mechanism, q: np.ndarray, joint: str, target: Any, rate: Any = 0.0, acceleration: Any = 0.0
) -> Rows:
    """A joint with one coordinate is at `target`, which moves: one row; the reaction is the joint's torque."""
    J = np.zeros(mechanism.n_v)
    J[mechanism.v_slices[joint].start] = 1.0
    value = q[mechanism.q_slices[joint].start] - target
    return Rows(np.array([value]), J[None], np.array([-rate]), np.array([-acceleration]))


class Solution(NamedTuple):
    """Accelerations and reactions."""

    a: Any
    """(n_v,)"""
    reactions: Any
    """(m,)"""
    quality: Any
    """Smallest pivot of J M⁻¹ Jᵀ over its diagonal: 1 for independent rows, 0 where a row follows from others."""


class Slip(NamedTuple):
    """A contact that may slide: its tangential reaction is −μ N times the direction in which it slides."""

    row: int
    """of the normal; the two tangents follow"""
    mu: Any
    """coefficient of friction while it slides, 0 while it does not"""
    s: Any
    """direction of sliding along the two tangents, (2,)"""


BEYOND = 10.0
"""Times the least speed by which a contact must have turned back to be far beyond the end of its sliding."""


def slip_direction(v: Any, remembered: Any, floor: Any) -> tuple[Any, Any]:
    """Direction of the tangential velocity v (2,), and the remembered one (2,) near rest.

    Along the remembered direction the velocity counts as at least `floor`, m/s, also where it has turned back: the
    friction is then smooth on both sides of the moment when sliding ends, which is how that moment is found, and
    turns no faster than an integrator can follow. A step may go far beyond that moment; there the velocity counts
    as if it had not turned, or the friction would be so stiff across it that rounding errors grow.
    """
    along = v[0] * remembered[0] + v[1] * remembered[1]
    lift = maximum(maximum(along, floor), (1.0 - BEYOND) * floor - along) - along
    x, y = v[0] + lift * remembered[0], v[1] + lift * remembered[1]
    size = sqrt(maximum(x * x + y * y, 1e-60))  # nothing is remembered while it does not slide
    return x / size, y / size


def solve(
    factors: MassFactors | BodyFactors,
    y: np.ndarray,
    J: np.ndarray,
    wanted: np.ndarray,
    active: np.ndarray | None = None,
    slips: Sequence[Slip] = (),
) -> Solution:
    """M a = force + Jᵀ R with J a = wanted, by the Schur complement through the factors of M.

    With Y = F⁻ᵀ Jᵀ, of which most entries are zero on a tree, J M⁻¹ Jᵀ = Yᵀ diag(r) Y costs little when
    constraints are few, and one pass outward gives the accelerations.

    Args:
        factors: of M at the configuration.
        y: `factors.force(…)`, (n_v,).
        J: (m, n_v).
        wanted: (m,), −P and what holds the drift.
        active: (m,) ones and zeros, rows with zero are left out (their reaction is zero); None for all.
        slips: contacts with friction; the tangents of one that slides are not active, and their reactions
            follow from the normal one.
    """
    m, r = len(J), factors.r
    if not m:
        return Solution(factors.whole(r * y), np.zeros(0), 1.0)
    Y = [factors.half(row) for row in J]
    A = [[Y[i] @ (r * Y[j]) if j <= i else 0.0 for j in range(m)] for i in range(m)]
    b = [wanted[i] - Y[i] @ (r * y) for i in range(m)]
    if slips:
        A = _sliding([[A[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)], slips)
    if active is not None:
        for i in range(m):
            for j in range(m if slips else i):
                if i != j:
                    A[i][j] = A[i][j] * (active[i] * active[j])
            A[i][i] = select(active[i], A[i][i], 1.0)
            b[i] = b[i] * active[i]
    R, inverses = _eliminated(A, b) if slips else _symmetric(A, b)
    quality = 1.0 / (inverses[0] * A[0][0])
    for i in range(1, m):
        quality = minimum(quality, 1.0 / (inverses[i] * A[i][i]))
    for row, mu, s in slips:
        for k in (0, 1):
            R[row + 1 + k] = R[row + 1 + k] - mu * s[k] * R[row]
    total = y
    for i in range(m):
        total = total + Y[i] * R[i]
    return Solution(factors.whole(r * total), R, quality)


def _sliding(A: list, slips: Sequence[Slip]) -> list:
    """A with the columns of normals joined by the friction that comes with them."""
    for row, mu, s in slips:
        for line in A:
            line[row] = line[row] - mu * (s[0] * line[row + 1] + s[1] * line[row + 2])
    return A


def _symmetric(A, b):
    """(x, inverse pivots) of A x = b for a symmetric A of which the lower triangle is given."""
    factors = linear.factor(A)
    return linear.solve_factored(factors, b), factors[1]


def _eliminated(A, b):
    """(x, inverse pivots) of A x = b by elimination, the last row first."""
    m = len(b)
    A, x = [list(row) for row in A], list(b)
    inverse = [1.0] * m
    for k in range(m - 1, -1, -1):
        inverse[k] = 1.0 / A[k][k]
        for i in range(k):
            factor = A[i][k] * inverse[k]
            x[i] = x[i] - factor * x[k]
            for j in range(k):
                A[i][j] = A[i][j] - factor * A[k][j]
    for k in range(m):
        for j in range(k):
            x[k] = x[k] - A[k][j] * x[j]
        x[k] = x[k] * inverse[k]
    return np.array(x), inverse


def schur(
    factors: MassFactors | BodyFactors, y: np.ndarray, J: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `solve` builds, for those who solve it otherwise: M⁻¹ force, M⁻¹ Jᵀ (n_v, m) and J M⁻¹ Jᵀ (m, m)."""
    m, r = len(J), factors.r
    Y = [factors.half(row) for row in J]
    A = np.array([[Y[i] @ (r * Y[j]) for j in range(m)] for i in range(m)]).reshape(m, m)
    W = np.array([factors.whole(r * row) for row in Y]).reshape(m, len(r)).T
    return factors.whole(r * y), W, linear.symmetric(A) if m else A
