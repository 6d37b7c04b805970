"""Kernels of plane curves: classification of cells, and Newton's method for the one point where s turns.

A kernel is that of a pair of degrees, rounded up so that few are built; the polynomial is an input.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ....kernels.builder import Builder
from ....kernels.compile import compiled, compiled_structured
from ....kernels.ops import abs as absolute
from ....kernels.ops import cos, less, logical_and, logical_not, maximum, minimum, sin, where
from ...native.program import as_it_is

ORDER = 8
"""Order of the Taylor polynomials of cells."""
WIDER = 2.0
"""The part of the plane about a cell in which a turning point is the only one, in widths of the cell."""
LEADS = ((0, 0), (0, 1), (1, 0), (0, 2))
"""The derivatives that are told from zero: F and F_u in the cell, F_s and F_uu in a wider one."""
DROPPED, LEFT = 0.0, 2.0
"""Codes of a cell: s does not turn in it; undecided. 1 and −1: it turns once at most, s being least or greatest."""
DEGREES = (4, 8, 12)
NEWTON_STEPS = 7
FURTHEST = 3.0
"""Half-widths of a cell within which Newton's method stays."""


class Padded(NamedTuple):
    """A of the polynomial φ(s)ᵀ A φ(u), with zeros up to degrees for which there are kernels."""

    A: np.ndarray
    degrees: tuple[int, int]


