"""The forward recursion in exact arithmetic: row echelon bases instead of R factors, and no tolerance anywhere.

The recursion is that of `closure`; see there. A state that has reached its largest possible dimension is the same
space in every frame, so it is never touched again: from there on a block depends on its joint alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Mechanism
from .blocks import grouped
from .exact import ROOTS, Matrix, Surd, exact_gravity, exact_transform, exact_twist
from .exact_operators import carrying, congruence, field_of, in_moments, operators, view_matrix, weighted
from .nodes import Node
from .views import PAIRS, View

FULL_B, FULL_A, FULL_C, FULL_P = 10, 5, 10, 4
"""Largest dimensions of the states."""


class ExactBlock(NamedTuple):
    """A link's block in row echelon form, over the pseudo-inertia, and its pose in its parent, both exact."""

    B: Any
    T: Matrix


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
        self.field = field_of(frozenset().union(*(A.roots for A in every)))
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
        field = self.field
        before, after = self.placements[i]
        states = self._moved(states, before)
        kinetic, potential = [], []
        for twist in self.twists[i]:
            c, b, a, p = states
            op = operators(field, twist)
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
        ten, _, four = congruence(field, after)
        lower = [weighted(field, B * ten) for B in kinetic if B.nrows()]
        lower += [in_moments(field, P * four) for P in potential if P.nrows()]
        return states, ExactBlock(field.basis(field.empty(10), *lower), before @ after)

    def _moved(self, states, A):
        if A.identity:
            return states
        field = self.field
        c, b, a, p = states
        ten, sixteen, four = congruence(field, A)
        return (
            c * ten if 0 < field.rank(c) < FULL_C else c,
            b * sixteen if 0 < field.rank(b) < FULL_B else b,
            a * ten if field.rank(a) < FULL_A else a,
            p * four if 0 < field.rank(p) < FULL_P else p,
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
        poses = {i: np.array(block.T.rows, dtype=object) for i, block in self.blocks.items()}

        def carry(T):
            K = carrying(field, Matrix(T))
            return np.array(field.rows(K), dtype=object)

        found = []
        for block in grouped(list(self.nodes), rows, poses, massless, carry, object):
            width = 10 * len(block.bodies)
            B = field.basis(field.matrix([list(map(field.number, row)) for row in block.B], width))
            found.append(self._solved(block.bodies, B, [Matrix(T) for T in block.paths], view))
        return found

    def _solved(self, bodies: tuple[int, ...], B, paths: Sequence, view: View) -> ExactGroup:
        field = self.field
        if view.name != "pseudo":
            B = field.basis(B * view_matrix(field, view.name, bodies=len(bodies)))
        Y = field.rows(B)
        K = []
        for T in paths:
            one = carrying(field, T)
            if view.name != "pseudo":
                one = view_matrix(field, view.name, inverse=True) * one * view_matrix(field, view.name)
            K.append(field.rows(one))
        return ExactGroup(bodies, [next(j for j, x in enumerate(row) if x != 0) for row in Y], Y, K)


def as_array(rows: Sequence[Sequence]) -> np.ndarray:
    """Exact rows in floating point."""
    return np.array([[number_as_float(x) if x else 0.0 for x in row] for row in rows], dtype=float)


def number_as_float(x) -> float:
    """An exact number in floating point."""
    if isinstance(x, Surd):
        return sum(number_as_float(part) * root**0.5 for part, root in zip(x.parts, ROOTS, strict=True))
    return int(x.p) / int(x.q) if hasattr(x, "p") else float(x)


def as_texts(rows: Sequence[Sequence]) -> tuple[tuple[str, ...], ...]:
    """Exact rows as texts: "-1/2", or four rationals where roots are needed; see `from_text`."""
    return tuple(tuple(_text(x) if x else "0" for x in row) for row in rows)


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
