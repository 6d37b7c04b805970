"""DOP853 for one run: several steps per kernel call, or SciPy's solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import States
from .inputs import QUALITY
from .integrators import DOP853, normalized
from .rates import Rates, Stopped
from .statuses import FINISHED, Outcome
from .stops import SAME_TIME

BLOCKS = (1, 8, 64)
"""Steps per call: one after each restart, then more in every call."""
PARTS = 8
"""Number of parts into which a step is divided for event checks."""
CALLS = 10
"""Number of calls without a step after which the solver gives up."""
STABLE = 3.0
"""Largest step times the rate of stabilisation. The explicit method is stable up to about twice as much; beyond,
rounding errors of constraints grow to the tolerance."""
TOO_SMALL = "Required step size is less than spacing between numbers."
"""SciPy's message."""
FOUND = 1e-9
"""Precision, as a share of the duration, of the time at which a control fails."""


class ControlFault(Exception):
    """Error for a control whose result is not finite."""

    def __init__(self, t: float):
        super().__init__(t)
        self.t: float = t


class DensePiece:
    """Consecutive steps of one run, with their dense output."""

    def __init__(self, rates: Rates, ends: np.ndarray, first: np.ndarray, last: np.ndarray, dense: States):
        self.n_steps: int = len(ends) - 1
        parts = np.linspace(ends[:-1], ends[1:], PARTS + 1)[1:]
        self.nodes: np.ndarray = np.concatenate([ends[:1], parts.T.ravel()])
        """times at which events are checked"""
        self._equations, self._first, self._last, self._dense = rates.equations, first, last, dense

    def states(self) -> np.ndarray:
        """Return the states at the nodes, (1, n, n_y)."""
        return self.at(self.nodes)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times (m,) of the steps, (1, m, n_y)."""
        y = np.empty((len(times), len(self._last)))
        begins, ends = times - self.nodes[0] <= SAME_TIME, self.nodes[-1] - times <= SAME_TIME
        y[begins], y[ends] = self._first, self._last
        if (inside := ~(begins | ends)).any():
            y[inside] = self._dense(times[inside])
        return normalized(self._equations, y)[None]

    def between(self, k: int) -> States:
        """Return the function that gives run 0 at any times of the steps."""
        return lambda times: normalized(self._equations, self._dense(times))


class Dop853:
    """Stepper for one run by DOP853: compiled, or SciPy's for a called control or redundant constraints.

    The first step size after a restart is SciPy's choice.
    """

    rates: Rates
    y: np.ndarray

    def __init__(self, rates: Rates, y0: np.ndarray, t_end: float, method: DOP853):
        longest = method.max_step
        if rates.c is not None and rates.c[0] > 0.0:
            longest = min(longest, STABLE / float(rates.c[0]))
        self.rates, self.t, self.y = rates, 0.0, y0
        self._limits = np.array([t_end, method.rtol, method.absolute_tolerance, longest])
        self._block = -1
        self._solver: Any = None
        self._first: float | None = None

    def restart(self, y: np.ndarray) -> None:
        """Continue from another state at the same time."""
        self.y, self._block = y, -1

    def keep(self, runs: np.ndarray) -> np.ndarray:
        """Continue with the only run, (1,)."""
        return runs

    def _begin(self) -> None:
        from scipy.integrate import DOP853 as Solver

        t_end, rtol, atol, longest = self._limits.tolist()
        self._solver = Solver(self._finite_rate, self.t, self.y, t_end, longest, rtol, atol, first_step=self._first)
        self._rate, self._size = np.array(self._solver.f), float(self._solver.h_abs)

    def advance(self, alone: bool) -> tuple[DensePiece, Outcome]:
        """Take one step if `alone`, or several.

        Raises:
            Stopped: the run cannot go on.
        """
        if self._block < 0:
            self._solver = None
        self._block += 1
        count = 1 if alone else BLOCKS[min(self._block, len(BLOCKS) - 1)]
        compiled = not (self.rates.equations.commanded or self.rates.robust)
        if compiled and self._solver is None:
            self._begin()
        piece = self._compiled_steps(count) if compiled and np.isfinite([*self._rate, self._size]).all() else None
        piece = self._finite_step() if piece is None else piece
        self.rates.check(self.t, self.y)
        return piece, FINISHED

    def _compiled_steps(self, count: int) -> DensePiece | None:
        """Take compiled steps; return None if constraints became redundant on the way."""
        rates, kernel = self.rates, self.rates.equations.dop853(count)
        settings = () if rates.c is None else (rates.c,)
        for _ in range(CALLS):
            made = kernel(self.t, self.y, self._rate, self._size, self._limits, *settings)
            ends, sizes, states, dense, rate, size, failed, evaluations = made[:8]
            if settings and not made[8] > QUALITY:
                self._begin()
                return None
            rates.n += int(evaluations)
            n = int(np.count_nonzero(sizes))
            self._rate, self._size = rate, float(size)
            if n:
                starts = np.concatenate([[self.t], ends[: n - 1]])
                begins = np.concatenate([self.y[None], states[: n - 1]])
                output = _dense_output(starts, sizes[:n], begins, dense[:n])
                nodes = np.append(starts, ends[n - 1])
                piece = DensePiece(rates, nodes, self.y, states[n - 1], output)
                self.t, self.y = float(ends[n - 1]), states[n - 1]
                return piece
            if failed:
                break
        raise Stopped("diverged", f"{TOO_SMALL} at t = {self.t:.6g} s")

    def _finite_rate(self, t: float, y: np.ndarray) -> Any:
        rate = self.rates(t, y)
        if self.rates.faults:
            raise ControlFault(t)
        return rate

    def _finite_step(self) -> DensePiece:
        """Take one SciPy step; if the control fails within it, take shorter steps up to the time of failure."""
        while True:
            try:
                if self._solver is None:
                    self._begin()
                return self._scipy_step()
            except ControlFault as fault:
                left = fault.t - self.t
                if left <= FOUND * self._limits[0]:
                    [(t, reason)] = self.rates.faults.values()
                    raise Stopped("diverged", f"{reason} at t = {t:.6g} s") from None
                self.rates.faults.clear()
                self._limits[3] = self._first = 0.5 * left
                self._solver = None

    def _scipy_step(self) -> DensePiece:
        solver, before = self._solver, self.y
        try:
            message = solver.step()
        except ValueError as error:  # SciPy's error for a state that is not finite
            message = str(error)
        if message or solver.status == "failed":
            raise Stopped("diverged", f"{message or 'the integrator failed'} at t = {self.t:.6g} s")
        ends = np.array([self.t, float(solver.t)])
        self.t, self.y = float(solver.t), np.array(solver.y)
        made: list[Any] = []

        def dense(times: np.ndarray) -> np.ndarray:
            if not made:  # it takes evaluations, which a step without samples and events does not need
                made.append(solver.dense_output())
            return made[0](times).T

        return DensePiece(self.rates, ends, before, self.y, dense)


def _dense_output(starts: np.ndarray, sizes: np.ndarray, begins: np.ndarray, dense: np.ndarray) -> States:
    """Return y (m, n_y) at times (m,) of steps from the states `begins`, by coefficients (n, 7, n_y)."""

    def states(times: np.ndarray) -> np.ndarray:
        k = np.maximum(np.searchsorted(starts, times) - 1, 0)
        x = ((times - starts[k]) / sizes[k])[:, None]
        y = np.zeros((len(times), begins.shape[-1]))
        for i in range(dense.shape[1]):  # nested as in SciPy's dense output
            y = (y + dense[k, -1 - i]) * (x if i % 2 == 0 else 1.0 - x)
        return y + begins[k]

    return states
