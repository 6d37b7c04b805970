"""Document 000's own procedure, in full: the coordinate matrix Z, for teaching and as an oracle.

The energies' coefficients are written in products of {1, cos q, sin q, …} of all joints, one row of Z each; the
base parameters are the independent columns of Z. Its size grows as 5^N, which is why nothing else here uses it. It
is for chains of at most six joints with Denavit–Hartenberg parameters, pseudo-inertia in the distal frames, and
gravity in frame 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...base_parameters.views import PAIRS
from ...errors import ModelError, unknown_name
from ...kernels.math import cos, sin
from ...spatial.rotations import cos_sin

MOST_JOINTS = 6
BASES = ("squares", "doubles")
"""Functions of a revolute joint: {1, c, s, c², sc}, or {1, c, s, cos 2q, sin 2q} as in the document's theorem."""
RECURSIONS = ("forward", "backward")
ROUNDING = 1e-12
"""A column of Z below this, beside the largest, is rounding; columns differ by at most the square of a length."""

Tau = Callable[[np.ndarray], list[np.ndarray]]


class Row(NamedTuple):
    """One row of a Denavit–Hartenberg table: σ (1 revolute, 0 prismatic), θ, α in radians, a and d."""

    sigma: int
    theta: float
    alpha: float
    a: float
    d: float


def n_rows(table: Sequence[Row]) -> int:
    """(N² + N) · 5^ν · 3^(N−ν) / 2 + 3^ν · 2^(N−ν): rows of Z for ν revolute joints among N."""
    n, revolute = len(table), sum(row.sigma for row in table)
    return (n * n + n) // 2 * 5**revolute * 3 ** (n - revolute) + 3**revolute * 2 ** (n - revolute)


def n_matrices(n: int) -> int:
    """2 + Σ (k(k+1)/2 + k + 2): 4×4 matrices that the forward recursion keeps at its deepest."""
    return 2 + sum(k * (k + 1) // 2 + k + 2 for k in range(1, n + 1))


def parts(row: Row) -> list[np.ndarray]:
    """The constant matrices Ã of A = Ã¹ + Ã² cos q + Ã³ sin q, or A = Ã¹ + Ã² q: equation (1)."""
    ca, sa = cos_sin(row.alpha)
    if row.sigma:
        A = np.zeros((3, 4, 4))
        A[0, 2], A[0, 3, 3] = (0.0, sa, ca, row.d), 1.0
        A[1, 0], A[1, 1] = (1.0, 0.0, 0.0, row.a), (0.0, ca, -sa, 0.0)
        A[2, 0], A[2, 1] = (0.0, -ca, sa, 0.0), (1.0, 0.0, 0.0, row.a)
        return list(A)
    c, s = cos_sin(row.theta)
    first = np.array(
        [[c, -s * ca, s * sa, row.a * c], [s, c * ca, -c * sa, row.a * s], [0, sa, ca, 0], [0, 0, 0, 1]]
    )
    second = np.zeros((4, 4))
    second[2, 3] = 1.0
    return [first, second]


def generator(row: Row) -> np.ndarray:
    """D with ∂A/∂q = D A."""
    D = np.zeros((4, 4))
    if row.sigma:
        D[0, 1], D[1, 0] = -1.0, 1.0
    else:
        D[2, 3] = 1.0
    return D


def tau(row: Row, f: int, s: int, basis: str = "squares") -> Tau:
    """τ^σ_fs of (18): X → coefficients of (D^f A)ᵀ X (D^s A) in the joint's functions; X is (…, 4, 4)."""
    D, A = generator(row), parts(row)
    left = [(D @ part if f else part).T for part in A]
    right = [D @ part if s else part for part in A]

    def apply(X):
        def p(i, j):
            return left[i] @ X @ right[j]

        if not row.sigma:
            return [p(0, 0), p(0, 1) + p(1, 0), p(1, 1)]
        mixed = [p(0, 1) + p(1, 0), p(0, 2) + p(2, 0)]
        if basis == "squares":
            return [p(0, 0) + p(2, 2), *mixed, p(1, 1) - p(2, 2), p(1, 2) + p(2, 1)]
        square, other = p(1, 1), p(2, 2)
        return [p(0, 0) + (square + other) / 2, *mixed, (square - other) / 2, (p(1, 2) + p(2, 1)) / 2]

    return apply


class Projections(NamedTuple):
    """The coordinate matrix and what it cost."""

    Z: np.ndarray
    """(rows, 10 N)"""
    constant: int
    """The row of the constant in the potential energy, which has no effect on the motion."""
    transformations: int
    """How many times τ or a product T Ã was evaluated on one 4×4 matrix."""

    @property
    def effective(self) -> np.ndarray:
        """Z without the constant row."""
        return np.delete(self.Z, self.constant, axis=0)


def coordinate_matrix(
    table: Sequence[Row], gravity: ArrayLike, basis: str = "squares", recursion: str = "forward"
) -> Projections:
    """Z of a chain, by the document's forward recursion or by the backward one that it improves on."""
    table = [Row(*row) for row in table]
    if not 1 <= len(table) <= MOST_JOINTS:
        raise ModelError(
            f"a chain of {len(table)} joints",
            remedy=f"Z is written out for 1 to {MOST_JOINTS}; use base_parameters",
        )
    if basis not in BASES:
        raise unknown_name("basis", basis, BASES)
    if recursion not in RECURSIONS:
        raise unknown_name("recursion", recursion, RECURSIONS)
    n = len(table)
    sizes = [5 if row.sigma else 3 for row in table]
    kinetic = math.prod(sizes)
    Z = np.zeros((n_rows(table), 10 * n))
    steps = _forward(table, basis) if recursion == "forward" else _backward(table, basis)
    count = 0
    for k, pairs, cost in steps:
        count += cost
        stride = math.prod(sizes[k + 1 :])
        for number, U in pairs.items():
            rows = slice(number * kinetic, (number + 1) * kinetic, stride)
            Z[rows, 10 * k : 10 * k + 10] = _influences(U)
    first = n * (n + 1) // 2 * kinetic
    count += _potential(table, np.asarray(gravity, dtype=float), Z, first)
    return Projections(Z, first, count)


def _influences(U: np.ndarray) -> np.ndarray:
    """tr(U ∂H/∂p) for the ten parameters."""
    return np.stack([U[:, i, j] + (U[:, j, i] if i != j else 0.0) for i, j in PAIRS], axis=1)


def _number(i: int, j: int) -> int:
    """Where the pair of rates (i, j), j ≤ i, stands among the rows."""
    return i * (i + 1) // 2 + j


def _spread(apply: Tau, X: np.ndarray) -> np.ndarray:
    """τ for every l, the joint's index running fastest."""
    return np.stack(apply(X), axis=1).reshape(-1, 4, 4)


def _forward(table, basis):
    """Every Û and Â once, from those of the link before (functions ProjKinEnergy and (19))."""
    U: dict[int, np.ndarray] = {}
    A = [np.eye(4)[None]]
    for k, row in enumerate(table):
        keep, second, both, first = (tau(row, f, s, basis) for f, s in ((0, 0), (0, 1), (1, 1), (1, 0)))
        new = {number: _spread(keep, X) for number, X in U.items()}
        new |= {_number(k, j): _spread(second, A[j + 1]) for j in range(k)}
        new[_number(k, k)] = _spread(both, A[0])
        A = [_spread(keep, X) for X in A] + [_spread(first, A[0])]
        U = new
        yield k, U, sum(len(X) for X in (*U.values(), *A))


def _backward(table, basis):
    """Every Û from the identity again, one multi-index at a time: (18) as it stands."""
    for k in range(len(table)):
        sizes = [5 if row.sigma else 3 for row in table[: k + 1]]
        indices = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes))
        projections, cost = {}, 0
        for i in range(k + 1):
            for j in range(i + 1):
                X = np.broadcast_to(np.eye(4), (indices.shape[1], 4, 4))
                for n in range(k + 1):
                    step = np.empty_like(X)
                    values = tau(table[n], int(n == j), int(n == i), basis)
                    for l in range(sizes[n]):
                        chosen = indices[n] == l
                        step[chosen] = values(X[chosen])[l]
                    X = step
                cost += (k + 1) * indices.shape[1]
                projections[_number(i, j)] = X
        yield k, projections, cost


