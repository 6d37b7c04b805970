"""Every real root of a trigonometric polynomial with balls for coefficients, in intervals of the circle.

On the circle no leading coefficient can vanish and no root is at infinity. Intervals together hold every root;
that there is a root in one is not claimed, so double and spurious roots need not be told from simple ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import acb, acb_poly, arb, ctx

from ..balls import NotProved, around_zero, require_time

START = 64
"""Cells of the circle at first."""
SMALLEST = 2.0**-22
"""Cells of this size that floats do not decide are cut further in balls."""
ROUNDING = 1e-13
"""Relative error allowed for the evaluation in floats; its true bound for degree 12 is about 4e-15."""
MOST_CELLS, MOST_IN_BALLS, MOST_WHOLE = 4000, 1500, 24
NEWTON_IN_FLOATS = 4
WIDER = 1.0001
"""Halves of a cell overlap a little, so that rounding leaves no gap."""


def real_roots(c: Sequence[acb]) -> list[arb]:
    """Return balls of the circle that together hold every real root of p(y) = c_0 + 2 Re Σ c_m e^(imy).

    A cell of radius r is dropped where |p| > |p'| r + |p''| r²/2 + |p'''| r³/6 + B4 r⁴/24 + error at its middle (B4
    bounds the fourth derivative), and p is monotone on it where the same holds of p'.
    """
    radii = np.array([max(float(x.real.rad()), float(x.imag.rad())) * 2 for x in c])
    middle = np.array([complex(x.mid()) for x in c])
    middle[1:] *= 2
    top = abs(middle).max()
    if not top > 0 or not np.isfinite(top) or not radii.max() < 1e-2 * top:
        raise NotProved("the polynomial vanishes within its balls: identically, or the precision is short")
    m = np.arange(len(middle))
    weights = abs(middle) + 1e-300
    error = radii * 2.02 + ROUNDING * weights
    errors = [float((error * m**k).sum() * 1.01) for k in range(4)]
    fourth = float(((weights + 2.02 * radii) * m**4).sum() * 1.01)
    monotone, undecided = _cells(middle, errors, fourth)
    polynomial = _Polynomial(c)
    roots = [
        polynomial.root_in(*(arb(number) for number in cell)) for cell in _narrowed(monotone, middle, errors[0])
    ]
    if undecided:
        roots += polynomial.cut(undecided, arb(fourth))
    return [root for root in roots if root is not None]


def _narrowed(cells: list[tuple[float, float, float]], middle: np.ndarray, error: float) -> np.ndarray:
    """Return monotone cells (y, r, slope) in which p changes its sign, or may, each with a good guess of its root.

    Cells overlap by far more than their ends are rounded by.
    """
    y, r, slope = np.array(cells).reshape(-1, 3).T
    m = np.arange(len(middle))

    def value(y: np.ndarray, k: int) -> np.ndarray:
        return (np.exp(1j * np.outer(y, m)) @ (middle * (1j * m) ** k)).real

    low, high = value(y - r, 0), value(y + r, 0)
    none = (np.minimum(low, high) > error) | (np.maximum(low, high) < -error)
    y, r, slope = y[~none], r[~none], slope[~none]
    guess = y
    for _ in range(NEWTON_IN_FLOATS):
        steep = value(guess, 1)
        step = np.divide(value(guess, 0), steep, out=np.zeros_like(guess), where=steep != 0)
        guess = np.clip(guess - step, y - r, y + r)
    return np.stack([y, r, slope, guess], axis=1)


def _cells(middle: np.ndarray, errors: list[float], fourth: float):
    """Return cells in floats: those where p is monotone, with the least |p'|, and those for balls to decide."""
    m = np.arange(len(middle))
    y = (np.arange(START) + 0.5) * (2 * np.pi / START) - np.pi
    r = np.pi / START * WIDER
    monotone: list[tuple[float, float, float]] = []
    undecided: list[tuple[arb, arb]] = []
    while len(y):
        if len(y) > MOST_CELLS:
            raise NotProved("the polynomial is too flat")
        z = np.exp(1j * np.outer(y, m)) * middle
        real, imaginary = np.real(z), np.imag(z)
        p, p1 = real.sum(1), -(imaginary * m).sum(1)
        p2, p3 = -(real * m**2).sum(1), (imaginary * m**3).sum(1)
        a1, a2, a3 = abs(p1) + errors[1], abs(p2) + errors[2], abs(p3) + errors[3]
        change = a1 * r + a2 * r * r / 2 + a3 * r**3 / 6 + fourth * r**4 / 24
        kept = ~(abs(p) > (change + errors[0]) * (1 + 1e-12))
        slope = abs(p1) - (a2 * r + a3 * r * r / 2 + fourth * r**3 / 6 + errors[1]) * (1 + 1e-12)
        steep = kept & (slope > 0)
        monotone += [(float(y[i]), r, float(slope[i])) for i in np.flatnonzero(steep)]
        lost = kept & ~steep & (a1 * r + a2 * r * r / 2 < 10 * errors[0])  # only rounding stands in the way
        undecided += [(arb(float(x)), arb(r)) for x in y[lost]]
        y = y[kept & ~steep & ~lost]
        if r < SMALLEST:
            undecided += [(arb(float(x)), arb(r)) for x in y]
            break
        r = r / 2 * WIDER
        y = np.concatenate([y - r, y + r])
    return monotone, undecided


