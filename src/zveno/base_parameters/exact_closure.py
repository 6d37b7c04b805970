"""The forward recursion in exact arithmetic: row echelon bases instead of R factors, and no tolerance anywhere.

The recursion is that of `closure`; see there. A state that has reached its largest possible dimension is the same
space in every frame, so it is never touched again: from there on a block depends on its joint alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Mechanism
from .blocks import grouped
from .exact import ROOTS, Surd, exact_gravity, exact_transform, exact_twist, is_rational, rational, required_flint
from .nodes import Node
from .views import PAIRS, View

_PLACE = {pair: s for s, (i, j) in enumerate(PAIRS) for pair in ((i, j), (j, i))}
FULL_B, FULL_A, FULL_C, FULL_P = 10, 5, 10, 4
"""Largest dimensions of the states."""


class Field:
    """Matrices over ℚ (degree 1) or over ℚ(√2, √3) written in rationals (degree 4)."""

    def __init__(self, degree: int):
        self.degree = degree
        module = required_flint()
        self.fmpq, self.fmpq_mat = module.fmpq, module.fmpq_mat
        self._of_one = self._multiplications() if degree > 1 else None

    def number(self, x):
        """An exact number in the form that matrices are built from."""
        if self.degree == 1:
            return self._rational(x)
        parts = x.parts if isinstance(x, Surd) else (x, 0, 0, 0)
        return Surd([self._rational(part) for part in parts])

    def _rational(self, x):
        return self.fmpq(x.numerator, x.denominator) if isinstance(x, Fraction) else self.fmpq(x)

    def matrix(self, rows: Sequence[Sequence], width: int):
        """A matrix from rows of numbers; `width` numbers a row."""
        if self.degree == 1:
            return self.fmpq_mat(len(rows), width, [x for row in rows for x in row])
        flat = []
        for row in rows:
            blocks = [self._block(x) for x in row]
            for i in range(4):
                for block in blocks:
                    flat += block[i]
        return self.fmpq_mat(4 * len(rows), 4 * width, flat)

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

    def rows(self, matrix) -> list[list]:
        """The rows of an echelon basis, as numbers of the field."""
        d = self.degree
        table = matrix.tolist()
        if d == 1:
            return table
        return [[Surd(row[k : k + d]) for k in range(0, len(row), d)] for row in table[::d]]

    def _block(self, x) -> list[list]:
        """The 4×4 matrix of multiplication by x, rows the images of 1, √2, √3, √6."""
        if not isinstance(x, Surd):
            x = Surd((x, 0, 0, 0))
        return [[self.fmpq(y) for y in (unit * x).parts] for unit in self._of_one]  # type: ignore[union-attr]

    @staticmethod
    def _multiplications() -> list[Surd]:
        return [Surd([int(i == k) for i in range(4)]) for k in range(len(ROOTS))]


class _Operators(NamedTuple):
    """Operators of one twist on rows."""

    c: Any
    b: Any
    p: Any
    b_to_c: Any
    a_to_c: Any
    a_to_b: Any


class ExactBlock(NamedTuple):
    """A link's block in row echelon form, over the pseudo-inertia, and its pose in its parent, both exact."""

    B: Any
    T: tuple[tuple, ...]


class ExactGroup(NamedTuple):
    """Exact grouping of the parameters of some links."""

    bodies: tuple[int, ...]
    pivots: list[int]
    Y: list[list]
    K: list[list[list]]


