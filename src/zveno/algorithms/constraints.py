"""Constraints on a tree: value, Jacobian and bias of each type, and constrained accelerations and reactions.

A constraint is φ(q, t) = 0 with one row per constrained direction. Its Jacobian J and its bias P satisfy
φ̇ = J v + φ_t and φ̈ = J a + P. The equations of motion are those of document 003:

    [[M, −Jᵀ], [J, 0]] [a; R] + [H; P] = [τ; 0].

A positive reaction R pushes towards larger φ. It acts on the first frame of the constraint, and its opposite on the
second. All functions take two frames, A and B, either of which may be fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.ops import atan2, logical_and, minimum, sqrt, where
from ..mechanism import Mechanism
from ..spatial.transforms import transform
from ..spatial.vectors import cross
from . import linear
from .factors import BodyFactors, MassFactors
from .forward_kinematics import link_poses
from .jacobian import twist_columns
from .motion import Motion
from .velocities import world_motions


class Rows(NamedTuple):
    """Rows of one or several constraints, m in all."""

    value: Any
    """φ, (m,)"""
    J: Any
    """(m, n_v)"""
    rate: Any
    """φ_t = ∂φ/∂t, (m,), zero unless the constraint depends explicitly on time"""
    bias: Any
    """P = φ̈ − J a, (m,)"""


class Placed(NamedTuple):
    """Frame A or B of a constraint with its motion, all in world axes."""

    T: Any
    """T_world_frame"""
    J: Any
    """(6, n_v) Jacobian of `[v, w]` at the frame's origin"""
    motion: Motion
    """motion of the frame's origin with zero joint accelerations"""

    @property
    def p(self) -> np.ndarray:
        """Origin of the frame, (3,)."""
        return self.T[:3, 3]

    @property
    def R(self) -> np.ndarray:
        """Axes of the frame as columns, (3, 3)."""
        return self.T[:3, :3]


class Kinematics:
    """Poses, motions and Jacobians at one state, shared by all constraints.

    Attributes:
        mechanism, q, v: the state.
        poses: T_world_link by link number.
        motions: motion of every link with zero joint accelerations, in world axes.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: np.ndarray,
        v: np.ndarray,
        poses: Sequence[np.ndarray] | None = None,
        motions: Sequence[Motion] | None = None,
    ) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        self.v: np.ndarray = v
        self.poses = link_poses(mechanism, q) if poses is None else poses
        self.motions = world_motions(mechanism, q, v, np.zeros(mechanism.n_v)) if motions is None else motions

    def frame(self, name: str | None, T_frame_point: np.ndarray | None = None) -> Placed:
        """Return a frame of the mechanism, or a placement relative to it; `None` is the fixed link 0."""
        mechanism = self.mechanism
        target = mechanism.frame(mechanism.links[0].name if name is None else name)
        link = mechanism.link_number(target.link)
        T_link_point = target.T_link_frame if T_frame_point is None else target.T_link_frame @ T_frame_point
        T = self.poses[link] @ T_link_point
        motion = self.motions[link].at(T[:3, 3] - self.poses[link][:3, 3])
        return Placed(T, twist_columns(mechanism, self.q, self.poses, link, T[:3, 3]), motion)

    def point(self, name: str | None, point: ArrayLike) -> Placed:
        """Return a point given in a frame's axes, with the axes of that frame."""
        return self.frame(name, transform(None, point))


def stacked(parts: list[Rows], n_v: int) -> Rows:
    """Stack the rows of several constraints in order."""
    if not parts:
        return Rows(np.zeros(0), np.zeros((0, n_v)), np.zeros(0), np.zeros(0))
    return Rows(*(np.concatenate([np.asarray(part[k]) for part in parts]) for k in range(4)))


def _row(value, J, bias) -> Rows:
    return Rows(np.array([value]), np.array(J)[None], np.zeros(1), np.array([bias]))