def padded(A: np.ndarray) -> Padded:
    """Pad the coefficients of a polynomial."""
    own = [(size - 1) // 2 for size in A.shape]
    d_s, d_u = (next(d for d in DEGREES if d >= degree) for degree in own)
    if [d_s, d_u] == own:
        return Padded(np.ascontiguousarray(A), (d_s, d_u))
    whole = np.zeros((2 * d_s + 1, 2 * d_u + 1))
    rows, columns = (np.r_[0 : m + 1, d + 1 : d + 1 + m] for m, d in zip(own, (d_s, d_u), strict=True))
    whole[rows[:, None], columns] = A
    return Padded(whole, (d_s, d_u))


def cells(curve: Padded, s: np.ndarray, u: np.ndarray, r_s: float, r_u: float, rest: np.ndarray) -> np.ndarray:
    """Return (n, 2): possible content of cells about (s, u) (`DROPPED` …), and whether F has no zero in them.

    Args:
        curve: the polynomial.
        s, u: (n,) middles.
        r_s, r_u: half-widths.
        rest: (4,) bounds of the Taylor remainders of `LEADS`, rounding included.
    """
    return _cell_kernel(curve.degrees)(curve.A, s, u, np.array([r_s, r_u]), rest)


def turn(curve: Padded, s: np.ndarray, u: np.ndarray, r_s: float, r_u: float) -> np.ndarray:
    """Return (n, 3): zeros of F and F_u in half-widths from middles (n,) of cells, and the last step's length."""
    with np.errstate(all="ignore"):  # a cell without such a point does not concern the others
        return _turn_kernel(curve.degrees)(curve.A, np.stack([s, u], axis=1), np.array([r_s, r_u]))


@lru_cache(maxsize=32)
def _cell_kernel(degrees: tuple[int, int]) -> Any:
    d_s, d_u = degrees
    inputs = {"A": (2 * d_s + 1, 2 * d_u + 1), "s": (), "u": (), "r": (2,), "rest": (4,)}
    return compiled(_cell, inputs, constants=(degrees,), name="ik_curve_cells")


@lru_cache(maxsize=32)
def _turn_kernel(degrees: tuple[int, int]) -> Any:
    return compiled_structured(_turning, degrees, name="ik_curve_turns")


def _cell(degrees: tuple[int, int], A, s, u, r, rest):
    terms = taylor(degrees, A, s, u, r[0], r[1])
    size = {key: absolute(value) for key, value in terms.items()}
    without = []
    for number, (i, j) in enumerate(LEADS):
        wide = 1.0 if number < 2 else WIDER
        weight = {
            (k, l): math.perm(k, i) * math.perm(l, j) * wide ** (k + l) for k, l in terms if k >= i and l >= j
        }
        others = sum(w * size[key] for key, w in weight.items() if key != (i, j))
        without.append(less(others + rest[number], weight[i, j] * size[i, j]))
    no_zero, no_turn, rising, bent = without
    side = where(less(0.0, terms[1, 0] * terms[0, 2]), -1.0, 1.0)
    code = where(logical_and(rising, bent), side, LEFT)
    keep = logical_and(logical_not(no_zero), logical_not(no_turn))
    return np.array([where(keep, code, DROPPED), where(no_zero, 1.0, 0.0)])


def taylor(degrees: tuple[int, int], A: Any, s: Any, u: Any, r_s: Any, r_u: Any, order: int = ORDER) -> dict:
    """Return t_ij = ∂ⁱ∂ʲF r_sⁱ r_uʲ / i! j! at (s, u), for i + j up to an order."""
    by_s = derived(A.T, degrees[0], s, r_s, order)
    terms = {}
    for i, row in enumerate(by_s):
        for j, value in enumerate(derived(row[None], degrees[1], u, r_u, order - i)):
            terms[i, j] = value[0]
    return terms


def derived(A: Any, degree: int, angle: Any, r: Any, order: int) -> list[Any]:
    """Return values and derivatives rⁱ/i! ∂ⁱ, (n,) each, of trigonometric polynomials A (n, 2 degree + 1)."""
    c, s = cos(angle), sin(angle)
    harmonics, here = [], (c, s)
    for _ in range(degree):
        harmonics.append(here)
        here = here[0] * c - here[1] * s, here[0] * s + here[1] * c
    even = [p * A[:, m + 1] + q * A[:, degree + m + 1] for m, (p, q) in enumerate(harmonics)]
    odd = [p * A[:, degree + m + 1] - q * A[:, m + 1] for m, (p, q) in enumerate(harmonics)]
    out = [A[:, 0] + sum(even)]
    power = 1.0
    for i in range(1, order + 1):
        power = power * r
        sign = (1.0, 1.0, -1.0, -1.0)[i % 4]
        parts = even if i % 2 == 0 else odd
        total = sum((m + 1) ** i / math.factorial(i) * part for m, part in enumerate(parts))
        out.append(sign * power * total)
    return out


def _turning(program: Builder, degrees: tuple[int, int]) -> None:
    """Write found (3,): the zero of F and F_u, in half-widths r (2,) from the cell's middle, and the last step."""
    shape = (2 * degrees[0] + 1, 2 * degrees[1] + 1)
    A = program.input("A", shape, shape[0] * shape[1])
    middle, r = program.input("middle", (2,), 2), program.input("r", (2,), 2)
    found = program.output("found", (3,), 3)
    x = program.scratch("x", 1, 3)
    x[0] = program.step(_at_middle, middle[0])
    with program.each(NEWTON_STEPS):
        x[0] = program.step(partial(_newton_step, degrees), A[0], middle[0], r[0], x[0])
    found[0] = program.step(as_it_is, x[0])


def _at_middle(middle: Any) -> Any:
    return 0.0 * np.array([middle[0], middle[1], middle[0]])


def _newton_step(degrees: tuple[int, int], A: Any, middle: Any, r: Any, x: Any) -> Any:
    """Return x, y after a Newton step for F = F_u = 0, kept near the cell, and the length of the step."""
    A = A.reshape(2 * degrees[0] + 1, 2 * degrees[1] + 1)
    t = taylor(degrees, A, middle[0] + x[0] * r[0], middle[1] + x[1] * r[1], r[0], r[1], order=2)
    f, f_y, f_yy, f_x, f_xy = t[0, 0], t[0, 1], 2.0 * t[0, 2], t[1, 0], t[1, 1]
    det = f_x * f_yy - f_y * f_xy
    along = (f * f_yy - f_y * f_y) / det, (f_x * f_y - f * f_xy) / det
    steps = [where(less(absolute(step), np.inf), step, 3.0 * FURTHEST) for step in along]
    moved = [minimum(maximum(x[k] - steps[k], -FURTHEST), FURTHEST) for k in (0, 1)]
    return np.array([*moved, maximum(absolute(steps[0]), absolute(steps[1]))])