def _potential(table, gravity, Z, first: int) -> int:
    """Rows of the potential energy: g T̃ in the columns of Sx, Sy, Sz and m."""
    sizes = [3 if row.sigma else 2 for row in table]
    T, cost = np.r_[gravity, 0.0][None], 0
    for k, row in enumerate(table):
        T = np.stack([T @ A for A in parts(row)], axis=1).reshape(-1, 4)
        cost += len(T)
        Z[first :: math.prod(sizes[k + 1 :]), 10 * k + 6 : 10 * k + 10] = T
    return cost


def joint_functions(row: Row, x: Any, basis: str = "squares") -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The functions of one coordinate that the potential and the kinetic energy are made of."""
    if not row.sigma:
        return (1.0, x), (1.0, x, x * x)
    c, s = cos(x), sin(x)
    second = (c * c, s * c) if basis == "squares" else (cos(2.0 * x), sin(2.0 * x))
    return (1.0, c, s), (1.0, c, s, *second)


def echelon_columns(Z: np.ndarray, tolerance: float = 1e-9) -> list[int]:
    """Independent columns from left to right, by elimination to echelon form with partial pivoting."""
    Z = Z[np.any(Z, axis=1)].copy()
    sizes = np.abs(Z).max(axis=0, initial=0.0)
    used = sizes > ROUNDING * sizes.max(initial=0.0)
    Z[:, used] /= sizes[used]  # columns in units of their own size
    Z[:, ~used] = 0.0
    columns, r = [], 0
    for j in range(Z.shape[1]):
        if r == len(Z):
            break
        pivot = r + int(np.argmax(np.abs(Z[r:, j])))
        if abs(Z[pivot, j]) <= tolerance:
            continue
        Z[[r, pivot]] = Z[[pivot, r]]
        Z[r + 1 :, j:] -= np.outer(Z[r + 1 :, j] / Z[r, j], Z[r, j:])
        columns.append(j)
        r += 1
    return columns


def grouping(Z: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Y = Z̃⁺ Z with Z̃ the base columns."""
    R = np.asarray(np.linalg.qr(Z[np.any(Z, axis=1)], mode="r"))
    return np.linalg.lstsq(R[:, list(columns)], R, rcond=None)[0]
