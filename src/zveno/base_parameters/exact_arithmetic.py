"""The exact arithmetic: spaces as reduced row echelon forms of exact numbers, and no tolerance anywhere.

Why a result is a proof: every space is kept as the echelon form of exact numbers, which is unique; `closed` stops
only where another application of the derivations adds no dimension, so what it returns contains its rows, is
mapped into itself, and is spanned by what a closed space must contain: it is the smallest one. Rank, pivots and
grouping are read off, and hold for the mechanism as typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from ..spatial.exact_numbers import IDENTITY, Matrix, exact_gravity, exact_transform, exact_twist
from .arithmetic import FULL, WIDTHS, Derivation, Twist, twist_operators
from .exact_field import ExactMatrix, basis, beside, echelon, lowered
from .views import DOUBLE, MOMENTS, SYMMETRIC, WEIGHTS


class ExactCongruence:
    """A congruence whose operators are made when they are needed: full states need none."""

    def __init__(self, A: Matrix):
        self.A = A

    @cached_property
    def ten(self) -> ExactMatrix:
        """On symmetric rows."""
        K = exact_arithmetic()
        return K.double @ self.sixteen @ K.symmetric

    @cached_property
    def sixteen(self) -> ExactMatrix:
        """On rows of sixteen."""
        return _kron(self.A, self.A)

    @cached_property
    def four(self) -> ExactMatrix:
        """On rows of four."""
        return _matrix_of(self.A)


class Exact:
    """Exact numbers of ℚ or ℚ(√2, √3)."""

    double: ExactMatrix
    symmetric: ExactMatrix
    weights: ExactMatrix
    moments: ExactMatrix

    identity = IDENTITY
    half: float | Fraction = Fraction(1, 2)

    def __init__(self):
        self.double, self.symmetric, self.weights, self.moments = (
            self.matrix([[Fraction(float(x)) for x in row] for row in table], len(table[0]))
            for table in (DOUBLE, SYMMETRIC, np.diag(WEIGHTS), MOMENTS)
        )
        self._to_ten, self._to_sixteen = (
            ExactMatrix(matrix.flat.transpose(), matrix.field) for matrix in (self.symmetric, self.double)
        )

    def pose(self, T: np.ndarray, what: str) -> Matrix:
        """The transform that the numbers were meant to be."""
        return exact_transform(T, what)

    def twist(self, column: np.ndarray, what: str) -> Twist:
        """The operators of a multiple of the twist."""
        return _twist(exact_twist(column, what))

    def congruences(self, poses: Sequence[Matrix]) -> list[ExactCongruence | None]:
        """Of constant transforms."""
        return [None if A.identity else _congruence(A) for A in poses]

    def gravity(self, vector: np.ndarray, drives: bool) -> list[Any]:
        """A multiple of its direction, or as it is where offsets are counted in the same unit."""
        return exact_gravity(vector, direction=not drives)

    def kron(self, A: Matrix, B: Matrix) -> ExactMatrix:
        """X → AᵀXB on rows of sixteen."""
        return _kron(A, B)

    def matrix(self, rows: Sequence[Sequence[Any]], width: int) -> ExactMatrix:
        """From rows of numbers."""
        return ExactMatrix.of([list(row) for row in rows], width)

    def four(self, A: Matrix) -> ExactMatrix:
        """x → xA."""
        return _matrix_of(A)

    def beside(self, *parts: ExactMatrix) -> ExactMatrix:
        """All columns."""
        return beside(*parts)

    def reduced(self, *rows: ExactMatrix) -> ExactMatrix:
        """Echelon form of all rows."""
        return basis(*rows)

    def full(self, kind: int) -> ExactMatrix:
        """Echelon form of the largest state."""
        return _full(kind)

    def state(self, kind: int, *rows: ExactMatrix) -> ExactMatrix:
        """Echelon form; a full state forgets the roots that led to it."""
        echelon = basis(*rows)
        return _full(kind) if echelon.shape == (FULL[kind], WIDTHS[kind]) else echelon

    def closed(
        self, parts: Sequence[ExactMatrix], derivations: Sequence[Derivation], width: int, most: int
    ) -> ExactMatrix:
        """By applying the derivations until they add nothing."""
        space = echelon(*parts)
        extra = space.shape[1] - width
        while 0 < len(space) < most + extra:
            onward = [space[:, :width] @ d.once for d in derivations]
            if extra:
                zeros = self.matrix([[0] * extra] * len(space), extra)
                onward = [beside(part, zeros) for part in onward]
            larger = echelon(space, *onward)
            if len(larger) == len(space):
                break
            space = larger
        return lowered(space)

    def averaged(self, parts: Sequence[ExactMatrix], samples: int) -> ExactMatrix:
        """Echelon form of all rows."""
        return basis(*parts)

    def carried(self, A: Matrix) -> ExactMatrix:
        """Ten numbers of a body moved by A."""
        return self._to_ten @ _kron(A, A) @ self._to_sixteen


@cache
def exact_arithmetic() -> Exact:
    """The one exact arithmetic; needs python-flint."""
    return Exact()


@lru_cache(maxsize=1024)
def _congruence(A: Matrix) -> ExactCongruence:
    return ExactCongruence(A)


@lru_cache(maxsize=1024)
def _matrix_of(A: Matrix) -> ExactMatrix:
    return ExactMatrix.of(A.rows, 4)


@lru_cache(maxsize=256)
def _twist(D: Matrix) -> Twist:
    return twist_operators(exact_arithmetic(), D, lambda once, linear: Derivation(once))


@lru_cache(maxsize=1024)
def _kron(A: Matrix, B: Matrix) -> ExactMatrix:
    zero = Fraction(0)
    rows = [[zero] * 16 for _ in range(16)]
    left, right = ([[(j, x) for j, x in enumerate(row) if x != 0] for row in M.rows] for M in (A, B))
    for s, row in enumerate(rows):
        for a, x in left[s // 4]:
            for b, y in right[s % 4]:
                row[4 * a + b] = x * y
    return ExactMatrix.of(rows, 16)


@cache
def _full(kind: int) -> ExactMatrix:
    """c and p are everything; a is what all motions make of TᵀT, and b what they make of T,iᵀT."""
    K = exact_arithmetic()
    if WIDTHS[kind] == FULL[kind]:
        return K.matrix([[int(i == j) for j in range(FULL[kind])] for i in range(FULL[kind])], FULL[kind])
    twists = [K.twist(axis, "") for axis in np.eye(6)]
    a = K.closed([K.matrix([[1, 1, 1, 0, 0, 0, 0, 0, 0, 1]], 10)], [twist.c for twist in twists], 10, 10)
    return a if kind == 2 else basis(*(a @ twist.a_to_b for twist in twists))
