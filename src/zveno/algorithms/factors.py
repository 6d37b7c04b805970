"""Two factorisations of a tree's mass matrix that serve any number of right-hand sides.

Both are M = Fᵀ diag(1/r) F with a triangular F: `half` is F⁻ᵀ b, from the leaves to the root, and `whole` is F⁻¹ x,
from the root to the leaves, so that M⁻¹ b = whole(r · half(b)). `MassFactors` takes the entries of M, one product
for every pair of joints on a way to the root; `BodyFactors` never forms M, and its cost grows with the number of
bodies only (document 002). Which one is cheaper depends on the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from ..spatial.vectors import cross
from . import linear
from .articulated import rigid
from .drives import rotor_bias, rotor_matrix
from .inverse_dynamics import bias, falling, link_wrench
from .mass_matrix import mass_matrix
from .velocities import AT_REST, Motion, body_motions


class MassFactors:
    """The factors of the mass matrix itself, without fill-in on a tree (`linear.factor`)."""

    def __init__(self, mechanism: Mechanism, q: np.ndarray) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        self.L, r = linear.factor(mass_matrix(mechanism, q))
        self.r: np.ndarray = np.array(r)

    def force(
        self, v: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None, base: Motion = AT_REST
    ) -> Any:
        """`half` of what drives the joints, τ − H, (n_v,); `external` is as in `inverse_dynamics`."""
        return self.half(tau - bias(self.mechanism, self.q, v, external, base))

    def half(self, b: np.ndarray) -> Any:
        """F⁻ᵀ b, (n_v,)."""
        return linear.up(self.L, b)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """F⁻¹ x, (n_v,)."""
        return linear.down(self.L, x)


class BodyFactors:
    """The factors by separate bodies: M*, U = M* S and D = Sᵀ U of document 002, once for all right-hand sides.

    From the leaves to the root M*_f += Cᵀ (M* − U D⁻¹ Uᵀ) C and Q*_f += Cᵀ (Q* + U D⁻¹ (τ − Sᵀ Q*)), where Q* is
    the wrench still needed while no joint accelerates; from the root to the leaves q̈ = D⁻¹ (τ − Sᵀ Q* − Uᵀ C a_f),
    a_f being what the joints' accelerations give the parent.

    For mechanisms without rotors or mimic relations that tie joints together (`drives.couples_joints`).
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        q_own = mechanism.joint_positions(q)
        rotors = rotor_matrix(mechanism)
        bodies = [rigid(link.inertia) for link in mechanism.links]
        self._joints: list[Any] = [None] * mechanism.n_links
        for i, f, joint in mechanism.inward():
            S, T = joint.subspace(q_own[i]), joint.transform(q_own[i])
            n, at = joint.type.n_v, mechanism.v_slices[joint.name]
            U = np.stack([bodies[i] @ S[:, k] for k in range(n)], axis=1) if n else S
            D = linear.factor(S.T @ U + rotors[at, at])
            scaled = np.stack([linear.solve_factored(D, row) for row in U]) if n else U
            self._joints[i] = (S, T, D, scaled, at)
            if f:
                bodies[f] = bodies[f].plus(bodies[i].without(U, scaled).moved(T))
        r = [self._joints[i][2][1] for i, _, _ in mechanism.outward()]
        self.r: np.ndarray = np.concatenate([np.zeros(0), *(np.array(part) for part in r)])

    def force(
        self, v: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None, base: Motion = AT_REST
    ) -> Any:
        """`half` of what drives the joints, τ − H, (n_v,): H comes in as the wrenches that zero q̈ needs (Q*)."""
        motions = body_motions(self.mechanism, self.q, v, np.zeros(len(tau)), falling(base, self.mechanism.gravity))
        needed = [link_wrench(link.inertia, motions[i]) for i, link in enumerate(self.mechanism.links)]
        if external is not None:
            needed = [wrench - external[i] for i, wrench in enumerate(needed)]
        return self.half(tau - rotor_bias(self.mechanism, v), needed)

    def half(self, b: np.ndarray, needed: list[Any] | None = None) -> Any:
        """F⁻ᵀ b, (n_v,): every joint takes its share of b, and hands on to its parent what that leaves in need.

        Args:
            b: (n_v,).
            needed: wrenches `[f, n]` that the links need beside, (n_links, 6).
        """
        Q: list[Any] = [None] * self.mechanism.n_links if needed is None else list(needed)
        y: list[Any] = [np.zeros(0)] * self.mechanism.n_links
        for i, f, _ in self.mechanism.inward():
            S, T, D, scaled, at = self._joints[i]
            share = b[at] if Q[i] is None else b[at] - S.T @ Q[i]
            y[i] = linear.up(D[0], share)
            if not f or (Q[i] is None and _is_zero(share)):
                continue
            passed = scaled @ share if Q[i] is None else Q[i] + scaled @ share
            carried = move_wrench(T, passed)
            Q[f] = carried if Q[f] is None else Q[f] + carried
        return np.concatenate(y)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """F⁻¹ x, (n_v,): every joint moves by its share, less what its parent's acceleration gives it."""
        a: list[Any] = [None] * self.mechanism.n_links
        accelerations: list[Any] = [np.zeros(0)] * self.mechanism.n_links
        for i, f, joint in self.mechanism.outward():
            S, T, D, scaled, at = self._joints[i]
            accelerations[i] = linear.down(D[0], x[at])
            if a[f] is not None:
                Rt, p = T[:3, :3].T, T[:3, 3]
                linear_part, turn = a[f][:3], a[f][3:]
                carried = np.concatenate([Rt @ (linear_part - cross(p, turn)), Rt @ turn])
                accelerations[i] = accelerations[i] - scaled.T @ carried
                a[i] = carried + S @ accelerations[i]
            elif joint.type.n_v:
                a[i] = S @ accelerations[i]
        return np.concatenate(accelerations)


def _is_zero(b) -> bool:
    return all(isinstance(x, float | int) and x == 0 for x in b)
