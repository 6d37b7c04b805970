"""Driver of runs by rk4 and dop853, for one state or a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_mass
from ._dop853 import Dop853
from ._equations import Equations
from ._rates import Rates, Stopped, undefined
from ._results import sane, sane_samples, stops_of, trajectory
from ._rk4 import FixedSteps
from ._singular import SingularStates
from ._statuses import (
    FINISHED,
    SAME_TIME,
    Outcome,
    end_of,
    energy_exchanged,
    event_at,
    reached,
    unbalanced,
    with_statuses,
)
from .events import ZERO, Crossing, Event, EventTracker, States
from .integrators import DOP853, Integrator, steps_in
from .start import Start, initial_state, project, start_of_run
from .trajectory import EventRecord, Trajectory

# --- events


class Piece(Protocol):
    """Consecutive steps taken together by k runs."""

    nodes: np.ndarray
    """(n,), times from the beginning of the first step to the end of the last"""
    n_steps: int

    def states(self) -> np.ndarray:
        """Return the states at the nodes, (k, n, n_y)."""
        ...

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states at the sample times, (k, m, n_y)."""
        ...

    def between(self, k: int) -> States:
        """Return the function that gives one run at any times of the steps."""
        ...


class Stop(NamedTuple):
    """Terminal event that ended a run."""

    t: float
    event: str
    y: np.ndarray
    """(n_y,)"""
    n_steps: int


