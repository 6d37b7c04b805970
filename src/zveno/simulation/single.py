"""One run from one state: steps, samples, events, contacts that close and open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .equations import Equations
from .events import Event, Watch, first_zero, watches
from .impacts import impact
from .inputs import Inputs
from .integrators import normalized
from .modes import Modes
from .projection import project
from .rates import Rates, Stopped
from .redundancy import reported
from .trajectory import FINISHED, EventRecord

REST_VELOCITY = 1e-3
"""A bounce slower than this, m/s or rad/s, stays closed: restitution would otherwise bounce without end."""
SAME_MOMENT = 1e-9
"""Contacts with gaps below this, m or rad, when another one closes share its impact."""
MAX_EVENTS = 10_000
LOOK = 1e-3
"""Share of the duration after which contacts and events are looked at, at the latest, by a method that can wait."""


class Run:
    """A single run; `go` fills the lists and sets the status."""

    def __init__(
        self,
        equations: Equations,
        rates: Rates,
        stepper,
        events: Sequence[Event],
        modes: Modes,
        projected: bool,
        progress: Callable[[float], None],
    ):
        self.equations, self.rates, self.stepper, self.events = equations, rates, stepper, tuple(events)
        self.modes, self.projected, self.progress = modes, projected, progress
        self.t: list[float] = []
        self.y: list[np.ndarray] = []
        self.c: list[np.ndarray | None] = []
        self.records: list[EventRecord] = []
        self.status = FINISHED
        self.n_steps = 0
        self._last: tuple[float, str, int] = (-np.inf, "", -1)
        self._has_watches = bool(self.events) or any(one.unilateral for one in equations.constraints)

    # --- the loop

    def go(self, times: np.ndarray):
        """Samples at `times`, the first of which is the start."""
        try:
            self._record(float(times[0]), self.stepper.y)
            for i in self.modes.closed():
                self.modes.sides[i] = self.modes.side(i, self.stepper.y[self.equations.q])
            self._settle(float(times[0]))
            self.stepper.restart(self.stepper.y)
            self.y[-1], self.c[-1] = self.stepper.y, self._settings()
            self._watched = self._watch()
            k = 1
            while k < len(times):
                k = self._step(times, k)
                self.progress(self.stepper.t)
        except Stopped as stop:
            self.status = f"stopped: {stop}"

    def _step(self, times: np.ndarray, k: int) -> int:
        stepper = self.stepper
        before = self._values(stepper.t, stepper.y) if self._has_watches else None
        until = float(times[k])
        if self._has_watches:  # Adams goes all the way in one step, and something may come and go meanwhile
            until = min(until, stepper.t + LOOK * float(times[-1] - times[0]))
        if not stepper.step(until):
            raise Stopped(f"{stepper.message or 'the integrator failed'} at t = {stepper.t_old:.6g} s")
        self.n_steps += 1
        self.rates.check(stepper.t, stepper.y)
        found = None if before is None else self._first_event(before)
        t_end = stepper.t if found is None else found[0]
        last = k
        while last < len(times) and times[last] <= t_end + 1e-12:
            last += 1
        between = [t for t in times[k:last] if abs(t - stepper.t) > 1e-12]
        if between:
            at = stepper.interpolate()
            for t in between:
                self._record(float(t), at(t))
        if found is None and self.projected and self.equations.constraints:
            self._project()
        if last - k > len(between):
            self._record(float(times[last - 1]), stepper.y)
        if found is not None:
            self._handle(*found)
        elif self.modes.sliding():
            self._slide_on()
        return last

    def _record(self, t: float, y):
        self.t.append(t)
        self.y.append(normalized(self.equations, y))
        self.c.append(self._settings())

    def _settings(self):
        return None if self.rates.c is None else self.rates.c.copy()

    def _project(self):
        found = project(self.equations, self.stepper.t, self.stepper.y, self.rates.inputs(0.0, self.stepper.y), 3)
        self.stepper.restart(found.y)

    # --- events

    def _watch(self) -> list[Watch]:
        return watches(self.equations, self.modes, self.rates, self.events)

    def _values(self, t: float, y) -> list[float]:
        y = normalized(self.equations, y)
        report = reported(self.equations, t, y, self.rates.inputs(t, y))
        return [watch.value(t, y, report) for watch in self._watched]

    def _first_event(self, before: list[float]) -> tuple[float, np.ndarray, Watch] | None:
        """The earliest watch that fell below zero in the last step."""
        stepper = self.stepper
        after = self._values(stepper.t, stepper.y)
        first: tuple[float, np.ndarray, Watch] | None = None
        at = None
        for i, (watch, old, new) in enumerate(zip(self._watched, before, after, strict=True)):
            if not new < 0:
                continue
            if not old > 0 and not (watch.what in ("closes", "slips") and new < old):
                continue  # it was below already, where a joint rests
            at = at or stepper.interpolate()

            def value(s, i=i, at=at):
                return self._values(s, at(s))[i]

            # A contact that has just bounced starts from zero, leaves and comes back, perhaps after a moment.
            inside = stepper.t_old + (stepper.t - stepper.t_old) * 0.5 ** np.arange(1, 16)
            start = stepper.t_old if old > 0 else next((float(s) for s in inside if value(s) > 0), None)
            t = stepper.t if start is None else first_zero(value, start, stepper.t)
            y = stepper.y if start is None else at(t)
            if (watch.what, watch.constraint) == self._last[1:] and t - self._last[0] < 1e-12:
                continue  # it was looked at just now, and nothing came of it
            if first is None or t < first[0]:
                first = (t, y, watch)
        return first

    def _handle(self, t: float, y, watch: Watch):
        stepper = self.stepper
        y = normalized(self.equations, y)
        if watch.what in ("stops", "slips"):
            self._last = (t, watch.what, watch.constraint)
        if watch.what == "event":
            name = self.events[watch.constraint].name
            self._happened(t, name, watch.what)
            if self.events[watch.constraint].terminal:
                self._record(t, y)
                raise Stopped(f"event {name} at t = {t:.6g} s")
            return  # the motion goes on undisturbed from the end of the step
        stepper.t = t
        stepper.restart(y)
        if watch.what == "opens":
            self.modes.open(watch.constraint)
            self._happened(t, self._label(watch.constraint), "opens")
        elif watch.what == "closes":
            self._close(t, watch.constraint, watch.side)
        self._settle(t)
        stepper.restart(stepper.y)  # a solver keeps the rate at its start, and other constraints act now
        self._watched = self._watch()

    def _happened(self, t: float, name: str, what: str):
        self.records.append(EventRecord(t, name, what))
        if len(self.records) >= MAX_EVENTS:
            raise Stopped(f"{MAX_EVENTS} contacts and events by t = {t:.6g} s")

    def _label(self, i: int) -> str:
        return self.equations.constraints[i].label

    # --- contacts

    def _close(self, t: float, i: int, side: float):
        """The impact of constraint i with those already closed; it stays closed unless it bounces."""
        equations, stepper = self.equations, self.stepper
        inputs = Inputs(self.rates.command(t, stepper.y), self.rates.c)
        speed = equations.terms(t, stepper.y, *inputs.arrays())[5]
        closing = {i: side} | self._also_touching(t, inputs, speed)
        e = np.zeros(equations.n_rows)
        for k, end in closing.items():
            self.modes.sides[k] = end
            self.modes.hold(k, stepper.y[equations.q])
            row = equations.row_slices[k].start
            bounce = getattr(equations.constraints[k], "restitution", 0.0)
            if -bounce * end * speed[row] > REST_VELOCITY:
                e[row] = bounce
        self._jump(t, inputs.u, e)
        speed = equations.terms(t, stepper.y, *inputs.arrays())[5]
        for k in closing:
            bounces = bool(e[equations.row_slices[k].start])
            if bounces:
                self.modes.open(k)
            self._happened(t, self._label(k), "bounces" if bounces else "closes")
        for k in self.modes.slide_where_moving(self.modes.closed(), speed):
            self._happened(t, self._label(k), "slips")

    def _jump(self, t: float, u, restitution, limited: bool = True):
        """The velocities jump so that the rows which act agree with them."""
        pushing = self.modes.pushing() if limited else ()
        inputs = Inputs(u, self.rates.c)
        hit = impact(self.equations, t, self.stepper.y, inputs, restitution, pushing, limited)
        y = self.stepper.y.copy()
        y[self.equations.v] = hit.v
        y[-1] += hit.energy
        self.stepper.restart(y)

    def _also_touching(self, t: float, inputs: Inputs, speed) -> dict[int, float]:
        """Other contacts that reach the ground at the same moment: they share the impact."""
        equations, y = self.equations, self.stepper.y
        report = equations.report(t, y, *inputs.arrays())
        found = {}
        for watch in self._watched:
            if watch.what == "closes" and watch.value(t, y, report) < SAME_MOMENT:
                row = equations.row_slices[watch.constraint].start
                if watch.side * speed[row] < 0:
                    found[watch.constraint] = watch.side
        return found

    def _settle(self, t: float):
        """Modes of the contacts that agree with the forces."""
        self.rates.reset()
        if not self.modes.closed():
            return
        u = self.rates.command(t, self.stepper.y)
        changes = self.modes.settle(t, self.stepper.y, u)
        for i, what in changes:
            self._happened(t, self._label(i), what)
        if any(what == "sticks" for _, what in changes):
            # They move by less than can be seen; no pressure is needed to take that away.
            self._jump(t, u, np.zeros(self.equations.n_rows), limited=False)

    def _slide_on(self):
        """After a step: remember where contacts slide to."""
        stepper, t = self.stepper, self.stepper.t
        self.modes.follow(self.equations.terms(t, stepper.y, *self.rates.inputs(t, stepper.y).arrays())[5])
