"""Floating-point arithmetic: spaces as orthonormal rows, ranks decided only for complete blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..errors import ZvenoError
from ..spatial.vectors import skew
from ._arithmetic import FULL, WIDTHS, Derivation, Twist, twist_operators
from ._views import DOUBLE, MOMENTS, SYMMETRIC, WEIGHTS, carried

CLEAR_KEPT, CLEAR_DROPPED = 1e-3, 1e-12
"""Bounds on singular values between which a state is near-degenerate and is not compressed."""
GROWN, ROUNDING = 4e-15, 1e-12
"""Smallest rounding error worth removing from a state, and tolerance for integers in its echelon form."""
WORDS = 8
"""Maximum length of products of several derivations; spaces of at most ten dimensions are full after four."""


class Operators(NamedTuple):
    """Operators of a congruence on rows of ten, of sixteen and of four."""

    ten: np.ndarray
    sixteen: np.ndarray
    four: np.ndarray


class Floating:
    """Floating-point arithmetic with lengths divided by `scale`, so that they are about 1."""

    scale: float

    double: np.ndarray
    symmetric: np.ndarray
    weights: np.ndarray
    moments: np.ndarray
    identity: np.ndarray
    half: float

    def __init__(self, scale: float):
        self.scale, self.half, self.identity = scale, 0.5, np.eye(4)
        self.double, self.symmetric, self.weights, self.moments = DOUBLE, SYMMETRIC, np.diag(WEIGHTS), MOMENTS

    def pose(self, T: np.ndarray, label: str) -> np.ndarray:
        """Convert a transform to the unit of length."""
        T = T.copy()
        T[:3, 3] /= self.scale
        return T

    def twist(self, column: np.ndarray, label: str) -> Twist:
        """Build the operators of a twist; a translation keeps unit speed, its coordinate is scaled instead."""
        unit = self.scale if column[3:].any() else 1.0
        return _twist(twist_matrix(np.concatenate([column[:3] / unit, column[3:]])).tobytes())

    def congruences(self, poses: Sequence[np.ndarray]) -> list[Operators | None]:
        """Build the congruences of all transforms at once."""
        A = np.array(poses).reshape(-1, 4, 4)
        square = np.einsum("nki,nlj->nklij", A, A).reshape(-1, 16, 16)
        ten = DOUBLE @ square @ SYMMETRIC
        plain = (np.eye(4) == A).all(axis=(1, 2))
        return [None if plain[n] else Operators(ten[n], square[n], A[n]) for n in range(len(A))]

    def gravity(self, vector: np.ndarray, drives: bool) -> np.ndarray:
        """Direction of gravity; offsets are in units of its magnitude."""
        size = np.linalg.norm(vector)
        return vector / size if size > 0 else np.zeros(3)

    def kron(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Operator X → AᵀXB on rows of sixteen."""
        return np.multiply.outer(A, B).transpose(0, 2, 1, 3).reshape(16, 16)

    def matrix(self, rows: Sequence[Any], width: int) -> np.ndarray:
        """Build a matrix from rows of numbers."""
        return np.array(rows, dtype=float).reshape(len(rows), width)

    def four(self, A: np.ndarray) -> np.ndarray:
        """Operator x → xA."""
        return A

    def beside(self, *parts: np.ndarray) -> np.ndarray:
        """Join matrices side by side."""
        return np.concatenate(parts, axis=1)

    def reduced(self, *rows: np.ndarray) -> np.ndarray:
        """Compute the R factor of stacked rows."""
        return r_factor(*rows)

    def full(self, kind: int) -> np.ndarray:
        """Orthonormal rows of the state of maximum dimension."""
        return _full(kind)

    def state(self, kind: int, *rows: np.ndarray) -> np.ndarray:
        """Build a state from rows that span it: orthonormal if its dimension is clear, else scaled to about 1.

        Otherwise the rows of a long chain would differ by powers of its reach. Blocks are never scaled, and small
        values are not truncated unless they are rounding, because that would hide near-degenerate geometry.
        """
        R = r_factor(*rows)
        if not len(R):
            return R
        # Call LAPACK directly: the wrappers cost as much as these small problems.
        _, s, Vt, failed = lapack.dgesdd(R, full_matrices=0)  # type: ignore[attr-defined]  (made at import)
        if failed:
            raise ZvenoError("the singular values of a state could not be computed", remedy="Check the geometry")
        if s[0] == 0.0:
            return R[:0]
        s /= s[0]
        rank = int((s > CLEAR_KEPT).sum())
        if rank < len(s) and s[rank] >= CLEAR_DROPPED:
            return R / np.sqrt(np.einsum("ij,ij->", R, R) / len(R))
        if rank == FULL[kind] and R.shape[1] == WIDTHS[kind]:
            return _full(kind)
        # Otherwise rounding errors outside the space grow by a tenth per joint.
        return _remove_rounding(Vt[:rank]) if rank < len(s) and s[rank] > GROWN else Vt[:rank]

    def closed(
        self, parts: Sequence[np.ndarray], derivations: Sequence[Derivation], width: int, most: int
    ) -> np.ndarray:
        """Close a space with powers of one derivation, or with products of several."""
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if not len(rows):
            return rows
        extra = rows.shape[1] - width
        if len(derivations) == 1:
            powers = derivations[0].powers
            assert powers is not None
            spread = (rows[:, :width] @ powers).reshape(-1, width)
            if extra:
                constant = np.zeros((len(rows), powers.shape[1] // width, extra))
                constant[:, 0] = rows[:, width:]
                spread = np.concatenate([spread, constant.reshape(-1, extra)], axis=1)
            return r_factor(spread)
        for _ in range(WORDS):
            onward = [np.pad(rows[:, :width] @ d.once, ((0, 0), (0, extra))) for d in derivations]
            rows = self.state(WIDTHS.index(width), rows, *onward)
        return rows

    def averaged(self, parts: Sequence[np.ndarray], samples: int) -> np.ndarray:
        """Compute the R factor of all rows, divided by the square root of the number of samples."""
        return r_factor(np.concatenate(parts) / np.sqrt(samples))

    def carried(self, A: np.ndarray) -> np.ndarray:
        """Map the ten numbers of a body to those of the body moved by A."""
        return carried(A)


@lru_cache(maxsize=64)
def floating_arithmetic(scale: float) -> Floating:
    """Return the shared arithmetic with this unit of length."""
    return Floating(scale)


@lru_cache(maxsize=256)
def _twist(data: bytes) -> Twist:
    D = np.frombuffer(data).reshape(4, 4)
    turning = bool(D[:3, :3].any())
    along = D[2, 1] * D[0, 3] + D[0, 2] * D[1, 3] + D[1, 0] * D[2, 3]
    screw = turning and abs(along) > 1e-14
    quadratic = 8 if screw else 4 if turning else 2

    def derivation(once: np.ndarray, linear: bool) -> Derivation:
        # Enough derivatives to span the functions of a coordinate: {1, c, s, c², sc} of an angle, with powers of it
        # in a screw; rows p D need two more.
        powers = [np.eye(len(once))]
        for _ in range((2 if turning else 0) if linear else quadratic):
            powers.append(powers[-1] @ once)
        return Derivation(once, np.concatenate(powers, axis=1))

    return twist_operators(floating_arithmetic(1.0), D, derivation)


@cache
def _full(kind: int) -> np.ndarray:
    """Rows of a full state: all rows for c and p; the span over all motions of TᵀT for a and of T,iᵀT for b."""
    if WIDTHS[kind] == FULL[kind]:
        return np.eye(FULL[kind])
    twists = [_twist(twist_matrix(axis).tobytes()) for axis in np.eye(6)]
    a = np.array([[1.0, 1, 1, 0, 0, 0, 0, 0, 0, 1]])
    for _ in range(2):
        a = np.concatenate([a, *(a @ twist.c.once for twist in twists)])
    rows = a if kind == 2 else np.concatenate([a @ twist.a_to_b for twist in twists])
    return np.linalg.svd(rows)[2][: FULL[kind]]


def twist_matrix(twist: np.ndarray) -> np.ndarray:
    """Matrix (4, 4) of a twist `[v, w]`."""
    D = np.zeros((4, 4))
    D[:3, :3], D[:3, 3] = skew(twist[3:]), twist[:3]
    return D


def r_factor(*rows: np.ndarray) -> np.ndarray:
    """Compute the R factor of stacked rows: same row space and norms, at most as many rows as columns."""
    M = rows[0] if len(rows) == 1 else np.concatenate(rows)
    if len(M) <= M.shape[1]:
        return M
    n = M.shape[1]
    return lapack.dgeqrf(M)[0][:n] * _upper(n)  # type: ignore[attr-defined]  (made at import)


@cache
def _upper(n: int) -> np.ndarray:
    return np.triu(np.ones((n, n)))


def _remove_rounding(basis: np.ndarray) -> np.ndarray:
    """Remove rounding from an orthonormal basis, whose echelon form consists mostly of zeros and ones."""
    order = lapack.dgeqp3(basis)[1] - 1  # type: ignore[attr-defined]  (made at import)
    echelon = np.linalg.solve(basis[:, order[: len(basis)]], basis)
    whole = np.rint(echelon)
    echelon = np.where(abs(echelon - whole) < ROUNDING, whole, echelon)
    return np.linalg.qr(echelon.T)[0].T
