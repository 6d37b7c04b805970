"""Matrices over ℚ or ℚ(√2, √3), and the operators of the forward recursion as such matrices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

from .exact import ROOTS, Matrix, Surd, required_flint
from .views import PAIRS, view_named

_PLACE = {pair: s for s, (i, j) in enumerate(PAIRS) for pair in ((i, j), (j, i))}


class Field:
    """Matrices over ℚ or an extension by square roots, in rationals: one number is degree × degree of them."""

    def __init__(self, roots: tuple[int, ...]):
        self.roots = roots
        self.degree = len(roots)
        module = required_flint()
        self.fmpq, self.fmpq_mat = module.fmpq, module.fmpq_mat
        self._zero = self.fmpq(0)
        self._units = [Surd([int(i == k) for i in range(4)]) for k in roots]

    def number(self, x):
        """An exact number in the form that matrices are built from."""
        if self.degree == 1:
            return self._rational(x)
        parts = x.parts if isinstance(x, Surd) else (x, 0, 0, 0)
        return Surd([self._rational(part) for part in parts])

    def _rational(self, x):
        if type(x) is self.fmpq:
            return x
        return self.fmpq(x.numerator, x.denominator) if isinstance(x, Fraction) else self.fmpq(x)

    def matrix(self, rows: Sequence[Sequence], width: int):
        """A matrix from rows of numbers; `width` numbers a row."""
        if self.degree == 1:
            return self.fmpq_mat(len(rows), width, [x for row in rows for x in row])
        d = self.degree
        flat = [self._zero] * (d * d * len(rows) * width)
        for n, row in enumerate(rows):
            for m, x in enumerate(row):
                if x != 0:
                    for i, line in enumerate(self._block(x)):
                        start = (d * n + i) * d * width + d * m
                        flat[start : start + d] = line
        return self.fmpq_mat(d * len(rows), d * width, flat)

    def empty(self, width: int):
        """No rows."""
        return self.fmpq_mat(0, width * self.degree)

    def basis(self, *matrices):
        """Row echelon basis of all their rows."""
        width = matrices[0].ncols()
        rows = [matrix for matrix in matrices if matrix.nrows()]
        if not rows:
            return self.fmpq_mat(0, width)
        if len(rows) == 1:
            stacked = rows[0]
        else:
            flat = [x for matrix in rows for x in matrix.entries()]
            stacked = self.fmpq_mat(sum(matrix.nrows() for matrix in rows), width, flat)
        echelon, rank = stacked.rref()
        if rank == echelon.nrows():
            return echelon
        return self.fmpq_mat(rank, width, echelon.entries()[: rank * width])

    def rank(self, matrix) -> int:
        """Dimension over the field of an echelon basis."""
        return matrix.nrows() // self.degree

    def lifted(self, matrix, smaller: Field):
        """A matrix over a smaller field as one over this field; echelon forms stay echelon forms."""
        if smaller is self:
            return matrix
        table = smaller.rows(matrix)
        return self.matrix([[self.number(x) for x in row] for row in table], matrix.ncols() // smaller.degree)

    def lowered(self, matrix) -> tuple[Any, Field]:
        """An echelon basis over the rationals if it is rational, else as it is; with its field."""
        if self.degree == 1:
            return matrix, self
        table = self.rows(matrix)
        if any(x != 0 for row in table for number in row for x in number.parts[1:]):
            return matrix, self
        field = field_of(RATIONAL)
        return field.matrix([[x.parts[0] for x in row] for row in table], matrix.ncols() // self.degree), field

    def rows(self, matrix) -> list[list]:
        """The rows of an echelon basis, as numbers of the field."""
        d = self.degree
        table = matrix.tolist()
        if d == 1:
            return table
        return [[self._surd(row[k : k + d]) for k in range(0, len(row), d)] for row in table[::d]]

    def _surd(self, parts: Sequence) -> Surd:
        found = [self.fmpq(0)] * len(ROOTS)
        for k, part in zip(self.roots, parts, strict=True):
            found[k] = part
        return Surd(found)

    def _block(self, x) -> list[list]:
        """The matrix of multiplication by x, rows the images of the basis."""
        if not isinstance(x, Surd) or not any(part != 0 for part in x.parts[1:]):
            x = x.parts[0] if isinstance(x, Surd) else x
            return [[x if i == j else self._zero for j in range(self.degree)] for i in range(self.degree)]
        images = [(unit * x).parts for unit in self._units]
        return [[self.fmpq(parts[k]) for k in self.roots] for parts in images]


class Operators(NamedTuple):
    """Operators of one twist on rows."""

    c: Any
    b: Any
    p: Any
    b_to_c: Any
    a_to_c: Any
    a_to_b: Any


RATIONAL: frozenset[int] = frozenset()
"""No square roots."""


def join(roots: frozenset[int], *fields: Field) -> Field:
    """The smallest field that has these roots and contains the fields."""
    return field_of(roots.union(*(set(field.roots) - {0} for field in fields)))


@cache
def field_of(roots: frozenset[int]) -> Field:
    """The smallest field that has these square roots, by their number among 1, √2, √3, √6."""
    return Field((0, *sorted(roots)) if len(roots) <= 1 else (0, 1, 2, 3))


def _nonzero(field: Field, A: Matrix) -> list[list[tuple[int, Any]]]:
    """For every row, its non-zero entries as (column, number)."""
    return [[(j, field.number(x)) for j, x in enumerate(row) if x != 0] for row in A.rows]


def _linear(field: Field, height: int, width: int, image):
    """The matrix whose row s holds what `image(s)` yields as (column, number)."""
    zero = field.number(0)
    rows = [[zero] * width for _ in range(height)]
    for s, row in enumerate(rows):
        for column, x in image(s):
            row[column] = row[column] + x
    return field.matrix(rows, width)


def _entries(s: int) -> tuple[tuple[int, int], ...]:
    i, j = PAIRS[s]
    return ((i, j),) if i == j else ((i, j), (j, i))


@lru_cache(maxsize=768)
def congruence(field: Field, A: Matrix, width: int):
    """Operator of X → AᵀXA on rows of ten or sixteen, or of x → xA on rows of four."""
    nz = _nonzero(field, A)

    def ten(s):
        for i, j in _entries(s):
            for a, x in nz[i]:
                for b, y in nz[j]:
                    if a <= b:
                        yield _PLACE[a, b], x * y

    def sixteen(s):
        i, j = divmod(s, 4)
        for a, x in nz[i]:
            for b, y in nz[j]:
                yield 4 * a + b, x * y

    return _linear(field, width, width, {10: ten, 16: sixteen, 4: lambda s: nz[s]}[width])


@lru_cache(maxsize=256)
def operators(field: Field, D: Matrix) -> Operators:
    """Operators of dX = DᵀX + XD and of the steps between the states."""
    half = field.number(Fraction(1, 2))
    nz = _nonzero(field, D)

    def right(entries):  # X D
        return [((i, b), x) for i, k in entries for b, x in nz[k]]

    def left(entries):  # Dᵀ X
        return [((a, j), x) for k, j in entries for a, x in nz[k]]

    def both(entries):  # Dᵀ X D
        return [((a, b), x * y) for i, j in entries for a, x in nz[i] for b, y in nz[j]]

    def symmetric(terms):
        return [(_PLACE[place], x if place[0] == place[1] else x * half) for place, x in terms]

    def full(terms):
        return [(4 * a + b, x) for (a, b), x in terms]

    def at(s):
        return (divmod(s, 4),)

    return Operators(
        _linear(field, 10, 10, lambda s: symmetric(left(_entries(s)) + right(_entries(s)))),
        _linear(field, 16, 16, lambda s: full(left(at(s)) + right(at(s)))),
        _linear(field, 4, 4, lambda s: nz[s]),
        _linear(field, 16, 10, lambda s: symmetric(right(at(s)))),
        _linear(field, 10, 10, lambda s: symmetric(both(_entries(s)))),
        _linear(field, 10, 16, lambda s: full(left(_entries(s)))),
    )


@lru_cache(maxsize=1024)
def carried_numbers(A: Matrix, view: str = "pseudo") -> list[list]:
    """10×10 numbers: the ten of a body in a view → those of A H Aᵀ.

    Over ℚ(√2, √3) it is K₀ + K₁√2 + K₂√3 + K₃√6 with rational matrices, which no operation here mixes.
    """
    field = field_of(RATIONAL)
    surd = Field((0, 1, 2, 3)) if A.roots else field
    nz = _nonzero(surd, A)
    zero = surd.number(0)
    rows = [[zero] * 10 for _ in range(10)]
    for s, (u, v) in enumerate(PAIRS):
        for a, x in nz[u]:
            for b, y in nz[v]:
                rows[s][_PLACE[a, b]] = rows[s][_PLACE[a, b]] + x * y
    parts: list[Any] = [rows]
    if A.roots:
        parts = [[[x.parts[k] for x in row] for row in rows] for k in range(4)]  # pyright: ignore[reportAttributeAccessIssue]  (Surds)
    if view != "pseudo":
        left, right = view_matrix(field, view, inverse=True), view_matrix(field, view)
        parts = [(left * field.matrix(part, 10) * right).tolist() for part in parts]
    if not A.roots:
        return parts[0]
    return [[Surd(numbers) for numbers in zip(*same, strict=True)] for same in zip(*parts, strict=True)]


@lru_cache(maxsize=32)
def view_matrix(field: Field, view: str, inverse: bool = False, bodies: int = 1):
    """A view's map to the pseudo-inertia (or from it) on the parameters of some bodies, one after another."""
    rows = view_named(view).from_pseudo if inverse else view_named(view).to_pseudo
    whole = [
        [field.number(rows[s % 10][t % 10] if s // 10 == t // 10 else 0) for t in range(10 * bodies)]
        for s in range(10 * bodies)
    ]
    return field.matrix(whole, 10 * bodies)


@lru_cache(maxsize=4)
def weights_matrix(field: Field):
    """10×10: rows over the upper triangle → rows x with ⟨X, H⟩ = x h."""
    return field.matrix(
        [[field.number((1 if PAIRS[s][0] == PAIRS[s][1] else 2) * (s == t)) for t in range(10)] for s in range(10)],
        10,
    )


def weighted(field: Field, B):
    """Rows x with ⟨X, H⟩ = x h."""
    return B * weights_matrix(field)


@lru_cache(maxsize=4)
def moments_matrix(field: Field):
    """4×10: rows over Sx Sy Sz m → rows over all ten."""
    return field.matrix([[field.number(int(t == 6 + s)) for t in range(10)] for s in range(4)], 10)


def in_moments(field: Field, P):
    """Rows of the potential energy, over Sx Sy Sz m, as rows over all ten numbers."""
    return P * moments_matrix(field)


def from_entries(field: Field, A: Sequence[Sequence], B: Sequence[Sequence]):
    """Operator of X → AᵀXB on rows of sixteen."""
    left, right = ([[(j, field.number(x)) for j, x in enumerate(row) if x != 0] for row in rows] for rows in (A, B))
    return _linear(field, 16, 16, lambda s: [(4 * a + b, x * y) for a, x in left[s // 4] for b, y in right[s % 4]])


@lru_cache(maxsize=4)
def double_matrix(field: Field):
    """10×16: the upper triangle of a symmetric matrix → all of it."""
    one = field.number(1)
    return _linear(field, 10, 16, lambda s: [(4 * i + j, one) for i, j in _entries(s)])


@lru_cache(maxsize=4)
def symmetric_matrix(field: Field):
    """16×10: a matrix → the upper triangle of its symmetric part."""
    one, half = field.number(1), field.number(Fraction(1, 2))
    return _linear(field, 16, 10, lambda s: [(_PLACE[divmod(s, 4)], one if s // 4 == s % 4 else half)])
