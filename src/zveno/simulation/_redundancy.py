"""Redundant and inconsistent constraints: found, solved in least squares, named."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._equations import Equations
from ._layout import QUALITY, Inputs

RANK_TOLERANCE = 1e-9
"""Share of the largest eigenvalue of J M⁻¹ Jᵀ, scaled to unit diagonal, below which others count as zero."""
_ROUNDING = 1e-16
"""Eigenvalue below which all are rounding."""
CONTRADICTION = 1e-4
"""Relative residual of the desired accelerations beyond which constraints count as inconsistent."""

DEPENDENT = 1e-3
"""Participation in a dependency from which a row counts as dependent."""


class LeastSquares(NamedTuple):
    """Minimum-norm reactions and faults of the rows, for a batch."""

    reactions: np.ndarray
    """(..., m)"""
    residual: np.ndarray
    """(..., m): residual of the desired accelerations"""
    null: np.ndarray
    """(..., m): participation of a row in dependencies, 0 to 1"""
    gap: np.ndarray
    """(...,): the smallest eigenvalue that counts over the largest that does not; infinite if all count"""


def least_squares(A: np.ndarray, wanted: np.ndarray) -> LeastSquares:
    """Solve A R = wanted in least squares, with minimum norm.

    Args:
        A: J M⁻¹ Jᵀ, symmetric and positive semidefinite, (..., m, m).
        wanted: accelerations, (..., m).
    """
    diagonal = np.diagonal(A, axis1=-2, axis2=-1)
    # A row that moves nothing at all has no diagonal to scale by; it stays a zero row.
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, V = np.linalg.eigh(A * scale[..., :, None] * scale[..., None, :])
    kept = values > RANK_TOLERANCE * np.maximum(values[..., -1:], 1e-300)
    coordinates = _times(np.swapaxes(V, -1, -2), wanted * scale)
    solved = np.where(kept, coordinates / np.where(kept, values, 1.0), 0.0)
    reactions = _times(V, solved) * scale
    null = np.sqrt(_times(V**2, (~kept).astype(float)))
    smallest = np.where(kept, values, np.inf).min(axis=-1, initial=np.inf)
    largest = np.where(kept, _ROUNDING, np.maximum(values, _ROUNDING)).max(axis=-1, initial=_ROUNDING)
    gap = np.where(kept.all(axis=-1), np.inf, smallest / largest)
    return LeastSquares(reactions, wanted - _times(A, reactions), null, gap)


def _times(A, x):
    """Return A x for stacks of matrices (..., m, n) and vectors (..., n)."""
    return (A @ x[..., None])[..., 0]


class RobustRate(NamedTuple):
    """Rate ẏ under constraints that may be redundant."""

    y: np.ndarray
    reactions: np.ndarray
    redundant: np.ndarray
    """mask of rows that depend on others, (..., m) booleans"""
    gap: np.ndarray
    """see `LeastSquares`, (...,)"""


def robust_rate(equations: Equations, t: Any, y: Any, inputs: Inputs) -> RobustRate:
    """Return ẏ (..., n_y) with minimum-norm reactions, and the dependent rows."""
    y_rate, W, A, J, value, rate, bias = equations.terms(t, y, *inputs.arrays())
    k = np.asarray(inputs.c)[..., :1]
    wanted = -(bias + 2.0 * k * rate + k * k * value)
    solved = least_squares(A, wanted - _times(J, y_rate[..., equations.v]))
    y_rate = np.array(y_rate)
    y_rate[..., equations.v] += _times(W, solved.reactions)
    if equations.works:
        y_rate[..., -1] += (solved.reactions * _times(J, np.asarray(y)[..., equations.v])).sum(axis=-1)
    return RobustRate(y_rate, solved.reactions, solved.null > DEPENDENT, solved.gap)


def contradictions(equations: Equations, t: Any, y: Any, inputs: Inputs) -> tuple[str, ...]:
    """Return the names of constraints that contradict one another anywhere in a batch.

    The stabilisation is left out: rounding errors make its terms differ between redundant rows, which least squares
    resolves.
    """
    y_rate, _, A, J, _, _, bias = equations.terms(t, y, *inputs.arrays())
    short = -(bias + _times(J, y_rate[..., equations.v]))
    solved = least_squares(A, short)
    return named(equations, abs(solved.residual) > CONTRADICTION * (1.0 + abs(short).max(axis=-1, keepdims=True)))


def reported(equations: Equations, t: Any, y: Any, inputs: Inputs) -> list[Any]:
    """Return the report kernel's outputs, with least-squares accelerations and reactions for redundant rows."""
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
    """Return the constraints that own any of the rows (..., m) that are true."""
    flags = np.asarray(np.any(np.reshape(rows, (-1, equations.n_rows)), axis=0))
    pairs = zip(equations.constraints, equations.row_slices, strict=True)
    return tuple(constraint.label for constraint, at in pairs if flags[at].any())
