"""The forward recursion in exact arithmetic: row echelon bases instead of R factors, and no tolerance anywhere.

The recursion is that of `closure`; see there. Why the result is a proof: every space is kept as the reduced row
echelon form of exact numbers, which is unique; `_closed` stops only where another application of the operator
adds no dimension, so what it returns contains its generators, is mapped into itself, and is spanned by what a
closed space must contain: it is the smallest one. Rank, pivots and grouping are read off, and hold for the
mechanism as typed.

A state that has reached its largest possible dimension is the same space in every frame and has a rational
basis, so it is never touched again and forgets the roots that led to it: from there on a block depends on its
joint alone. Each state therefore lives in the smallest field that it needs; √2 and √3 cost something only near
their joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Loop, Mechanism
from . import exact_sampled
from .blocks import grouped
from .exact import ROOTS, Matrix, Surd, exact_gravity, exact_transform, exact_twist
from .exact_operators import (
    RATIONAL,
    Field,
    carried_numbers,
    congruence,
    field_of,
    in_moments,
    join,
    operators,
    view_matrix,
    weighted,
)
from .nodes import Node
from .samples import Samples
from .views import PAIRS, View

FULL = {"c": 10, "b": 10, "a": 5, "p": 4}
"""Largest dimensions of the states."""
WIDTH = {"c": 10, "b": 16, "a": 10, "p": 4}


class Space(NamedTuple):
    """Row echelon basis of a state, and the field of its numbers."""

    rows: Any
    field: Field

    @property
    def rank(self) -> int:
        """Dimension over the field."""
        return self.field.rank(self.rows)


States = dict[str, Space]


class ExactBlock(NamedTuple):
    """A node's block in row echelon form, over the pseudo-inertia, and its bodies' poses in its parent."""

    B: Any
    field: Field
    T: dict[int, Matrix]


class ExactGroup(NamedTuple):
    """Exact grouping of the parameters of some links."""

    bodies: tuple[int, ...]
    pivots: list[int]
    Y: list[list]
    K: list[list[list]]
    X: list[list] | None = None
    """What drives add, where they are counted."""


@cache
def full_space(name: str) -> Space:
    """The state of largest dimension, the same in every frame: what all six twists generate."""
    field = field_of(RATIONAL)
    one = field.matrix([[field.number(int(i == j)) for i, j in PAIRS]], 10)
    if name == "c" or name == "p":
        unit = [[field.number(int(i == j)) for j in range(WIDTH[name])] for i in range(WIDTH[name])]
        return Space(field.matrix(unit, WIDTH[name]), field)
    axes = [exact_twist(np.eye(6)[k], "") for k in range(6)]
    a = field.basis(one)
    while field.rank(a) < FULL["a"]:
        a = field.basis(a, *(a * operators(field, D).c for D in axes))
    if name == "a":
        return Space(a, field)
    return Space(field.basis(*(a * operators(field, D).a_to_b for D in axes)), field)


class ExactRecursion:
    """The exact blocks of a mechanism, by the first body of their nodes.

    Args:
        mechanism: the mechanism.
        nodes: parents first.
        samples: of every node that is not simple, by its first body, in floating point.
        loops: what closes the mechanism.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        nodes: Sequence[Node],
        samples: Mapping[int, Samples] | None = None,
        loops: Sequence[Loop] = (),
    ):
        self.mechanism, self.nodes = mechanism, nodes
        self.samples, self.loops = samples or {}, loops
        self.placements, self.twists = {}, {}
        for node in nodes:
            if not node.simple:
                continue
            (i,) = node.bodies
            joint = mechanism.joints[i - 1]
            what = f"joint {joint.name}"
            self.placements[i] = tuple(
                exact_transform(T, what) for T in (joint.T_parent_joint, joint.T_joint_child)
            )
            columns = joint.type.subspace(joint.type.neutral()).T
            self.twists[i] = tuple(exact_twist(column, what) for column in columns)
        self.states: dict[int, States] = {}
        """Of every link, 0 being the ground."""
        self.blocks = self._run()

    def _run(self) -> dict[int, ExactBlock]:
        field = field_of(RATIONAL)
        g = exact_gravity(self.mechanism)
        one = [field.number(int(i == j)) for i, j in PAIRS]
        p = field.basis(field.matrix([[field.number(x) for x in (*g, 0)]], 4)) if any(g) else field.empty(4)
        root = {"c": field.empty(10), "b": field.empty(16), "a": field.basis(field.matrix([one], 10)), "p": p}
        self.states[0] = {name: Space(rows, field) for name, rows in root.items()}
        found = {}
        for node in self.nodes:
            i = node.bodies[0]
            if node.simple:
                self.states[i], found[i] = self._advance(self.states[node.parent], i)
            else:
                found[i] = self._cross(self.states[node.parent], node)
        return found

    def _advance(self, states: States, i: int) -> tuple[States, ExactBlock]:
        before, after = self.placements[i]
        states = _moved(states, before)
        spaces = []
        for twist in self.twists[i]:
            if all(states[name].rank == FULL[name] for name in FULL):
                spaces += saturated_block(twist)  # a matter of the joint alone
            else:
                states, *new = _turned(states, twist)
                spaces += new
        field = join(after.roots, *(space.field for space in spaces))
        ten, four = congruence(field, after, 10), congruence(field, after, 4)
        lower = []
        for space in spaces:
            if space.rank:
                rows = field.lifted(space.rows, space.field)
                wide = rows.ncols() == 10 * field.degree
                lower.append(weighted(field, rows * ten) if wide else in_moments(field, rows * four))
        B = field.basis(field.empty(10), *lower)
        B, field = field.lowered(B)
        return _moved(states, after), ExactBlock(B, field, {i: before @ after})

    def _cross(self, states: States, node: Node) -> ExactBlock:
        """Across joints that share coordinates."""
        loop = self.samples[node.bodies[0]]
        joints = exact_sampled.followers(self.mechanism, node, loop if loop.closed else None)
        points = exact_sampled.exact_points(joints)
        if loop.closed:
            exact_sampled.check_closed(self.mechanism, self.loops, points, node)
        field = exact_sampled.field_of_points(points, *(space.field for space in states.values()))
        lifted = [field.lifted(states[name].rows, states[name].field) for name in "cbap"]
        B, bodies = exact_sampled.sampled_rows(field, lifted, points, node.bodies)
        for i, spaces in bodies.items():
            self.states[i] = {name: _settled(name, rows, field) for name, rows in zip("cbap", spaces, strict=True)}
        return ExactBlock(*field.lowered(B), {i: Matrix(points[0].T[i]) for i in node.bodies})

    def groups(self, massless, view: View) -> list[ExactGroup]:
        """Pivots and grouping of every group of links in a view, exactly."""
        if not massless:
            found = []
            for node in self.nodes:
                block = self.blocks[node.bodies[0]]
                found.append(_solved(node.bodies, block.B, block.field, list(block.T.values()), view))
            return found
        field = join(RATIONAL, *(block.field for block in self.blocks.values()))
        T = {i: A for block in self.blocks.values() for i, A in block.T.items()}
        every = join(frozenset().union(*(A.roots for A in T.values())), field)
        rows = []
        for node in self.nodes:
            block = self.blocks[node.bodies[0]]
            numbers = [[every.number(x) for x in row] for row in block.field.rows(block.B)]
            rows.append(np.array(numbers, dtype=object).reshape(-1, 10 * len(node.bodies)))
        poses = {i: np.array(A.rows, dtype=object) for i, A in T.items()}

        def carry(T):
            return np.array([[every.number(x) for x in row] for row in carried_numbers(Matrix(T))], dtype=object)

        solved = []
        for block in grouped(list(self.nodes), rows, poses, massless, carry, object):
            width = 10 * len(block.bodies)
            B = every.basis(every.matrix([list(map(every.number, row)) for row in block.B], width))
            solved.append(_solved(block.bodies, *every.lowered(B), [Matrix(T) for T in block.paths], view))
        return solved


