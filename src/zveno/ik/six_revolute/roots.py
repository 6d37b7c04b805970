"""All real roots of trigonometric polynomials p(y) = a0 + Σ a_m cos(m y) + b_m sin(m y), isolated by Taylor bounds.

A cell of half-width r about y holds no root where |p| > |p'| r + |p''| r²/2 + |p'''| r³/6 + B r⁴/24 with
B = Σ m⁴ |c_m|; it holds at most one where the same argument says that p' has no zero in it. Other cells are
split, down to `LEAST_WIDTH` or to where only rounding is left; what remains then is reported as undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...kernels import ops as zm
from ...kernels.compile import compiled

DEGREE = 12
SAMPLES = 32
CELLS = 64
"""Cells to begin with: as many for one polynomial as for a batch, so that the answer does not depend on it."""
LEAST_WIDTH = 1e-5
SETTLED = 1e-12
"""A Newton step shorter than this, rad, is the last: solutions are polished afterwards."""

EMPTY, SINGLE, SPLIT, NOISE = 0.0, 1.0, 2.0, 3.0
_PIECES = 2.0 * np.arange(4) - 3.0
"""Middles of the parts a cell is split into, in half-widths of a part."""

_ANGLES = -np.pi + 2 * np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES
SAMPLE_POINTS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], 1)
"""Cosine and sine of the angles a polynomial is sampled at, (SAMPLES, 2)."""
N_COEFFICIENTS = 2 * DEGREE + 3


@dataclass(frozen=True, eq=False)
class Roots:
    """Roots of a batch of polynomials.

    Attributes:
        pose: the polynomial each root is of, (n,), ascending.
        y: the roots, (n,), in [−π, π] or a cell's width beyond.
        simple: (n,) False for undecided cells: several roots too close to separate, or none.
    """

    pose: np.ndarray
    y: np.ndarray
    simple: np.ndarray


def polynomial(values: Any) -> Any:
    """Return coefficients (27,) from samples (SAMPLES,), scaled to maximum 1: a0 … a12, b1 … b12, noise, bound.

    Harmonics above the degree must vanish; their size measures the error of the samples. The bound is
    Σ m⁴ |c_m|, of the fourth derivative.
    """
    half = SAMPLES // 2
    # The sample points are symmetric: sums carry the cosines, differences the sines.
    even, odd = values[half:] + values[:half][::-1], values[half:] - values[:half][::-1]
    angles = _ANGLES[half:]
    scale = zm.abs(values[0])
    for value in values[1:]:
        scale = zm.maximum(scale, zm.abs(value))
    unit = zm.where(zm.less(0.0, scale), 2.0 / SAMPLES / scale, 0.0)
    cosines = [unit * (np.cos(m * angles) @ even) for m in range(half)]
    sines = [unit * (np.sin(m * angles) @ odd) for m in range(1, half)]
    noise = 0.0
    for extra in cosines[DEGREE + 1 :] + sines[DEGREE:]:
        noise = zm.maximum(noise, zm.abs(extra))
    bound = 0.0
    for m in range(1, DEGREE + 1):
        bound = bound + float(m) ** 4 * zm.sqrt(cosines[m] * cosines[m] + sines[m - 1] * sines[m - 1])
    return np.array([0.5 * cosines[0], *cosines[1 : DEGREE + 1], *sines[:DEGREE], 30.0 * noise + 2e-15, bound])


@cache
def _polynomial():
    return compiled(polynomial, {"values": (SAMPLES,)})


def polynomials(values: Any) -> Any:
    """Return coefficients (k, 27) from samples (k, SAMPLES), see `polynomial`."""
    return _polynomial()(values)


def _derivatives(c, y, n: int):
    """Return p and its first n derivatives at y."""
    a, b = c[: DEGREE + 1], c[DEGREE + 1 : 2 * DEGREE + 1]
    cos1, sin1 = zm.cos(y), zm.sin(y)
    cosm, sinm = cos1, sin1
    p = [a[0]] + [0.0] * n
    for m in range(1, DEGREE + 1):
        if m > 1:
            cosm, sinm = cosm * cos1 - sinm * sin1, sinm * cos1 + cosm * sin1
        even, odd = a[m] * cosm + b[m - 1] * sinm, b[m - 1] * cosm - a[m] * sinm
        for j in range(n + 1):
            p[j] = p[j] + (1, 1, -1, -1)[j % 4] * float(m) ** j * (odd if j % 2 else even)
    return p


def classify(c: Any, y: Any, r: Any) -> tuple[Any, Any]:
    """Return the content of a cell (EMPTY, SINGLE, SPLIT or NOISE), and the first approximation of its root."""
    return classified(c, y, r, _derivatives(c, y, 3))


def classified(c: Any, y: Any, r: Any, derivatives: Any) -> tuple[Any, Any]:
    """Classify a cell from p and its first three derivatives at y."""
    noise, bound = c[-2], c[-1]
    p, p1, p2, p3 = derivatives
    v, d, d2, d3 = map(zm.abs, (p, p1, p2, p3))
    remainder = bound * r * r * r * r / 24.0 + noise
    empty = zm.less(d * r + d2 * r * r / 2.0 + d3 * r * r * r / 6.0 + remainder, v)
    monotone = zm.less(d2 * r + d3 * r * r / 2.0 + bound * r * r * r / 6.0 + DEGREE * noise, d)
    # A monotone cell holds no root if p has one sign at both ends.
    middle, slope = p + p2 * r * r / 2.0, p1 * r + p3 * r * r * r / 6.0
    same = zm.less(zm.abs(slope) + remainder, zm.abs(middle))
    quiet = zm.less(v + d * r + d2 * r * r / 2.0 + d3 * r * r * r / 6.0, 4.0 * noise)
    kind = zm.where(zm.logical_or(quiet, zm.less(r, LEAST_WIDTH)), NOISE, SPLIT)
    kind = zm.where(monotone, zm.where(same, EMPTY, SINGLE), kind)
    # A single root is sought from the secant point, an undecided one at the extremum.
    at = zm.where(monotone, y - r * zm.maximum(-1.0, zm.minimum(1.0, middle / slope)), y)
    turn = zm.where(zm.less(d, d2 * 2.0 * r), y - p1 / p2, y)
    at = zm.where(zm.less(zm.abs(kind - NOISE), 0.5), turn, at)
    return zm.where(empty, EMPTY, kind), at


def newton(c: Any, low: Any, high: Any, y: Any, *, steps: int) -> tuple[Any, Any, Any, Any]:
    """Take bracketed Newton steps towards the root of a monotone p: the bracket, y, and the last step taken."""
    moved = y
    p = _derivatives(c, low, 0)[0]
    for _ in range(steps):
        value, slope = _derivatives(c, y, 1)
        before = zm.less(0.0, value * p)  # y is on the side of `low`
        low, high = zm.where(before, y, low), zm.where(before, high, y)
        following = y - value / slope
        inside = zm.logical_and(zm.less_equal(low, following), zm.less_equal(following, high))
        following = zm.where(inside, following, 0.5 * (low + high))
        y, moved = following, following - y
    return low, high, y, moved


@cache
def _cell():
    return compiled(classify, {"c": (N_COEFFICIENTS,), "y": (), "r": ()})


@cache
def _newton():
    return compiled(newton, {"c": (N_COEFFICIENTS,), "low": (), "high": (), "y": ()}, options={"steps": 5})


@lru_cache(maxsize=64)
def _grid(allowed: tuple[tuple[float, float], ...] | None) -> np.ndarray:
    """Return the middles of equal cells of [−π, π] that allowed ranges touch."""
    r = np.pi / CELLS
    grid = -np.pi + r * (2 * np.arange(CELLS) + 1)
    if allowed is not None:
        grid = grid[np.any([(grid + r >= low) & (grid - r <= high) for low, high in allowed], axis=0)]
    return grid


def isolate(c: Any, allowed: Any = None) -> Roots:
    """Find the roots of the polynomials c (k, 27), see `polynomials`, in [−π, π].

    Args:
        c: coefficients and noise.
        allowed: ranges ((low, high), …) within [−π, π]; roots elsewhere are not looked for.
    """
    cell = _cell()
    r, grid, pieces = np.pi / CELLS, _grid(allowed), _PIECES
    kind, at = cell(c[:, None], grid, r)
    pose, column = kind.nonzero()
    kind, at, y = kind[pose, column], at[pose, column], grid[column]
    simple = kind == SINGLE
    if np.count_nonzero(simple) == len(simple):
        return _refined(c, pose, at, y, r, simple, ordered=True)
    parts: list[tuple[np.ndarray, ...]] = []
    while True:
        split = (kind == SPLIT).nonzero()[0]
        if not len(split):
            parts.append((pose, at, y, np.full(len(y), r), simple))
            break
        if len(split) < len(kind):
            done = (kind != SPLIT).nonzero()[0]
            parts.append((pose[done], at[done], y[done], np.full(len(done), r), simple[done]))
        r = r / len(pieces)
        pose, y = pose[split].repeat(len(pieces)), (y[split, None] + r * pieces).ravel()
        kind, at = cell(c[pose] if len(c) > 1 else c, y, r)
        pick = kind.nonzero()[0]
        pose, y, kind, at = pose[pick], y[pick], kind[pick], at[pick]
        simple = kind == SINGLE
    pose, at, y, width, simple = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return _refined(c, pose, at, y, width, simple, ordered=False)


def _refined(c, pose, at, y, r, simple, ordered: bool) -> Roots:
    """Refine roots of monotone cells to rounding; drop cells that hold none, and repetitions.

    Cells about y of half-width r; `ordered` if they come in order of poses and angles.
    """
    step = _newton()
    reach = 1.001 * r
    low, high = y - reach, y + reach
    left = None if np.count_nonzero(simple) == len(simple) else simple.nonzero()[0]
    for _ in range(12):  # sixty halvings at worst
        if left is None:
            low, high, at, moved = step(c[pose] if len(c) > 1 else c, low, high, at)
            left = (abs(moved) >= SETTLED).nonzero()[0]
            if not len(left):
                break
        else:
            if not len(left):
                break
            low[left], high[left], at[left], moved = step(c[pose[left]], low[left], high[left], at[left])
            left = left[~(abs(moved) < SETTLED)]
    keep = ~simple | (abs(at - y) < 1.0005 * r)
    if not ordered:
        order = np.argsort(8.0 * pose + at, kind="stable")
        order = order[keep[order]]
        pose, at, simple = pose[order], at[order], simple[order]
    elif np.count_nonzero(keep) < len(keep):
        pose, at, simple = pose[keep], at[keep], simple[keep]
    if len(at) < 2:
        return Roots(pose, at, simple)
    gap = abs(at[1:] - at[:-1])
    close = (gap < 3 * LEAST_WIDTH) & (pose[1:] == pose[:-1])
    if not np.count_nonzero(close):
        return Roots(pose, at, simple)
    again = np.zeros(len(pose), bool)
    width = np.where(simple[1:], 10 * SETTLED, 3 * LEAST_WIDTH)
    again[1:] = close & (simple[1:] == simple[:-1]) & (gap < width)
    return Roots(pose[~again], at[~again], simple[~again])


def slopes(c: Any, y: Any) -> Any:
    """Return p' and p'' at y."""
    return tuple(_derivatives(c, y, 2)[1:])


def flatness(c: Any, roots: Roots) -> np.ndarray:
    """Return the least |p'| h + |p''| h² (k,) over a polynomial's roots, h the width of a cell; 1 without roots."""
    p1, p2 = compiled(slopes, {"c": (N_COEFFICIENTS,), "y": ()})(c[roots.pose], roots.y)
    h = 2 * np.pi / CELLS
    out = np.ones(len(c))
    np.minimum.at(out, roots.pose, abs(p1) * h + abs(p2) * h * h)
    return out


def value(c: Any, y: Any) -> Any:
    """Return p at y."""
    return _derivatives(c, y, 0)[0]


def values(c: Any, y: Any) -> np.ndarray:
    """Return p of one polynomial c (1, 27) at many y."""
    return compiled(value, {"c": (N_COEFFICIENTS,), "y": ()})(c, y)
