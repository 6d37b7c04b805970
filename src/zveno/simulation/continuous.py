"""Runs whose equations of motion are integrated: from a checked start to a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import check_mass
from .equations import Equations
from .events import Event
from .integration import Method, integrated
from .results import sane_samples, stops_of, trajectory
from .start import initial_state, start_of_run
from .statuses import balanced_status, final_status, status_of_batch
from .stops import reached
from .trajectory import EventRecord, Trajectory


def continuous_run(
    parts: tuple[Any, ...],
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    method: Method,
    times: np.ndarray,
    events: Sequence[Event],
    projection: bool,
    rates: tuple[float, float],
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """The trajectory from q0, v0 and the drives' torques, sampled at the times (n,); see `simulate`.

    `parts` are those of `Equations`, `rates` the rate of stabilisation and how far the start may be moved.
    """
    equations = Equations(*parts)
    stabilization, max_projection = rates
    y0 = initial_state(equations, *state)
    start = start_of_run(equations, y0, method.stabilization(stabilization), method.fixed_step, max_projection)
    check_mass(equations, start.y)
    run = integrated(equations, start, method, times, events, projection, progress)
    sane = sane_samples(equations, run.Y, method.fixed_step)
    times, n = run.times[: run.Y.shape[-2]], run.Y.shape[-2]
    each = sane.reshape(-1, n)
    ends = {i: stop for i, stop in run.stops.items() if each[i, reached(times, stop.t) - 1]}
    exploded = ~each[:, -1] & ~np.isin(np.arange(len(each)), list(ends))
    if y0.ndim > 1:
        n = max((each.sum(axis=1) + exploded).tolist(), default=n)  # nothing is left of any run behind
    made = trajectory(
        equations,
        times[:n],
        run.Y[..., :n, :],
        None if run.C is None else run.C[..., :n, :],
        status=final_status(run.status, times, sane) if y0.ndim == 1 else run.status,
        moved=start.moved,
        notes=(*start.notes, *run.notes),
        events=_before(run.events, y0.shape[:-1], np.where(exploded, times[np.argmin(each, axis=1)], np.inf)),
        method=method.settings,
        n_steps=run.n_steps,
        n_evaluations=run.n_evaluations,
        stops=stops_of(equations, ends, y0.shape[:-1], start.c),
        **facts,
    )
    return balanced_status(made) if y0.ndim == 1 else replace(made, status=status_of_batch(made))


def _before(events: Sequence[EventRecord], batch: tuple[int, ...], t: np.ndarray) -> tuple[EventRecord, ...]:
    """What happened in every run not later than a time of its own, (k,)."""
    latest = t.reshape(batch)
    return tuple(event for event in events if event.t <= latest[event.state])
