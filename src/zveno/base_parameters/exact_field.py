"""Matrices over ℚ or ℚ(√2, √3); each number is a block of rationals, so that one echelon form serves both."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from ..spatial.exact_numbers import ROOTS, Surd, required_flint

RATIONAL: frozenset[int] = frozenset()
"""No square roots."""


class Field:
    """ℚ or its extension by square roots; a number is stored as its multiplication matrix of rationals."""

    fmpq: Any
    fmpq_mat: Any

    def __init__(self, roots: tuple[int, ...]):
        self.roots = roots
        self.degree: int = len(roots)
        module = required_flint()
        self.fmpq, self.fmpq_mat = module.fmpq, module.fmpq_mat
        self._zero = self.fmpq(0)
        self._units = [Surd([int(i == k) for i in range(4)]) for k in roots]

    def number(self, x: Any) -> Any:
        """Convert an exact number to the form that matrices are built from."""
        if self.degree == 1:
            return self._rational(x)
        parts = x.parts if isinstance(x, Surd) else (x, 0, 0, 0)
        return Surd([self._rational(part) for part in parts])

    def _rational(self, x: Any) -> Any:
        if type(x) is self.fmpq:
            return x
        return self.fmpq(x.numerator, x.denominator) if isinstance(x, Fraction) else self.fmpq(int(x))

    def matrix(self, rows: Sequence[Sequence[Any]], width: int) -> Any:
        """Build a matrix of rationals from rows of `width` numbers."""
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

    def basis(self, *matrices: Any) -> Any:
        """Compute a row echelon basis of the rows of all matrices."""
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

    def rank(self, matrix: Any) -> int:
        """Dimension of an echelon basis over the field."""
        return matrix.nrows() // self.degree

    def numbers(self, matrix: Any) -> list[list[Any]]:
        """Rows of a matrix as numbers of the field."""
        d = self.degree
        table = matrix.tolist()
        if d == 1:
            return table
        return [[self._surd(row[k : k + d]) for k in range(0, len(row), d)] for row in table[::d]]

    def _surd(self, parts: Sequence) -> Surd:
        coefficients = [self._zero] * len(ROOTS)
        for k, part in zip(self.roots, parts, strict=True):
            coefficients[k] = part
        return Surd(coefficients)

    def _block(self, x: Any) -> list[list]:
        """Matrix of multiplication by x; its rows are the images of the basis."""
        if not isinstance(x, Surd) or not any(part != 0 for part in x.parts[1:]):
            x = x.parts[0] if isinstance(x, Surd) else x
            return [[x if i == j else self._zero for j in range(self.degree)] for i in range(self.degree)]
        images = [(unit * x).parts for unit in self._units]
        return [[self.fmpq(parts[k]) for k in self.roots] for parts in images]


@cache
def field_of(roots: frozenset[int]) -> Field:
    """Smallest field that contains these square roots, given by their indices in 1, √2, √3, √6."""
    return Field((0, *sorted(roots)) if len(roots) <= 1 else (0, 1, 2, 3))


@lru_cache(maxsize=64)
def _common_field(*fields: Field) -> Field:
    return field_of(RATIONAL.union(*(set(field.roots) - {0} for field in fields)))


class ExactMatrix:
    """Matrix of exact numbers in its own field, with the array operations that the recursion uses.

    Only matrices near joints with √2 and √3 are costly: a basis without roots is stored in ℚ again.
    """

    field: Field
    flat: Any

    __slots__ = ("_lifted", "field", "flat")

    def __init__(self, flat: Any, field: Field):
        self.flat, self.field = flat, field
        self._lifted: ExactMatrix | None = None

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], width: int) -> ExactMatrix:
        """Build a matrix from rows of exact numbers in the smallest field that contains them."""
        roots = {k for row in rows for x in row if isinstance(x, Surd) for k in (1, 2, 3) if x.parts[k] != 0}
        field = field_of(frozenset(roots))
        if not roots:
            rows = [[x.parts[0] if isinstance(x, Surd) else x for x in row] for row in rows]
        return cls(field.matrix([[field.number(x) for x in row] for row in rows], width), field)

    def __len__(self) -> int:
        return self.flat.nrows() // self.field.degree

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.flat.ncols() // self.field.degree

    def numbers(self) -> list[list[Any]]:
        """Rows of exact numbers."""
        return self.field.numbers(self.flat)

    def over(self, field: Field) -> Any:
        """Rationals of the matrix over a larger field; echelon forms stay echelon forms."""
        if field is self.field:
            return self.flat
        if self._lifted is None or self._lifted.field is not field:
            rows = [[field.number(x) for x in row] for row in self.numbers()]
            self._lifted = ExactMatrix(field.matrix(rows, self.shape[1]), field)
        return self._lifted.flat

    def __matmul__(self, other: ExactMatrix) -> ExactMatrix:
        if self.field is other.field:
            return ExactMatrix(self.flat * other.flat, self.field)
        field = _common_field(self.field, other.field)
        return ExactMatrix(self.over(field) * other.over(field), field)

    def __add__(self, other: ExactMatrix) -> ExactMatrix:
        field = _common_field(self.field, other.field)
        return ExactMatrix(self.over(field) + other.over(field), field)

    def __sub__(self, other: ExactMatrix) -> ExactMatrix:
        field = _common_field(self.field, other.field)
        return ExactMatrix(self.over(field) - other.over(field), field)

    def __mul__(self, factor: Fraction) -> ExactMatrix:
        return ExactMatrix(self.flat * self.field.fmpq(factor.numerator, factor.denominator), self.field)

    def __getitem__(self, key: tuple[slice, slice]) -> ExactMatrix:
        """Select columns; all rows are kept."""
        width = self.shape[1]
        start, stop, _ = key[1].indices(width)
        return self if (start, stop) == (0, width) else self @ _part(width, stop - start, -start)


@lru_cache(maxsize=256)
def _part(height: int, width: int, shift: int) -> ExactMatrix:
    """Matrix that shifts column k to column k + shift when multiplied from the right."""
    return ExactMatrix.of([[int(j == i + shift) for j in range(width)] for i in range(height)], width)


def beside(*parts: ExactMatrix) -> ExactMatrix:
    """Join matrices with equal numbers of rows side by side."""
    parts = tuple(part for part in parts if part.shape[1])
    if len(parts) == 1:
        return parts[0]
    width, start, total = sum(part.shape[1] for part in parts), 0, None
    for part in parts:
        placed = part @ _part(part.shape[1], width, start)
        total = placed if total is None else total + placed
        start += part.shape[1]
    assert total is not None
    return total


def echelon(*rows: ExactMatrix) -> ExactMatrix:
    """Compute the reduced row echelon basis of all rows over their common field; it is unique."""
    field = rows[0].field if len(rows) == 1 else _common_field(*(part.field for part in rows))
    return ExactMatrix(field.basis(*(part.over(field) for part in rows)), field)


def lowered(rows: ExactMatrix) -> ExactMatrix:
    """Convert an echelon basis to ℚ if it is rational."""
    if rows.field.degree == 1:
        return rows
    table = rows.numbers()
    if any(x != 0 for row in table for number in row for x in number.parts[1:]):
        return rows
    return ExactMatrix.of([[x.parts[0] for x in row] for row in table], rows.shape[1])


def basis(*rows: ExactMatrix) -> ExactMatrix:
    """Compute the reduced row echelon basis of all rows, over ℚ if it is rational."""
    return lowered(echelon(*rows))
