"""Exact recursion: spaces as reduced row echelon forms of exact numbers, without any tolerance.

The result is a proof. Every space is stored as its echelon form of exact numbers, which is unique. `closed` stops
only if another application of the derivations adds no dimension. The space it returns contains the given rows, is
invariant, and is spanned by vectors that every such space contains, so it is the smallest one. Rank, pivots and
grouping follow, and hold for the mechanism as typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from ..spatial.exact_numbers import (
    IDENTITY,
    Matrix,
    NotExact,
    as_array,
    as_texts,
    decimal,
    exact_gravity,
    exact_transform,
    exact_twist,
    flint,
)
from . import drives as driving
from ._arithmetic import FULL, WIDTHS, Derivation, Twist, twist_operators
from ._exact_samples import tied_samples
from ._recursion import FloatingSolution, Problem, Recursion, Solution
from ._views import DOUBLE, MOMENTS, SYMMETRIC, WEIGHTS, View, view_named
from .exact_field import ExactMatrix, basis, beside, echelon, lowered
from .result import Group


class ExactCongruence:
    """Congruence whose operators are built on demand: full states need none."""

    def __init__(self, A: Matrix):
        self.A = A

    @cached_property
    def ten(self) -> ExactMatrix:
        """Operator on symmetric rows, (10, 10)."""
        K = exact_arithmetic()
        return K.double @ self.sixteen @ K.symmetric

    @cached_property
    def sixteen(self) -> ExactMatrix:
        """Operator on rows of sixteen."""
        return _kron(self.A, self.A)

    @cached_property
    def four(self) -> ExactMatrix:
        """Operator on rows of four."""
        return _matrix_of(self.A)


class Exact:
    """Exact arithmetic in ℚ or ℚ(√2, √3)."""

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

    def pose(self, T: np.ndarray, label: str) -> Matrix:
        """Convert a transform to the exact numbers that its floats represent."""
        return exact_transform(T, label)

    def twist(self, column: np.ndarray, label: str) -> Twist:
        """Build the operators of a multiple of the twist."""
        return _twist(exact_twist(column, label))

    def congruences(self, poses: Sequence[Matrix]) -> list[ExactCongruence | None]:
        """Build the congruences of constant transforms."""
        return [None if A.identity else _congruence(A) for A in poses]

    def gravity(self, vector: np.ndarray, drives: bool) -> list[Any]:
        """Multiple of gravity's direction, or gravity itself if offsets are counted in the same unit."""
        return exact_gravity(vector, direction=not drives)

    def kron(self, A: Matrix, B: Matrix) -> ExactMatrix:
        """Operator X → AᵀXB on rows of sixteen."""
        return _kron(A, B)

    def matrix(self, rows: Sequence[Sequence[Any]], width: int) -> ExactMatrix:
        """Build a matrix from rows of numbers."""
        return ExactMatrix.of([list(row) for row in rows], width)

    def four(self, A: Matrix) -> ExactMatrix:
        """Operator x → xA."""
        return _matrix_of(A)

    def beside(self, *parts: ExactMatrix) -> ExactMatrix:
        """Join matrices side by side."""
        return beside(*parts)

    def reduced(self, *rows: ExactMatrix) -> ExactMatrix:
        """Compute the echelon form of all rows."""
        return basis(*rows)

    def full(self, kind: int) -> ExactMatrix:
        """Echelon form of the state of maximum dimension."""
        return _full(kind)

    def state(self, kind: int, *rows: ExactMatrix) -> ExactMatrix:
        """Compute the echelon form of a state; a full state is rational again."""
        echelon = basis(*rows)
        return _full(kind) if echelon.shape == (FULL[kind], WIDTHS[kind]) else echelon

    def closed(
        self, parts: Sequence[ExactMatrix], derivations: Sequence[Derivation], width: int, most: int
    ) -> ExactMatrix:
        """Close a space by applying the derivations until they add no dimension."""
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
        """Compute the echelon form of all rows."""
        return basis(*parts)

    def carried(self, A: Matrix) -> ExactMatrix:
        """Map the ten numbers of a body to those of the body moved by A."""
        return self._to_ten @ _kron(A, A) @ self._to_sixteen


@cache
def exact_arithmetic() -> Exact:
    """Return the shared exact arithmetic; requires python-flint."""
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
    """Rows of a full state: all rows for c and p; the span over all motions of TᵀT for a and of T,iᵀT for b."""
    K = exact_arithmetic()
    if WIDTHS[kind] == FULL[kind]:
        return K.matrix([[int(i == j) for j in range(FULL[kind])] for i in range(FULL[kind])], FULL[kind])
    twists = [K.twist(axis, "") for axis in np.eye(6)]
    a = K.closed([K.matrix([[1, 1, 1, 0, 0, 0, 0, 0, 0, 1]], 10)], [twist.c for twist in twists], 10, 10)
    return a if kind == 2 else basis(*(a @ twist.a_to_b for twist in twists))


