"""Runs with fixed steps that nothing interrupts but events, and what every run went through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .batch_events import Stop, watched_rollout
from .equations import Equations
from .events import Event
from .rates import Rates
from .results import sane
from .rollout import rolled_out
from .stops import SAME_TIME, event_at, reached
from .trajectory import EventRecord


class Integrated(NamedTuple):
    """What a run went through."""

    times: np.ndarray
    """(n,), of the samples that were reached and of those that were not"""
    Y: np.ndarray
    """(..., k, n_y), states at the first k times"""
    C: np.ndarray | None
    """(..., k, n_c), settings of the constraints"""
    status: str
    n_steps: int
    n_evaluations: int
    events: tuple[EventRecord, ...]
    notes: tuple[str, ...]
    stops: dict[int, Stop]
    """of a batch: by the number of the run, where terminal events ended it"""


def without_contacts(
    equations: Equations,
    rates: Rates,
    method: str,
    step: float,
    y0: np.ndarray,
    times: np.ndarray,
    events: Sequence[Event],
    progress: Callable[[float], None],
) -> Integrated:
    """One run or a batch from y0 (..., n_y), sampled at the times (n,)."""
    settings = equations, rates, method, step, y0, times
    c = rates.c
    records, stops = (), {}
    if events:
        Y, status, n_steps, records, stops = watched_rollout(*settings, events, progress)
        stops = {i: stop for i, stop in stops.items() if sane(equations, stop.y, step)}
    else:
        Y, status, n_steps = rolled_out(*settings, progress)
    if y0.ndim == 1 and stops:  # it ends there, with a sample
        stop = stops.pop(0)
        n = reached(times, stop.t)
        times, Y, status = times[:n], Y[:n], f"stopped: {event_at(stop.event, stop.t)}"
        if stop.t - times[-1] > SAME_TIME:
            times, Y = np.append(times, stop.t), np.concatenate([Y, stop.y[None]])
    C = None if c is None else np.broadcast_to(c[..., None, :], (*Y.shape[:-1], c.shape[-1]))
    return Integrated(times, Y, C, status, n_steps, rates.n, records, notes_of(rates), stops)


def notes_of(rates: Rates, chatter: tuple[float, float] | None = None) -> tuple[str, ...]:
    """What a user must know about the constraints of a run, and about contacts that chattered since a time."""
    notes = []
    if chatter is not None:
        since, speed = chatter
        notes.append(
            f"chattering contacts brought to rest from t = {since:.6g} s on, from up to {speed:.2g} m/s or rad/s"
        )
    if rates.redundant:
        notes.append(f"redundant constraints solved in least squares: {', '.join(sorted(rates.redundant))}")
    return tuple(notes)
