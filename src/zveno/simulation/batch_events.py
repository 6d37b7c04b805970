"""Events of runs with fixed steps, one or a batch: every step of every run is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .equations import Equations
from .events import ZERO, Event, EventTracker, States
from .fixed_stepper import FixedStep, between_nodes
from .integrators import staged_step
from .rates import Rates
from .rollout import Stretch, rollout, stretches
from .statuses import FINISHED
from .stops import SAME_TIME, reached
from .trajectory import EventRecord

NUMBERS_AT_ONCE = 2**21
"""Numbers of the states that are looked at together: 16 MB."""
FEWEST_STEPS = 16
"""That are taken before the first look for terminal events; then four times as many every time."""
STATES_AT_ONCE = 2**16
"""States that are looked at together for terminal events, beyond the fewest steps: what lies behind a run's end was
computed in vain."""


class Stop(NamedTuple):
    """A terminal event ended a run."""

    t: float
    event: str
    y: np.ndarray
    """(n_y,)"""
    n_steps: int


class Watched(NamedTuple):
    """What runs with events went through."""

    Y: np.ndarray
    """(..., k, n_y), states at the first k samples, NaN behind the end of a run"""
    status: str
    n_steps: int
    records: tuple[EventRecord, ...]
    stops: dict[int, Stop]
    """by the number of the run, of those that events ended"""


def watched_rollout(
    equations: Equations,
    rates: Rates,
    method: str,
    step: float,
    y0: np.ndarray,
    times: np.ndarray,
    events: Sequence[Event],
    progress: Callable[[float], None],
) -> Watched:
    """Runs from y0 (..., n_y) with events, sampled at the times (n,).

    Steps do not depend on how many are taken at once, nor on what other runs do: a run of a batch is the run of its
    state alone, to the last bit.
    """
    watch = _Watch(equations, rates, method, events, y0)
    samples, status, n_steps = [watch.part(np.zeros(1), watch.y[..., None, :])], FINISHED, 0
    for stretch, nodes, at in _pieces(times, step, watch):
        states, status = rollout(equations, watch.rates, method, watch.y, stretch, progress)
        nodes = nodes[: states.shape[-2]]
        watch.look(nodes, states, n_steps)
        at = at[at < len(nodes)]
        samples.append(watch.part(nodes[at], states[..., at, :]))
        n_steps += len(nodes) - 1
        if status != FINISHED or not watch.go_on(states[..., -1, :]):
            break
    rates.n = watch.rates.n
    if len(watch.stops) == len(watch.signs):
        n_steps = max((stop.n_steps for stop in watch.stops.values()), default=n_steps)
    Y = np.concatenate(samples, axis=1)
    if status == FINISHED and Y.shape[1] < len(times):  # nothing is left; those that exploded show it here
        Y = np.concatenate([Y, np.full((len(Y), 1, Y.shape[2]), np.nan)], axis=1)
    watch.records.sort(key=lambda record: record.t)
    return Watched(Y.reshape(*y0.shape[:-1], *Y.shape[1:]), status, n_steps, tuple(watch.records), watch.stops)


def _pieces(times: np.ndarray, step: float, watch: _Watch) -> Iterator[tuple[Stretch, np.ndarray, np.ndarray]]:
    """(steps that are taken together, the first node and their ends, which of these are samples).

    As many as the watch wants, which is asked again every time.
    """
    first = 0
    for stretch in stretches(times, step):
        n, every = stretch.n_samples * stretch.every, stretch.every
        sample = stretch.t + stretch.between * np.arange(stretch.n_samples)
        starts = (sample[:, None] + stretch.h * np.arange(every)).ravel()
        nodes = np.append(starts, times[first + stretch.n_samples])
        nodes[::every] = times[first : first + stretch.n_samples + 1]
        done = 0
        while done < n:
            count = min(watch.steps_at_once(), n - done)
            at = np.arange(1, count + 1)
            piece = Stretch(float(starts[done]), count, 1, stretch.h)
            yield piece, nodes[done : done + count + 1], at[(done + at) % every == 0]
            done += count
        first += stretch.n_samples


class _Watch:
    """The runs of a batch that have not ended, and the signs of all events' functions along them.

    Args:
        equations: of the runs.
        rates: theirs, with settings of the constraints for every run.
        method: name of the integrator.
        events: whose zeros are looked for.
        y: states (..., n_y) at time zero.
    """

    y: np.ndarray
    """of the runs that go on, (k, n_y); of the whole batch (..., n_y) for one run, or a control that is called"""
    rates: Rates

    def __init__(self, equations: Equations, rates: Rates, method: str, events: Sequence[Event], y: np.ndarray):
        self.equations, self.rates, self.method = equations, rates, method
        self.tracker = EventTracker(equations, events)
        self.batch, states = y.shape[:-1], y.reshape(-1, y.shape[-1])
        self.whole = not self.batch or equations.commanded
        self.y = y if self.whole else states
        if rates.c is not None and not self.whole:
            self.rates = self._of(np.ones(self.batch, dtype=bool))
        self.lanes: np.ndarray = np.arange(len(states))
        """numbers of the runs whose states are carried on"""
        self.signs, self.largest = self.tracker.begin(states)
        self.records: list[EventRecord] = []
        self.stops: dict[int, Stop] = {}
        self._new: list[int] = []
        """those that ended in the last look"""
        self._n = FEWEST_STEPS

    def steps_at_once(self) -> int:
        """How many steps are taken before the next look."""
        most = max(1, NUMBERS_AT_ONCE // max(1, self.y.size))
        if not any(event.terminal for event in self.tracker.events):
            return most
        n = min(self._n, most)
        if 4 * self._n * max(1, len(self.lanes)) <= STATES_AT_ONCE:
            self._n *= 4
        return n

    def part(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """States (..., n, n_y) of the runs that went on, as those of all (k, n, n_y): NaN behind their ends."""
        out = np.full((int(np.prod(self.batch)), *states.shape[-2:]), np.nan)
        out[self.lanes] = states.reshape(len(self.lanes), *states.shape[-2:])
        for i in self._new:
            out[i, reached(times, self.stops[i].t) :] = np.nan
        return out

    def go_on(self, y: np.ndarray) -> bool:
        """From the states (..., n_y) of the runs that went on, whether there are any left that are finite."""
        left = np.isfinite(y).all(axis=-1).reshape(-1)
        left &= ~np.isin(self.lanes, list(self.stops))
        if self.whole:
            self.y = np.where(left.reshape(*self.batch, 1), y, np.nan)
        elif not left.all():
            self.y, self.lanes, self.rates = y[left], self.lanes[left], self._of(left)
        else:
            self.y = y
        return bool(left.any())

    def _of(self, runs: np.ndarray) -> Rates:
        rates = self.rates.only(runs)
        rates.n = self.rates.n
        return rates

    def look(self, times: np.ndarray, states: np.ndarray, n_steps: int) -> None:
        """States (..., n, n_y) at the times (n,), the first of which were looked at before; steps before them."""
        states = states.reshape(len(self.lanes), *states.shape[-2:])
        self._new = []
        changed = range(len(states))
        if self.tracker.compiled:
            signed = self.signs[self.lanes][:, None] * self.tracker.values(times, states)
            largest = np.maximum(self.largest[self.lanes], signed.max(axis=1, initial=0.0))
            same = (signed > ZERO * largest[:, None]).all(axis=(1, 2))
            self.largest[self.lanes[same]] = largest[same]
            changed = np.flatnonzero(~same).tolist()
        for k in changed:
            if int(self.lanes[k]) not in self.stops:
                self._follow(int(self.lanes[k]), times, states[k], n_steps)

    def _follow(self, i: int, times: np.ndarray, states: np.ndarray, n_steps: int) -> None:
        """One run (n, n_y), as if it were alone; what is no longer finite is not looked at."""
        finite: np.ndarray = np.asarray(np.isfinite(states).all(axis=-1))
        n = len(finite) if finite.all() else int(np.argmin(finite))
        if n < 2:
            return
        times, states = times[:n], states[:n]
        tracker, between = self.tracker, self._between(i, times, states)
        tracker.remember(self.signs[i].tolist(), self.largest[i].tolist())
        crossings = tracker.crossings(times, between, states)
        terminal = next((one for one in crossings if one.terminal), None)
        if terminal is not None:
            crossings = [one for one in crossings if one.t <= terminal.t + SAME_TIME]
            steps = max(1, int(np.searchsorted(times[:-1], terminal.t - SAME_TIME)))
            end = between(np.array([terminal.t]))[0]
            self._new.append(i)
            self.stops[i] = Stop(terminal.t, tracker.events[terminal.number].name, end, n_steps + steps)
        tracker.finish()
        self.signs[i], self.largest[i] = tracker.remembered
        where = tuple(map(int, np.unravel_index(i, self.batch))) if self.batch else ()
        self.records += [
            EventRecord(one.t, tracker.events[one.number].name, "event", where) for one in crossings if one.wanted
        ]

    def _between(self, i: int, times: np.ndarray, states: np.ndarray) -> States:
        """Run number i between its nodes, each time by a shorter step from the node before it."""
        lane = int(np.searchsorted(self.lanes, i))
        if self.batch and self.whole:  # the control is called with the whole batch, of which this run is one

            def moved(t: float, y: np.ndarray, h: float) -> np.ndarray:
                alike = np.broadcast_to(y, (*self.batch, len(y)))
                after = staged_step(self.equations, self.method, self.rates, t, alike, h)
                return after.reshape(-1, len(y))[lane]

            return between_nodes(times, states, moved)
        c = None if self.rates.c is None else self.rates.c.reshape(-1, self.rates.c.shape[-1])[lane]
        return FixedStep.through(Rates(self.equations, c), self.method, times, states, 0.0).interpolate()