MOST_DRIVEN = 12
"""Maximum number of drives that are analysed exactly by default."""


def exact_recursion(problem: Problem) -> Recursion:
    """Run the recursion in exact numbers; raise `NotExact` if a constant has no exact value."""
    mechanism = problem.mechanism
    motors = driving.motors_of(mechanism, problem.kinds, decimal) if problem.driven else None
    return Recursion(
        exact_arithmetic(),
        problem,
        motors,
        lambda node: tied_samples(mechanism, node, problem.samples[node.bodies[0]], problem.loops),
    )


def exact_obstacle(problem: Problem, wanted: bool | None) -> str:
    """Reason why exact arithmetic cannot be used, or an empty string, found without computing."""
    if wanted is False:
        return "exact arithmetic was not requested"
    if flint() is None:
        return "python-flint is not installed (pip install 'zveno[exact]')"
    if problem.driven and problem.samples:
        return "drives of joints that share coordinates or close loops are analysed in floating point"
    if problem.frictions()[2] is not None:
        return "friction of joints in a loop is analysed in floating point"
    if wanted is None and problem.driven and len(driving.driven_coordinates(problem.mechanism)) > MOST_DRIVEN:
        return f"with more than {MOST_DRIVEN} drives it takes seconds: ask for it with exact=True"
    return ""


def exact_solution(problem: Problem, view: View, floating: FloatingSolution) -> Solution:
    """Compute the grouping in exact numbers, with the gaps of the floating-point blocks; may raise `NotExact`."""
    recursion = exact_recursion(problem)
    n_drive = 0 if recursion.motors is None else recursion.motors.n_columns
    rest: list[ExactMatrix] = [ExactMatrix.of([], n_drive), *recursion.drive_rows]
    groups = []
    if [block.bodies for block in recursion.blocks] != [block.bodies for block in floating.blocks]:
        raise NotExact("a joint moves in exact arithmetic by less than rounding")
    for block, solved in zip(recursion.blocks, floating.solved, strict=True):
        width = 10 * len(block.bodies)
        rows = basis(
            block.B if view.name == "pseudo" else block.B @ _view_matrix(view.name, len(block.bodies), n_drive)
        )
        table = rows.numbers()
        pivots = [next(j for j, x in enumerate(row) if x != 0) for row in table]
        rank = sum(pivot < width for pivot in pivots)
        if rank < len(table):
            rest.append(ExactMatrix.of([row[width:] for row in table[rank:]], n_drive))
        Y, X = [row[:width] for row in table[:rank]], [row[width:] for row in table[:rank]]
        carrying = [_carried_numbers(path, view.name) for path in block.paths]
        groups.append(
            Group(
                block.bodies,
                block.parent,
                np.array(pivots[:rank], dtype=int),
                as_array(Y, width),
                as_array(X, n_drive),
                np.array([as_array(K, 10) for K in carrying]).reshape(-1, 10, 10),
                *solved.gap(rank),
                as_texts(Y),
                tuple(as_texts(K) for K in carrying),
                as_texts(X),
            )
        )
    drives = basis(*rest).numbers()
    pivots = np.array([next(j for j, x in enumerate(row) if x != 0) for row in drives], dtype=int)
    return Solution(tuple(groups), pivots, as_array(drives, n_drive), as_texts(drives))


@lru_cache(maxsize=32)
def _view_matrix(view: str, bodies: int, n_drive: int) -> ExactMatrix:
    """Map from a view to the pseudo-inertia, for the parameters of some bodies followed by the drives."""
    table, n = view_named(view).to_pseudo, 10 * bodies
    return ExactMatrix.of(
        [
            [table[s % 10][t % 10] if s // 10 == t // 10 and s < n else int(s == t) for t in range(n + n_drive)]
            for s in range(n + n_drive)
        ],
        n + n_drive,
    )


@lru_cache(maxsize=1024)
def _carried_numbers(A: Matrix, view: str) -> list[list]:
    """Matrix (10, 10) that maps a body's parameters in a view to those of A H Aᵀ."""
    carried = exact_arithmetic().carried(A)
    if view != "pseudo":
        chosen = view_named(view)
        carried = ExactMatrix.of(chosen.from_pseudo, 10) @ carried @ ExactMatrix.of(chosen.to_pseudo, 10)
    return carried.numbers()
