"""Rigid transforms and angles in balls: midpoints with radii, so that every true value lies in its ball.

A rigid transform is a list of three rows of four balls. Comparisons of balls hold for all values in them, so a test
that is false may be undecided: a proof is written as a test that returns True.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from ..clock import OVER, time_is_over

Rigid = list[list[Any]]
"""Three rows of four balls (`flint` has no types)."""
Pair = tuple[Any, Any]
"""Cosine and sine of an angle."""
_PRECISION = RLock()
"""flint has one precision for the whole process: whoever sets it holds this until it is restored."""


class NotProved(Exception):
    """Nothing is decided at this precision, by this route; the message says where it stopped."""


class TooWide(NotProved):
    """Candidates are isolated but too wide to be separated: the same route with more bits is tried next."""


def require_time() -> None:
    """Give up where the call of which this is a part should end."""
    if time_is_over():
        raise NotProved(OVER)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the precision of balls, in bits, inside the block."""
    with _PRECISION:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def nonzero(x: arb) -> bool:
    """Return True if a ball is proved not to hold zero."""
    return not x.contains(0)


def around_zero(radius: float) -> arb:
    """Return the ball about 0 whose radius is at least a float that was rounded to nearest."""
    return arb(0, radius * (1 + 1e-12) + 1e-300)


def middles(A: arb_mat) -> np.ndarray:
    """Return the midpoints of a matrix, rounded to floats."""
    return np.array([float(x) for x in A.entries()]).reshape(A.nrows(), A.ncols())


def widest(balls: Sequence[arb]) -> float:
    """Return the greatest radius, rounded to a float."""
    return max((float(x.rad()) for x in balls), default=0.0)


def exact_matrix(A: np.ndarray) -> arb_mat:
    """Return a float matrix taken exactly."""
    return arb_mat(A.shape[0], A.shape[1], [float(x) for x in A.ravel()])


def dot(u: Sequence[arb], v: Sequence[arb]) -> arb:
    """Return the scalar product of vectors of three."""
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def column(A: Rigid, j: int) -> list[arb]:
    """Return column j: 0, 1, 2 the axes, 3 the position."""
    return [row[j] for row in A]


def identity() -> Rigid:
    """Return the identity."""
    return [[arb(int(i == j)) for j in range(4)] for i in range(3)]


def product(A: Rigid, B: Rigid) -> Rigid:
    """Return A B."""
    columns = [column(B, j) for j in range(4)]
    return [[*(dot(row, c) for c in columns[:3]), dot(row, columns[3]) + row[3]] for row in A]


def inverse(A: Rigid) -> Rigid:
    """Return A⁻¹."""
    rows = [column(A, j) for j in range(3)]
    position = column(A, 3)
    return [[*row, -dot(row, position)] for row in rows]


def turned(A: Rigid, angle: Pair) -> Rigid:
    """Return A Rz(angle)."""
    c, s = angle
    return [[c * row[0] + s * row[1], c * row[1] - s * row[0], row[2], row[3]] for row in A]


def turned_back(A: Rigid, angle: Pair) -> Rigid:
    """Return Rz(−angle) A."""
    c, s = angle
    first = [c * x + s * y for x, y in zip(A[0], A[1], strict=True)]
    second = [c * y - s * x for x, y in zip(A[0], A[1], strict=True)]
    return [first, second, A[2]]


def flipped(A: Rigid) -> Rigid:
    """Return X A X with X half a turn about x: it conjugates Rz(−q) to Rz(q)."""
    sign = (1, -1, -1, 1)
    return [[A[i][j] if sign[i] == sign[j] else -A[i][j] for j in range(4)] for i in range(3)]


def four_by_four(A: Rigid) -> arb_mat:
    """Return A with the last row 0 0 0 1."""
    return arb_mat(4, 4, [x for row in A for x in row] + [0, 0, 0, 1])


def angle_of(pair: Pair) -> arb:
    """Return the ball of the angle whose cosine and sine lie in the given balls.

    The pair is turned by its middle first, so that the cut of atan2 is far away.
    """
    c, s = pair
    middle = arb.atan2(s.mid(), c.mid()).mid()
    cm, sm = middle.cos(), middle.sin()
    return middle + arb.atan2(s * cm - c * sm, c * cm + s * sm)


def turns_between(a: arb, b: arb) -> arb:
    """Return the multiple of 2π that brings b nearest to a; any multiple is right, this one is useful."""
    return 2 * round((float(a.mid()) - float(b.mid())) / (2 * np.pi)) * arb.pi()


def nearest_rotation(R: np.ndarray) -> list[list[arb]]:
    """Return the rotation nearest to a float matrix (3, 3): its polar factor.

    With E = XᵀX − 1 the step X ← X (1 − E/2) keeps the polar factor, and X (XᵀX)^(−1/2) differs from X (1 − E/2) by
    at most 4 |E|² for |E| < 1/4.
    """
    one = arb_mat(3, 3, [1, 0, 0, 0, 1, 0, 0, 0, 1])
    X = exact_matrix(np.asarray(R, float))
    for _ in range(12):
        E = X.transpose() * X - one
        size = 3 * max(float(e.abs_upper()) for e in E.entries())
        X = X * (one - E * arb(0.5))
        if size < 2.0 ** -(0.45 * ctx.prec):
            break
    else:
        raise NotProved("the rotation given is too far from orthonormal")
    error = around_zero(4 * size * size)
    return [[X[i, j] + error for j in range(3)] for i in range(3)]
