"""Event checks along the runs of a batch, or along one run, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .equations import Equations
from .events import ZERO, Crossing, Event, EventTracker, States
from .stops import SAME_TIME, reached
from .trajectory import EventRecord


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
