"""Optimisation problem of a motion: its criterion, its constraints, and the derivatives of both.

Unknown are x (f, n), the free coefficients of a basis for every moving joint. Ranges, velocities, accelerations and
jerks are linear in x and bounded at all times (see `curves`); torques and clearances are checked on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...motion_limits import MotionLimits
from .clearance import ClearanceTerm
from .criteria import log_det
from .curves import FourierBasis, FourierCurve
from .torques import NominalTorque
from .wanted import WantedParameters

FINER = 10
"""Refinement of the grid on which torques and clearances of the result are checked."""


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """Criterion and constraints of a motion.

    Attributes:
        basis: of the curve, which begins and ends at rest.
        n_samples: states on the grid.
        wanted: parameters to be determined.
        prior: existing information, (r, r).
        samples: measurements per period over n_samples.
        limits, torque: constraints of the motion; `clearance` may be None.
    """

    basis: FourierBasis
    n_samples: int
    wanted: WantedParameters
    prior: np.ndarray
    samples: float
    limits: MotionLimits
    torque: NominalTorque
    clearance: ClearanceTerm | None
    free: np.ndarray = field(init=False)
    torque_limit: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", self.basis.free())
        object.__setattr__(self, "torque_limit", self.limits.torque - self.torque.coulomb)

    @property
    def n(self) -> int:
        """Number of moving joints."""
        return len(self.limits.lower)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of x."""
        return self.free.shape[1], self.n

    def finer(self, times: int) -> ExcitationProblem:
        """Return the same problem on a finer grid; motions x mean the same."""
        return replace(self, n_samples=times * self.n_samples, samples=self.samples / times)

    def curve(self, x: np.ndarray) -> FourierCurve:
        """Return the motion of x."""
        return FourierCurve(self.basis.duration, self.free @ x.reshape(self.shape))

    @cached_property
    def _grid(self) -> tuple[np.ndarray, ...]:
        return self._matrices(self.n_samples)

    @cached_property
    def _fine_grid(self) -> tuple[np.ndarray, ...]:
        return self._matrices(FINER * self.n_samples)

    def _matrices(self, n: int) -> tuple[np.ndarray, ...]:
        t = np.arange(n) * self.basis.duration / n
        return tuple(self.basis.functions(t, order) @ self.free for order in range(3))

    @cached_property
    def bounds(self) -> list[tuple[int, np.ndarray]]:
        """Pairs (order, rows on x) of the derivatives that have limits."""
        limited = [order for order in range(4) if np.isfinite(self.limits.sizes(order)).any()]
        return [(order, self.basis.bounds(order) @ self.free) for order in limited]

    @cached_property
    def middle(self) -> np.ndarray:
        """Coefficients x of the curve that stands at the middle of the ranges."""
        return np.outer(self.free.T @ self.basis.constant, self.limits.middle)

    def states(self, x: np.ndarray, fine: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a (..., n_samples, n) on the grid, of x (..., f, n)."""
        Q, V, A = self._fine_grid if fine else self._grid
        return Q @ x, V @ x, A @ x

    def shares(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for every limited derivative, its rows on x, and the used shares of its limit, (..., r, n)."""
        found = []
        for order, rows in self.bounds:
            moved = x - self.middle if order == 0 else x
            found.append((rows, rows @ moved / self.limits.sizes(order)))
        return found

    def linear_use(self, x: np.ndarray) -> np.ndarray:
        """Return the largest share of a limit on ranges, velocities, accelerations and jerks, (..., n)."""
        return np.max([abs(share).max(axis=-2) for _, share in self.shares(x)], axis=0)

    def torque_use(self, x: np.ndarray, fine: bool = False) -> np.ndarray:
        """Return the largest share of a torque limit, (..., n)."""
        return abs(self.torque(*self.states(x, fine)) / self.torque_limit).max(axis=-2)

    def feasible(self, x: np.ndarray, fine: bool = False) -> np.ndarray:
        """Return True for motions (..., f, n) that satisfy all constraints, (...)."""
        good = (self.linear_use(x) < 1.0).all(axis=-1)
        if np.isfinite(self.torque_limit).any():
            good &= (self.torque_use(x, fine) < 1.0).all(axis=-1)
        if self.clearance is not None:
            good &= self.clearance.clear(self.states(x, fine)[0]).all(axis=-1)
        return np.asarray(good)

    def information(self, x: np.ndarray) -> np.ndarray:
        """Return M (..., r, r) of motions (..., f, n), prior information included."""
        return self.prior + self.samples * self.wanted.information(*self.states(x))

    def value(self, x: np.ndarray) -> float:
        """Return log det of the information."""
        return log_det(self.information(x))[0]

    def barrier(self, flat: np.ndarray, mu: float) -> tuple[float, np.ndarray]:
        """Return −log det − mu Σ log(slack), infinite outside the limits, and its gradient; x flat."""
        x = flat.reshape(self.shape)
        slope = np.zeros(self.shape)
        total = 0.0
        for (order, _), (rows, share) in zip(self.bounds, self.shares(x), strict=True):
            slack = 1.0 - share * share
            if not slack.min() > 0.0:
                return np.inf, slope.ravel()
            total -= np.log(slack).sum()
            slope += rows.T @ (2.0 * share / slack) / self.limits.sizes(order)
        Q, V, A = self._grid
        q, v, a = Q @ x, V @ x, A @ x
        by_q = np.zeros_like(q)
        if np.isfinite(self.torque_limit).any():
            share = self.torque(q, v, a) / self.torque_limit
            slack = 1.0 - share * share
            if not slack.min() > 0.0:
                return np.inf, slope.ravel()
            total -= np.log(slack).sum()
            by_q, by_v, by_a = self.torque.slopes(q, v, a, 2.0 * share / slack / self.torque_limit)
            slope += V.T @ by_v + A.T @ by_a
        if self.clearance is not None:
            value, pushed = self.clearance.value_and_slope(q)
            if not np.isfinite(value):
                return np.inf, slope.ravel()
            total += value
            by_q = by_q + pushed
        slope += Q.T @ by_q
        W = self.wanted.rows(q, v, a)
        flat_rows = W.reshape(-1, self.wanted.n)
        value, by_M = log_det(self.prior + self.samples * (flat_rows.T @ flat_rows))
        if not np.isfinite(value):
            return np.inf, slope.ravel()
        weights = (2.0 * self.samples * flat_rows @ by_M).reshape(W.shape)
        by_q, by_v, by_a = self.wanted.slopes(q, v, a, weights)
        gain = Q.T @ by_q + V.T @ by_v + A.T @ by_a
        return mu * total - value, (mu * slope - gain).ravel()

    @property
    def n_slacks(self) -> int:
        """Approximate number of terms of the barrier."""
        return self.n * (sum(len(rows) for _, rows in self.bounds) + self.n_samples)
