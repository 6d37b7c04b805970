"""The loop of six revolute joints as one matrix M(y) that is singular at every solution, in balls.

As in `zveno.ik.six_revolute.equations`, fourteen features of the last axis are equal on both sides of the loop
M0 Rz(y0) … M5 Rz(y5) = 1; rows N are chosen that annihilate what depends on y0 and y1. Nothing is assumed of ranks:
what N leaves of those terms is bounded and added to the equations, so a wrong choice only makes them too wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product as combinations

import numpy as np
from flint import acb, arb, arb_mat, ctx, fmpq

from ..balls import NotProved, Rigid, around_zero, column, dot, exact_matrix, flipped, inverse, middles, widest

SIZE = 12
N_FEATURES = 14
PIVOT = 1e-9
WIDE = 1e-22
"""Matrices with wider entries are multiplied by an approximate inverse before they are eliminated."""
Axis = tuple[list[arb], list[arb]]
"""Direction and position."""


@dataclass(frozen=True)
class Template:
    """Cut of the loop, direction in which it is walked, and which of y2, y3, y4 is the scan angle."""

    order: tuple[int, ...]
    backwards: bool
    scan: int

    @property
    def target_at(self) -> int:
        """The place of the link that holds the target."""
        return next(j for j, joint in enumerate(self.order) if (joint + self.backwards) % 6 == 0)

    def links(self, L: Sequence[Rigid]) -> list[Rigid]:
        """Return M0 … M5 of L0 … L5, L0 with the inverse of the target."""
        if self.backwards:
            return [flipped(inverse(L[(joint + 1) % 6])) for joint in self.order]
        return [L[joint] for joint in self.order]


class Elimination:
    """A template of one arm at one precision: the side of the loop without the target is computed once.

    Args:
        template: the template.
        L: L1 … L5 in L[1:]; L[0] is not used.
    """

    def __init__(self, template: Template, L: Sequence[Rigid]):
        self.template: Template = template
        self._links = template.links(L)
        self._first_pair_fixed = template.target_at >= 2

    def system(self, L0: Rigid) -> System:
        """Return the system of a target; L0 holds its inverse."""
        t = self.template
        M = list(self._links)
        M[t.target_at] = flipped(inverse(L0)) if t.backwards else L0
        if self._first_pair_fixed:
            return System(t, M, self._annihilator, arb_mat(_left_samples(M)).transpose())
        return System(t, M, _annihilator(M), self._left)

    @cached_property
    def _annihilator(self) -> Annihilator:
        return _annihilator(self._links)

    @cached_property
    def _left(self) -> arb_mat:
        return arb_mat(_left_samples(self._links)).transpose()


@dataclass(frozen=True)
class Annihilator:
    """N (n, 14), exact; N Q_0 (n, 1); and bounds of |N Q m| for all |m_j| ≤ 1, one per row."""

    N: arb_mat
    offset: arb_mat
    left_over: list[float]


def _annihilator(M: Sequence[Rigid]) -> Annihilator:
    """Return rows that annihilate the terms of y0 and y1, up to bounded errors."""
    Q = (_bilinear() * arb_mat(_right_samples(inverse(M[0]), inverse(M[1])))).transpose()
    rows, columns = _pivots(middles(Q)[:, 1:])
    rest = [i for i in range(N_FEATURES) if i not in rows]
    r = len(rows)
    block = arb_mat(r, r, [Q[i, 1 + j] for i in rows for j in columns])
    others = arb_mat(len(rest), r, [Q[i, 1 + j] for i in rest for j in columns])
    try:
        X = block.transpose().solve(others.transpose())
    except ZeroDivisionError:
        raise NotProved("the block to be eliminated is not proved regular") from None
    N = [[arb(0)] * N_FEATURES for _ in rest]
    for k, i in enumerate(rest):
        N[k][i] = arb(1)
        for m, j in enumerate(rows):
            N[k][j] = -X[m, k].mid()
    N = arb_mat(N)
    left = N * Q
    bounds = [
        float(sum((left[k, j].abs_upper() for j in range(1, 9)), arb(0)).abs_upper()) for k in range(len(rest))
    ]
    return Annihilator(N, arb_mat(len(rest), 1, [left[k, 0] for k in range(len(rest))]), bounds)


class System:
    """M(y) = E0 + cos y E1 + sin y E2, (2n, 12), with M(y) v = 0 for some v ≠ 0 at every solution.

    v holds (c³ … s³) ⊗ (c², cs, s²) of the half angles of the two other angles, so that π is nothing special.
    """

    def __init__(self, template: Template, M: Sequence[Rigid], annihilator: Annihilator, left: arb_mat):
        self.template, self.M = template, M
        self.n = n = annihilator.N.nrows()
        samples = annihilator.N * left
        samples = arb_mat(n, 27, [samples[i, j] - annihilator.offset[i, 0] for i in range(n) for j in range(27)])
        S = samples * _to_coefficients(template.scan)
        self.equations: list[list[list[arb]]] = []
        """Coefficients of 1, cos, sin of the scan angle: (3, n, 9)."""
        for k in range(3):
            part = [[S[i, 9 * k + j] for j in range(9)] for i in range(n)]
            if k == 0:
                for row, bound in zip(part, annihilator.left_over, strict=True):
                    for j in (0, 2, 6, 8):  # the constant 1 is (c² + s²)(c² + s²)
                        row[j] = row[j] + around_zero(bound)
            self.equations.append(part)
        zero = [arb(0)] * 3
        self.E: list[arb_mat] = [
            arb_mat([row + zero for row in part] + [zero + row for row in part]) for part in self.equations
        ]

    def at(self, c: arb, s: arb) -> arb_mat:
        """Return M(y)."""
        return self.E[0] + self.E[1] * c + self.E[2] * s

    def polynomial(self) -> list[acb]:
        """Return harmonics 0 … 12 of det(W M(y)), W fixed."""
        E = self.E
        if 2 * self.n != SIZE:
            W = mixing(SIZE, 2 * self.n, 1)
            E = [W * e for e in E]
        determinant = _preconditioned_determinant if widest(E[0].entries()) > WIDE else arb_mat.det
        return harmonics([determinant(E[0] + E[1] * c + E[2] * s) for c, s in nodes(2 * SIZE + 1, ctx.prec)])


def _preconditioned_determinant(A: arb_mat) -> arb:
    """Return det A = det(X A) / det X, X near the inverse of the middle: wide balls lose too much otherwise."""
    try:
        X = exact_matrix(np.linalg.inv(middles(A)))
        return (X * A).det() / X.det()
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return A.det()


@lru_cache(maxsize=64)
def nodes(n: int, bits: int) -> list[tuple[arb, arb]]:
    """Return (cos, sin) of 2πk/n."""
    return [(arb.cos_pi_fmpq(fmpq(2 * k, n)), arb.sin_pi_fmpq(fmpq(2 * k, n))) for k in range(n)]


def harmonics(values: Sequence[arb]) -> list[acb]:
    """Return Fourier coefficients c_0 … c_(n−1)/2 of a trigonometric polynomial from values at n nodes, n odd."""
    n = len(values)
    F = _fourier(n, ctx.prec) * arb_mat(n, 1, list(values))
    half = (n + 1) // 2
    return [acb(F[m, 0], F[half + m, 0]) / n for m in range(half)]


@lru_cache(maxsize=16)
def _fourier(n: int, bits: int) -> arb_mat:
    points, half = nodes(n, bits), (n + 1) // 2
    real = [[points[m * k % n][0] for k in range(n)] for m in range(half)]
    return arb_mat(real + [[-points[m * k % n][1] for k in range(n)] for m in range(half)])


def _features(axis: Axis) -> list[arb]:
    """Return fourteen quantities of an axis, linear in cosines and sines of each angle (Raghavan and Roth)."""
    l, p = axis
    pp, lp = dot(p, p), dot(l, p)
    moment = [l[1] * p[2] - l[2] * p[1], l[2] * p[0] - l[0] * p[2], l[0] * p[1] - l[1] * p[0]]
    return [*l, *p, *moment, pp, lp, *(pp * a - 2 * (lp * b) for a, b in zip(l, p, strict=True))]


def _quarter_turns(axis: Axis) -> list[Axis]:
    """Return an axis turned about z by 0, π and π/2: the three angles everything is sampled at."""
    (a, b, c), (x, y, z) = axis
    return [([a, b, c], [x, y, z]), ([-a, -b, c], [-x, -y, z]), ([-b, a, c], [-y, x, z])]


def _through(M: Rigid, axis: Axis) -> Axis:
    return [dot(row, axis[0]) for row in M], [dot(row, axis[1]) + row[3] for row in M]


def _left_samples(M: Sequence[Rigid]) -> list[list[arb]]:
    """Return (27, 14) over y2, y3, y4 at 0, π, π/2: features of the last axis seen through M2 … M5."""
    samples = {}
    for c, axis4 in enumerate(_quarter_turns((column(M[5], 2), column(M[5], 3)))):
        for b, axis3 in enumerate(_quarter_turns(_through(M[4], axis4))):
            for a, axis2 in enumerate(_quarter_turns(_through(M[3], axis3))):
                samples[a, b, c] = _features(_through(M[2], axis2))
    return [samples[key] for key in combinations(range(3), repeat=3)]


def _right_samples(A: Rigid, B: Rigid) -> list[list[arb]]:
    """Return (9, 14) over −y0, −y1 at 0, π, π/2: the same axis seen from the other end."""
    first = _quarter_turns((column(A, 2), column(A, 3)))
    return [_features(axis) for axis0 in first for axis in _quarter_turns(_through(B, axis0))]


_TRIGONOMETRIC = np.array([[0.5, 0.5, 0], [0.5, -0.5, 0], [-0.5, -0.5, 1]])
"""Values at 0, π, π/2 to coefficients of 1, cos, sin."""
_HALF_ANGLE = np.array([[1.0, 0, 0], [-1, -1, 2], [0, 1, 0]])
"""Values at 0, π, π/2 to coefficients of c², cs, s² of the half angle."""


@lru_cache(maxsize=3)
def _to_coefficients(scan: int) -> arb_mat:
    """Return (27, 27): samples over y2, y3, y4 to (1, cos, sin of the scan angle) × nine half-angle monomials."""
    maps = [_HALF_ANGLE] * 3
    maps[scan] = _TRIGONOMETRIC
    K = np.moveaxis(np.einsum("ai,bj,ck->abcijk", *maps), scan, 0).reshape(27, 27)
    return exact_matrix(np.ascontiguousarray(K.T))


@lru_cache(maxsize=1)
def _bilinear() -> arb_mat:
    return exact_matrix(np.kron(_TRIGONOMETRIC, _TRIGONOMETRIC))


@lru_cache(maxsize=64)
def mixing(rows: int, columns: int, seed: int) -> arb_mat:
    """Return a fixed matrix of small binary fractions."""
    return exact_matrix(np.random.default_rng(seed).integers(-8, 9, (rows, columns)) / 8.0)


def _pivots(A: np.ndarray) -> tuple[list[int], list[int]]:
    """Return rows and columns of a regular block of a float matrix, by complete pivoting: a choice, not a proof."""
    A, rows, columns = A.copy(), [], []
    top = abs(A).max()
    for _ in range(min(A.shape)):
        i, j = np.unravel_index(np.argmax(abs(A)), A.shape)
        if abs(A[i, j]) < PIVOT * top:
            break
        rows.append(int(i))
        columns.append(int(j))
        A -= np.outer(A[:, j], A[i] / A[i, j])
        A[i], A[:, j] = 0, 0
    return rows, columns
