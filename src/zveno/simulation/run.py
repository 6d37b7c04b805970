"""Driver of runs by rk4 and dop853, for one state or a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .checks import check_mass
from .dop853_stepper import Dop853
from .equations import Equations
from .events import Event
from .integrators import DOP853, Integrator, steps_in
from .projection import project
from .rates import Rates, Stopped, undefined
from .results import sane, sane_samples, stops_of, trajectory
from .rollout import FixedSteps
from .singular import SingularStates
from .start import Start, initial_state, start_of_run
from .statuses import FINISHED, Outcome, end_of, energy_exchanged, unbalanced, with_statuses
from .stops import SAME_TIME, event_at, reached
from .trajectory import EventRecord, Trajectory
from .watch import Stop, Watch

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
