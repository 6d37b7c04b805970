"""Two factorisations of a tree's mass matrix for any number of right-hand sides.

Both are M = Fᵀ diag(1/r) F with a triangular F. `half` is F⁻ᵀ b, from the leaves to the root, and `whole` is F⁻¹ x,
from the root to the leaves, so that M⁻¹ b = whole(r · half(b)). `MassFactors` uses the entries of M, one product
per pair of joints on a path to the root. `BodyFactors` never forms M, and its cost is linear in the number of
bodies (document 002). The cheaper one depends on the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from . import linear
from .articulated import ARTICULATED, carried_acceleration, rigid, separated
from .drives import rotor_bias, rotor_matrix
from .inverse_dynamics import bias, needed_wrenches
from .mass_matrix import mass_matrix
from .motion import AT_REST, Motion
from .tree import VELOCITIES, WRENCH, tree_of


class MassFactors:
    """Factors of the mass matrix itself, without fill-in on a tree (`linear.factor`)."""

    def __init__(self, mechanism: Mechanism, q: np.ndarray) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        self.L, r = linear.factor(mass_matrix(mechanism, q))
        self.r: np.ndarray = np.array(r)

    def force(
        self, v: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None, base: Motion = AT_REST
    ) -> Any:
        """Return `half` of the driving forces τ − H, (n_v,); `external` is as in `inverse_dynamics`."""
        return self.half(tau - bias(self.mechanism, self.q, v, external, base))

    def half(self, b: np.ndarray) -> Any:
        """Return F⁻ᵀ b, (n_v,)."""
        return linear.up(self.L, b)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """Return F⁻¹ x, (n_v,)."""
        return linear.down(self.L, x)


class BodyFactors:
    """Factors by articulated bodies: M*, U = M* S and D = Sᵀ U of document 002, for all right-hand sides.

    From the leaves to the root M*_f += Cᵀ (M* − U D⁻¹ Uᵀ) C and Q*_f += Cᵀ (Q* + U D⁻¹ (τ − Sᵀ Q*)), where Q* is
    the wrench needed at zero joint acceleration; from the root to the leaves q̈ = D⁻¹ (τ − Sᵀ Q* − Uᵀ C a_f), where
    a_f is the parent's acceleration due to joint accelerations.

    The mechanism must not have rotors or mimic relations that couple joints (`drives.couples_joints`).
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray) -> None:
        self.mechanism: Mechanism = mechanism
        self.q: np.ndarray = q
        self._tree = tree_of(mechanism)
        at, M = self._tree.positions(q), self._tree.column(ARTICULATED, start=lambda i: rigid(i.inertia))
        rotors = rotor_matrix(mechanism)
        self._joints: dict[int, Any] = {}
        for i in self._tree.inward():
            S, T = i.joint.subspace(at[i]), i.joint.transform(at[i])
            U, D, UD = separated(M[i], S, np.diag(rotors[i.velocities, i.velocities]))
            self._joints[i.number] = (S, T, D, UD)
            M[i.parent] = M[i.parent].plus(M[i].without(U, UD).moved(T))
        r = [self._joints[i.number][2][1] for i in self._tree.outward()]
        self.r: np.ndarray = np.concatenate([np.zeros(0), *(np.array(part) for part in r)])

    def force(
        self, v: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None, base: Motion = AT_REST
    ) -> Any:
        """Return `half` of the driving forces τ − H, (n_v,). H enters as the wrenches Q* at zero q̈."""
        _, needed = needed_wrenches(self._tree, self.q, v, None, external, base)
        return self.half(tau - rotor_bias(self.mechanism, v), needed)

    def half(self, b: np.ndarray, needed: Any = None) -> Any:
        """Return F⁻ᵀ b, (n_v,): every joint takes its share of b and passes the remaining wrench to its parent.

        Args:
            b: (n_v,).
            needed: column of further wrenches `[f, n]` that the links need.
        """
        y = self._tree.result("y", VELOCITIES)
        Q = self._tree.column(WRENCH) if needed is None else needed
        for i in self._tree.inward():
            S, T, D, UD = self._joints[i.number]
            share = b[i.velocities] - S.T @ Q[i]
            y[i] = linear.up(D[0], share)
            Q[i.parent] = Q[i.parent] + move_wrench(T, Q[i] + UD @ share)
        return y.whole()

    def whole(self, x: np.ndarray) -> np.ndarray:
        """Return F⁻¹ x, (n_v,): every joint moves by its share, less the part due to its parent's acceleration."""
        accelerations, a = self._tree.result("a", VELOCITIES), self._tree.column(WRENCH)
        for i in self._tree.outward():
            S, T, D, UD = self._joints[i.number]
            carried = carried_acceleration(T, a[i.parent])
            accelerations[i] = joint_acceleration = linear.down(D[0], x[i.velocities]) - UD.T @ carried
            a[i] = carried + S @ joint_acceleration
        return accelerations.whole()
