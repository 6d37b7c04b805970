"""Levenberg–Marquardt for over-determined problems whose state may be more than a vector.

A step solves min |J d + r|² + λ |D d|² with D the column norms of J: the same steps whatever the units of the
parameters (Moré 1978). Trying another damping needs only the small matrix JᵀJ. It halves the digits of a step,
not of the answer: the residual itself decides what is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .products import gram


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
    for iteration in range(1, max_iterations + 1):
        H = gram(np.column_stack([J, r]))
        H, g = H[:-1, :-1], H[:-1, -1]
        norms = np.sqrt(np.diag(H))
        norms = np.where(norms > 0, norms, 1.0)
        H, g = H / np.outer(norms, norms), g / norms
        while True:
            scaled = _step(H, g, damping)
            trial = move(state, scaled / norms)
            r_new, J_new = evaluate(trial)
            new = 0.5 * float(r_new @ r_new)
            predicted = -float(g @ scaled + 0.5 * scaled @ (H @ scaled))
            if np.isfinite(new) and new <= cost:
                break
            if predicted <= tolerance * cost or damping > 1e12:
                return Fit(state, r, J, cost, iteration, True)
            damping *= 8.0
        gained = cost - new
        state, r, J, cost = trial, r_new, J_new, new
        if predicted > 0 and gained > 0.25 * predicted:
            damping = max(damping / (8.0 if gained > 0.75 * predicted else 2.0), 1e-14)
        if max(gained, predicted) <= tolerance * cost + 1e-300 or cost == 0.0:
            return Fit(state, r, J, cost, iteration, True)
    return Fit(state, r, J, cost, max_iterations, False)


def _step(H, g, damping: float) -> np.ndarray:
    """argmin |J d + r|² + damping |d|² from H = JᵀJ with unit diagonal and g = Jᵀr."""
    while True:
        try:
            return cho_solve(cho_factor(H + damping * np.eye(len(g)), check_finite=False), -g, check_finite=False)
        except np.linalg.LinAlgError:
            damping = max(10.0 * damping, 1e-14)
