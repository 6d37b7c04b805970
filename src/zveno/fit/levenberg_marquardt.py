"""Levenberg–Marquardt for over-determined problems with bounds, on vectors or other states.

A step solves min |J d + r|² + λ |D d|² with D the column norms of J, so steps do not depend on the units of the
parameters (Moré 1978). Another damping needs only the small matrix JᵀJ. This halves the digits of a step but not of
the result, because a step is accepted by the residual itself.

Bounds are part of that small problem: the step is its minimum inside the box, found by an active set. So a fit ends
where the Karush–Kuhn–Tucker conditions hold: the gradient is zero for parameters inside their bounds, and the
descent direction points outwards for parameters at a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.optimize import lsq_linear

RIGHT = 0.1
"""Relative error of the predicted gain below which no damping is needed."""
ROUNDING = 1e-11
"""Relative accuracy of the cost, below which two costs cannot be compared."""

State = TypeVar("State")
"""Fitted state: anything that `evaluate` and `move` accept."""
(_solve_positive,) = get_lapack_funcs(("posv",), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Fit(Generic[State]):
    """Result of a fit.

    Attributes:
        state: the fitted state.
        residual: whitened residuals at the state, (m,).
        jacobian: their derivatives by a step, (m, n).
        cost: half the sum of squares.
        iterations: number of Jacobians evaluated.
        converged: True if the last step was negligible.
        active: (n,) −1 for an active lower bound, 1 for an active upper bound, 0 for none.
    """

    state: State
    residual: np.ndarray
    jacobian: np.ndarray
    cost: float
    iterations: int
    converged: bool
    active: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """Mask of the parameters without an active bound, (n,)."""
        return self.active == 0


def minimize(
    evaluate: Callable[[State], tuple[np.ndarray, np.ndarray]],
    state: State,
    move: Callable[[State, np.ndarray], State],
    *,
    room: Callable[[State], tuple[np.ndarray, np.ndarray]] | None = None,
    last: Callable[[State, np.ndarray], State] | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-10,
    damping: float = 1e-4,
) -> Fit[State]:
    """Minimise the sum of squared residuals over a state.

    Args:
        evaluate: state → residuals (m,) and their derivatives by a step (m, n), weighted.
        state: initial state inside the bounds; anything that `move` accepts.
        move: (state, step (n,)) → state.
        room: state → lower and upper bounds of the step (n,), −inf and inf without bounds.
        max_iterations: maximum number of Jacobians evaluated.
        last: (state, step (n,)) → state for the last, negligible step. This step is skipped if None.
        tolerance: a step is negligible when it would change the cost by less than this share.
        damping: initial damping, relative to the squared column norms.
    """
    r, J = evaluate(state)
    cost = 0.5 * float(r @ r)
    if not J.shape[1]:
        return Fit(state, r, J, cost, 1, True, np.zeros(0, dtype=int))

    def ended(iteration: int, converged: bool) -> Fit[State]:
        return Fit(state, r, J, cost, iteration, converged, held_back(J, r, None if room is None else room(state)))

    for iteration in range(1, max_iterations + 1):
        H, g = J.T @ J, J.T @ r
        norms = np.sqrt(H.diagonal())
        norms = np.where(norms > 0, norms, 1.0)
        H, g = H / (norms[:, None] * norms), g / norms
        box = None if room is None else tuple(norms * side for side in room(state))
        while True:
            scaled = _step(H, g, damping, box)
            predicted = -float(g @ scaled + 0.5 * scaled @ (H @ scaled))
            if predicted <= tolerance * cost or damping > 1e12:
                if last is not None:
                    state = last(state, scaled / norms)
                    r, J = evaluate(state)
                return ended(iteration, True)
            trial = move(state, scaled / norms)
            r_new, J_new = evaluate(trial)
            new = 0.5 * float(r_new @ r_new)
            if np.isfinite(new) and new <= cost:
                break
            if predicted <= ROUNDING * cost:
                return ended(iteration, True)
            damping *= 8.0
        gained = (cost - new) / predicted
        state, r, J, cost = trial, r_new, J_new, new
        if abs(gained - 1.0) < RIGHT:
            damping = max(1e-3 * damping, 1e-14)
        elif gained > 0.25:
            damping = max(damping / (8.0 if gained > 0.75 else 2.0), 1e-14)
    return ended(max_iterations, False)


def _step(H, g, damping: float, box) -> np.ndarray:
    """Minimise |J d + r|² + damping |d|² inside a box, from H = JᵀJ with unit diagonal and g = Jᵀr."""
    singular = True
    while singular:
        factor, step, singular = _solve_positive(H + damping * np.eye(len(g)), -g, lower=True)
        damping = max(10.0 * damping, 1e-14)
    if box is None or _inside(step, box):
        return step
    # |Lᵀ d + L⁻¹ g|² is the same quadratic. A tiny gap between equal bounds keeps the solver's box non-empty.
    low, high = box
    L = np.tril(factor)
    target = -solve_triangular(L, g, lower=True, check_finite=False)
    return lsq_linear(L.T, target, (np.minimum(low, -1e-15), np.maximum(high, 1e-15)), method="bvls").x


def _inside(step, box) -> bool:
    return bool((step >= box[0]).all() and (step <= box[1]).all())


def held_back(J: np.ndarray, r: np.ndarray, room: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """Return the active bounds as `Fit.active`: no room left, and the descent direction points outwards."""
    if room is None:
        return np.zeros(J.shape[1], dtype=int)
    low, high = room
    g = J.T @ r
    reach = 1e-6 * np.sqrt(max(float(r @ r), 1e-300)) / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    return np.where((low >= -reach) & (g > 0), -1, np.where((high <= reach) & (g < 0), 1, 0))
