"""Projection of a tree's equations onto the velocities that its closed loops leave independent.

The rows φ(q) = 0 of the loops have the Jacobian J and the bias P, so that J v = 0 and J a + P = 0. Some rows and as
many velocities, the dependent ones, are chosen once such that K = J[rows, dependent] is regular. With u the
independent velocities,

    v = G u,   a = G u̇ + g,   G[dependent] = −K⁻¹ J[rows, independent],   g[dependent] = −K⁻¹ P[rows].

Reactions JᵀR do no work on such motions, GᵀJᵀ = 0, so that the equations of motion in u are Gᵀ (M a + H) = Gᵀ τ
without them (Featherstone 2008, 8.7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.ops import abs, less, logical_and, maximum, sign, where
from .constraints import Rows

SMALLEST_PIVOT = 1e-6
"""Pivot of K over the length of its row, below which a state counts as singular: the loops do not determine the
dependent velocities."""
CLOSED = 1e-6
"""Largest |φ|, m or rad, of a closed state."""


@dataclass(frozen=True)
class Division:
    """Division of the velocities of a mechanism with closed loops, and the rows that are solved.

    Attributes:
        pivots: (row, dependent velocity) in the order of elimination.
        independent: velocities u, in increasing order. A velocity that is neither dependent nor independent is
            locked at zero.
        driven: velocities on which motors act; some may be dependent.
    """

    pivots: tuple[tuple[int, int], ...]
    independent: tuple[int, ...]
    driven: tuple[int, ...]

    @property
    def torques(self) -> tuple[int, ...]:
        """Velocities with a torque: the driven ones, then independent ones without a motor."""
        return (*self.driven, *(k for k in self.independent if k not in self.driven))

    @property
    def surplus(self) -> bool:
        """True if there are more motors than independent velocities, so that torques are not unique."""
        return any(k not in self.independent for k in self.driven)


class Elimination:
    """LU factors of K (n, n) with the pivots on the diagonal; zeros stay zeros."""

    def __init__(self, K: Any) -> None:
        self.LU: list[list[Any]] = [list(row) for row in K]
        self.inverse: list[Any] = []
        LU, n = self.LU, len(K)
        with np.errstate(all="ignore"):  # a singular state divides by zero, which the pivots show
            for k in range(n):
                self.inverse.append(
                    1.0 / LU[k][k] if not isinstance(LU[k][k], float) else 1.0 / np.float64(LU[k][k])
                )
                for i in range(k + 1, n):
                    if _is_zero(LU[i][k]):
                        continue
                    LU[i][k] = LU[i][k] * self.inverse[k]
                    for j in range(k + 1, n):
                        LU[i][j] = _less(LU[i][j], LU[i][k], LU[k][j])

    def pivot(self, k: int) -> Any:
        """Return the k-th pivot."""
        return self.LU[k][k]

    def solve(self, B: Any) -> np.ndarray:
        """Return K⁻¹ B for B (n, m)."""
        LU, n = self.LU, len(self.LU)
        X = np.array(B, dtype=object) if n else np.zeros(np.shape(B))
        for k in range(n):
            for i in range(k + 1, n):
                X[i] = [_less(x, LU[i][k], y) for x, y in zip(X[i], X[k], strict=True)]
        for k in reversed(range(n)):
            for i in range(k + 1, n):
                X[k] = [_less(x, LU[k][i], y) for x, y in zip(X[k], X[i], strict=True)]
            X[k] = [0.0 if _is_zero(x) else x * self.inverse[k] for x in X[k]]
        return _plain(X)

    def solve_transposed(self, b: Any) -> np.ndarray:
        """Return K⁻ᵀ b for b (n,)."""
        LU, n = self.LU, len(self.LU)
        x = list(b)
        for k in range(n):
            for i in range(k):
                x[k] = _less(x[k], LU[i][k], x[i])
            x[k] = 0.0 if _is_zero(x[k]) else x[k] * self.inverse[k]
        for k in reversed(range(n)):
            for i in range(k + 1, n):
                x[k] = _less(x[k], LU[i][k], x[i])
        return np.array(x)


class Projection:
    """Motion of the whole tree from independent velocities, at one configuration.

    Attributes:
        G: (n_v, n_u).
        is_regular: True if every pivot is large enough for the dependent velocities to be determined.
    """

    def __init__(self, division: Division, rows: Callable[[Any], Rows], n_v: int) -> None:
        """Eliminate the dependent velocities.

        Args:
            division: the rows and velocities.
            rows: function of v (n_v,) that returns the rows of all loops at the configuration.
            n_v: number of velocities of the tree.
        """
        self.division: Division = division
        self._rows, self.n_v = rows, n_v
        at_rest = rows(np.zeros(n_v))
        self.value: Any = at_rest.value
        self.chosen: list[int] = [row for row, _ in division.pivots]
        self.dependent: list[int] = [k for _, k in division.pivots]
        J = self.J = at_rest.J[self.chosen]
        self.K: Elimination = Elimination(J[:, self.dependent])
        self.is_regular: Any = True
        for k, row in enumerate(J):
            pivot = self.K.pivot(k)
            large = less(SMALLEST_PIVOT**2 * _dot(row, row), pivot * pivot)
            self.is_regular = logical_and(self.is_regular, large) if k else large
        self.G: np.ndarray = self._placed(-self.K.solve(J[:, list(division.independent)]))
        for k, i in enumerate(division.independent):
            self.G[i, k] = 1.0

    def velocity(self, u: Any) -> np.ndarray:
        """Return v = G u, (n_v,)."""
        return times(self.G, u)

    def bias(self, v: Any) -> np.ndarray:
        """Return g (n_v,), the accelerations at zero u̇ and the velocities v of the tree."""
        P = self._rows(v).bias[self.chosen]
        return self._placed(-self.K.solve(P[:, None]))[:, 0]

    def solved(self, B: Any) -> np.ndarray:
        """Return X (n_v, m) with J X = −B for B (m rows, m), zero for velocities that are not dependent."""
        return self._placed(-self.K.solve(B))

    def reactions(self, tau: Any) -> np.ndarray:
        """Return the reactions R of the chosen rows that leave no torque on dependent velocities: τ_d = (JᵀR)_d."""
        return self.K.solve_transposed(np.asarray(tau)[self.dependent])

    def projected(self, x: Any) -> np.ndarray:
        """Return Gᵀ x for x (n_v, …)."""
        return times(self.G.T, x)

    def largest(self) -> Any:
        """Return the largest |φ| of all rows, solved or not."""
        size: Any = 0.0
        for value in self.value:
            size = maximum(size, abs(value))
        return size

    def orientation(self) -> Any:
        """Return the sign of det K: another sign is another branch, beyond a singular state."""
        product: Any = 1.0
        for k in range(len(self.dependent)):
            product = product * sign(self.K.pivot(k))
        return product

    def is_sound(self) -> Any:
        """Return True if the state is closed and not singular."""
        closed = less(self.largest(), CLOSED)
        return logical_and(self.is_regular, closed) if self.dependent else closed

    def correction(self) -> np.ndarray:
        """Return the change (n_v,) of the dependent coordinates by one step of Newton's method onto the loops."""
        return self.solved(np.asarray(self.value)[self.chosen][:, None])[:, 0]

    def _placed(self, X: np.ndarray) -> np.ndarray:
        whole = np.zeros((self.n_v, X.shape[1]), dtype=X.dtype)
        for k, i in enumerate(self.dependent):
            whole[i] = X[k]
        return whole.astype(object) if X.dtype == object else whole


