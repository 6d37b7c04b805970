"""Levenberg–Marquardt for over-determined problems whose state may be more than a vector.

A step solves min |J d + r|² + λ |D d|² with D the column norms of J: the same steps whatever the units of the parameters
(Moré 1978). Only the triangular factor of [J r] is kept, so trying another damping costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a fit ended.

    Attributes:
        state: what was fitted.
        residual: whitened residuals there, (m,).
        jacobian: their derivatives by a step, (m, n).
        cost: half the sum of squares.
        iterations: Jacobians evaluated.
        converged: whether the last step was negligible.
    """

    state: Any
    residual: np.ndarray
    jacobian: np.ndarray
    cost: float
    iterations: int
    converged: bool


def minimize(
    evaluate: Callable[[Any], tuple[np.ndarray, np.ndarray]],
    state: Any,
    move: Callable[[Any, np.ndarray], Any],
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-10,
    damping: float = 1e-4,
) -> Fit:
    """A state at which the sum of squares of residuals is least.

    Args:
        evaluate: state → residuals (m,) and their derivatives by a step (m, n), weighted.
        state: where to start; anything that `move` understands.
        move: (state, step (n,)) → state.
        max_iterations: Jacobians evaluated at most.
        tolerance: a step is negligible when it changes the cost by less than this share.
        damping: at the start, relative to the squared column norms.
    """
    r, J = evaluate(state)
    cost = 0.5 * float(r @ r)
    if not J.shape[1]:
        return Fit(state, r, J, cost, 1, True)
    small = 0
    for iteration in range(1, max_iterations + 1):
        norms = np.linalg.norm(J, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        factor = np.linalg.qr(np.column_stack([J / norms, r]), mode="r")
        R, b = factor[:, :-1], factor[:, -1]
        while True:
            step = _step(R, b, damping) / norms
            trial = move(state, step)
            r_new, J_new = evaluate(trial)
            new = 0.5 * float(r_new @ r_new)
            predicted = cost - 0.5 * float(np.sum((R @ (step * norms) + b) ** 2))
            if np.isfinite(new) and new <= cost:
                break
            if predicted <= tolerance * cost or damping > 1e12:
                return Fit(state, r, J, cost, iteration, True)
            damping *= 8.0
        gained = cost - new
        state, r, J, cost = trial, r_new, J_new, new
        if predicted > 0 and gained > 0.25 * predicted:
            damping = max(damping / (8.0 if gained > 0.75 * predicted else 2.0), 1e-14)
        small = small + 1 if gained <= tolerance * cost + 1e-300 else 0
        if small >= 2 or cost == 0.0:
            return Fit(state, r, J, cost, iteration, True)
    return Fit(state, r, J, cost, max_iterations, False)


def _step(R, b, damping: float) -> np.ndarray:
    """argmin |R d + b|² + damping |d|², for columns of unit length."""
    n = R.shape[1]
    A = np.concatenate([R, np.sqrt(damping) * np.eye(n)])
    return np.linalg.lstsq(A, -np.concatenate([b, np.zeros(n)]), rcond=None)[0]
