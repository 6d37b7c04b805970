"""The exact recursion with drives: rows carry how much of each function is constant, as in `closure`.

One field serves the whole mechanism. Rows are those of the states with the constant parts behind them; an operator
that differentiates maps these to zero, one that moves a frame keeps them, and one that steps to the energy turns
them into the columns of rotors and offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..mechanism import Mechanism
from .blocks import grouped
from .coupling import COUPLING, couplings
from .drives import driven_joints
from .exact import Matrix, NotExact, decimal, exact_gravity, exact_transform, exact_twist
from .exact_closure import ExactGroup
from .exact_operators import (
    RATIONAL,
    Field,
    carried_numbers,
    congruence,
    join,
    moments_matrix,
    operators,
    view_matrix,
    weights_matrix,
)
from .nodes import Node
from .views import PAIRS, View

Numbers = list[list]


class ExactDriven:
    """Exact blocks of a mechanism of simple nodes, with drive columns behind the links' ten."""

    def __init__(self, mechanism: Mechanism, nodes: Sequence[Node], kinds: Sequence[str]):
        self.mechanism, self.nodes = mechanism, nodes
        self.placements: dict[int, tuple[Matrix, Matrix]] = {}
        self.twists: dict[int, tuple[Matrix, ...]] = {}
        driven = driven_joints(mechanism)
        self.place = {v: e for e, (_, v, _) in enumerate(driven)}
        moved = {i for i, _, _ in driven}
        for node in nodes:
            (i,) = node.bodies
            joint = mechanism.joints[i - 1]
            what = f"joint {joint.name}"
            if i in moved and joint.type.n_q != joint.type.n_v:
                raise NotExact(f"{what}: drives of ball and free joints are analysed in floating point")
            before, after = (exact_transform(T, what) for T in (joint.T_parent_joint, joint.T_joint_child))
            self.placements[i] = before, after
            columns = joint.type.subspace(joint.type.neutral()).T
            self.twists[i] = tuple(exact_twist(column, what) for column in columns)
        every = [A for pair in self.placements.values() for A in pair] + [
            D for own in self.twists.values() for D in own
        ]
        self.field = join(RATIONAL.union(*(A.roots for A in every)))
        self.forms = self._forms(kinds)
        self.offsets = "offset" in kinds
        self.n_columns = len(self.forms) + (len(self.place) if self.offsets else 0)
        self.blocks = self._run()
        self.drive: tuple[list[int], Numbers] = ([], [])
        """Pivots and grouping among the drive columns; known after `groups`."""

    def _forms(self, kinds: Sequence[str]) -> list[Numbers]:
        """Matrices Q with energy ½ J q̇ᵀQq̇, (parameters, n_e, n_e)."""
        driven = list(self.place)
        N = [[decimal(float(self.mechanism.transmission_matrix[m, v])) for v in driven] for m in driven]
        found = [[[x * y for y in row] for x in row] for row in N] if "rotor" in kinds else []
        if COUPLING in kinds:
            for m, i in couplings(self.mechanism):
                pair = {(self.place[m], self.place[i]), (self.place[i], self.place[m])}
                n = range(len(driven))
                found.append([[Fraction(int((x, y) in pair)) for y in n] for x in n])
        return found

    def _run(self) -> dict[int, Any]:
        field, n_e = self.field, len(self.place)
        one, zero = field.number(1), field.number(0)
        a = field.matrix([[field.number(int(i == j)) for i, j in PAIRS] + [one]], 11)
        p = field.matrix([[*map(field.number, exact_gravity(self.mechanism, direction=False)), zero, one]], 5)
        states = {0: (field.empty(10), field.empty(16 + n_e), field.basis(a), field.basis(p))}
        found = {}
        for node in self.nodes:
            (i,) = node.bodies
            before, after = self.placements[i]
            part = self.mechanism.v_slices[self.mechanism.joints[i - 1].name]
            state, rows = self._moved(states[node.parent], before), []
            for k, twist in enumerate(self.twists[i]):
                state, new = self._turned(state, twist, self.place.get(part.start + k))
                rows.append(new)
            n_f, n = len(self.forms), self.n_columns
            kinetic, potential = _unit(n)[:n_f], _unit(n)[n_f:]
            ten = self._beside(congruence(field, after, 10) * weights_matrix(field), kinetic, n)
            four = self._beside(congruence(field, after, 4) * moments_matrix(field), potential, n)
            placed = [x * (ten, four)[k] for pair in rows for k, x in enumerate(pair) if x.nrows()]
            found[i] = field.basis(field.empty(10 + self.n_columns), *placed)
            states[i] = self._moved(state, after)
        return found

    def _moved(self, states, A: Matrix):
        if A.identity:
            return states
        c, b, a, p = states
        field = self.field
        ten, one = congruence(field, A, 10), _unit(1)
        return (
            c * ten,
            b * self._beside(congruence(field, A, 16), _unit(len(self.place)), len(self.place)),
            a * self._beside(ten, one, 1),
            p * self._beside(congruence(field, A, 4), one, 1),
        )

    def _turned(self, states, twist: Matrix, k: int | None):
        """The states behind a twist, and its rows of kinetic (10 + forms) and potential energy (4 + offsets)."""
        c, b, a, p = states
        field, op = self.field, operators(self.field, twist)
        n_e, n_f, n_o = len(self.place), len(self.forms), self.n_columns - len(self.forms)
        by_pairs = [[0 if k is None else form[e][k] for form in self.forms] for e in range(n_e)]
        by_square = [[0 if k is None else form[k][k] for form in self.forms]]
        to_pair = [[int(e == k) for e in range(n_e)]]
        to_offset = [[-int(e == k) for e in range(n_o)]]
        new = (
            c * self._beside(op.c, [], n_f),
            b * self._beside(op.b_to_c, by_pairs, n_f),
            a * self._beside(op.a_to_c, by_square, n_f),
        )
        B = self._closed(new, self._beside(op.c, _zeros(n_f, n_f), n_f))
        P = self._closed((p * self._beside(op.p, to_offset, n_o),), self._beside(op.p, _zeros(n_o, n_o), n_o))
        b = self._closed((b, a * self._beside(op.a_to_b, to_pair, n_e)), self._beside(op.b, _zeros(n_e, n_e), n_e))
        a = self._closed((a,), self._beside(op.c, _zeros(1, 1), 1))
        p = self._closed((p,), self._beside(op.p, _zeros(1, 1), 1))
        first = self._beside(field.matrix(_numbers(field, _unit(10)), 10), _zeros(n_f, 0), 0)
        return (field.basis(c, B * first), b, a, p), (B, P)

    def _closed(self, generators, operator):
        space = self.field.basis(*generators)
        while space.nrows():
            larger = self.field.basis(space, space * operator)
            if larger.nrows() == space.nrows():
                break
            space = larger
        return space

    def _beside(self, operator, corner: Sequence[Sequence], width: int):
        """diag(operator, corner): what is done to a row and to its constant part of len(corner) → width numbers."""
        field, d = self.field, self.field.degree
        height, total = operator.nrows() + d * len(corner), operator.ncols() + d * width
        flat = [field.fmpq(0)] * (height * total)
        for part, top, side in (
            (operator, 0, 0),
            (field.matrix(_numbers(field, corner), width), operator.nrows(), operator.ncols()),
        ):
            entries, n = part.entries(), part.ncols()
            for row in range(part.nrows()):
                start = (top + row) * total + side
                flat[start : start + n] = entries[row * n : (row + 1) * n]
        return field.fmpq_mat(height, total, flat)

    def groups(self, massless, view: View) -> list[ExactGroup]:
        """Pivots and grouping of every group of links in a view, with what drives add; then the drives' own."""
        field = self.field
        rows = [
            np.array(field.rows(self.blocks[node.bodies[0]]), dtype=object).reshape(-1, 10 + self.n_columns)
            for node in self.nodes
        ]
        T = {i: before @ after for i, (before, after) in self.placements.items()}
        poses = {i: np.array(A.rows, dtype=object) for i, A in T.items()}

        def carry(A):
            return np.array(_numbers(field, carried_numbers(Matrix(A))), dtype=object)

        found, rest = [], self._coupled()
        for block in grouped(list(self.nodes), rows, poses, frozenset(massless), carry, object):
            width = 10 * len(block.bodies)
            B = field.matrix(_numbers(field, block.B.tolist()), width + self.n_columns)
            turned = view_matrix(field, view.name, bodies=len(block.bodies))
            whole = field.rows(field.basis(B * self._beside(turned, _unit(self.n_columns), self.n_columns)))
            pivots = [next(j for j, x in enumerate(row) if x != 0) for row in whole]
            own = [row for row, pivot in zip(whole, pivots, strict=True) if pivot < width]
            rest += [row[width:] for row, pivot in zip(whole, pivots, strict=True) if pivot >= width]
            K = [carried_numbers(Matrix(A), view.name) for A in block.paths]
            Y, X = [row[:width] for row in own], [row[width:] for row in own]
            found.append(ExactGroup(block.bodies, pivots[: len(own)], Y, K, X))
        drives = field.rows(field.basis(field.matrix(_numbers(field, rest), self.n_columns)))
        self.drive = [next(j for j, x in enumerate(row) if x != 0) for row in drives], drives
        return found

    def _coupled(self) -> Numbers:
        """Rows of motors that couple joints of different branches, which no link sees together."""
        links = [i for i, _, _ in driven_joints(self.mechanism)]
        related = self.mechanism.tree.reachability
        rows = []
        for y in range(len(links)):
            for x in range(y):
                pair = [form[x][y] for form in self.forms]
                if any(pair) and not related[links[x], links[y]] and not related[links[y], links[x]]:
                    rows.append(pair + [0] * (self.n_columns - len(pair)))
        return rows


def _numbers(field: Field, rows: Sequence[Sequence]) -> Numbers:
    return [[field.number(x) for x in row] for row in rows]


def _unit(n: int) -> list[list[int]]:
    return [[int(i == j) for j in range(n)] for i in range(n)]


def _zeros(height: int, width: int) -> list[list[int]]:
    return [[0] * width for _ in range(height)]