def _moved(states: States, A: Matrix) -> States:
    """The states in another frame of the same body; those that are full stay."""
    if A.identity:
        return states
    found = {}
    for name, space in states.items():
        if 0 < space.rank < FULL[name]:
            field = join(A.roots, space.field)
            rows = field.lifted(space.rows, space.field) * congruence(field, A, WIDTH[name])
            space = _settled(name, field.basis(rows), field)
        found[name] = space
    return found


def _settled(name: str, rows, field: Field) -> Space:
    """A state in the smallest field that it needs."""
    if field.rank(rows) == FULL[name]:
        return full_space(name)
    return Space(*field.lowered(rows))


@lru_cache(maxsize=256)
def saturated_block(twist: Matrix) -> tuple[Space, Space]:
    """What a twist adds behind joints that turn every way."""
    return _turned({name: full_space(name) for name in FULL}, twist)[1:]


def _turned(states: States, twist: Matrix) -> tuple[States, Space, Space]:
    """The states behind a twist, and what it adds to the kinetic and to the potential energy."""
    field = join(twist.roots, *(states[name].field for name in "cba"))
    c, b, a = (field.lifted(states[name].rows, states[name].field) for name in "cba")
    op = operators(field, twist)
    B = _closed(field, (c * op.c, b * op.b_to_c, a * op.a_to_c), op.c, 10)
    found = dict(states)
    if field.rank(b) < FULL["b"]:
        found["b"] = _settled("b", _closed(field, (b, a * op.a_to_b), op.b, FULL["b"]), field)
    if field.rank(a) < FULL["a"]:
        found["a"] = _settled("a", _closed(field, (a,), op.c, FULL["a"]), field)
    if field.rank(c) < FULL["c"]:
        found["c"] = _settled("c", field.basis(c, B), field)
    own = join(twist.roots, states["p"].field)
    p, D = own.lifted(states["p"].rows, states["p"].field), operators(own, twist).p
    P = _closed(own, (p * D,), D, 4)
    if own.rank(p) < FULL["p"]:
        found["p"] = _settled("p", own.basis(p, P), own)
    return found, Space(B, field), Space(P, own)


def _closed(field: Field, generators, operator, full: int):
    """The smallest space that contains the generators and that the operator maps into itself."""
    space = field.basis(*generators)
    while 0 < field.rank(space) < full:
        larger = field.basis(space, space * operator)
        if larger.nrows() == space.nrows():
            break
        space = larger
    return space


def _solved(bodies: tuple[int, ...], B, field: Field, paths: Sequence[Matrix], view: View) -> ExactGroup:
    if view.name != "pseudo":
        B = field.basis(B * view_matrix(field, view.name, bodies=len(bodies)))
    Y = field.rows(B)
    K = [carried_numbers(T, view.name) for T in paths]
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