def coincidence(A: Placed, B: Placed) -> Rows:
    """Constrain the origins to coincide: three rows in world axes; the reaction is the force on A.

    J gives the velocity of A's origin relative to B, which equals φ̇ at φ = 0; the force acts on B at A's origin.
    Joints that carry both frames then have no column. The difference of two velocities would give them one as large
    as the violation, and a redundant row would turn it into a constraint on the carrier.
    """
    r, rate = A.p - B.p, A.motion.v - B.motion.v
    J = A.J[:3] - B.J[:3] - np.stack([cross(B.J[3:, k], r) for k in range(A.J.shape[1])], axis=1)
    bias = A.motion.a - B.motion.a - cross(B.motion.e, r) - cross(B.motion.w, rate)
    return Rows(r, J, np.zeros(3), bias)


def same_attitude(A: Placed, B: Placed) -> Rows:
    """Constrain the axes to coincide: three rows in world axes; the reaction is the moment on A.

    φ is the rotation vector from B to A. J gives ω_A − ω_B, which equals φ̇ at φ = 0.
    """
    turn = 0.5 * sum((cross(B.R[:, k], A.R[:, k]) for k in range(3)), start=np.zeros(3))
    squared = turn @ turn
    c = 0.5 * (sum((B.R[:, k] @ A.R[:, k] for k in range(3)), start=0.0) - 1.0)
    small = squared < 1e-12
    safe = sqrt(where(small, 1.0, squared))
    angle = turn * where(small, 1.0 + squared / 6.0, atan2(safe, c) / safe)
    # A half turn does not show in the antisymmetric part. Any axis will do there: φ only has to be large.
    half_turn = logical_and(small, c < 0.0)
    value = np.array([where(half_turn, np.pi if k == 0 else 0.0, angle[k]) for k in range(3)])
    return Rows(value, A.J[3:] - B.J[3:], np.zeros(3), A.motion.e - B.motion.e)


def along(A: Placed, B: Placed, direction: Any) -> Rows:
    """Constrain A's origin to zero along a direction fixed in B: one row; the reaction is that force on A."""
    u, r, w = B.R @ direction, A.p - B.p, B.motion.w
    rate, spin = A.motion.v - B.motion.v, cross(w, u)
    turning = cross(B.motion.e, u) + cross(w, spin)
    J = u @ (A.J[:3] - B.J[:3]) + cross(u, r) @ B.J[3:]
    return _row(u @ r, J, u @ (A.motion.a - B.motion.a) + 2.0 * (spin @ rate) + turning @ r)


def perpendicular(A: Placed, a: Any, B: Placed, b: Any) -> Rows:
    """Keep a direction a fixed in A perpendicular to a direction b fixed in B: one row.

    The reaction is a moment on A about a × b in world axes.
    """
    a, b = A.R @ a, B.R @ b
    axis = cross(a, b)
    w_A, w_B = A.motion.w, B.motion.w
    change = cross(cross(w_A, a), b) + cross(a, cross(w_B, b))
    return _row(a @ b, axis @ (A.J[3:] - B.J[3:]), axis @ (A.motion.e - B.motion.e) + change @ (w_A - w_B))


def closing(A: Placed, B: Placed, locked: Sequence[str], n_v: int) -> Rows:
    """Lock the directions of a `Loop` between A and B, in B's axes: translations, then rotations."""
    axes = np.eye(3)
    parts = [along(A, B, axes["xyz".index(name)]) for name in ("x", "y", "z") if name in locked]
    turns = ["xyz".index(name[1]) for name in ("rx", "ry", "rz") if name in locked]
    if len(turns) == 3:
        parts.append(_seen_from(B, same_attitude(A, B), A))
    elif len(turns) == 2:
        (free,) = {0, 1, 2} - set(turns)
        parts += [perpendicular(A, axes[k], B, axes[free]) for k in turns]
    elif len(turns) == 1:
        k = turns[0]
        parts.append(perpendicular(A, axes[(k + 2) % 3], B, axes[(k + 1) % 3]))
    return stacked(parts, n_v)


