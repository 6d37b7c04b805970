"""Events of a batch with fixed steps: every step of every state is looked at, by compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .equations import Equations
from .events import ZERO, Event, EventTracker
from .fixed_stepper import FixedStep
from .rates import Rates, steps_in
from .trajectory import FINISHED, EventRecord

NUMBERS_AT_ONCE = 2**21
"""Numbers of the states that are looked at together: 16 MB."""

RollOut = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, str, int]]
"""(y (..., n_y), times (n,)) → states (..., k, n_y) at the first k times, status, and the number of steps."""


class BatchEvents:
    """The signs of all events' functions along all runs of a batch.

    Args:
        equations: of the runs.
        rates: theirs, with settings of the constraints for every run.
        method: name of the integrator.
        step: its step, s.
        events: compiled ones that end no run.
        y: states (..., n_y) at time zero.
    """

    def __init__(
        self, equations: Equations, rates: Rates, method: str, step: float, events: Sequence[Event], y: np.ndarray
    ):
        self._equations, self._c, self._method, self._step = equations, rates.c, method, step
        self._tracker = EventTracker(equations, events)
        self._batch, states = y.shape[:-1], y.reshape(-1, y.shape[-1])
        values = self._tracker.values(np.zeros(()), states)
        self._signs, self._largest = np.sign(values).astype(int), np.abs(values)
        self.records: list[EventRecord] = []

    def through(self, y: np.ndarray, times: np.ndarray, roll_out: RollOut) -> tuple[np.ndarray, str, int]:
        """What `roll_out` gives for the samples (n,), while all steps between them are looked at."""
        parts, n_steps, status, first = [y[..., None, :]], 0, FINISHED, 0
        every = max(1, steps_in(float(times[1] - times[0]), self._step)) if len(times) > 1 else 1
        at_once = max(1, NUMBERS_AT_ONCE // (y.size * every))
        while first < len(times) - 1 and status == FINISHED:
            samples = times[first : first + at_once + 1]
            nodes, at = _nodes(samples, self._step)
            states, status, steps = roll_out(parts[-1][..., -1, :], nodes)
            self._look(nodes[: states.shape[-2]], states.reshape(-1, *states.shape[-2:]))
            parts.append(states[..., at[1:][at[1:] < states.shape[-2]], :])
            n_steps, first = n_steps + steps, first + len(samples) - 1
        self.records.sort(key=lambda record: record.t)
        return np.concatenate(parts, axis=-2), status, n_steps

    def _look(self, times: np.ndarray, states: np.ndarray) -> None:
        """States (k, n, n_y) at the times (n,), the first of which were looked at before."""
        values = self._tracker.values(times, states, finite=np.isfinite(states).all(axis=-1))
        signed = self._signs[:, None] * values
        largest = np.maximum(self._largest, signed.max(axis=1))
        keeps = (signed.min(axis=1) > ZERO * largest).all(axis=-1)
        self._largest[keeps] = largest[keeps]
        for i in np.flatnonzero(~keeps).tolist():
            self._follow(i, times, states[i])

    def _follow(self, i: int, times: np.ndarray, states: np.ndarray) -> None:
        """One run (n, n_y), as if it were alone; what is no longer finite is not looked at."""
        finite: np.ndarray = np.asarray(np.isfinite(states).all(axis=-1))
        n = len(finite) if finite.all() else int(np.argmin(finite))
        if n < 2:
            return
        c = None if self._c is None else self._c.reshape(-1, self._c.shape[-1])[i if self._c.ndim > 1 else 0]
        stepper = FixedStep.through(Rates(self._equations, c), self._method, times[:n], states[:n], self._step)
        tracker = self._tracker
        tracker.remember(self._signs[i].tolist(), self._largest[i].tolist())
        crossings = tracker.crossings(times[:n], stepper.interpolate(), states[:n])
        tracker.finish()
        self._signs[i], self._largest[i] = tracker.remembered
        where = tuple(map(int, np.unravel_index(i, self._batch)))
        self.records += [
            EventRecord(one.t, tracker.events[one.number].name, "event", where) for one in crossings if one.wanted
        ]


def _nodes(samples: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of all steps between samples (n,), the first one included, and where the samples are among them."""
    parts = [
        np.linspace(a, b, 1 + steps_in(b - a, step))[1:]
        for a, b in zip(samples[:-1].tolist(), samples[1:].tolist(), strict=True)
    ]
    return np.concatenate([samples[:1], *parts]), np.cumsum([0, *map(len, parts)])
