"""Existence and uniqueness: Krawczyk's operator on the closure of a loop, and solutions separated by it.

Krawczyk (1969), Moore (1977): with Y near the inverse of J(m), if K = m − Y f(m) + (1 − Y J(B)) (B − m) lies inside
the box B, then f has exactly one zero in B, and it lies in K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import floor, log2

import numpy as np
from flint import arb, arb_mat, ctx

from .balls import Rigid, TooWide, exact_matrix, four_by_four, middles, require_time, turns_between, widest

WIDEST_BOX = 2.0**-14
CONTRACTS = 0.05
"""Radius of the box that is tried first, in parts of 1/|J⁻¹|: some fail above this, and all above 0.7."""
NARROWER = 2.0**-4
"""Ratio of the widths of successive boxes; the last are as narrow as the precision allows."""
ILL_CONDITIONED = 1e9
"""Condition number of the Jacobian above which its inverse is taken in balls rather than in floats."""
TIGHT = 1e-17
"""Enclosures wider than this are made smaller, if they can be."""
ENTRIES = {"position": ((0, 3), (1, 3), (2, 3)), "rotation": ((2, 1), (0, 2), (1, 0))}


class Loop:
    """A(x) = L_0 Z(x_0) L_1 Z(x_1) … Z(x_n−1), the identity at solutions.

    Args:
        links: L_0 … L_n−1; L_0 holds the inverse of the target.
        kinds: R or P by joint.
        rows: set of equations: "pose", "rotation", or "position".
        point: for "position", the point (3) of the last frame whose image must be the origin.
    """

    def __init__(self, links: Sequence[Rigid], kinds: str, rows: str = "pose", point: Sequence[arb] | None = None):
        self.links: list[arb_mat] = [four_by_four(L) for L in links]
        self.kinds: str = kinds
        self.rows: str = rows
        self.point: arb_mat | None = None if point is None else arb_mat(4, 1, [*point, 1])

    def closure(self, x: Sequence[arb]) -> list[arb]:
        """Return f(x): position, and the skew part of the rotation, of A(x)."""
        A = _one(4)
        for L, kind, value in zip(self.links, self.kinds, x, strict=True):
            A = A * L * _motion(kind, value)
        return self._entries(A)

    def jacobian(self, x: Sequence[arb]) -> tuple[arb_mat, bool]:
        """Return J over the box x, and True if all its rotations provably turn by less than 90°.

        Half turns have no skew part either, so that without the second nothing would be proved.
        """
        motions = [_motion(kind, value) for kind, value in zip(self.kinds, x, strict=True)]
        own = [L * Z for L, Z in zip(self.links, motions, strict=True)]
        before, A = [], _one(4)
        for factor in own:
            A = A * factor
            before.append(A)
        columns, after = [], _one(4)
        for i in reversed(range(len(own))):
            columns.append(self._entries(before[i] * _generator(self.kinds[i]) * after))
            after = own[i] * after
        columns.reverse()
        n = len(columns)
        J = arb_mat(n, n, [columns[j][i] for i in range(n) for j in range(n)])
        trace = A[0, 0] + A[1, 1] + A[2, 2]
        return J, self.rows == "position" or bool(trace > 1)

    def stiffness(self, candidates: Sequence[Sequence[arb]]) -> np.ndarray:
        """Return |J⁻¹| (row sums) at the middles of candidates, in floats: for the choice of boxes only."""
        x = np.array([[float(ball) for ball in candidate] for candidate in candidates])
        Z = np.zeros((*x.shape, 4, 4))
        Z[..., range(4), range(4)] = 1.0
        for i, kind in enumerate(self.kinds):
            if kind == "P":
                Z[:, i, 2, 3] = x[:, i]
            else:
                Z[:, i, 0, 0] = Z[:, i, 1, 1] = np.cos(x[:, i])
                Z[:, i, 1, 0] = np.sin(x[:, i])
                Z[:, i, 0, 1] = -Z[:, i, 1, 0]
        own = np.stack([middles(L) for L in self.links]) @ Z
        before = list(accumulate(own.swapaxes(0, 1), np.matmul))
        J, after = np.empty((len(x), x.shape[1], x.shape[1])), np.eye(4)
        for i in reversed(range(x.shape[1])):
            moved = before[i] @ middles(_generator(self.kinds[i])) @ after
            if self.point is not None:
                J[:, :, i] = (moved @ middles(self.point))[:, :3, 0]
            else:
                skew = [moved[:, r, c] - moved[:, c, r] for r, c in ENTRIES["rotation"]]
                along = [] if self.rows == "rotation" else [moved[:, r, c] for r, c in ENTRIES["position"]]
                J[:, :, i] = np.stack([*along, *skew], axis=1)
            after = own[:, i] @ after
        singular = np.abs(np.linalg.det(J)) < 1e-290
        J[singular] = np.eye(x.shape[1]) * 1e-30
        return np.abs(np.linalg.inv(J)).sum(axis=2).max(axis=1)

    def _entries(self, A: arb_mat) -> list[arb]:
        if self.point is not None:
            image = A * self.point
            return [image[k, 0] for k in range(3)]
        skew = [A[i, j] - A[j, i] for i, j in ENTRIES["rotation"]]
        return skew if self.rows == "rotation" else [*(A[i, j] for i, j in ENTRIES["position"]), *skew]


@dataclass
class Isolated:
    """One candidate and its proof.

    Attributes:
        candidate: balls in which solutions must be, of which this is one.
        box: holds exactly one solution.
        enclosure: balls around that solution.
        radius: of the box.
    """

    candidate: list[arb]
    box: list[arb]
    enclosure: list[arb]
    radius: float


def isolated(loop: Loop, candidates: Sequence[list[arb]]) -> list[Isolated]:
    """Return the solutions in candidates that together hold all of them: one box each, with exactly one solution.

    A candidate inside a box that holds exactly one has no other. In the end every enclosure is disjoint from all
    other candidates, so that solutions are distinct and each lies in its own candidate.
    """
    solutions: list[Isolated] = []
    stiffness = loop.stiffness(candidates) if candidates else ()
    for candidate, stiff in zip(candidates, stiffness, strict=True):
        require_time()
        known = next((s for s in solutions if inside(candidate, s.box, loop.kinds)), None)
        if known is None:
            solutions.append(_boxed(loop, candidate, float(stiff), solutions))
        elif meet(known.enclosure, candidate, loop.kinds):
            known.candidate = _hull(known.candidate, candidate, loop.kinds)
    for s in solutions:
        if any(meet(s.enclosure, other.candidate, loop.kinds) for other in solutions if other is not s):
            raise TooWide("an enclosure meets another candidate")
    for s in solutions:
        s.enclosure = _tightened(loop, s)
    return solutions


def _boxed(loop: Loop, candidate: list[arb], stiff: float, others: Sequence[Isolated]) -> Isolated:
    """Return a candidate with the widest tried box that is proved to hold exactly one solution."""
    width, first = widest(candidate), min(WIDEST_BOX, 2.0 ** floor(log2(CONTRACTS / stiff)))
    last = (2.0 ** -(ctx.prec // k) for k in (3, 2))
    for radius in (first, first * NARROWER, *(radius for radius in last if radius < first * NARROWER)):
        if radius < 2 * width:
            continue
        proof = krawczyk(loop, candidate, radius)
        if proof and not any(meet(proof[1], other.candidate, loop.kinds) for other in others):
            return Isolated(candidate, *proof, radius)
    raise TooWide(f"no box around a candidate of radius {width:.0e} holds exactly one solution")


def krawczyk(loop: Loop, x: Sequence[arb], radius: float) -> tuple[list[arb], list[arb]] | None:
    """Return a box around the balls x with exactly one solution, and the ball that encloses it; or None."""
    middle = [a.mid() for a in x]
    box = [a + arb(0, radius) for a in middle]
    if not all(b.contains(a) for a, b in zip(x, box, strict=True)):
        return None
    J, turns_little = loop.jacobian(box)
    if not turns_little:
        return None
    try:
        floats = middles(J)
        inverse = np.linalg.inv(floats)
        if np.linalg.norm(floats) * np.linalg.norm(inverse) < ILL_CONDITIONED:
            Y = exact_matrix(inverse)
        else:
            Y = loop.jacobian(middle)[0].mid().inv().mid()
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return None
    n = len(middle)
    step = Y * arb_mat(n, 1, loop.closure(middle))
    spread = (_one(n) - Y * J) * arb_mat(n, 1, [arb(0, radius)] * n)
    enclosure = [middle[i] - step[i, 0] + spread[i, 0] for i in range(n)]
    if all(b.contains_interior(k) for k, b in zip(enclosure, box, strict=True)):
        return box, enclosure
    return None


def _tightened(loop: Loop, solution: Isolated) -> list[arb]:
    """Return a ball of the one solution in a box, shrunk by a second or third application."""
    enclosure = solution.candidate if widest(solution.candidate) < TIGHT else solution.enclosure
    for radius in (2.0**-30, 2.0**-40, 2.0 ** -(ctx.prec // 3)):
        if widest(enclosure) < TIGHT:
            break
        again = krawczyk(loop, [ball.mid() for ball in enclosure], radius)
        if again and inside(again[0], solution.box, loop.kinds):  # exactly one there too, so it is the same
            enclosure = again[1]
    return enclosure


def _shifted(a: arb, b: arb, kind: str) -> arb:
    """Return b moved by whole turns to a, if the joint is revolute."""
    return b + turns_between(a, b) if kind == "R" else b


def inside(x: Sequence[arb], box: Sequence[arb], kinds: str) -> bool:
    """Return True if x lies in the box, modulo 2π."""
    return all(b.contains(_shifted(b, a, kind)) for a, b, kind in zip(x, box, kinds, strict=True))


def meet(p: Sequence[arb], q: Sequence[arb], kinds: str) -> bool:
    """Return True if p and q may have a common point, modulo 2π."""
    return all(_shifted(a, b, kind).overlaps(a) for a, b, kind in zip(p, q, kinds, strict=True))


def _hull(p: Sequence[arb], q: Sequence[arb], kinds: str) -> list[arb]:
    return [a.union(_shifted(a, b, kind)) for a, b, kind in zip(p, q, kinds, strict=True)]


def _motion(kind: str, value: arb) -> arb_mat:
    if kind == "P":
        return arb_mat(4, 4, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, value, 0, 0, 0, 1])
    c, s = value.cos(), value.sin()
    return arb_mat(4, 4, [c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])


@cache
def _generator(kind: str) -> arb_mat:
    """Return the generator of dZ/dx = Z · generator."""
    entries = [0] * 16
    if kind == "P":
        entries[11] = 1
    else:
        entries[1], entries[4] = -1, 1
    return arb_mat(4, 4, entries)


@cache
def _one(n: int) -> arb_mat:
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