def times(A: Any, x: Any) -> np.ndarray:
    """Return A x for A (n, m) and x (m,) or (m, k), without the terms of exact zeros."""
    A, x = np.asarray(A), np.asarray(x)
    if x.ndim == 1:
        return np.array([_dot(row, x) for row in A])
    columns = [[_dot(row, column) for column in x.reshape(len(x), -1).T] for row in A]
    return np.array(columns).reshape(len(A), *x.shape[1:])


def least_norm(A: Any, solve: Callable[[Any, Any], Any], b: Any) -> np.ndarray:
    """Return the x of least norm with Aᵀ x = b, for A (n, m) of full column rank: A (AᵀA)⁻¹ b."""
    return times(A, solve(times(A.T, A), b))


def poisoned(sound: Any, values: Any) -> Any:
    """Return the values where the state is sound, NaN elsewhere."""
    array = np.asarray(values)
    with np.errstate(invalid="ignore"):
        entries = [where(sound, entry, np.nan) for entry in array.ravel()]
    return np.array(entries).reshape(array.shape) if array.ndim else entries[0]


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    total: Any = 0.0
    for a, b in zip(x, y, strict=True):
        if not _is_zero(a) and not _is_zero(b):
            total = total + a * b
    return total


def _less(x: Any, a: Any, b: Any) -> Any:
    return x if _is_zero(a) or _is_zero(b) else x - a * b


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0


def _plain(X: np.ndarray) -> np.ndarray:
    """Return numbers as floats, traced entries as they are."""
    if X.dtype == object and all(isinstance(x, float | int) for x in X.flat):
        return X.astype(float)
    return X
