"""Constraints that follow from one another, or contradict one another: found, solved in least squares, named."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.constraints import slip_direction
from .equations import Equations
from .inputs import QUALITY, Inputs

RANK_TOLERANCE = 1e-9
"""Eigenvalues of J M⁻¹ Jᵀ, scaled to unit diagonal, below this share of the largest count as zero."""
CONTRADICTION = 1e-4
"""What least squares leaves of wanted accelerations, relative to them, before constraints count as inconsistent."""


class LeastSquares(NamedTuple):
    """Reactions of least norm, and what is wrong with the rows, for a batch."""

    reactions: np.ndarray
    """(..., m)"""
    residual: np.ndarray
    """(..., m): what rows miss of what they want"""
    null: np.ndarray
    """(..., m): how much a row takes part in dependencies, 0 to 1"""


def least_squares(
    A: np.ndarray, wanted: np.ndarray, active: np.ndarray, G: np.ndarray | None = None
) -> LeastSquares:
    """R = G λ with A R = wanted on the active rows in least squares, λ of least norm.

    Args:
        A: J M⁻¹ Jᵀ, symmetric and positive semidefinite, (..., m, m).
        wanted: accelerations, (..., m).
        active: ones and zeros, (..., m); λ of rows that are not active is zero.
        G: what reactions come with each λ, (..., m, m), see `sliding_map`; the identity if None.
    """
    on = np.asarray(active, dtype=float)
    diagonal = np.diagonal(A, axis1=-2, axis2=-1)
    # A row that moves nothing at all has no diagonal to scale by; it stays a zero row.
    scale = on / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    S = (A if G is None else A @ G) * scale[..., :, None] * scale[..., None, :]
    b = wanted * scale
    if G is None:
        values, V = np.linalg.eigh(S)
        left, kept = V, values > RANK_TOLERANCE * np.maximum(values[..., -1:], 1e-300)
    else:
        left, values, right = np.linalg.svd(S)
        V, kept = np.swapaxes(right, -1, -2), values > RANK_TOLERANCE * np.maximum(values[..., :1], 1e-300)
    coordinates = _times(np.swapaxes(left, -1, -2), b)
    solved = np.where(kept, coordinates / np.where(kept, values, 1.0), 0.0)
    reactions = _times(V, solved) * scale
    if G is not None:
        reactions = _times(G, reactions)
    residual = (wanted - _times(A, reactions)) * on
    null = np.sqrt(_times(V**2, (~kept).astype(float))) * on
    return LeastSquares(reactions, residual, null)


def _times(A, x):
    """A x for stacks of matrices (..., m, n) and vectors (..., n)."""
    return (A @ x[..., None])[..., 0]


def sliding_map(equations: Equations, c: Any, rate: Any) -> np.ndarray | None:
    """G (..., m, m) of contacts that slide: a unit normal reaction comes with −μ times the direction of sliding.

    Args:
        equations: of the run.
        c: settings, (..., n_c).
        rate: φ̇, (..., m).

    Returns:
        None if nothing slides.
    """
    c = np.asarray(c)
    rows, at = (
        np.array([getattr(contact, name) for contact in equations.sliding], dtype=int) for name in ("row", "at")
    )
    mu = c[..., at]
    if not mu.any():
        return None
    m = equations.n_rows
    G = np.array(np.broadcast_to(np.eye(m), (*c.shape[:-1], m, m)))
    moving = rate[..., rows + 1], rate[..., rows + 2]
    along = slip_direction(moving, (c[..., at + 1], c[..., at + 2]), c[..., at + 3])
    for k, direction in enumerate(along, 1):
        G[..., rows + k, rows] = -mu * direction
    return G


class RobustRate(NamedTuple):
    """ẏ under constraints that may be redundant."""

    y: np.ndarray
    reactions: np.ndarray
    redundant: np.ndarray
    """which rows depend on others, (..., m) booleans"""


def robust_rate(equations: Equations, t: Any, y: Any, inputs: Inputs) -> RobustRate:
    """ẏ (..., n_y) with reactions of least norm, and the rows that depend on one another."""
    y_rate, W, A, J, value, rate, bias = equations.terms(t, y, *inputs.arrays())
    c = np.asarray(inputs.c)
    k, active = c[..., :1], c[..., 1 : 1 + equations.n_rows]
    wanted = -(bias + 2.0 * k * rate + k * k * value)
    short = (wanted - _times(J, y_rate[..., equations.v])) * active
    solved = least_squares(A, short, active, sliding_map(equations, c, rate))
    y_rate = np.array(y_rate)
    y_rate[..., equations.v] += _times(W, solved.reactions)
    if equations.works:
        y_rate[..., -1] += (solved.reactions * _times(J, np.asarray(y)[..., equations.v])).sum(axis=-1)
    return RobustRate(y_rate, solved.reactions, solved.null > 1e-3)


def contradictions(equations: Equations, t: Any, y: Any, inputs: Inputs) -> tuple[str, ...]:
    """Constraints that no accelerations can satisfy together, by name, anywhere in a batch.

    What the stabilisation wants is left out: off the constraints by a rounding it asks redundant rows for
    different things, which least squares settles.
    """
    y_rate, _, A, J, _, rate, bias = equations.terms(t, y, *inputs.arrays())
    active = np.asarray(inputs.c)[..., 1 : 1 + equations.n_rows]
    short = -(bias + _times(J, y_rate[..., equations.v])) * active
    solved = least_squares(A, short, active, sliding_map(equations, inputs.c, rate))
    return named(equations, abs(solved.residual) > CONTRADICTION * (1.0 + abs(short).max(axis=-1, keepdims=True)))


def reported(equations: Equations, t: Any, y: Any, inputs: Inputs) -> list[Any]:
    """What the report kernel says, with accelerations and reactions of least squares where rows are redundant."""
    report = list(equations.report(t, y, *inputs.arrays()))
    if not equations.constraints:
        return report
    _, quality = equations.rhs(t, y, *inputs.arrays())
    bad = np.array(~(quality > QUALITY) & np.isfinite(y).all(axis=-1))
    if bad.any():
        shape = bad.shape
        parts = [
            None if part is None else np.broadcast_to(part, (*shape, np.shape(part)[-1]))[bad] for part in inputs
        ]
        robust = robust_rate(equations, np.broadcast_to(t, shape)[bad], np.asarray(y)[bad], Inputs(*parts))
        a, reactions = np.array(report[0]), np.array(report[2])
        a[bad], reactions[bad] = robust.y[..., equations.v], robust.reactions
        report[0], report[2] = a, reactions
    return report


def named(equations: Equations, rows: np.ndarray) -> tuple[str, ...]:
    """The constraints that own any of the rows (..., m) that are true."""
    flags = np.asarray(np.any(np.reshape(rows, (-1, equations.n_rows)), axis=0))
    pairs = zip(equations.constraints, equations.row_slices, strict=True)
    return tuple(constraint.label for constraint, at in pairs if flags[at].any())
