"""Single runs of a batch, as `simulate` returns them for one state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShapeError
from ..io.results import hash_of
from .stops import SAME_TIME

if TYPE_CHECKING:
    from .trajectory import Trajectory

PER_RUN = (
    "q",
    "v",
    "a",
    "tau",
    "drive_states",
    "reactions",
    "kinetic",
    "potential",
    "work",
    "violation",
    "violation_rate",
)
"""Trajectory fields with batch axes."""
OF_TIME_STEPPING = ("residual", "sweeps")
"""Fields that only time stepping fills."""


def run_of(batch: Trajectory, number: tuple[int, ...]) -> Trajectory:
    """Return one run of a batch, see `Trajectory.run`."""
    shape = batch.q.shape[:-2]
    whole = all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in number)
    if not whole or len(number) != len(shape) or any(not -n <= k < n for k, n in zip(number, shape, strict=True)):
        runs = f"the batch of runs is {shape}" if shape else "there is one run, without a number"
        raise ShapeError(f"{runs}; asked for {number}", element="run", remedy="Give one number an axis of it")
    if not shape:
        return batch
    where = tuple(int(k) % n for k, n in zip(number, shape, strict=True))
    fields = [*PER_RUN, *(name for name in OF_TIME_STEPPING if getattr(batch, name) is not None)]
    n = int(np.isfinite(batch.q[where]).all(axis=-1).sum())
    rows = {name: getattr(batch, name)[where][:n] for name in fields if getattr(batch, name).ndim > len(shape)}
    t, n_steps = batch.t[:n], batch.n_steps
    stop = None if batch.stops is None else batch.stops.of(where)
    if batch.stops is not None and stop is not None:
        n_steps, end = int(batch.stops.n_steps[stop]), float(batch.stops.t[stop])
        if end - float(t[-1]) > SAME_TIME:
            t = np.append(t, end)
            last = {name: getattr(batch.stops, name)[stop] for name in rows}
            rows = {name: np.concatenate([row, last[name][None]]) for name, row in rows.items()}
    return replace(
        batch,
        **rows,
        t=t,
        status=str(np.asarray(batch.status)[where]),
        reason=str(np.asarray(batch.reason)[where]),
        events=tuple(replace(event, state=()) for event in batch.events if event.state == where),
        n_steps=n_steps,
        inputs_hash=hash_of(batch.inputs_hash, list(where)),
        stops=None,
        faults=(),
        exchanged=None if batch.exchanged is None else batch.exchanged[where],
    )


def last_samples(batch: Trajectory, name: str) -> np.ndarray:
    """Return a field at the end of every run, (..., …); NaN for runs without a sample."""
    shape = batch.q.shape[:-2]
    values = np.broadcast_to(batch.t, (*shape, len(batch.t))) if name == "t" else getattr(batch, name)
    if not len(batch.t):
        return np.full((*shape, *values.shape[len(shape) + 1 :]), np.nan)
    last = np.maximum(np.isfinite(batch.q).all(axis=-1).sum(axis=-1) - 1, 0)
    last = last.reshape(*shape, *[1] * (values.ndim - len(shape)))
    ends = np.take_along_axis(values, last, axis=len(shape)).squeeze(axis=len(shape))
    if batch.stops is not None:
        ends[tuple(batch.stops.runs.T)] = getattr(batch.stops, name)
    return ends
