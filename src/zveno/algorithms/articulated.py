"""Articulated-body inertia M* of document 002: the inertia of a link together with the bodies it carries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..spatial.inertia import tensor
from ..spatial.vectors import cross, skew
from . import linear
from .tree import Packing


class Articulated(NamedTuple):
    """Articulated-body inertia M*, with f = M a + Hᵀ ε and n = H a + A ε."""

    M: Any
    H: Any
    A: Any

    def __matmul__(self, acceleration: np.ndarray) -> np.ndarray:
        """Return the wrench `[f, n]` for an acceleration `[a, ε]`."""
        a, e = acceleration[:3], acceleration[3:]
        return np.concatenate([self.M @ a + self.H.T @ e, self.H @ a + self.A @ e])

    def plus(self, other: Articulated) -> Articulated:
        """Return the sum of two inertias in the same frame."""
        return Articulated(self.M + other.M, self.H + other.H, self.A + other.A)

    def without(self, U: np.ndarray, scaled: np.ndarray) -> Articulated:
        """Return M* − U D⁻¹ Uᵀ, given `scaled` = U D⁻¹: the joint does not resist along its axes."""
        M, H, A = self.M, self.H, self.A
        for k in range(U.shape[1]):
            f, n, g, m = U[:3, k], U[3:, k], scaled[:3, k], scaled[3:, k]
            M = M - np.outer(f, g)
            H = H - np.outer(n, g)
            A = A - np.outer(n, m)
        return Articulated(linear.symmetric(M), H, linear.symmetric(A))

    def moved(self, T_parent_child: np.ndarray) -> Articulated:
        """Return the inertia in the parent's frame: rotated, then about the parent's origin."""
        R, K = T_parent_child[:3, :3], skew(T_parent_child[:3, 3])
        M = linear.symmetric(R @ self.M @ R.T)
        H = R @ self.H @ R.T
        A = linear.symmetric(R @ self.A @ R.T)
        KH, KM = K @ H.T, K @ M
        return Articulated(M, H + KM, linear.symmetric(A + KH + KH.T + KM @ K.T))


def rigid(p: np.ndarray) -> Articulated:
    """Return M* of a single body with inertial parameters p."""
    return Articulated(p[0] * np.eye(3), skew(p[1:4]), tensor(p))


def separated(M: Any, S: Any, rotor: Any) -> tuple[Any, Any, Any]:
    """Return U = M* S, the factors of D = Sᵀ U + rotor, and U D⁻¹ of a body and its joint."""
    n = S.shape[1]
    U = np.stack([M @ S[:, k] for k in range(n)], axis=1) if n else S
    D = linear.factor(S.T @ U + np.diag(rotor))
    return U, D, np.stack([linear.solve_factored(D, row) for row in U]) if n else U


def carried_acceleration(T: Any, parent: Any) -> Any:
    """Return C a: the acceleration `[a, ε]` of the parent at the child's origin, in the child's axes."""
    Rt, p = T[:3, :3].T, T[:3, 3]
    return np.concatenate([Rt @ (parent[:3] + cross(parent[3:], p)), Rt @ parent[3:]])


_UPPER = [(i, j) for i in range(3) for j in range(i, 3)]


def _numbers(body: Articulated) -> Any:
    """Return the 21 numbers of M*: upper triangles of M and A, and H."""
    upper = [np.array([block[i, j] for i, j in _UPPER]) for block in (body.M, body.A)]
    return np.concatenate([upper[0], body.H.ravel(), upper[1]])


def _of_numbers(x: Any) -> Articulated:
    M, A = np.array([[0.0] * 3] * 3, dtype=object), np.array([[0.0] * 3] * 3, dtype=object)
    for number, (i, j) in enumerate(_UPPER):
        M[i, j] = M[j, i] = x[number]
        A[i, j] = A[j, i] = x[15 + number]
    return Articulated(M, x[6:15].reshape(3, 3), A)


ARTICULATED = Packing(
    21,
    lambda body, _: _numbers(body),
    lambda x, _: _of_numbers(x),
    Articulated(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))),
)
"""M* as a column value."""