class ExactRecursion:
    """The exact blocks of a mechanism of simple nodes."""

    def __init__(self, mechanism: Mechanism, nodes: Sequence[Node]):
        self.mechanism, self.nodes = mechanism, nodes
        placements, twists = {}, {}
        for node in nodes:
            (i,) = node.bodies
            joint = mechanism.joints[i - 1]
            what = f"joint {joint.name}"
            placements[i] = tuple(exact_transform(T, what) for T in (joint.T_parent_joint, joint.T_joint_child))
            columns = joint.type.subspace(joint.type.neutral()).T
            twists[i] = tuple(exact_twist(column, what) for column in columns)
        every = [A for pair in placements.values() for A in pair] + [D for own in twists.values() for D in own]
        if is_rational(every):
            self.field = _field(1)
            placements = {i: tuple(rational(A) for A in pair) for i, pair in placements.items()}
            twists = {i: tuple(rational(D) for D in own) for i, own in twists.items()}
        else:
            self.field = _field(4)
        self.placements, self.twists = placements, twists
        self.blocks = self._run()

    def _run(self) -> dict[int, ExactBlock]:
        field = self.field
        g = exact_gravity(self.mechanism)
        one = [field.number(int(i == j)) for i, j in PAIRS]
        p = field.basis(field.matrix([[field.number(x) for x in (*g, 0)]], 4)) if any(g) else field.empty(4)
        states = {0: (field.empty(10), field.empty(16), field.basis(field.matrix([one], 10)), p)}
        found = {}
        for node in self.nodes:
            (i,) = node.bodies
            states[i], found[i] = self._advance(states[node.parent], i)
        return found

    def _advance(self, states, i: int):
        field, d = self.field, self.field.degree
        before, after = self.placements[i]
        states = self._moved(states, before)
        kinetic, potential = [], []
        for twist in self.twists[i]:
            c, b, a, p = states
            op = _operators(d, twist)
            B = self._closed((c * op.c, b * op.b_to_c, a * op.a_to_c), op.c, 10)
            P = self._closed((p * op.p,), op.p, 4)
            kinetic.append(B)
            potential.append(P)
            if field.rank(b) < FULL_B:
                b = self._closed((b, a * op.a_to_b), op.b, FULL_B)
            if field.rank(a) < FULL_A:
                a = self._closed((a,), op.c, FULL_A)
            if field.rank(c) < FULL_C:
                c = field.basis(c, B)
            if field.rank(p) < FULL_P:
                p = field.basis(p, P)
            states = (c, b, a, p)
        states = self._moved(states, after)
        ten, _, four = _congruence(d, after)
        lower = [_weighted(d, B * ten) for B in kinetic if B.nrows()]
        lower += [_in_moments(d, P * four) for P in potential if P.nrows()]
        T = _exact_product(before, after)
        return states, ExactBlock(field.basis(field.empty(10), *lower), T)

    def _moved(self, states, A):
        if _is_identity(A):
            return states
        field = self.field
        c, b, a, p = states
        ten, sixteen, four = _congruence(field.degree, A)
        return (
            field.basis(c * ten) if 0 < field.rank(c) < FULL_C else c,
            field.basis(b * sixteen) if 0 < field.rank(b) < FULL_B else b,
            field.basis(a * ten) if field.rank(a) < FULL_A else a,
            field.basis(p * four) if 0 < field.rank(p) < FULL_P else p,
        )

    def _closed(self, generators, operator, full: int):
        """The smallest space that contains the generators and that the operator maps into itself."""
        field = self.field
        space = field.basis(*generators)
        while 0 < field.rank(space) < full:
            larger = field.basis(space, space * operator)
            if larger.nrows() == space.nrows():
                break
            space = larger
        return space

    def groups(self, massless, view: View) -> list[ExactGroup]:
        """Pivots and grouping of every group of links in a view, exactly."""
        if not massless:
            return [
                self._solved(node.bodies, self.blocks[node.bodies[0]].B, [self.blocks[node.bodies[0]].T], view)
                for node in self.nodes
            ]
        field = self.field
        rows = [
            np.array(field.rows(self.blocks[node.bodies[0]].B), dtype=object).reshape(-1, 10) for node in self.nodes
        ]
        poses = {i: np.array(block.T, dtype=object) for i, block in self.blocks.items()}

        def carry(T):
            K = _carrying(field.degree, tuple(map(tuple, T)))
            return np.array(field.rows(K), dtype=object)

        found = []
        for block in grouped(list(self.nodes), rows, poses, massless, carry, object):
            width = 10 * len(block.bodies)
            B = field.basis(field.matrix([list(map(field.number, row)) for row in block.B], width))
            found.append(self._solved(block.bodies, B, [tuple(map(tuple, T)) for T in block.paths], view))
        return found

    def _solved(self, bodies: tuple[int, ...], B, paths: Sequence, view: View) -> ExactGroup:
        field, d = self.field, self.field.degree
        if view.name != "pseudo":
            B = field.basis(B * _view_matrix(d, view.to_pseudo, len(bodies)))
        Y = field.rows(B)
        K = []
        for T in paths:
            one = _carrying(d, T)
            if view.name != "pseudo":
                one = _view_matrix(d, view.from_pseudo) * one * _view_matrix(d, view.to_pseudo)
            K.append(field.rows(one))
        return ExactGroup(bodies, [next(j for j, x in enumerate(row) if x != 0) for row in Y], Y, K)


@lru_cache(maxsize=2)
def _field(degree: int) -> Field:
    return Field(degree)


def _is_identity(A) -> bool:
    return all(A[i][j] == int(i == j) for i in range(4) for j in range(4))


