"""Runs with fixed steps, one or thousands: many steps in one call of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .equations import Equations
from .inputs import QUALITY
from .integrators import EVALUATIONS, staged_step
from .rates import Rates, Stopped, steps_in
from .statuses import FINISHED

NUMBERS_PER_CALL = 1024
"""Numbers that a state returns from one call at most: they fit the cache that is near."""
OPERATIONS_PER_CALL = 3e8
"""Operations of one call at most, about 0.1 s: in between, progress is shown and keys stop the run."""


class Stretch(NamedTuple):
    """Samples at equal times, each after as many equal steps from the last one."""

    t: float
    """when it begins, s"""
    n_samples: int
    every: int
    between: float
    """time between samples, s"""

    @property
    def h(self) -> float:
        """Size of a step, s."""
        return self.between / self.every


def stretches(times: np.ndarray, step: float) -> list[Stretch]:
    """From the first to the last of the times (n,): equal intervals, and those after them, which may be shorter."""
    same = np.diff(times) > (times[1] - times[0]) * (1 - 1e-9) if len(times) > 1 else np.zeros(0, dtype=bool)
    found = []
    for first, n in ((0, int(same.sum())), (int(same.sum()), int((~same).sum()))):
        if n:
            between = float(times[first + n] - times[first]) / n
            found.append(Stretch(float(times[first]), n, steps_in(between, step), between))
    return found


def rollout(
    equations: Equations,
    rates: Rates,
    method: str,
    y0: np.ndarray,
    stretch: Stretch,
    progress: Callable[[float], None],
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, str]:
    """(states (..., n + 1, n_y), the first being y0 (..., n_y), and the status).

    A state that is no longer finite stays so and does not disturb the others. If the run has to stop, n is what
    was reached; otherwise it is that of the stretch. `out`, (..., n + 1, n_y), takes the states if given.
    """
    n_samples, steps_per_sample, between = stretch.n_samples, stretch.every, stretch.between
    Y = np.empty((*y0.shape[:-1], n_samples + 1, y0.shape[-1])) if out is None else out
    Y[..., 0, :] = y0
    blocks = _Blocks(equations, rates, method, stretch.h)
    n, every = blocks.size(y0, n_samples, steps_per_sample)
    reached = 0
    try:
        for reached in range(0, n_samples, n):
            count = min(n, n_samples - reached)
            times = stretch.t + between * np.arange(reached, reached + count)
            rows = Y[..., reached : reached + count + 1, :]
            if every == steps_per_sample:
                blocks.move(times, rows[..., 0, :], every, rows[..., 1:, :])
            else:
                blocks.move_far(times[0], rows, steps_per_sample, every, progress)
            progress(float(times[-1]) + between)
    except StoppedAt as stop:
        return Y[..., : reached + stop.n_samples + 1, :], f"stopped: {stop}"
    return Y, FINISHED


def rolled_out(
    equations: Equations,
    rates: Rates,
    method: str,
    step: float,
    y0: np.ndarray,
    times: np.ndarray,
    progress: Callable[[float], None],
) -> tuple[np.ndarray, str, int]:
    """(states at the times (n,), status, number of steps); the last interval may be shorter than the others."""
    Y, status, n_steps = y0[..., None, :], FINISHED, 0
    for stretch in stretches(times, step):
        if status == FINISHED:
            rest, status = rollout(equations, rates, method, Y[..., -1, :], stretch, progress)
            Y = np.concatenate([Y, rest[..., 1:, :]], axis=-2) if n_steps else rest
            n_steps += stretch.every * (rest.shape[-2] - 1)
    return Y, status, n_steps


class StoppedAt(Stopped):
    """A block of samples cannot be finished."""

    def __init__(self, stop: Stopped, n_samples: int):
        super().__init__(*stop.args)
        self.n_samples = n_samples
        """samples of the block that were reached"""


class _Blocks:
    """Blocks of samples, by kernels where they can be."""

    def __init__(self, equations: Equations, rates: Rates, method: str, h: float):
        self.equations, self.rates, self.method, self.h = equations, rates, method, h

    def size(self, y0: np.ndarray, n_samples: int, every: int) -> tuple[int, int]:
        """How many samples a call returns, and after how many steps each: less than all if these are many."""
        if self.equations.commanded:
            return 1, every
        step = self.equations.steps(self.method).operations.total * max(1, y0.size // y0.shape[-1])
        most = max(1, int(OPERATIONS_PER_CALL / max(step, 1)))
        if every > most:
            return 1, most
        return max(1, min(n_samples, NUMBERS_PER_CALL // max(1, y0.shape[-1]), most // every)), every

    def move(self, times: np.ndarray, y: np.ndarray, every: int, out: np.ndarray) -> None:
        """Samples `out` (..., n, n_y), each after `every` steps from a time of `times` (n,); the first from y."""
        alone = y.ndim == 1
        if self.equations.commanded or (alone and self.rates.robust):
            self._move_slowly(self.rates, times, y, every, out)
            return
        n = len(times)
        kernel, h = self.equations.steps(self.method, n, every), np.full(n, self.h)
        self.rates.n += EVALUATIONS[self.method] * n * every
        if not self.equations.constraints:
            kernel(times, h, y, out=out)
            return
        out[...], quality = kernel(times, h, y, self.rates.c)
        bad = ~(quality > QUALITY) & np.isfinite(y).all(axis=-1)
        if alone and bad:
            self._move_slowly(self.rates, times, y, every, out)
        elif bad.any():
            repaired = np.array(out[bad])
            try:
                self._move_slowly(self.rates.only(bad), times, y[bad], every, repaired)
            finally:
                out[bad] = repaired

    def move_far(self, t: float, rows: np.ndarray, n: int, at_once: int, progress: Callable[[float], None]) -> None:
        """The sample `rows[..., 1, :]` after n steps from `rows[..., 0, :]`, some steps in every call."""
        y = np.array(rows[..., :1, :])
        for first in range(0, n, at_once):
            start = t + first * self.h
            self.move(np.array([start]), y[..., 0, :], min(at_once, n - first), rows[..., 1:, :])
            y = np.array(rows[..., 1:, :])
            progress(start)

    def _move_slowly(self, rates: Rates, times: np.ndarray, y: Any, every: int, out: np.ndarray) -> None:
        """Step by step: the control is asked, and redundant constraints are solved in least squares."""
        for k, t in enumerate(times.tolist()):
            try:
                for j in range(every):
                    y = staged_step(self.equations, self.method, rates, t + j * self.h, y, self.h)
                rates.check(t + every * self.h, y)
            except Stopped as stop:
                raise StoppedAt(stop, k) from None
            out[..., k, :] = y
