"""One run from one state: steps, samples, events, contacts that close and open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .contact_changes import ContactChanges
from .equations import Equations
from .events import Crossing, Event, EventTracker, States
from .integrators import normalized
from .modes import Modes
from .projection import project
from .rates import Rates, Stopped
from .stops import SAME_TIME, event_at
from .trajectory import FINISHED, EventRecord
from .watches import Watch, Watcher

LOOK = 1e-3
"""Share of the duration after which contacts and events are looked at, at the latest, by a method that can wait."""


class Run:
    """A single run; `go` fills the lists and sets the status.

    After every step all watches are looked at on the step's own interpolant, in the order of time. Events of the
    user are located there and leave the integrator alone. The first change of a contact, or a terminal event, ends
    the step where it happens, and the run starts again from there.
    """

    stepper: Any
    progress: Callable[[float], None]
    equations: Equations
    rates: Rates
    modes: Modes
    projected: bool

    def __init__(
        self,
        equations: Equations,
        rates: Rates,
        stepper: Any,
        events: Sequence[Event],
        modes: Modes,
        projected: bool,
        progress: Callable[[float], None],
    ):
        self.equations, self.rates, self.stepper = equations, rates, stepper
        self.modes, self.projected, self.progress = modes, projected, progress
        self.tracker: EventTracker = EventTracker(equations, events)
        self.t: list[float] = []
        self.y: list[np.ndarray] = []
        self.c: list[np.ndarray | None] = []
        self.records: list[EventRecord] = []
        self.changes: ContactChanges = ContactChanges(equations, rates, stepper, modes, self.records)
        self.status: str = FINISHED
        self.n_steps: int = 0
        self.watcher: Watcher = Watcher(equations, modes, rates)

    # --- the loop

    def go(self, times: np.ndarray) -> None:
        """Samples at `times`, the first of which is the start."""
        t, stepper = float(times[0]), self.stepper
        try:
            self._record(times[:1], stepper.y[None])
            for i in self.modes.closed():
                self.modes.sides[i] = self.modes.side(i, stepper.y[self.equations.q])
            self.changes.settle(t)
            self._restart()
            self.y[-1], self.c[-1] = stepper.y, self._settings()
            self.tracker.start(t, self.y[-1])
            k = 1
            while k < len(times):
                k = self._step(times, k)
                self.progress(stepper.t)
        except Stopped as stop:
            self.status = f"stopped: {stop}"

    def _restart(self, fired: Watch | None = None):
        self.stepper.restart(self.stepper.y)  # a solver keeps the rate at its start, and other constraints act now
        self.watcher.restart(fired)

    def _step(self, times: np.ndarray, k: int) -> int:
        stepper = self.stepper
        ahead = times[k:]
        if stepper.waits and (self.watcher.watched or self.tracker.events):  # something may come and go meanwhile
            ahead = np.array([min(float(times[k]), stepper.t + LOOK * float(times[-1] - times[0]))])
        projected = self.projected and bool(self.equations.constraints)
        if not stepper.step(ahead, projected or bool(self.modes.sliding()) or not self.watcher.armed):
            raise Stopped(f"{stepper.message or 'the integrator failed'} at t = {stepper.t_old:.6g} s")
        self.rates.check(stepper.t, stepper.y)
        states = self._interpolant()
        crossings, fired, pending = self._scan(states)
        t_end = stepper.t if fired is None else fired[0]
        terminal = next((one for one in crossings if one.terminal and one.t <= t_end), None)
        if terminal is not None:
            t_end, fired = terminal.t, None
        self.n_steps += self._steps_until(t_end)
        reached = [one for one in crossings if one.t <= t_end + (SAME_TIME if terminal else 0.0)]
        last = k + int(np.searchsorted(times[k:], t_end + SAME_TIME, side="right"))
        whole = fired is None and terminal is None
        inside = times[k:last]
        if whole:
            inside = inside[stepper.t - inside > SAME_TIME]
        if len(inside):
            self._record(inside, states(inside))
        self._report(reached)
        if terminal is not None:
            if t_end - self.t[-1] > SAME_TIME:
                self._record(np.array([t_end]), states(np.array([t_end])))
            raise Stopped(event_at(self.tracker.events[terminal.number].name, terminal.t))
        if fired is not None:
            self.tracker.reach(reached)
            self._handle(fired[1], fired[0], states(np.array(fired[:1]))[0])
            return last
        self.tracker.finish()
        if self.projected and self.equations.constraints:
            self._project()
        if last - k > len(inside):
            self._record(times[last - 1 : last], stepper.y[None])
        self.watcher.arm()
        if pending and self.changes.settle(stepper.t):
            self._restart()
        elif self.modes.sliding():
            self.changes.slide_on()
        return last

    def _steps_until(self, t_end: float) -> int:
        """How many of the last steps began before a time."""
        stepper = self.stepper
        if stepper.n_last == 1:
            return 1
        parts = (len(stepper.nodes) - 1) // stepper.n_last
        return max(1, int(np.searchsorted(stepper.nodes[:-1:parts], t_end - SAME_TIME)))

    def _interpolant(self) -> States:
        """y (n, n_y) at times (n,) of the last step, normalized; the solver is asked when it is first needed."""
        made: list[States] = []

        def states(times):
            if not made:
                made.append(self.stepper.interpolate())
            return normalized(self.equations, made[0](times))

        return states

    def _record(self, times: np.ndarray, states: np.ndarray):
        """Samples: times (n,) and states (n, n_y)."""
        self.t += times.tolist()
        self.y += list(normalized(self.equations, states))
        self.c += [self._settings()] * len(times)

    def _settings(self):
        return None if self.rates.c is None else self.rates.c.copy()

    def _project(self):
        stepper = self.stepper
        stepper.restart(project(self.equations, stepper.t, stepper.y, self.rates.inputs(0.0, stepper.y), 3).y)
        self._report(self.tracker.jump(stepper.t, stepper.y))

    # --- events

    def _report(self, crossings: Sequence[Crossing]):
        names = self.tracker.events
        self.records += [EventRecord(one.t, names[one.number].name, "event") for one in crossings if one.wanted]

    def _scan(self, states: States) -> tuple[list[Crossing], tuple[float, Watch] | None, bool]:
        """(events of the user, the first watch that fired with its time, whether one is below zero and unarmed)."""
        if not (self.watcher.watched or self.tracker.events):
            self.watcher.armed = True
            return [], None, False
        times = self.stepper.nodes
        Y = normalized(self.equations, self.stepper.node_states(states))
        fired, pending = self.watcher.first_fired(times, states, Y)
        if fired is not None:  # what lies beyond the step in which a contact changes is never reached
            n = int(np.searchsorted(times, fired[0])) + 1
            times, Y = times[:n], Y[:n]
        return self.tracker.crossings(times, states, Y) if self.tracker.events else [], fired, pending

    def _handle(self, watch: Watch, t: float, y):
        before = list(self.modes.mode)
        self.stepper.t = t
        self.stepper.restart(y)
        self.changes.follow(watch)
        self._restart(watch if self.modes.mode == before else None)
        self._report(self.tracker.jump(t, normalized(self.equations, self.stepper.y)))
