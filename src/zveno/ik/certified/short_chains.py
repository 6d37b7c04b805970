"""Proofs for other chains than six revolute joints: three joints that place a point or turn a body, and both.

Three joints that place a point are solved by subdivision, or by linear equations where two or three of them slide.
Of six, three that slide leave the rotation to the other three; and a wrist of three axes through one point leaves
its place to the joints before it. Whatever comes first is a necessary condition; Krawczyk's test is on the whole
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, arb_mat, ctx

from .balls import (
    NotProved,
    Pair,
    Rigid,
    angle_of,
    column,
    dot,
    identity,
    inverse,
    nonzero,
    precision,
    product,
    require_time,
    turned,
)
from .cells import boxes
from .krawczyk import Loop, isolated
from .six_revolute.arm import PRECISIONS, Attempt, loop_links
from .six_revolute.back_substitution import linear_in_pair
from .six_revolute.circle import real_roots
from .six_revolute.elimination import harmonics, nodes

WHOLE_TURN = (-np.pi * (1 + 1e-9), np.pi * (1 + 1e-9))


class ShortChain:
    """A chain whose candidates come from a closed form or from subdivision.

    Args:
        constants: gives C_0 … C_n in balls of the precision of the moment.
        kinds: R or P by joint.
        rows: "pose", "position" or "rotation".
    """

    def __init__(self, constants: Callable[[], Sequence[Rigid]], kinds: str, rows: str):
        self.constants = constants
        self.kinds: str = kinds
        self.rows: str = rows

    def solve(self, target: Callable[[], Rigid]) -> Attempt:
        """Find all solutions of one target."""
        reasons = []
        for bits in PRECISIONS:
            with precision(bits):
                C, T = self.constants(), target()
                try:
                    require_time()
                    found = self._candidates(C, T)
                    return Attempt(isolated(closure(C, T, self.kinds, self.rows), found), bits, reasons)
                except NotProved as obstacle:
                    reasons.append(str(obstacle))
        return Attempt(None, PRECISIONS[-1], reasons)

    def _candidates(self, C: Sequence[Rigid], T: Rigid) -> list[list[arb]]:
        if self.rows == "position":
            return placed_points(C, column(T, 3), self.kinds)
        if self.rows == "rotation":
            return turned_bodies(C, T)
        return sliding_arm(C, T, self.kinds) if self.kinds.count("P") == 3 else wrist_arm(C, T, self.kinds)


def closure(C: Sequence[Rigid], T: Rigid, kinds: str, rows: str) -> Loop:
    """Return the loop whose zeros are the solutions."""
    if rows != "position":
        return Loop(loop_links(C, T), kinds, rows)
    shift = identity()
    for i, x in enumerate(column(T, 3)):
        shift[i][3] = -x
    return Loop([product(shift, C[0]), *C[1:-1]], kinds, rows, column(C[-1], 3))


def turned_bodies(C: Sequence[Rigid], T: Rigid) -> list[list[arb]]:
    """Return angles of three revolute joints that turn a body as T is turned.

    Of C_1 Rz(q2) C_2 = Rz(−q1) G Rz(−q3) with G = C_0⁻¹ T C_3⁻¹ the last entry holds q2 alone; its last column
    and row then give q1 and q3.
    """
    G = product(product(inverse(C[0]), T), inverse(C[3]))
    row, last = C[1][2], column(C[2], 2)
    a, b = row[0] * last[0] + row[1] * last[1], row[1] * last[0] - row[0] * last[1]
    found = []
    for second in linear_in_pair(a, b, G[2][2] - row[2] * last[2]):
        middle = product(turned(C[1], second), C[2])
        first = _turn_between(column(middle, 2), column(G, 2))
        third = _turn_between(G[2], middle[2])
        found.append([angle_of(pair) for pair in (first, second, third)])
    return found


def _turn_between(u: Sequence[arb], w: Sequence[arb]) -> Pair:
    """Return (cos, sin) of the turn about z that takes u to w."""
    square = u[0] * u[0] + u[1] * u[1]
    if square.contains(0):
        raise NotProved("two axes are aligned")
    return (u[0] * w[0] + u[1] * w[1]) / square, (u[0] * w[1] - u[1] * w[0]) / square


def placed_points(C: Sequence[Rigid], point: Sequence[arb], kinds: str) -> list[list[arb]]:
    """Return coordinates of three joints that bring the origin of the last frame to a point."""
    T = identity()
    for i in range(3):
        T[i][3] = point[i]
    slides = kinds.count("P")
    if slides >= 2:
        return _sliding_points(C, point, kinds)
    reach = _reach(C, point)
    return boxes(
        closure(C, T, kinds, "position"), [WHOLE_TURN if kind == "R" else (-reach, reach) for kind in kinds]
    )


def _reach(C: Sequence[Rigid], point: Sequence[arb]) -> float:
    """Return the bound on one slide: all lengths of the chain and the distance of the point together."""
    lengths = [column(A, 3) for A in C] + [list(point)]
    return sum(float(dot(v, v).sqrt().abs_upper()) for v in lengths) * (1 + 1e-9) + 1e-9


def _sliding_points(C: Sequence[Rigid], point: Sequence[arb], kinds: str) -> list[list[arb]]:
    """Return the same with two or three slides: linear in them once the angle is known."""
    if kinds == "PPP":
        d, rest = _linear_parts(C, point, kinds, None)
        return [_solved(d, rest)]
    values = []
    for pair in nodes(7, ctx.prec):
        d, rest = _linear_parts(C, point, kinds, pair)
        values.append(arb_mat([[*row] for row in zip(*d, rest, strict=True)]).det())
    found = []
    for y in real_roots(harmonics(values)):
        d, rest = _linear_parts(C, point, kinds, (y.cos(), y.sin()))
        slides = _from_two(d, rest)
        if slides is not None:
            slides.insert(kinds.index("R"), y)
            found.append(slides)
    return found


def _linear_parts(
    C: Sequence[Rigid], point: Sequence[arb], kinds: str, angle: Pair | None
) -> tuple[list[list[arb]], list[arb]]:
    """Return directions of the slides, and the rest that they make up for: Σ d_k x_k + rest = 0."""
    T, directions = C[0], []
    for kind, after in zip(kinds, C[1:], strict=True):
        if kind == "P":
            directions.append(column(T, 2))
        else:
            assert angle is not None
            T = turned(T, angle)
        T = product(T, after)
    return directions, [x - p for x, p in zip(column(T, 3), point, strict=True)]


def _solved(d: Sequence[Sequence[arb]], rest: Sequence[arb]) -> list[arb]:
    try:
        x = arb_mat([[*row] for row in zip(*d, strict=True)]).solve(arb_mat(3, 1, [-value for value in rest]))
    except ZeroDivisionError:
        raise NotProved("the slides are not proved to be independent") from None
    return [x[i, 0] for i in range(3)]


def _from_two(d: Sequence[Sequence[arb]], rest: Sequence[arb]) -> list[arb] | None:
    """Solve three equations for two slides; None if they are proved to contradict each other."""
    pairs = [(i, j) for i in range(3) for j in range(i + 1, 3)]

    def determinant(pair):
        i, j = pair
        return d[0][i] * d[1][j] - d[0][j] * d[1][i]

    i, j = max(pairs, key=lambda pair: abs(float(determinant(pair).mid())))
    D = determinant((i, j))
    if D.contains(0):
        raise NotProved("the slides are not proved to be independent")
    x = [(d[1][i] * rest[j] - d[1][j] * rest[i]) / D, (d[0][j] * rest[i] - d[0][i] * rest[j]) / D]
    if any(nonzero(d[0][k] * x[0] + d[1][k] * x[1] + rest[k]) for k in range(3)):
        return None
    return x


def sliding_arm(C: Sequence[Rigid], T: Rigid, kinds: str) -> list[list[arb]]:
    """Solve three slides and three turns in any order: the turns give the rotation, then the slides are linear."""
    links = [C[0]]
    for kind, after in zip(kinds, C[1:], strict=True):
        if kind == "P":
            links[-1] = product(links[-1], after)
        else:
            links.append(after)
    found = []
    for angles in turned_bodies(links, T):
        A, directions, turns = C[0], [], iter(angles)
        for kind, after in zip(kinds, C[1:], strict=True):
            if kind == "P":
                directions.append(column(A, 2))
            else:
                angle = next(turns)
                A = turned(A, (angle.cos(), angle.sin()))
            A = product(A, after)
        slides = iter(_solved(directions, [x - p for x, p in zip(column(A, 3), column(T, 3), strict=True)]))
        turns = iter(angles)
        found.append([next(slides) if kind == "P" else next(turns) for kind in kinds])
    return found


def wrist_centre(C: Sequence[Rigid]) -> tuple[list[arb], list[arb]]:
    """Return the exact point where the wrist axes meet, in the frame before joint 4 and in the last, or raise."""
    zero = arb(0)
    height = [column(C[4], 3), column(C[5], 3)]
    if any(not x.is_zero() for v in height for x in v[:2]):
        raise NotProved("the last three axes are not proved to meet in a point")
    # Axis 4 is z; frame 5 sits at height h on it, frame 6 at height k on axis 5: they meet where k moves no point.
    h, k = height[0][2], height[1][2]
    if not k.is_zero():
        raise NotProved("the last three axes are not proved to meet in a point")
    last = inverse(C[6])
    return [zero, zero, h], column(last, 3)


def wrist_arm(C: Sequence[Rigid], T: Rigid, kinds: str) -> list[list[arb]]:
    """Solve three joints that place a wrist of three axes through one point, and the wrist."""
    before, after = wrist_centre(C)
    rotation, position = [row[:3] for row in T], column(T, 3)
    centre = [dot(row, after) + p for row, p in zip(rotation, position, strict=True)]
    shift = identity()
    for i in range(3):
        shift[i][3] = before[i]
    found = []
    for first in _isolated_points([*C[:3], product(C[3], shift)], centre, kinds[:3]):
        A = C[0]
        for kind, value, link in zip(kinds, first, C[1:4], strict=False):
            if kind == "P":
                slide = identity()
                slide[2][3] = value
                A = product(product(A, slide), link)
            else:
                A = product(turned(A, (value.cos(), value.sin())), link)
        found += [[*first, *last] for last in _isolated_rotations([identity(), *C[4:]], product(inverse(A), T))]
    return found


def _isolated_points(C: Sequence[Rigid], point: Sequence[arb], kinds: str) -> list[list[arb]]:
    """Return enclosures of the solutions of the first three joints."""
    T = identity()
    for i in range(3):
        T[i][3] = point[i]
    loop = closure(C, T, kinds, "position")
    return [solution.enclosure for solution in isolated(loop, placed_points(C, point, kinds))]


def _isolated_rotations(C: Sequence[Rigid], T: Rigid) -> list[list[arb]]:
    loop = closure(C, T, "RRR", "rotation")
    return [solution.enclosure for solution in isolated(loop, turned_bodies(C, T))]
