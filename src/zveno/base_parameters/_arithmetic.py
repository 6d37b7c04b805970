"""Interface of the arithmetic that the recursion over the links uses; implemented by `_floating` and `_exact`.

Matrices are NumPy arrays or `ExactMatrix`; both have `@`, `+`, `-`, `len`, `shape` and column slices. A row of a
state is a symmetric matrix as ten numbers, a matrix as sixteen, or four numbers, see `WIDTHS`. With drives, further
columns hold the constant part of the row's function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Matrix = Any
"""Matrix (rows, columns) of either arithmetic."""
Pose = Any
"""Constant (4, 4) transform, its derivative, or matrix of a twist; `@` multiplies poses of one arithmetic."""

WIDTHS = (10, 16, 10, 4)
"""Numbers of columns of the states c, b, a and p."""
FULL = (10, 10, 5, 4)
"""Maximum dimensions of the states. A state of maximum dimension is the same in every frame and stays so."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """Operator x → dx on rows of some width; in floating point also its powers, side by side."""

    once: Matrix
    powers: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Twist:
    """Constant twist D of a joint: dX = ½ (DᵀX + XD) on rows, and the maps between states."""

    D: Pose
    c: Derivation
    b: Derivation
    p: Derivation
    b_to_c: Matrix
    a_to_c: Matrix
    a_to_b: Matrix


class Congruence(Protocol):
    """Congruence X → AᵀXA on rows of ten and of sixteen, and x → xA on rows of four."""

    @property
    def ten(self) -> Matrix:
        """Operator on rows of ten, (10, 10)."""

    @property
    def sixteen(self) -> Matrix:
        """Operator on rows of sixteen, (16, 16)."""

    @property
    def four(self) -> Matrix:
        """Operator on rows of four, (4, 4)."""


class Arithmetic(Protocol):
    """Constants of a mechanism and operations on row spaces, in floating point or exactly."""

    @property
    def double(self) -> Matrix:
        """Map (10, 16) from a symmetric matrix as ten numbers to all sixteen."""

    @property
    def symmetric(self) -> Matrix:
        """Map (16, 10) from a matrix to its symmetric part as ten numbers."""

    @property
    def weights(self) -> Matrix:
        """Map (10, 10) from rows x of ten to rows with ⟨X, H⟩ = x h."""

    @property
    def moments(self) -> Matrix:
        """Map (4, 10) from rows over Sx Sy Sz m to rows over all ten parameters."""

    @property
    def identity(self) -> Pose:
        """Identity transform."""

    @property
    def half(self) -> Any:
        """One half."""

    def pose(self, T: np.ndarray, label: str) -> Pose:
        """Convert a rigid transform; errors call it `what` if this arithmetic cannot represent it."""

    def twist(self, column: np.ndarray, label: str) -> Twist:
        """Build the operators of a twist `[v, w]`."""
        ...

    def congruences(self, poses: Sequence[Pose]) -> Sequence[Congruence | None]:
        """Build the congruences of constant transforms; None for the identity."""
        ...

    def gravity(self, vector: np.ndarray, drives: bool) -> Any:
        """Direction of gravity, three numbers; a fixed multiple of it if drive offsets are counted."""

    def kron(self, A: Pose, B: Pose) -> Matrix:
        """Operator (16, 16) for X → AᵀXB on rows of sixteen."""

    def matrix(self, rows: Any, width: int) -> Matrix:
        """Build a matrix from rows of numbers."""

    def four(self, A: Pose) -> Matrix:
        """Operator (4, 4) for x → xA."""

    def beside(self, *parts: Matrix) -> Matrix:
        """Join matrices side by side."""

    def reduced(self, *rows: Matrix) -> Matrix:
        """Reduce rows to at most as many as columns, with the same span and, in floating point, the same norms."""

    def state(self, kind: int, *rows: Matrix) -> Matrix:
        """Compute a basis of a state; return `full(kind)` if it has maximum dimension."""

    def full(self, kind: int) -> Matrix:
        """State of maximum dimension."""

    def closed(self, parts: Sequence[Matrix], derivations: Sequence[Derivation], width: int, most: int) -> Matrix:
        """Smallest space that contains the rows and is invariant under derivations of their first `width` columns.

        Derivations map the remaining columns to zero. The space has at most `most` dimensions.
        """

    def averaged(self, parts: Sequence[Matrix], samples: int) -> Matrix:
        """Apply `reduced` to the rows of several samples, scaled to the norm of one sample."""

    def carried(self, A: Pose) -> Matrix:
        """Map (10, 10) from a body's ten numbers h to those of A H Aᵀ."""


def twist_operators(K: Arithmetic, D: Pose, derivation: Callable[[Matrix, bool], Derivation]) -> Twist:
    """Build the operators of a twist D; `derivation(once, linear)` builds the arithmetic's derivations."""
    left, right = K.kron(D, K.identity), K.kron(K.identity, D)
    # Half of DᵀX + XD, so that in floating point the powers of a rotation (frequencies up to 2) stay of size 1.
    d = (left + right) * K.half
    return Twist(
        D,
        derivation(K.double @ d @ K.symmetric, False),
        derivation(d, False),
        derivation(K.four(D), True),
        right @ K.symmetric,
        K.double @ K.kron(D, D) @ K.symmetric,
        K.double @ left,
    )
