"""Points placed by up to three joints, by subdivision: boxes that together hold every zero of the closure.

In a cell of middle m and half widths r, with |f − f(m) − J(m) d| ≤ R by bounds of second derivatives, a zero at
m + d has d = −Y f(m) + (1 − Y J) d − Y R for any matrix Y. With Y near the inverse of J this drops or shrinks cells
(Krawczyk); where J is nearly singular, |f(m)| > |J| r + R drops them. Floats with error bounds suffice: what is
left is proved in balls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from .balls import NotProved, middles, require_time
from .krawczyk import Loop

ROUNDING = 1e-12
"""Relative error allowed for a product of eight float transforms; its true bound is about 1e-14."""
CANDIDATE = 2.0**-17
"""Half width of cells that are handed on."""
MOST_CELLS = 60_000
SHRINKS = 0.7
"""A cell whose greatest half width shrinks less than this is halved."""


def boxes(loop: Loop, ranges: Sequence[tuple[float, float]]) -> list[list[arb]]:
    """Find boxes that together hold every solution with coordinates inside `ranges`."""
    low, high = np.array(ranges).T
    centre, half = (low + high)[None] / 2, np.maximum(high - low, 1e-9)[None] / 2 * (1 + 1e-9)
    system = _Floats(loop, np.max(np.abs(np.array(ranges)), axis=1))
    found, seen = [], 0
    while len(centre):
        require_time()
        seen += len(centre)
        if seen > MOST_CELLS:
            raise NotProved("too many cells are left: solutions are singular or nearly so")
        centre, half, shrunk = system.narrowed(centre, half)
        done = half.max(axis=1, initial=0.0) < CANDIDATE
        found += [_box(c, h) for c, h in zip(centre[done], half[done], strict=True)]
        again = shrunk & ~done
        split = ~shrunk & ~done
        halves = _halved(centre[split], half[split])
        centre = np.concatenate([centre[again], halves[0]])
        half = np.concatenate([half[again], halves[1]])
    return found


def _box(centre: np.ndarray, half: np.ndarray) -> list[arb]:
    return [arb(float(c), float(h)) for c, h in zip(centre, half, strict=True)]


def _halved(centre: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Halve cells along their widest direction, halves a little wider so that rounding leaves no gap."""
    rows, widest = np.arange(len(half)), half.argmax(axis=1)
    smaller = half.copy()
    smaller[rows, widest] *= 0.5 * (1 + 1e-9)
    shift = np.zeros_like(half)
    shift[rows, widest] = half[rows, widest] * 0.5
    return np.concatenate([centre - shift, centre + shift]), np.concatenate([smaller, smaller])


class _Floats:
    """The closure of a loop in floats, batches of points at once, with bounds of errors and second derivatives."""

    def __init__(self, loop: Loop, extent: np.ndarray):
        assert loop.point is not None, "subdivision is for points"
        self.kinds = loop.kinds
        self.links = np.array([middles(L) for L in loop.links])
        self.point = middles(loop.point)[:, 0]
        reach = np.linalg.norm(self.links[:, :3, 3], axis=1)
        slides = np.array([e if kind == "P" else 0.0 for e, kind in zip(extent, self.kinds, strict=True)])
        tip = float(np.linalg.norm(self.point[:3]))
        beyond = [tip + reach[j + 1 :].sum() + slides[j:].sum() for j in range(len(self.kinds))]
        self.second = np.array(
            [[self._bound(i, j, beyond) for j in range(len(beyond))] for i in range(len(beyond))]
        )
        self.error = ROUNDING * (1.0 + tip + reach.sum() + slides.sum())

    def _bound(self, i: int, j: int, beyond: list[float]) -> float:
        """Bound |∂²f/∂x_i ∂x_j|: |ω_i × (ω_j × (p − o_j))| for two turns."""
        first, last = min(i, j), max(i, j)
        if self.kinds[first] == "P":
            return 0.0
        return beyond[last] * (1 + 1e-6) if self.kinds[last] == "R" else 1.0

    def narrowed(self, m: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return cells that may hold zeros, shrunk where that is proved, and which of them shrank enough."""
        f, J = self._values(m)
        rest = 0.5 * np.einsum("kj,ij,ki->k", r, self.second, r)[:, None] + self.error
        linear = np.einsum("kij,kj->ki", np.abs(J) + self.error, r)
        kept = ~np.any(np.abs(f) > (linear + rest) * (1 + 1e-9), axis=1)
        m, r, f, J, rest = m[kept], r[kept], f[kept], J[kept], rest[kept]
        s = np.linalg.svd(J, compute_uv=False) if len(J) else np.zeros((0, len(self.kinds)))
        usable = s[:, -1] > 1e-6 * np.maximum(s[:, 0], 1e-12)
        Y = np.zeros_like(J)
        Y[usable] = np.linalg.inv(J[usable])
        size = np.abs(Y)
        off = np.abs(np.eye(len(self.kinds)) - Y @ J) + size @ (ROUNDING * np.abs(J) + self.error)
        newton = np.einsum("kij,kj->ki", Y, f)
        bound = np.einsum("kij,kj->ki", off, r) + np.einsum("kij,kj->ki", size, rest + ROUNDING * np.abs(f))
        bound = bound * (1 + 1e-9)
        low = np.where(usable[:, None], np.maximum(-r, -newton - bound), -r)
        high = np.where(usable[:, None], np.minimum(r, -newton + bound), r)
        there = np.all(low <= high, axis=1)
        m, r, low, high = m[there], r[there], low[there], high[there]
        half = (high - low) / 2 * (1 + 1e-9) + 1e-15 * (1 + np.abs(m))
        shrunk = half.max(axis=1, initial=0.0) < SHRINKS * r.max(axis=1, initial=0.0)
        return m + (low + high) / 2, half, shrunk

    def _values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (k, n) and J (k, n, n)."""
        k, n = x.shape
        before, A = [], np.broadcast_to(np.eye(4), (k, 4, 4))
        own = [L @ _motions(kind, x[:, j]) for j, (L, kind) in enumerate(zip(self.links, self.kinds, strict=True))]
        for factor in own:
            A = A @ factor
            before.append(A)
        after = np.broadcast_to(np.eye(4), (k, 4, 4))
        J = np.empty((k, n, n))
        for j in reversed(range(n)):
            J[:, :, j] = self._entries(before[j] @ _GENERATORS[self.kinds[j]] @ after)
            after = own[j] @ after
        return self._entries(A), J

    def _entries(self, A: np.ndarray) -> np.ndarray:
        return (A @ self.point)[:, :3]


def _motions(kind: str, x: np.ndarray) -> np.ndarray:
    Z = np.zeros((len(x), 4, 4))
    Z[:] = np.eye(4)
    if kind == "P":
        Z[:, 2, 3] = x
    else:
        Z[:, 0, 0] = Z[:, 1, 1] = np.cos(x)
        Z[:, 1, 0] = np.sin(x)
        Z[:, 0, 1] = -Z[:, 1, 0]
    return Z


_TURN, _SLIDE = np.zeros((4, 4)), np.zeros((4, 4))
_TURN[0, 1], _TURN[1, 0], _SLIDE[2, 3] = -1.0, 1.0, 1.0
_GENERATORS = {"R": _TURN, "P": _SLIDE}
