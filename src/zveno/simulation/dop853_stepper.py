"""DOP853 with several steps in one call of a kernel, while events and contacts are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .inputs import QUALITY
from .integrators import TOO_SMALL, Adaptive
from .rates import Rates

BLOCKS = (1, 8, 64)
"""Steps in one call: the first is alone after each restart, and every call takes more than the last one."""
PARTS = 8
"""Parts of a step at whose ends it is looked at."""
CALLS = 10
"""Calls without a step after which the solver gives up."""


class CompiledDop853(Adaptive):
    """SciPy's DOP853 in compiled steps; SciPy's own where constraints are redundant.

    The first step size after a restart is SciPy's choice. `step` takes several steps at once, which are looked at
    afterwards; where something happened the run restarts from there, and what lies beyond is forgotten.
    """

    rates: Rates

    def __init__(self, rates: Rates, t: float, y: Any, t_end: float, rtol: float, atol: Any, max_step: float):
        self.rates = rates
        self._limits = np.array([t_end, rtol, atol, max_step])
        super().__init__("dop853", rates, t, y, t_end, rtol, atol, max_step)

    def restart(self, y: Any) -> None:
        """Go on from another state at the same time."""
        super().restart(y)
        self._rate, self._size = np.array(self.solver.f), float(self.solver.h_abs)
        self._block, self._ends, self.n_last = 0, np.zeros(0), 1

    def step(self, ahead: np.ndarray, alone: bool = True) -> bool:
        """One step, or several if the state does not change after every one."""
        compiled = not self.rates.robust and bool(np.isfinite(self._rate).all()) and np.isfinite(self._size)
        count = 1 if alone else BLOCKS[min(self._block, len(BLOCKS) - 1)]
        self._block += 1
        if compiled:
            taken = self._compiled_steps(count)
            if taken is not None:
                return taken
            super().restart(self.y)  # constraints became redundant on the way
        self._ends, self.n_last = np.zeros(0), 1
        return super().step(ahead)

    def _compiled_steps(self, count: int) -> bool | None:
        """Whether steps were taken; None if constraints became redundant."""
        rates, kernel = self.rates, self.rates.equations.dop853(count)
        settings = () if rates.c is None else (rates.c,)
        self.t_old, self.y_old = self.t, self.y
        for _ in range(CALLS):
            made = kernel(self.t, self.y, self._rate, self._size, self._limits, *settings)
            ends, sizes, states, dense, rate, size, failed, evaluations = made[:8]
            if settings and not made[8] > QUALITY:
                return None
            rates.n += int(evaluations)
            n = int(np.count_nonzero(sizes))
            self._rate, self._size = rate, float(size)
            if n:
                self._ends, self._sizes, self._states, self._dense = ends[:n], sizes[:n], states[:n], dense[:n]
                self.t, self.y, self.n_last = float(ends[n - 1]), states[n - 1], n
                return True
            if failed:
                break
        self.message = TOO_SMALL
        return False

    @property
    def nodes(self) -> np.ndarray:
        """Times at which steps are looked at for events, from the beginning of the first to the end of the last."""
        if not len(self._ends):
            return super().nodes
        ends = np.concatenate([[self.t_old], self._ends])
        parts = np.linspace(ends[:-1], ends[1:], PARTS + 1)[1:]
        return np.concatenate([ends[:1], parts.T.ravel()])

    def interpolate(self) -> Callable[[np.ndarray], np.ndarray]:
        """y (n, n_y) at times (n,) of the last steps."""
        if not len(self._ends):
            return super().interpolate()
        ends, sizes, dense = self._ends, self._sizes, self._dense
        starts = np.concatenate([[self.t_old], ends[:-1]])
        begins = np.concatenate([self.y_old[None], self._states[:-1]])

        def states(times: np.ndarray) -> np.ndarray:
            k = np.minimum(np.searchsorted(ends, times), len(ends) - 1)
            x = ((times - starts[k]) / sizes[k])[:, None]
            y = np.zeros((len(times), begins.shape[-1]))
            for i in range(dense.shape[1]):  # nested as in SciPy's dense output
                y = (y + dense[k, -1 - i]) * (x if i % 2 == 0 else 1.0 - x)
            return y + begins[k]

        return states
