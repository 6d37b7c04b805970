"""M* of document 002: how a link resists together with what hangs on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..spatial.inertia import tensor
from ..spatial.vectors import skew
from . import linear


class Articulated(NamedTuple):
    """M*: what it takes to accelerate a link with everything it carries: f = M a + Hᵀ ε, n = H a + A ε."""

    M: Any
    H: Any
    A: Any

    def __matmul__(self, acceleration: np.ndarray) -> np.ndarray:
        """The wrench `[f, n]` for an acceleration `[a, ε]`."""
        a, e = acceleration[:3], acceleration[3:]
        return np.concatenate([self.M @ a + self.H.T @ e, self.H @ a + self.A @ e])

    def plus(self, other: Articulated) -> Articulated:
        """Both together, in the same frame."""
        return Articulated(self.M + other.M, self.H + other.H, self.A + other.A)

    def without(self, U: np.ndarray, scaled: np.ndarray) -> Articulated:
        """Less U D⁻¹ Uᵀ, given `scaled` = U D⁻¹: what the joint lets go does not resist."""
        M, H, A = self.M, self.H, self.A
        for k in range(U.shape[1]):
            f, n, g, m = U[:3, k], U[3:, k], scaled[:3, k], scaled[3:, k]
            M = M - np.outer(f, g)
            H = H - np.outer(n, g)
            A = A - np.outer(n, m)
        return Articulated(linear.symmetric(M), H, linear.symmetric(A))

    def moved(self, T_parent_child: np.ndarray) -> Articulated:
        """The same in the parent's frame: rotated, then about the parent's origin."""
        R, K = T_parent_child[:3, :3], skew(T_parent_child[:3, 3])
        M = linear.symmetric(R @ self.M @ R.T)
        H = R @ self.H @ R.T
        A = linear.symmetric(R @ self.A @ R.T)
        KH, KM = K @ H.T, K @ M
        return Articulated(M, H + KM, linear.symmetric(A + KH + KH.T + KM @ K.T))


def rigid(p: np.ndarray) -> Articulated:
    """M* of a single body with inertial parameters p."""
    return Articulated(p[0] * np.eye(3), skew(p[1:4]), tensor(p))
