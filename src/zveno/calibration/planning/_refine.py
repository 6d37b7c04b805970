"""Refinement of postures by exact gradients of the criterion, away from the candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._criteria import Criterion, lifted, reduced
from ._information import PlannedRows


@dataclass(frozen=True, eq=False)
class Objective:
    """Objective log φ of n postures and its gradient; earlier measurements count as `prior` information."""

    rows: PlannedRows
    criterion: Criterion
    prior: np.ndarray

    def information(self, q: np.ndarray) -> np.ndarray:
        """Return M, (K, K)."""
        J = self.rows.jacobians(q).reshape(-1, len(self.rows.names))
        return self.prior + J.T @ J

    def value(self, q: np.ndarray) -> float:
        """Return φ."""
        return float(self.criterion.value(reduced(self.information(q), self.rows.n_interest)))

    def log_and_slope(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log φ and its gradient (n, n_v): dφ = tr(G dM), dM = Σ (dJᵀJ + JᵀdJ)."""
        k = self.rows.n_interest
        J = self.rows.jacobians(q)
        flat = J.reshape(-1, J.shape[-1])
        M = self.prior + flat.T @ flat
        S = reduced(M, k)
        value = float(self.criterion.value(S))
        if not value > 0.0:
            return -np.inf, np.zeros((len(q), self.rows.robot.n_v))
        G = lifted(self.criterion.gradient(S), M)
        return np.log(value), self.rows.pullback(q, 2.0 * J @ G) / value


def refined(
    objective: Objective,
    q: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    allowed: Callable[[np.ndarray], np.ndarray],
    rounds: int = 4,
    iterations: int = 150,
) -> np.ndarray:
    """Return postures (n, n_q) near q with a criterion at least as large, within ranges and allowed.

    L-BFGS-B moves all postures within their ranges. A posture that leaves the allowed set goes back along its
    path until it is allowed again, and stays there while the others are moved once more.
    """
    from scipy.optimize import minimize

    best = q
    value = objective.value(best)
    free = np.ones(len(q), dtype=bool)
    width = np.maximum(upper - lower, 1e-12)
    for _ in range(rounds):
        start = best
        x0 = np.clip((start[free] - lower) / width, 0.0, 1.0).ravel()
        end = minimize(
            _cost,
            x0,
            (objective, start, free, lower, width),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(x0),
            options={"maxiter": iterations, "ftol": 1e-13},
        )
        trial = start.copy()
        trial[free] = lower + width * end.x.reshape(-1, len(lower))
        trial, blocked = _pulled_back(start, trial, allowed)
        now = objective.value(trial)
        if now <= value * (1.0 + 1e-9):
            break
        best, value = trial, now
        free = free & ~blocked
        if not blocked.any() or not free.any():
            break
    return best


def _cost(x: np.ndarray, objective: Objective, start: np.ndarray, free: np.ndarray, lower, width):
    """Return −log φ and its gradient by shares x of the ranges of the free postures."""
    trial = start.copy()
    trial[free] = lower + width * x.reshape(-1, len(lower))
    log, slope = objective.log_and_slope(trial)
    if not np.isfinite(log):
        return 1e3, np.zeros_like(x)
    return -log, -(slope[free] * width).ravel()


def _pulled_back(q: np.ndarray, trial: np.ndarray, allowed) -> tuple[np.ndarray, np.ndarray]:
    """Return postures on the path from q (allowed) to trial, as far as allowed; and which had to go back."""
    blocked = ~allowed(trial)
    out = trial.copy()
    for i in np.flatnonzero(blocked):
        share = np.linspace(0.9, 0.0, 10)[:, None]
        way = q[i] + share * (trial[i] - q[i])
        ok = np.flatnonzero(allowed(way))
        out[i] = way[ok[0]] if len(ok) else q[i]
    return out, blocked
