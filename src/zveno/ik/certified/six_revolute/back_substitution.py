"""Back-substitution: an interval of the scan angle to balls of all six angles, or to a proof of no solution.

Every step is a necessary condition, so nothing is lost; values proved unequal that must be equal refute.
Angles stay pairs of cosine and sine until the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat, ctx

from ..balls import (
    NotProved,
    Pair,
    angle_of,
    column,
    dot,
    exact_matrix,
    inverse,
    middles,
    nonzero,
    product,
    require_time,
    turned,
    turned_back,
    widest,
)
from .circle import real_roots
from .elimination import SIZE, WIDE, System, harmonics, mixing, nodes

ACCURATE_BITS = 8
"""A determinant known to fewer bits than this is not divided by where there is another way."""
FULL_RANK = 1e-9


def candidates(system: System) -> list[list[arb]]:
    """Return balls of the six joint angles that together hold every solution."""
    found: list[list[arb]] = []
    template = system.template
    for y in real_roots(system.polynomial()):
        require_time()
        scanned = y.cos(), y.sin()
        for others in _other_angles(system, scanned):
            middle_angles = [*others]
            middle_angles.insert(template.scan, scanned)
            for y0, y1, y5 in _outer_angles(system, middle_angles):
                angles: list[arb] = [arb(0)] * 6
                for joint, pair in zip(template.order, [y0, y1, *middle_angles, y5], strict=True):
                    angles[joint] = angle_of(pair)
                found.append(angles)
    return found


def _other_angles(system: System, scanned: Pair) -> list[tuple[Pair, Pair]]:
    """Return the two other angles among y2, y3, y4 that can go with the scan angle."""
    M = system.at(*scanned)
    try:
        v = _kernel_vector(M)
    except NotProved:  # several solutions share the scan angle
        return _second_level(system, scanned)
    if 2 * system.n != SIZE and any(nonzero(x) for x in (M * arb_mat(SIZE, 1, v)).entries()):
        return []
    pair = _half_angles([v[3 * i : 3 * i + 3] for i in range(4)])
    return [] if pair is None else [pair]


def _kernel_vector(M: arb_mat) -> list[arb]:
    """Return the vector of which every kernel vector of M is a multiple; prove that the rank is at least 11."""
    free = int(np.argmax(abs(np.linalg.svd(middles(M), full_matrices=False)[2][-1])))
    R = mixing(SIZE - 1, M.nrows(), 3) * M
    entries, others = R.entries(), [j for j in range(SIZE) if j != free]
    A = arb_mat(SIZE - 1, SIZE - 1, [entry for k, entry in enumerate(entries) if k % SIZE != free])
    b = arb_mat(SIZE - 1, 1, [-entry for entry in entries[free::SIZE]])
    try:
        if widest(A.entries()) > WIDE:
            P = exact_matrix(np.linalg.inv(middles(A)))
            A, b = P * A, P * b
        x = A.solve(b)
    except (ZeroDivisionError, np.linalg.LinAlgError):
        raise NotProved("several kernel vectors") from None
    v = [arb(1)] * SIZE
    for k, j in enumerate(others):
        v[j] = x[k, 0]
    return v


def _half_angles(V: Sequence[Sequence[arb]]) -> tuple[Pair, Pair] | None:
    """Return two angles from a kernel vector V (4, 3), or None if it is proved not to consist of monomials."""
    F = np.array([[float(x.mid()) for x in row] for row in V])
    _, i, j = max((F[i, j] ** 2 + F[i + 1, j] ** 2, i, j) for i in range(3) for j in range(3))
    first, u = _doubled(V[i][j], V[i + 1][j])
    _, i, j = max((F[i, j] ** 2 + F[i, j + 1] ** 2, i, j) for i in range(4) for j in range(2))
    second, w = _doubled(V[i][j], V[i][j + 1])
    monomials = [[u[0] ** (3 - i) * u[1] ** i * w[0] ** (2 - j) * w[1] ** j for j in range(3)] for i in range(4)]
    a, b = divmod(int(np.argmax(abs(F))), 3)
    for i in range(4):
        for j in range(3):
            if nonzero(V[i][j] * monomials[a][b] - V[a][b] * monomials[i][j]):
                return None
    return first, second


def _doubled(u: arb, v: arb) -> tuple[Pair, Pair]:
    """Return (cos, sin) of the angle whose half has cosine : sine = u : v, and of the half."""
    square = u * u + v * v
    if square.contains(0):
        raise NotProved("a half angle is not determined")
    length = square.sqrt()
    return ((u * u - v * v) / square, 2 * u * v / square), (u / length, v / length)


def _second_level(system: System, scanned: Pair) -> list[tuple[Pair, Pair]]:
    """Return the same for kernels of several dimensions: by one more polynomial, of the first of the two angles."""
    B = _in_first_angle(system, scanned)
    W = mixing(3, system.n, 11)
    R = [W * b for b in B]
    roots = real_roots(harmonics([(R[0] + R[1] * c + R[2] * s).det() for c, s in nodes(7, ctx.prec)]))
    size = abs(middles(B[0])).max()
    pairs: list[tuple[Pair, Pair]] = []
    for y in roots:
        first = y.cos(), y.sin()
        K = B[0] + B[1] * first[0] + B[2] * first[1]
        singular_values, basis = np.linalg.svd(middles(K))[1:]
        if singular_values[1] > FULL_RANK * max(singular_values[0], size):
            second = _from_rank_two(K, int(np.argmax(abs(basis[-1]))))
        else:
            second = _from_one_equation(K)
        pairs += [(first, pair) for pair in second]
    return pairs


def _in_first_angle(system: System, scanned: Pair) -> list[arb_mat]:
    """Return coefficients of 1, cos, sin of the first angle, each (n, 3) over c², cs, s² of the second."""
    c, s = scanned
    E0, E1, E2 = system.equations
    n = system.n
    G = [[E0[i][k] + c * E1[i][k] + s * E2[i][k] for k in range(9)] for i in range(n)]
    # c² = (1 + cos)/2, cs = sin/2, s² = (1 − cos)/2
    return [
        arb_mat([[(row[b] + row[6 + b]) / 2 for b in range(3)] for row in G]),
        arb_mat([[(row[b] - row[6 + b]) / 2 for b in range(3)] for row in G]),
        arb_mat([[row[3 + b] / 2 for b in range(3)] for row in G]),
    ]


def _from_rank_two(K: arb_mat, free: int) -> list[Pair]:
    n = K.nrows()
    R = mixing(2, n, 13) * K
    others = [j for j in range(3) if j != free]
    try:
        A = arb_mat(2, 2, [R[i, j] for i in range(2) for j in others])
        x = A.solve(arb_mat(2, 1, [-R[i, free] for i in range(2)]))
    except ZeroDivisionError:
        raise NotProved("the last of three angles is not determined") from None
    v = [arb(1)] * 3
    for k, j in enumerate(others):
        v[j] = x[k, 0]
    if any(nonzero(x) for x in (K * arb_mat(3, 1, v)).entries()) or nonzero(v[0] * v[2] - v[1] * v[1]):
        return []
    larger = abs(float(v[0].mid())) > abs(float(v[2].mid()))
    return [_doubled(v[0], v[1])[0] if larger else _doubled(v[1], v[2])[0]]


def _from_one_equation(K: arb_mat) -> list[Pair]:
    i = int(np.argmax(abs(middles(K)).max(1)))
    return linear_in_pair((K[i, 0] - K[i, 2]) / 2, K[i, 1] / 2, -(K[i, 0] + K[i, 2]) / 2)


def linear_in_pair(a: arb, b: arb, g: arb) -> list[Pair]:
    """Return all (cos, sin) with a cos + b sin = g: two, or none where that is proved."""
    square = a * a + b * b
    if square.contains(0):
        raise NotProved("an angle is free")
    rest = square - g * g
    if rest.contains(0):
        raise NotProved("two solutions meet")
    if rest < 0:
        return []
    h = rest.sqrt()
    return [((a * g - k * b * h) / square, (b * g + k * a * h) / square) for k in (1, -1)]


def _outer_angles(system: System, middle_angles: Sequence[Pair]) -> list[tuple[Pair, Pair, Pair]]:
    """Return all (y0, y1, y5) that can go with y2, y3, y4: at most two; an empty list is a proof of none."""
    M = system.M
    A, B = inverse(M[0]), inverse(M[1])
    C = M[2]
    for pair, link in zip(middle_angles, M[3:], strict=True):
        C = product(turned(C, pair), link)
    equations = _equations_of_first(A, B, C)
    l1, p1 = column(C, 2), column(C, 3)
    completed = []
    for y0 in _first_angles(equations):
        if nonzero(y0[0] * y0[0] + y0[1] * y0[1] - 1):
            continue
        if any(nonzero(a * y0[0] + b * y0[1] - g) for a, b, g in equations):
            continue
        D = product(B, turned_back(A, y0))
        y1 = _aligning(column(D, 2), l1, column(D, 3), p1)
        if nonzero(y1[0] * y1[0] + y1[1] * y1[1] - 1):
            continue
        G = turned_back(D, y1)
        if any(nonzero(l1[k] - G[k][2]) or nonzero(p1[k] - G[k][3]) for k in range(3)):
            continue
        y5 = dot(column(C, 0), column(G, 0)), dot(column(C, 1), column(G, 0))
        completed.append((y0, y1, y5))
    return completed


def _equations_of_first(A, B, C) -> list[tuple[arb, arb, arb]]:
    """Return four equations a cos y0 + b sin y0 = g: heights, squares and products that y1 does not change."""
    l0, p0, l1, p1 = column(A, 2), column(A, 3), column(C, 2), column(C, 3)
    shift = column(B, 3)
    t = [dot(column(B, j), shift) for j in range(3)]
    rows = [
        (B[2], l0, l1[2]),
        (B[2], p0, p1[2] - B[2][3]),
        (t, p0, (dot(p1, p1) - dot(p0, p0) - dot(shift, shift)) / 2),
        (t, l0, dot(l1, p1) - dot(l0, p0)),
    ]
    return [(u[0] * v[0] + u[1] * v[1], u[0] * v[1] - u[1] * v[0], value - u[2] * v[2]) for u, v, value in rows]


def _first_angles(equations: list[tuple[arb, arb, arb]]) -> list[Pair]:
    """Solve y0 from two equations if they are proved independent, else from the largest one."""

    def determinant(pair):
        (a, b, _), (c, d, _) = pair
        return a * d - b * c

    pairs = [(e, f) for i, e in enumerate(equations) for f in equations[i + 1 :]]
    best = max(pairs, key=lambda pair: abs(float(determinant(pair).mid())))
    D = determinant(best)
    if nonzero(D) and D.rel_accuracy_bits() > ACCURATE_BITS:
        (a, b, g), (c, d, h) = best
        return [((g * d - b * h) / D, (a * h - g * c) / D)]
    return linear_in_pair(*max(equations, key=lambda e: float((e[0] * e[0] + e[1] * e[1]).mid())))


def _aligning(l: Sequence[arb], l1: Sequence[arb], p: Sequence[arb], p1: Sequence[arb]) -> Pair:
    """Return (cos, sin) of y1 with Rz(−y1) l = l1 and Rz(−y1) p = p1, from the larger of the two in the plane."""
    of_direction, of_position = l[0] * l[0] + l[1] * l[1], p[0] * p[0] + p[1] * p[1]
    larger = of_direction.mid() > of_position.mid()
    (u, w, square) = (l, l1, of_direction) if larger else (p, p1, of_position)
    if square.contains(0):
        raise NotProved("the second angle is free")
    return (w[0] * u[0] + w[1] * u[1]) / square, (w[0] * u[1] - w[1] * u[0]) / square
