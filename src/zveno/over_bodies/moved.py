"""Inertial parameters of many bodies in other frames."""

from __future__ import annotations

import numpy as np


def moved_parameters(p: np.ndarray, T: np.ndarray) -> np.ndarray:
    """`zveno.spatial.inertia.moved` for many bodies: parameters (n, 10) seen in frames T_new_old (n, 4, 4).

    With the second moments Σ = ∫ x xᵀ, which are moved as Σ' = R Σ Rᵀ + R h tᵀ + t (R h)ᵀ + m t tᵀ.
    """
    R, t, m = T[:, :3, :3], T[:, :3, 3], p[:, 0]
    h = np.einsum("nij,nj->ni", R, p[:, 1:4])
    I = p[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    half = 0.5 * np.trace(I, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    ht = np.einsum("ni,nj->nij", h, t)
    S = R @ (half - I) @ R.transpose(0, 2, 1) + ht + ht.transpose(0, 2, 1) + np.einsum("n,ni,nj->nij", m, t, t)
    J = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S
    first = h + m[:, None] * t
    return np.column_stack(
        [m, first, J[:, 0, 0], J[:, 0, 1], J[:, 1, 1], J[:, 0, 2], J[:, 1, 2], J[:, 2, 2]],
    )
