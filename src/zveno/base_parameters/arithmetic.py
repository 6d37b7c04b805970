"""What the recursion over the links asks of an arithmetic; `floating` and `exact_arithmetic` answer.

Matrices are NumPy arrays or `ExactMatrix`; both have `@`, `+`, `-`, `len`, `shape` and slices of columns. Rows of
the states are symmetric matrices as ten numbers, matrices as sixteen, or four numbers, `WIDTHS`; with drives,
further columns behind these say how much of the row is the constant function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Matrix = Any
"""(rows, columns) of either arithmetic."""
Pose = Any
"""(4, 4) constant transform, derivative of one, or matrix of a twist; poses of one arithmetic multiply by `@`."""

WIDTHS = (10, 16, 10, 4)
"""Columns of the states c, b, a and p."""
FULL = (10, 10, 5, 4)
"""Their largest dimensions: a state that has it is the same space in every frame and never changes again."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """The operator x → dx on rows of some width, and in floating point its powers side by side."""

    once: Matrix
    powers: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Twist:
    """A joint's constant twist D: dX = ½ (DᵀX + XD) on rows, and the steps from state to state."""

    D: Pose
    c: Derivation
    b: Derivation
    p: Derivation
    b_to_c: Matrix
    a_to_c: Matrix
    a_to_b: Matrix


class Congruence(Protocol):
    """X → AᵀXA on rows of ten and of sixteen, and x → xA on rows of four."""

    @property
    def ten(self) -> Matrix:
        """(10, 10)."""

    @property
    def sixteen(self) -> Matrix:
        """(16, 16)."""

    @property
    def four(self) -> Matrix:
        """(4, 4)."""


class Arithmetic(Protocol):
    """Constants of a mechanism and operations on row spaces, in floating point or exactly."""

    @property
    def double(self) -> Matrix:
        """(10, 16): a symmetric matrix as ten numbers → all sixteen."""

    @property
    def symmetric(self) -> Matrix:
        """(16, 10): a matrix → its symmetric part as ten numbers."""

    @property
    def weights(self) -> Matrix:
        """(10, 10): rows x of ten → rows with ⟨X, H⟩ = x h."""

    @property
    def moments(self) -> Matrix:
        """(4, 10): rows over Sx Sy Sz m → rows over all ten parameters."""

    @property
    def identity(self) -> Pose:
        """The transform that changes nothing."""

    @property
    def half(self) -> Any:
        """One half."""

    def pose(self, T: np.ndarray, what: str) -> Pose:
        """A rigid transform; `what` is named where it has no meaning in this arithmetic."""

    def twist(self, column: np.ndarray, what: str) -> Twist:
        """The operators of a twist `[v, w]`."""
        ...

    def congruences(self, poses: Sequence[Pose]) -> Sequence[Congruence | None]:
        """Of constant transforms; None where it changes nothing."""
        ...

    def gravity(self, vector: np.ndarray, drives: bool) -> Any:
        """Three numbers: the direction, or where offsets of drives are counted beside it a fixed multiple of it."""

    def kron(self, A: Pose, B: Pose) -> Matrix:
        """(16, 16): X → AᵀXB on rows of sixteen."""

    def matrix(self, rows: Any, width: int) -> Matrix:
        """From rows of numbers."""

    def four(self, A: Pose) -> Matrix:
        """(4, 4): x → xA."""

    def beside(self, *parts: Matrix) -> Matrix:
        """All columns."""

    def reduced(self, *rows: Matrix) -> Matrix:
        """Rows of the same space and, in floating point, the same sizes: at most as many as columns."""

    def state(self, kind: int, *rows: Matrix) -> Matrix:
        """A basis of a state, `full(kind)` itself where it has its largest dimension."""

    def full(self, kind: int) -> Matrix:
        """The state of largest dimension."""

    def closed(self, parts: Sequence[Matrix], derivations: Sequence[Derivation], width: int, most: int) -> Matrix:
        """The smallest space that contains the rows and that derivations of their first `width` columns keep.

        They take the columns behind these to zero. No such space has more than `most` dimensions.
        """

    def averaged(self, parts: Sequence[Matrix], samples: int) -> Matrix:
        """`reduced` of the rows of several samples, of the size of one."""

    def carried(self, A: Pose) -> Matrix:
        """(10, 10): a body's ten numbers h → those of A H Aᵀ."""


def twist_operators(K: Arithmetic, D: Pose, derivation: Callable[[Matrix, bool], Derivation]) -> Twist:
    """The operators of a twist D; `derivation(once, linear)` adds what an arithmetic needs to close under one."""
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
