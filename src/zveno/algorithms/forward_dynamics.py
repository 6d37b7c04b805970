"""Forward dynamics by the method of separate bodies, O(n) (document 002; Vereshchagin 1974)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Mechanism
from ..spatial.inertia import tensor
from ..spatial.transforms import move_wrench
from ..spatial.vectors import skew
from . import linear
from .drives import couples_joints, rotor_matrix
from .inverse_dynamics import bias, falling, link_wrench
from .mass_matrix import mass_matrix
from .velocities import AT_REST, Motion, body_motions, carried_motion


class Articulated(NamedTuple):
    """M*: what it takes to accelerate a link with everything it carries: f = M a + Hᵀ ε, n = H a + A ε."""

    M: Any
    H: Any
    A: Any

    def __matmul__(self, acceleration):
        """The wrench `[f, n]` for an acceleration `[a, ε]`."""
        a, e = acceleration[:3], acceleration[3:]
        return np.concatenate([self.M @ a + self.H.T @ e, self.H @ a + self.A @ e])

    def plus(self, other: Articulated) -> Articulated:
        """Both together, in the same frame."""
        return Articulated(self.M + other.M, self.H + other.H, self.A + other.A)

    def without(self, U, scaled) -> Articulated:
        """Less U D⁻¹ Uᵀ, given `scaled` = U D⁻¹: what the joint lets go does not resist."""
        M, H, A = self.M, self.H, self.A
        for k in range(U.shape[1]):
            f, n, g, m = U[:3, k], U[3:, k], scaled[:3, k], scaled[3:, k]
            M = M - np.outer(f, g)
            H = H - np.outer(n, g)
            A = A - np.outer(n, m)
        return Articulated(linear.symmetric(M), H, linear.symmetric(A))

    def moved(self, T_parent_child) -> Articulated:
        """The same in the parent's frame: rotated, then about the parent's origin."""
        R, K = T_parent_child[:3, :3], skew(T_parent_child[:3, 3])
        M = linear.symmetric(R @ self.M @ R.T)
        H = R @ self.H @ R.T
        A = linear.symmetric(R @ self.A @ R.T)
        KH, KM = K @ H.T, K @ M
        return Articulated(M, H + KM, linear.symmetric(A + KH + KH.T + KM @ K.T))


def rigid(p) -> Articulated:
    """M* of a single body with inertial parameters p."""
    return Articulated(p[0] * np.eye(3), skew(p[1:4]), tensor(p))


def forward_dynamics(mechanism: Mechanism, q, v, tau, external=None, base: Motion = AT_REST):
    """Accelerations, (n_v,), under joint torques tau (n_v,) at the state (q, v).

    Where rotors or mimic relations tie joints together the bodies do not separate, and M a = τ − H is solved.

    Args:
        mechanism: the mechanism; its rotors count, its friction does not.
        q, v, tau: (n_q,), (n_v,), (n_v,).
        external: wrenches `[f, n]` on the links as in `inverse_dynamics`, (n_links, 6).
        base: the motion of link 0, at rest unless given.
    """
    if couples_joints(mechanism):
        return linear.solve(mass_matrix(mechanism, q), tau - bias(mechanism, q, v, external, base))
    return separate_bodies(mechanism, q, v, tau, external, base)


def separate_bodies(mechanism: Mechanism, q, v, tau, external=None, base: Motion = AT_REST):
    """Accelerations by the method of separate bodies.

    a_i = C_i a_f + S_i q̈_i + a'_i (document 002, (4)). From the leaves to the root, with U = M* S and D = Sᵀ U:
    M*_f += Cᵀ (M* − U D⁻¹ Uᵀ) C and Q*_f += Cᵀ (Q* + (M* − U D⁻¹ Uᵀ) a' + U D⁻¹ (τ − Sᵀ Q*)); Q* is the wrench
    still needed at zero acceleration. From the root to the leaves q̈ = D⁻¹ (τ − Sᵀ Q* − Uᵀ (C a_f + a')).
    """
    start = falling(base, mechanism.gravity)
    still = np.zeros(mechanism.n_v)
    q_own, v_own = mechanism.joint_positions(q), mechanism.joint_velocities(v)
    tau_own = mechanism.joint_velocities(tau)
    rotors = rotor_matrix(mechanism)
    # Only the angular velocities of this pass are used.
    motions = body_motions(mechanism, q, v, still, start)

    inertia, needed = [], []
    for i, link in enumerate(mechanism.links):
        inertia.append(rigid(link.inertia))
        wrench = link_wrench(link.inertia, AT_REST._replace(w=motions[i].w))
        needed.append(wrench if external is None else wrench - external[i])
    passes: list[Any] = [None] * mechanism.n_links
    for i, f, joint in mechanism.inward():
        S = joint.subspace(q_own[i])
        turning = AT_REST._replace(w=motions[f].w)
        relative = carried_motion(joint, q_own[i], v_own[i], np.zeros(joint.type.n_v), turning)
        own = np.concatenate([relative.a, relative.e])
        U = np.stack([inertia[i] @ S[:, k] for k in range(joint.type.n_v)], axis=1) if joint.type.n_v else S
        at = mechanism.v_slices[joint.name]
        D = linear.factor(S.T @ U + rotors[at, at])
        scaled = np.stack([linear.solve_factored(D, row) for row in U]) if joint.type.n_v else U
        remaining = tau_own[i] - S.T @ needed[i]
        passes[i] = (S, U, D, remaining, own)
        if f:
            freed = inertia[i].without(U, scaled)
            T = joint.transform(q_own[i])
            inertia[f] = inertia[f].plus(freed.moved(T))
            passed = needed[i] + freed @ own + scaled @ remaining
            needed[f] = needed[f] + move_wrench(T, passed)

    acceleration = [np.concatenate([start.a, start.e])]
    a_own: list[Any] = [np.zeros(0)]
    for i, f, joint in mechanism.outward():
        S, U, D, remaining, own = passes[i]
        T = joint.transform(q_own[i])
        Rt = T[:3, :3].T
        a_f, e_f = acceleration[f][:3], acceleration[f][3:]
        carried = np.concatenate([Rt @ (a_f - skew(T[:3, 3]) @ e_f), Rt @ e_f]) + own
        a_own.append(linear.solve_factored(D, remaining - U.T @ carried) if joint.type.n_v else np.zeros(0))
        acceleration.append(carried + S @ a_own[i])
    return np.concatenate(a_own)
