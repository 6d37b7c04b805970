"""rk4 for one run or thousands: many steps per kernel call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .equations import Equations
from .events import Event, States
from .inputs import QUALITY
from .integrators import EVALUATIONS, rk4_step, steps_in
from .rates import Rates, Stopped
from .statuses import FINISHED, Outcome
from .stops import SAME_TIME

NUMBERS_PER_CALL = 1024
"""Largest number of values that a state returns from one call, chosen to fit the cache."""
OPERATIONS_PER_CALL = 3e8
"""Largest number of operations of one call, about 0.1 s, so that progress is shown and keys stop the run."""
NUMBERS_AT_ONCE = 2**21
"""Largest number of state values checked for events together: 16 MB."""
FEWEST_STEPS = 16
"""Steps before the first check for terminal events; each further check comes after four times as many."""
STATES_AT_ONCE = 2**16
"""States checked for terminal events together, beyond the fewest steps; states after a run's end are wasted."""


class Stretch(NamedTuple):
    """Samples at equal times, with equal numbers of equal steps in between."""

    t: float
    """start time, s"""
    n_samples: int
    every: int
    between: float
    """time between samples, s"""

    @property
    def h(self) -> float:
        """Size of a step, s."""
        return self.between / self.every


def stretches(times: np.ndarray, step: float) -> list[Stretch]:
    """Divide the times (n,) into stretches of equal intervals; the last may be shorter."""
    same = np.diff(times) > (times[1] - times[0]) * (1 - 1e-9) if len(times) > 1 else np.zeros(0, dtype=bool)
    pieces = []
    for first, n in ((0, int(same.sum())), (int(same.sum()), int((~same).sum()))):
        if n:
            between = float(times[first + n] - times[first]) / n
            pieces.append(Stretch(float(times[first]), n, steps_in(between, step), between))
    return pieces


def rollout(
    rates: Rates, y0: np.ndarray, stretch: Stretch, progress: Callable[[float], None], out: np.ndarray | None = None
) -> tuple[np.ndarray, Outcome]:
    """Return (states (..., n + 1, n_y), the first being y0 (..., n_y), and the outcome).

    A state that is not finite stays so and does not affect the others. If the run stops early, n is the number of
    samples reached; otherwise that of the stretch. `out`, (..., n + 1, n_y), receives the states if given.
    """
    n_samples, steps_per_sample, between = stretch.n_samples, stretch.every, stretch.between
    Y = np.empty((*y0.shape[:-1], n_samples + 1, y0.shape[-1])) if out is None else out
    Y[..., 0, :] = y0
    blocks = _Blocks(rates, stretch.h)
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
        return Y[..., : reached + stop.n_samples + 1, :], Outcome(*stop.args)
    return Y, FINISHED


class StoppedAt(Stopped):
    """Error for a block of samples that cannot be finished."""

    def __init__(self, stop: Stopped, n_samples: int):
        super().__init__(*stop.args)
        self.n_samples = n_samples
        """samples of the block that were reached"""


