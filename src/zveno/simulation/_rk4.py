"""Runs by rk4, one or thousands, as a structured program: many steps per call, without Python in between.

The equations of motion occur once in the code of a step, in a loop over its stages, so that a step builds as fast
as one evaluation. The numbers of steps and samples of a call are data of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.builder import Builder
from ..kernels.ops import minimum
from ._equations import Equations
from ._layout import QUALITY
from ._rates import Rates, Stopped
from ._statuses import FINISHED, SAME_TIME, Outcome
from .events import Event, States
from .integrators import EVALUATIONS, rk4_step, steps_in

if TYPE_CHECKING:
    from ..kernels.kernel import Kernel
    from ._equations import Equations

# --- the program

USERS = "functions of the user"
"""Placeholder for modules with unknown sources."""
STAGES = [[0.0, 1.0], [0.5, 2.0], [0.5, 2.0], [1.0, 1.0]]
"""For every stage of rk4: its time as a share of the step, and the weight of its rate."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Samples of one call, each after `every` steps from the last one.

    Code depends on the equations only.
    """

    equations: Equations
    n_samples: int
    every: int

    @property
    def fingerprint(self) -> str:
        """Cache key of the code."""
        return users_code(self.equations)[0]

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules that the equations depend on."""
        return users_code(self.equations)[1]


def users_code(equations: Equations) -> tuple[str, tuple[str, ...]]:
    """Return the cache key of the equations, and the modules they depend on; placeholders for user functions."""
    known = equations.fingerprint
    return (USERS, (USERS,)) if known is None else (known, equations.code_modules)


def fixed_steps_kernel(equations: Equations, n_samples: int, every: int) -> Kernel:
    """Return the kernel (t (n,), h (n,), y, …) → states (n, n_y), the k-th after `every` steps of h[k] from t[k].

    With constraints, their settings c are one more input, and their worst quality on the way one more output.
    """
    from ..kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(fixed_steps, Steps(equations, n_samples, every), name="steps_rk4")


def fixed_steps(program: Builder, steps: Steps) -> None:
    """Build the program of `fixed_steps_kernel`."""
    equations, n_y = steps.equations, steps.equations.n_y
    t, h = program.input("t", (steps.n_samples,)), program.input("h", (steps.n_samples,))
    start = program.input("y", (n_y,), n_y)
    settings = [program.input("c", (equations.n_c,), equations.n_c)[0]] if equations.constraints else []
    samples = program.output("samples", (steps.n_samples, n_y), n_y)
    y, rate = program.scratch("state", 1, n_y), program.scratch("rate", 1, n_y, zero=True)
    total = program.scratch("total", 1, n_y)
    done, worst = program.scratch("done", 1, 1), program.scratch("worst", 1, 1)
    stages = program.table("stages", STAGES)

    y[0], worst[0] = program.step(_begun, start[0])
    with program.each(steps.n_samples) as k:
        done[0] = program.step(_none)
        with program.each(steps.every):
            total[0] = program.step(partial(np.zeros, n_y))
            with program.each(len(STAGES)) as stage:
                rate[0], total[0], worst[0] = program.step(
                    partial(_stage, equations),
                    *(t[k], h[k], done[0], y[0], rate[0], total[0], worst[0], stages[stage], *settings),
                )
            y[0], done[0] = program.step(partial(_end, equations), h[k], done[0], y[0], total[0])
        samples[k] = program.step(_same, y[0])
    if equations.constraints:
        quality = program.output("quality", ())
        quality[0] = program.step(_same, worst[0])


def _begun(y: Any) -> tuple[Any, Any]:
    return y, np.ones(1)


def _none() -> Any:
    return np.zeros(1)


def _same(x: Any) -> Any:
    return x


def _stage(
    equations: Equations,
    t: Any,
    h: Any,
    done: Any,
    y: Any,
    rate: Any,
    total: Any,
    worst: Any,
    stage: Any,
    c: Any = None,
) -> tuple[Any, Any, Any]:
    """Return (rate at the point of a stage, weighted sum of the rates so far, worst quality so far)."""
    ahead, weight = stage
    now, point = t[0] + (done[0] + ahead) * h[0], y + (ahead * h[0]) * rate
    rate, quality = equations.derivative(now, point, None, c)
    return rate, total + weight * rate, np.array([minimum(worst[0], quality)])


def _end(equations: Equations, h: Any, done: Any, y: Any, total: Any) -> tuple[Any, Any]:
    """Return (the state after a step, number of steps done)."""
    y = y + (h[0] / 6.0) * total
    return np.concatenate([equations.mechanism.normalized(y[equations.q]), y[equations.q.stop :]]), done + 1.0


# --- the driver

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