def _exact_product(A, B) -> tuple[tuple, ...]:
    if _is_identity(A):
        return B
    if _is_identity(B):
        return A
    return tuple(tuple(sum((A[i][k] * B[k][j] for k in range(4)), 0) for j in range(4)) for i in range(4))


def _nonzero(field: Field, A) -> list[list[tuple[int, Any]]]:
    """For every row, its non-zero entries as (column, number)."""
    return [[(j, field.number(x)) for j, x in enumerate(row) if x != 0] for row in A]


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


@lru_cache(maxsize=256)
def _congruence(degree: int, A):
    """Operators of X → AᵀXA on rows of ten and sixteen, and of x → xA on rows of four."""
    field = _field(degree)
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

    return (
        _linear(field, 10, 10, ten),
        _linear(field, 16, 16, sixteen),
        _linear(field, 4, 4, lambda s: nz[s]),
    )


@lru_cache(maxsize=256)
def _operators(degree: int, D) -> _Operators:
    """Operators of dX = DᵀX + XD and of the steps between the states."""
    field = _field(degree)
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

    return _Operators(
        _linear(field, 10, 10, lambda s: symmetric(left(_entries(s)) + right(_entries(s)))),
        _linear(field, 16, 16, lambda s: full(left(at(s)) + right(at(s)))),
        _linear(field, 4, 4, lambda s: nz[s]),
        _linear(field, 16, 10, lambda s: symmetric(right(at(s)))),
        _linear(field, 10, 10, lambda s: symmetric(both(_entries(s)))),
        _linear(field, 10, 16, lambda s: full(left(_entries(s)))),
    )


@lru_cache(maxsize=256)
def _carrying(degree: int, A):
    """10×10: the ten numbers of a body → those of A H Aᵀ."""
    field = _field(degree)
    nz = _nonzero(field, A)
    zero = field.number(0)
    dense = [[dict(row).get(j, zero) for j in range(4)] for row in nz]

    def image(s):
        u, v = PAIRS[s]
        for t in range(10):
            for a, b in _entries(t):
                x = dense[u][a] * dense[v][b]
                if x != 0:
                    yield t, x

    return _linear(field, 10, 10, image)


@lru_cache(maxsize=16)
def _view_matrix(degree: int, rows, bodies: int = 1):
    """A view's map on the parameters of some bodies, one after another."""
    field = _field(degree)
    whole = [
        [field.number(rows[s % 10][t % 10] if s // 10 == t // 10 else 0) for t in range(10 * bodies)]
        for s in range(10 * bodies)
    ]
    return field.matrix(whole, 10 * bodies)


@lru_cache(maxsize=4)
def _weights(degree: int):
    field = _field(degree)
    return field.matrix(
        [[field.number((1 if PAIRS[s][0] == PAIRS[s][1] else 2) * (s == t)) for t in range(10)] for s in range(10)],
        10,
    )


def _weighted(degree: int, B):
    """Rows x with ⟨X, H⟩ = x h."""
    return B * _weights(degree)


@lru_cache(maxsize=4)
def _moments(degree: int):
    field = _field(degree)
    return field.matrix([[field.number(int(t == 6 + s)) for t in range(10)] for s in range(4)], 10)


def _in_moments(degree: int, P):
    """Rows of the potential energy, over Sx Sy Sz m, as rows over all ten numbers."""
    return P * _moments(degree)


def as_array(rows: Sequence[Sequence]) -> np.ndarray:
    """Exact rows in floating point."""
    return np.array([[number_as_float(x) for x in row] for row in rows], dtype=float)


def number_as_float(x) -> float:
    """An exact number in floating point."""
    if isinstance(x, Surd):
        return sum(number_as_float(part) * root**0.5 for part, root in zip(x.parts, ROOTS, strict=True))
    return int(x.p) / int(x.q) if hasattr(x, "p") else float(x)


def as_texts(rows: Sequence[Sequence]) -> tuple[tuple[str, ...], ...]:
    """Exact rows as texts: "-1/2", or four rationals where roots are needed; see `from_text`."""
    return tuple(tuple(_text(x) for x in row) for row in rows)


def _text(x) -> str:
    if isinstance(x, Surd):
        return (
            " ".join(str(part) for part in x.parts) if any(part != 0 for part in x.parts[1:]) else str(x.parts[0])
        )
    return str(x)


def from_text(text: str) -> Fraction | Surd:
    """The number that `as_texts` wrote."""
    parts = [Fraction(part) for part in text.split()]
    return parts[0] if len(parts) == 1 else Surd(parts)