class _Blocks:
    """Blocks of samples, computed by kernels where possible."""

    def __init__(self, rates: Rates, h: float):
        self.equations: Equations = rates.equations
        self.rates, self.h = rates, h

    def size(self, y0: np.ndarray, n_samples: int, every: int) -> tuple[int, int]:
        """Return the number of samples per call and of steps per sample, reduced to bound the work per call."""
        if self.equations.commanded:
            return 1, every
        step = self.equations.steps().operations.total * max(1, y0.size // y0.shape[-1])
        most = max(1, int(OPERATIONS_PER_CALL / max(step, 1)))
        if every > most:
            return 1, most
        return max(1, min(n_samples, NUMBERS_PER_CALL // max(1, y0.shape[-1]), most // every)), every

    def move(self, times: np.ndarray, y: np.ndarray, every: int, out: np.ndarray) -> None:
        """Fill samples `out` (..., n, n_y), each after `every` steps from a time of `times` (n,), starting at y."""
        alone = y.ndim == 1
        if self.equations.commanded or (alone and self.rates.robust):
            self._move_slowly(self.rates, times, y, every, out)
            return
        n = len(times)
        kernel, h = self.equations.steps(n, every), np.full(n, self.h)
        self.rates.n += EVALUATIONS * n * every
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
        """Fill the sample `rows[..., 1, :]` after n steps from `rows[..., 0, :]`, `at_once` steps per call."""
        y = np.array(rows[..., :1, :])
        for first in range(0, n, at_once):
            start = t + first * self.h
            self.move(np.array([start]), y[..., 0, :], min(at_once, n - first), rows[..., 1:, :])
            y = np.array(rows[..., 1:, :])
            progress(start)

    def _move_slowly(self, rates: Rates, times: np.ndarray, y: Any, every: int, out: np.ndarray) -> None:
        """Step one by one, with a called control or with redundant constraints in least squares."""
        for k, t in enumerate(times.tolist()):
            if not np.isfinite(y).any():
                out[..., k:, :] = np.nan
                return
            try:
                for j in range(every):
                    y = rk4_step(self.equations, rates, t + j * self.h, y, self.h)
                rates.check(t + every * self.h, y)
            except Stopped as stop:
                raise StoppedAt(stop, k) from None
            out[..., k, :] = y


class FixedPiece:
    """Consecutive steps of runs (k, n_y), with the states at the nodes between them."""

    def __init__(self, stepper: FixedSteps, nodes: np.ndarray, states: np.ndarray, n_steps: int):
        self.nodes: np.ndarray = nodes
        self.n_steps: int = n_steps
        self._stepper = stepper
        self._states = states.reshape(-1, *states.shape[-2:])

    def states(self) -> np.ndarray:
        """Return the states at the nodes, (k, n, n_y)."""
        return self._states

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times (m,) that are nodes, (k, m, n_y)."""
        ends = np.searchsorted(self.nodes, times[:: max(1, len(times) - 1)] + SAME_TIME, side="right")
        if len(times) and len(times) == ends[-1] - ends[0] + 1:  # all nodes, which are not copied
            return self._states[:, ends[0] - 1 : ends[-1]]
        return self._states[:, np.searchsorted(self.nodes, times + SAME_TIME, side="right") - 1]

    def between(self, k: int) -> States:
        """Return the function that gives one run at any times, by a shorter step from the node before."""
        nodes, kept, moved = self.nodes, self._states[k], self._stepper.step_of_run(k)

        def states(times: np.ndarray) -> np.ndarray:
            last = np.searchsorted(nodes, times + SAME_TIME, side="right") - 1
            out = kept[last]
            for i in np.flatnonzero(times - nodes[last] > SAME_TIME):
                start = float(nodes[last[i]])
                out[i] = moved(start, kept[last[i]], float(times[i]) - start)
            return out

        return states


class FixedSteps:
    """Stepper for runs by rk4 through the sample times (n,).

    Steps depend neither on how many are taken at once nor on other runs: a run of a batch equals the run of its
    state alone, to the last bit.
    """

    y: np.ndarray
    """of the runs that go on, (k, n_y); of the whole batch (..., n_y) for one run, or a control that is called"""
    rates: Rates

    def __init__(
        self,
        rates: Rates,
        y0: np.ndarray,
        times: np.ndarray,
        step: float,
        events: Sequence[Event],
        progress: Callable[[float], None],
    ):
        self.rates, self.progress = rates, progress
        self._watched = bool(events) or bool(rates.equations.constraints)
        self._terminal = any(event.terminal for event in events)
        self._n = FEWEST_STEPS
        self.batch: tuple[int, ...] = y0.shape[:-1]
        self.whole: bool = not self.batch or rates.equations.commanded
        self.y = y0 if self.whole else y0.reshape(-1, y0.shape[-1])
        if rates.c is not None and not self.whole:
            self._choose(np.ones(self.batch, dtype=bool))
        self._most = 0
        self._pieces = self._planned(times, step)

    def advance(self, alone: bool) -> tuple[FixedPiece, Outcome]:
        """Take one step if `alone`, or many; nodes are the ends of steps if there are events, else the samples."""
        self._most = 1 if alone else self._steps_at_once()
        stretch, nodes = next(self._pieces)
        states, outcome = rollout(self.rates, self.y, stretch, self.progress)
        self.y = states[..., -1, :]
        n = states.shape[-2]
        return FixedPiece(self, nodes[:n], states, stretch.every * (n - 1)), outcome

    def _steps_at_once(self) -> int:
        """Return the number of steps before the next event check; 0 without events."""
        if not self._watched:
            return 0
        most = max(1, NUMBERS_AT_ONCE // max(1, self.y.size))
        if not self._terminal:
            return most
        n = min(self._n, most)
        if 4 * self._n * max(1, self.y.size // self.y.shape[-1]) <= STATES_AT_ONCE:
            self._n *= 4
        return n

    def _planned(self, times: np.ndarray, step: float) -> Iterator[tuple[Stretch, np.ndarray]]:
        """Yield (steps that are taken together, their nodes)."""
        first = 0
        for stretch in stretches(times, step):
            samples = times[first : first + stretch.n_samples + 1]
            first += stretch.n_samples
            if not self._most:
                yield stretch, samples
                continue
            n, every = stretch.n_samples * stretch.every, stretch.every
            begins = stretch.t + stretch.between * np.arange(stretch.n_samples)
            starts = (begins[:, None] + stretch.h * np.arange(every)).ravel()
            nodes = np.append(starts, samples[-1])
            nodes[::every] = samples
            done = 0
            while done < n:
                count = min(self._most, n - done)
                yield Stretch(float(starts[done]), count, 1, stretch.h), nodes[done : done + count + 1]
                done += count

    def restart(self, y: np.ndarray) -> None:
        """Continue from another state of the only run."""
        self.y = y

    def keep(self, runs: np.ndarray) -> np.ndarray:
        """Continue with some (k,) of the runs only; return those (k,) whose states are still carried."""
        if self.whole:
            self.y = np.where(runs.reshape(*self.batch, 1), self.y, np.nan)
            return np.ones_like(runs)
        if not runs.all():
            self.y = self.y[runs]
            self._choose(runs)
        return runs

    def _choose(self, runs: np.ndarray) -> None:
        n, self.rates = self.rates.n, self.rates.only(runs)
        self.rates.n = n

    def step_of_run(self, k: int) -> Callable[[float, np.ndarray, float], np.ndarray]:
        """Return the function (t, y (n_y,), h) → the state of run k after one step."""
        equations = self.rates.equations
        if self.batch and self.whole:  # the control is called with the whole batch, of which this run is one
            probe = self.rates.probe()

            def in_batch(t: float, y: np.ndarray, h: float) -> np.ndarray:
                alike = np.broadcast_to(y, (*self.batch, len(y)))
                return rk4_step(equations, probe, t, alike, h).reshape(-1, len(y))[k]

            return in_batch
        rates = self.rates.of_run(k)

        def alone(t: float, y: np.ndarray, h: float) -> np.ndarray:
            if not equations.commanded and not rates.robust:
                made = equations.steps()(np.array([t]), np.array([h]), y, *(() if rates.c is None else (rates.c,)))
                if rates.c is None:
                    return made[0]
                if made[1] > QUALITY:
                    return made[0][0]
            return rk4_step(equations, rates, t, y, h)

        return alone
