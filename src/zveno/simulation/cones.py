"""Complementarity on friction cones, by an interior point method.

x and z = B x + c lie in products of cones {x₀ ≥ |(x₁, x₂)|} of three numbers each, and x · z = 0. Newton's method
follows x ∘ z = σ e to σ = 0 (Alizadeh, Haeberly and Overton 1998; for these cones Alizadeh and Goldfarb 2003), with
Mehrotra's correction: about ten steps, whether or not B is regular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MAX_STEPS = 40
TOLERANCE = 1e-15
"""Of x · z for a cone and of z − B x − c, where B and c are of the order of one."""
SIGNS = np.array([1.0, -1.0, -1.0])
CENTRED = 0.02
"""Share of x · z that every step keeps at least, so that no cone runs ahead of the others: at the edge of sliding
the steps stop short of a solution otherwise."""
STALLED = 6
"""Steps without a better point after which rounding has the last word."""


class ConePair(NamedTuple):
    """A complementary pair."""

    x: np.ndarray
    """(n, 3)"""
    z: np.ndarray
    """(n, 3)"""
    error: float
    """the larger of x · z / n and |z − B x − c|"""


@np.errstate(all="ignore")  # directions that never leave a cone divide by zero
def complementary_pair(B: np.ndarray, c: np.ndarray) -> ConePair:
    """x and z = B x + c in n cones with x · z = 0.

    Args:
        B: (3 n, 3 n), positive semidefinite or nearly so, of the order of one.
        c: (n, 3), of the order of one.
    """
    n = len(c)
    x = np.tile([1.0, 0.0, 0.0], (n, 1))
    z, last, best = x, 0, ConePair(x, x, np.inf)
    diagonal, places = np.zeros((n, 3, n, 3)), np.arange(n)
    for step in range(MAX_STEPS):
        short = (B @ x.ravel()).reshape(n, 3) + c - z
        gap = float((x * z).sum()) / n
        error = max(gap, float(abs(short).max()))
        if error < best.error:
            best, last = ConePair(x, z, error), step
        if error < TOLERANCE or not np.isfinite(error) or step - last > STALLED:
            break
        X = _arrows(x)
        diagonal[places, :, places] = _arrows(z)
        M = (X @ B.reshape(n, 3, 3 * n) + diagonal.reshape(n, 3, 3 * n)).reshape(3 * n, 3 * n)
        rest = -_times(X, z + short)
        try:
            dx, dz = _direction(M, rest, B, short)
            reached = min(1.0, _longest(x, dx, z, dz))
            rest = rest - reached**2 * _times(_arrows(dx), dz)
            rest[:, 0] += max((1.0 - reached) ** 3, CENTRED) * gap
            dx, dz = _direction(M, rest, B, short)
        except np.linalg.LinAlgError:
            break
        stride = min(1.0, min(max(0.9, 1.0 - gap), 0.9999) * _longest(x, dx, z, dz))
        x, z = x + stride * dx, z + stride * dz
        if not (_inside(x) and _inside(z)):  # by rounding
            break
    return best


def _arrows(a: np.ndarray) -> np.ndarray:
    """The matrices (n, 3, 3) of b ↦ a ∘ b = (a · b, a₀ b₁ + b₀ a₁, a₀ b₂ + b₀ a₂)."""
    arrows = a[:, :1, None] * np.eye(3)
    arrows[:, 0, 1:] = arrows[:, 1:, 0] = a[:, 1:]
    return arrows


def _times(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    return (M @ a[:, :, None])[:, :, 0]


def _inside(a: np.ndarray) -> bool:
    return bool((a[:, 0] > np.hypot(a[:, 1], a[:, 2])).all())


def _direction(M, rest, B, short) -> tuple[np.ndarray, np.ndarray]:
    """(dx, dz) with x ∘ dz + z ∘ dx = rest + x ∘ short and dz = B dx + short."""
    dx = np.linalg.solve(M, rest.ravel())
    return dx.reshape(short.shape), (B @ dx).reshape(short.shape) + short


def _longest(x: np.ndarray, dx: np.ndarray, z: np.ndarray, dz: np.ndarray) -> float:
    """How far x + α dx and z + α dz stay in the cones."""
    start, change = np.concatenate([x, z]), np.concatenate([dx, dz])
    size = np.hypot(start[:, 1], start[:, 2])
    a, b, c = (change * change) @ SIGNS, (start * change) @ SIGNS, (start[:, 0] - size) * (start[:, 0] + size)
    q = -b - np.copysign(np.sqrt(b * b - a * c), b)
    roots = np.concatenate([q / a, c / q, -start[:, 0] / change[:, 0]])
    return float(roots[roots > 0].min(initial=np.inf))