def _seen_from(B: Placed, rows: Rows, A: Placed) -> Rows:
    """Return rows of `same_attitude` in B's axes, in which a loop that is carried elsewhere has the same rows."""
    turned = cross(B.motion.w, A.motion.w - B.motion.w)
    return Rows(B.R.T @ rows.value, B.R.T @ rows.J, B.R.T @ rows.rate, B.R.T @ (rows.bias - turned))


def distance(A: Placed, B: Placed, length: Any) -> Rows:
    """Keep the origins `length` apart: one row; the reaction is the force that pushes A away from B."""
    r, rate = A.p - B.p, A.motion.v - B.motion.v
    d = sqrt(r @ r)
    u = r / d
    lengthening = u @ rate
    bias = u @ (A.motion.a - B.motion.a) + (rate @ rate - lengthening * lengthening) / d
    return _row(d - length, u @ (A.J[:3] - B.J[:3]), bias)


def joint_coordinate(
    mechanism: Mechanism, q: np.ndarray, joint: str, target: Any, rate: Any = 0.0, acceleration: Any = 0.0
) -> Rows:
    """Hold a joint with one coordinate at a moving `target`: one row; the reaction is the joint's torque."""
    J = np.zeros(mechanism.n_v)
    J[mechanism.v_slices[joint].start] = 1.0
    value = q[mechanism.q_slices[joint].start] - target
    return Rows(np.array([value]), J[None], np.array([-rate]), np.array([-acceleration]))


class Solution(NamedTuple):
    """Constrained accelerations and reactions."""

    a: Any
    """(n_v,)"""
    reactions: Any
    """(m,)"""
    quality: Any
    """Smallest pivot of J M⁻¹ Jᵀ over its diagonal: 1 for independent rows, 0 for linearly dependent rows."""


def solve(
    factors: MassFactors | BodyFactors,
    y: np.ndarray,
    J: np.ndarray,
    wanted: np.ndarray,
) -> Solution:
    """Solve M a = force + Jᵀ R with J a = wanted, by the Schur complement through the factors of M.

    Most entries of Y = F⁻ᵀ Jᵀ are zero on a tree, so J M⁻¹ Jᵀ = Yᵀ diag(r) Y costs little for few constraints. One
    outward pass gives the accelerations.

    Args:
        factors: factors of M at the configuration.
        y: `factors.force(…)`, (n_v,).
        J: (m, n_v).
        wanted: (m,), −P plus drift stabilisation.
    """
    m, r = len(J), factors.r
    if not m:
        return Solution(factors.whole(r * y), np.zeros(0), 1.0)
    Y = [factors.half(row) for row in J]
    A = [[_by_ieee(Y[i] @ (r * Y[j])) if j <= i else 0.0 for j in range(m)] for i in range(m)]
    b = [wanted[i] - Y[i] @ (r * y) for i in range(m)]
    with np.errstate(all="ignore"):  # a zero row divides by zero, which the quality shows
        A_factors = linear.factor(A)
        R, inverses = linear.solve_factored(A_factors, b), A_factors[1]
        quality = 1.0 / (inverses[0] * A[0][0])
        for i in range(1, m):
            quality = minimum(quality, 1.0 / (inverses[i] * A[i][i]))
        total = y
        for i in range(m):
            total = total + Y[i] * R[i]
        return Solution(factors.whole(r * total), R, quality)


def _by_ieee(x: Any) -> Any:
    """Return a number whose division by zero follows IEEE 754; Python's own floats raise an error."""
    return np.float64(x) if isinstance(x, float) else x


def schur(
    factors: MassFactors | BodyFactors, y: np.ndarray, J: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M⁻¹ force, M⁻¹ Jᵀ (n_v, m) and J M⁻¹ Jᵀ (m, m), for solvers other than `solve`."""
    m, r = len(J), factors.r
    Y = [factors.half(row) for row in J]
    A = np.array([[Y[i] @ (r * Y[j]) for j in range(m)] for i in range(m)]).reshape(m, m)
    W = np.array([factors.whole(r * row) for row in Y]).reshape(m, len(r)).T
    return factors.whole(r * y), W, linear.symmetric(A) if m else A