class Watch:
    """Active runs, and the signs of all event functions along them.

    Args:
        equations: of the runs.
        events: whose zeros are looked for.
        y: states (..., n_y) at time zero.
    """

    def __init__(self, equations: Equations, events: Sequence[Event], y: np.ndarray):
        self.tracker: EventTracker = EventTracker(equations, events)
        self.batch, states = y.shape[:-1], y.reshape(-1, y.shape[-1])
        self.runs: np.ndarray = np.arange(len(states))
        """indices of runs whose states are carried on"""
        self.n: int = len(states)
        self.records: list[EventRecord] = []
        self.stops: dict[int, Stop] = {}
        """by index of the run, for runs that events ended"""
        self._signs, self._largest = self.tracker.begin(states) if events else (np.zeros(0), np.zeros(0))

    @property
    def all_stopped(self) -> bool:
        """True if events have ended every run."""
        return len(self.stops) == self.n

    def samples(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Scatter states (k, m, n_y) of the active runs at times (m,) to all runs: NaN after their ends."""
        ended = self.stops.keys() & set(self.runs.tolist()) if self.stops else ()
        if not ended and len(self.runs) == self.n:
            return states
        out = np.full((self.n, *states.shape[1:]), np.nan)
        out[self.runs] = states
        for i in ended:
            out[i, reached(times, self.stops[i].t) :] = np.nan
        return out

    def left(self, y: np.ndarray) -> np.ndarray:
        """Return the runs (k,) that continue: those with finite states (..., n_y) that no event ended."""
        return np.isfinite(y).all(axis=-1).reshape(-1) & ~np.isin(self.runs, list(self.stops))

    def look(self, piece: Piece, n_steps: int) -> None:
        """Find the events of a piece; `n_steps` steps were taken before it."""
        times, states = piece.nodes, piece.states()
        changed = range(len(states))
        if self.tracker.compiled:
            signed = self._signs[self.runs][:, None] * self.tracker.values(times, states)
            largest = np.maximum(self._largest[self.runs], signed.max(axis=1, initial=0.0))
            same = (signed > ZERO * largest[:, None]).all(axis=(1, 2))
            self._largest[self.runs[same]] = largest[same]
            changed = np.flatnonzero(~same).tolist()
        for k in changed:
            if int(self.runs[k]) not in self.stops:
                self._follow(k, piece, states[k], n_steps)

    def _follow(self, k: int, piece: Piece, states: np.ndarray, n_steps: int) -> None:
        """Follow one run (n, n_y) as if it were alone; ignore states that are not finite."""
        finite: np.ndarray = np.asarray(np.isfinite(states).all(axis=-1))
        n = len(finite) if finite.all() else int(np.argmin(finite))
        if n < 2:
            return
        i, times, between = int(self.runs[k]), piece.nodes[:n], piece.between(k)
        self.tracker.remember(self._signs[i].tolist(), self._largest[i].tolist())
        crossings = self.tracker.crossings(times, between, states[:n])
        terminal = next((crossing for crossing in crossings if crossing.terminal), None)
        if terminal is not None:
            crossings = [crossing for crossing in crossings if crossing.t <= terminal.t + SAME_TIME]
            begins = piece.nodes[: -1 : (len(piece.nodes) - 1) // piece.n_steps]
            steps = max(1, int(np.searchsorted(begins, terminal.t - SAME_TIME)))
            self._stop(i, terminal, between(np.array([terminal.t]))[0], n_steps + steps)
        self._report(i, crossings)

    def jump(self, t: float, y: np.ndarray, n_steps: int) -> None:
        """Record a jump of the only run's state to y (n_y,) at a time."""
        if self.all_stopped:
            return
        self.tracker.remember(self._signs[0].tolist(), self._largest[0].tolist())
        crossings = self.tracker.jump(t, y)
        terminal = next((crossing for crossing in crossings if crossing.terminal), None)
        if terminal is not None:
            self._stop(0, terminal, y, n_steps)
        self._report(0, crossings)

    def _stop(self, i: int, terminal: Crossing, y: np.ndarray, n_steps: int) -> None:
        self.stops[i] = Stop(terminal.t, self.tracker.events[terminal.number].name, y, n_steps)

    def _report(self, i: int, crossings: Sequence[Crossing]) -> None:
        self._signs[i], self._largest[i] = self.tracker.remembered
        where = tuple(map(int, np.unravel_index(i, self.batch))) if self.batch else ()
        events = self.tracker.events
        self.records += [
            EventRecord(crossing.t, events[crossing.number].name, where)
            for crossing in crossings
            if crossing.wanted
        ]


# --- runs

FINE = 20_000
"""Number of times of a dop853 run at which energy is checked."""


def continuous_run(
    parts: tuple[Any, ...],
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    method: Integrator,
    times: np.ndarray,
    events: Sequence[Event],
    projection: bool,
    stabilization: float,
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """Compute the trajectory from q0, v0 and the drives' torques, sampled at the times (n,); see `simulate`.

    `parts` are those of `Equations`.
    """
    equations = Equations(*parts)
    y0 = initial_state(equations, *state)
    start = start_of_run(equations, y0, method.stabilization(stabilization))
    check_mass(equations, start.y)
    run = integrated(equations, start, method, times, events, projection, progress)
    run = run._replace(faults=run.faults or _undefined(equations, run, start.c))
    good = sane_samples(equations, run.Y, method.step)
    times, n = run.times[: run.Y.shape[-2]], run.Y.shape[-2]
    each = good.reshape(-1, n)
    ends = {i: stop for i, stop in run.stops.items() if each[i, reached(times, stop.t) - 1]}
    diverged = ~each[:, -1] & ~np.isin(np.arange(len(each)), list(ends))
    if y0.ndim > 1:
        n = max((each.sum(axis=1) + diverged).tolist(), default=n)  # nothing is left of any run behind
    outcome = run.outcome if y0.ndim > 1 else end_of(run.outcome, run.times, good, run.faults)
    made = trajectory(
        equations,
        times[:n],
        run.Y[..., :n, :],
        start.c,
        status=outcome.status,
        reason=outcome.reason,
        moved=start.moved,
        notes=(*start.notes, *run.notes),
        events=_before(run.events, y0.shape[:-1], np.where(diverged, times[np.argmin(each, axis=1)], np.inf)),
        method=method.settings,
        n_steps=run.n_steps,
        n_evaluations=run.n_evaluations,
        stops=stops_of(equations, ends, y0.shape[:-1], start.c),
        faults=() if y0.ndim == 1 else run.faults,
        **facts,
    )
    if run.outcome == FINISHED and (suspect := unbalanced(made)).any():
        made = replace(made, exchanged=_exchanged(equations, start, method, times, projection, suspect))
    return with_statuses(made)


def _undefined(equations: Equations, run: Integrated, c: np.ndarray | None) -> tuple[EventRecord, ...]:
    """Return what a compiled control, drive or constraint made not finite in runs that have ended so."""
    batch, n = run.Y.shape[:-2], run.Y.shape[-2]
    states = run.Y.reshape(-1, *run.Y.shape[-2:])
    settings = None if c is None else np.broadcast_to(c, (*batch, c.shape[-1])).reshape(-1, c.shape[-1])
    records = []
    for i, Y in enumerate(states):
        kept = int(np.logical_and.accumulate(np.isfinite(Y).all(axis=-1)).sum())
        if i in run.stops or not 0 < kept < len(run.times) or (kept == n and run.outcome.status != "diverged"):
            continue
        between = run.times[kept - 1 : kept + 1]
        cause = undefined(equations, between, Y[kept - 1], None if settings is None else settings[i])
        if cause:
            state = tuple(map(int, np.unravel_index(i, batch))) if batch else ()
            records.append(EventRecord(cause[0], cause[1], state))
    return tuple(records)


def _exchanged(
    equations: Equations, start: Start, method: Integrator, times: np.ndarray, projection: bool, which: np.ndarray
) -> np.ndarray:
    """Return the energy exchanged over all steps by the chosen runs (...,), J; NaN for the others.

    A motion may gain energy and lose it again between samples. These runs are repeated one by one; those with a
    called control, together.
    """
    parts = 1 + FINE // len(times) if isinstance(method, DOP853) else 0
    between = [
        np.linspace(a, b, parts or steps_in(b - a, method.step), endpoint=False)
        for a, b in pairwise(times.tolist())
    ]
    fine = np.append(np.concatenate(between), times[-1])
    exchanged = np.full(which.shape, np.nan)
    whole = not which.ndim or equations.commanded
    chosen = [which] if whole else [(run,) for run in map(tuple, np.argwhere(which).tolist())]
    for run in chosen:
        part = start if whole else Start(start.y[run[0]], None if start.c is None else start.c[run[0]], 0.0)
        Y = integrated(equations, part, method, fine, (), projection, lambda _: None).Y
        energies = energy_exchanged(trajectory(equations, fine[: Y.shape[-2]], Y, part.c))
        exchanged[run if whole else run[0]] = energies[which] if whole and which.ndim else energies
    return exchanged


def _before(events: Sequence[EventRecord], batch: tuple[int, ...], t: np.ndarray) -> tuple[EventRecord, ...]:
    """Return the events of every run up to its own time, (k,)."""
    latest = t.reshape(batch)
    return tuple(event for event in events if event.t <= latest[event.state])


class Integrated(NamedTuple):
    """Samples, events and stops of an integrated run."""

    times: np.ndarray
    """(n,), of the samples that were reached and of those that were not"""
    Y: np.ndarray
    """(..., k, n_y), states at the first k times, NaN behind the end of a run"""
    outcome: Outcome
    n_steps: int
    n_evaluations: int
    events: tuple[EventRecord, ...]
    notes: tuple[str, ...]
    stops: dict[int, Stop]
    """of a batch: terminal event by the number of the run"""
    faults: tuple[EventRecord, ...]
    """where a control returned something that is not finite"""


def integrated(
    equations: Equations,
    start: Start,
    method: Integrator,
    times: np.ndarray,
    events: Sequence[Event],
    projection: bool,
    progress: Callable[[float], None],
) -> Integrated:
    """Integrate a run, or a batch, sampled at the times (n,).

    A stepper takes some steps at a time. Events and samples are found along them. After a projection onto the
    constraints the next step starts from the projected state.
    """
    rates, watch = Rates(equations, start.c), Watch(equations, events, start.y)
    if isinstance(method, DOP853):
        stepper: Any = Dop853(rates, start.y, max(float(times[-1]), 1e-300), method)
    else:
        stepper = FixedSteps(rates, start.y, times, method.step, events, progress)
    projected = projection and bool(equations.constraints)
    singular = SingularStates(equations, watch.n) if equations.constraints else None
    parts, first, n_steps, outcome = [], 0, 0, FINISHED
    while first < len(times) and len(times) > 1 and outcome == FINISHED:
        try:
            piece, outcome = stepper.advance(projected)
            if singular is not None:
                singular.look(watch.runs, piece.nodes, piece.states(), stepper.rates.c)
            if events:
                watch.look(piece, n_steps)
        except Stopped as stop:
            outcome = Outcome(*stop.args)
            break
        n_steps += piece.n_steps
        end = float(piece.nodes[-1])
        last = int(np.searchsorted(times, end + SAME_TIME, side="right"))
        states = piece.at(times[first:last])
        if projected:
            stepper.restart(project(equations, end, stepper.y, rates.inputs(0.0, stepper.y), 3).y)
            if end - times[last - 1] <= SAME_TIME and last > first:
                states[:, -1] = stepper.y
            if events:
                watch.jump(end, stepper.y, n_steps)
        parts.append(watch.samples(times[first:last], states))
        first = last
        progress(end)
        if events:
            left = watch.left(stepper.y)
            if not left.any():
                break
            watch.runs = watch.runs[stepper.keep(left)]
    if not parts:
        parts = [start.y.reshape(-1, 1, equations.n_y)]
    Y = np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
    if outcome == FINISHED and Y.shape[1] < len(times):  # nothing is left; those that diverged show it here
        Y = np.concatenate([Y, np.full((len(Y), 1, Y.shape[2]), np.nan)], axis=1)
    if watch.all_stopped:
        n_steps = max(stop.n_steps for stop in watch.stops.values())
    Y = Y.reshape(*start.y.shape[:-1], *Y.shape[1:])
    stops = {i: stop for i, stop in watch.stops.items() if sane(equations, stop.y, method.step)}
    if start.y.ndim == 1 and stops:  # it ends there, with a sample
        stop = stops.pop(0)
        n = reached(times, stop.t)
        times, Y, outcome = times[:n], Y[:n], Outcome("stopped", event_at(stop.event, stop.t))
        if stop.t - times[-1] > SAME_TIME:
            times, Y = np.append(times, stop.t), np.concatenate([Y, stop.y[None]])
    if singular is not None:
        for i, (t, _) in list(singular.found.items()):
            if i in watch.stops and t > watch.stops[i].t:
                del singular.found[i]
        watch.records += singular.records(watch.batch)
    records = tuple(sorted(watch.records, key=lambda record: record.t))
    notes = ()
    if equations.checked_rows:
        names = ", ".join(equations.row_names[row] for row in equations.checked_rows)
        notes = (f"rows that follow from others are checked, not solved: {names}",)
    if rates.redundant:
        notes = (
            *notes,
            f"redundant constraints solved in least squares: {', '.join(sorted(rates.redundant))}",
        )
    faults = tuple(EventRecord(t, reason, state) for state, (t, reason) in sorted(stepper.rates.faults.items()))
    return Integrated(times, Y, outcome, n_steps, stepper.rates.n, records, notes, stops, faults)