class _Polynomial:
    """p(y) = Re P(e^(iy)) and its derivatives, each by one evaluation of a polynomial of e^(iy) in balls."""

    def __init__(self, c: Sequence[acb]):
        doubled = [c[0], *(2 * x for x in c[1:])]
        self.weighted: list[acb_poly] = [acb_poly([x * m**k for m, x in enumerate(doubled)]) for k in range(4)]

    def derivatives(self, y: arb, n: int) -> list[arb]:
        """Return p, p', … at a ball, n of them."""
        z = acb(y.cos(), y.sin())
        sums = [weighted(z) for weighted in self.weighted[:n]]
        return [(x.real, -x.imag, -x.real, x.imag)[k] for k, x in enumerate(sums)]

    def root_in(self, y: arb, r: arb, slope: arb, guess: arb | None = None) -> arb | None:
        """Return a ball of the root in the cell y ± r, on which |p'| ≥ slope > 0; None if there is none.

        Any root is within |p(m)| / slope of any m of the cell; Newton's iteration finds a good m.
        """
        low, high = (y - r).mid(), (y + r).mid()
        if self.derivatives(low, 1)[0] * self.derivatives(high, 1)[0] > 0:
            return None
        m, small = (y if guess is None else guess).mid(), arb(2) ** (-(ctx.prec * 5 // 8))
        for _ in range(16):
            p, p1 = self.derivatives(m, 2)
            if p1.contains(0):
                break
            step = (p / p1).mid()
            moved = (m - step).mid()
            m = low if moved < low else high if moved > high else moved
            if step.abs_upper() < small:
                break
        return m + around_zero(float((self.derivatives(m, 1)[0].abs_upper() / slope).abs_upper()))

    def cut(self, cells: list[tuple[arb, arb]], fourth: arb) -> list[arb | None]:
        """Isolate roots in cells for which floats do not suffice. Cells too small to be cut are returned whole."""
        roots: list[arb | None] = []
        whole: list[tuple[arb, arb]] = []
        seen, least = 0, arb(2) ** (-(ctx.prec // 3))
        while cells:
            require_time()
            y, r = cells.pop()
            seen += 1
            if seen > MOST_IN_BALLS or len(whole) > MOST_WHOLE:
                raise NotProved("a double root of the polynomial, or two too close")
            p, p1, p2, p3 = self.derivatives(y, 4)
            a1, a2, a3 = p1.abs_upper(), p2.abs_upper(), p3.abs_upper()
            if p.abs_lower() > a1 * r + a2 * r**2 / 2 + a3 * r**3 / 6 + fourth * r**4 / 24:
                continue
            slope = p1.abs_lower() - a2 * r - a3 * r**2 / 2 - fourth * r**3 / 6
            if slope > 0:
                roots.append(self.root_in(y, r, slope.abs_lower()))
            elif r < least:
                whole.append((y, r))
            else:
                half = (r / 2 * arb(WIDER)).mid()
                cells += [((y - half).mid(), half), ((y + half).mid(), half)]
        return [*roots, *_joined(whole)]


def _joined(cells: list[tuple[arb, arb]]) -> list[arb]:
    """Join overlapping cells to one ball."""
    intervals: list[tuple[arb, arb]] = []
    for y, r in sorted(cells, key=lambda cell: cell[0].mid()):
        low, high = (y - r).lower(), (y + r).upper()
        if intervals and low <= intervals[-1][1]:
            intervals[-1] = intervals[-1][0], max(intervals[-1][1], high)
        else:
            intervals.append((low, high))
    return [low.union(high) for low, high in intervals]
