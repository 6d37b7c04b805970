"""Thousands of runs at once: a fixed-step method, the whole step in one kernel, one state a lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .equations import Equations
from .inputs import QUALITY
from .integrators import EVALUATIONS, staged_step
from .rates import Rates, Stopped
from .trajectory import FINISHED

OPERATIONS_PER_CALL = 6_000
"""Steps are chained inside one kernel up to about this many operations; building more of them takes longer than
it saves."""


def rollout(
    equations: Equations,
    rates: Rates,
    method: str,
    y0: np.ndarray,
    t0: float,
    h: float,
    n_samples: int,
    steps_per_sample: int,
    progress: Callable[[float], None],
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, str]:
    """(states (..., n + 1, n_y), the first being y0 (..., n_y), and the status).

    A state that is no longer finite stays so and does not disturb the others. If the run has to stop, n is what
    was reached; otherwise it is `n_samples`. `out`, (n_samples + 1, ..., n_y), takes the states if given.
    """
    # Time first: every step then reads and writes whole blocks of memory.
    Y = np.empty((n_samples + 1, *y0.shape)) if out is None else out
    Y[0] = y0
    move = _mover(equations, rates, method, h, steps_per_sample)
    for k in range(n_samples):
        try:
            move(t0 + k * steps_per_sample * h, Y[k], Y[k + 1])
            rates.check(t0 + (k + 1) * steps_per_sample * h, Y[k + 1])
        except Stopped as stop:
            return np.moveaxis(Y[: k + 1], 0, -2), f"stopped: {stop}"
        progress(t0 + (k + 1) * steps_per_sample * h)
    return np.moveaxis(Y, 0, -2), FINISHED


def _mover(equations: Equations, rates: Rates, method: str, h: float, n: int) -> Callable:
    """A function (t, y, out) that writes the state n steps later."""
    if equations.commanded:
        return _staged(equations, rates, method, h, n)
    single = equations.step(method)
    size = single.operations.total
    chained = max((k for k in range(1, n + 1) if n % k == 0 and k * size <= OPERATIONS_PER_CALL), default=1)
    kernel = single if chained == 1 else equations.step(method, chained)
    evaluations = chained * EVALUATIONS[method]
    slow = _staged(equations, rates, method, h, chained)

    def move(t, y, out):
        target = out
        for k in range(n // chained):
            rates.n += evaluations
            last = k == n // chained - 1
            if not equations.constraints:
                y = kernel(t, y, h, out=target if last else None)
            else:
                moved, quality = kernel(t, y, h, rates.c)
                bad = ~(quality > QUALITY) & np.isfinite(y).all(axis=-1)
                if bad.any():
                    repaired = np.empty_like(y[bad])
                    slow(t, y[bad], repaired)
                    moved[bad] = repaired
                y = moved
                if last:
                    target[...] = y
            t += chained * h

    return move


def _staged(equations: Equations, rates: Rates, method: str, h: float, n: int) -> Callable:
    def move(t, y, out):
        for k in range(n):
            y = staged_step(equations, method, rates, t + k * h, y, h)
        out[...] = y

    return move
