"""One run from one state: steps, samples, events, contacts that close and open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .contacts import GroundContact
from .equations import Equations, Inputs
from .events import Event, Watch, first_zero, watches
from .impacts import impact
from .integrators import normalized
from .projection import project
from .rates import Rates, Stopped
from .redundancy import reported
from .trajectory import FINISHED, Happening

REST_VELOCITY = 1e-3
"""A bounce slower than this, m/s or rad/s, stays closed: restitution would otherwise bounce without end."""
SAME_MOMENT = 1e-9
"""Contacts with gaps below this, m or rad, when another one closes share its impact."""
MAX_HAPPENINGS = 10_000


class Run:
    """A single run; `go` fills the lists and sets the status."""

    def __init__(
        self,
        equations: Equations,
        rates: Rates,
        stepper,
        events: Sequence[Event],
        active: list[bool],
        projected: bool,
        progress: Callable[[float], None],
    ):
        self.equations, self.rates, self.stepper, self.events = equations, rates, stepper, tuple(events)
        self.active, self.projected, self.progress = active, projected, progress
        self.sides: dict[int, float] = {}
        self.t: list[float] = []
        self.y: list[np.ndarray] = []
        self.c: list[np.ndarray | None] = []
        self.happenings: list[Happening] = []
        self.status = FINISHED
        self.n_steps = 0
        self._has_watches = bool(self.events) or any(one.unilateral for one in equations.constraints)

    # --- the loop

    def go(self, times: np.ndarray):
        """Samples at `times`, the first of which is the start."""
        try:
            self._record(float(times[0]), self.stepper.y)
            self._settle(float(times[0]), close_touching=True)
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
        if not stepper.step(float(times[k])):
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
        return watches(self.equations, self.active, self.sides, self.events)

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
            if not old > 0:
                # It was below already, where a contact closed or a joint rests: contacts act on that, others wait.
                if watch.what == "closes" and new < old:
                    t, y = stepper.t, stepper.y
                else:
                    continue
            else:
                at = at or stepper.interpolate()
                t = first_zero(lambda s, i=i, at=at: self._values(s, at(s))[i], stepper.t_old, stepper.t)
                y = at(t)
            if first is None or t < first[0]:
                first = (t, y, watch)
        return first

    def _handle(self, t: float, y, watch: Watch):
        stepper = self.stepper
        y = normalized(self.equations, y)
        if watch.what in ("event", "slips"):
            name = self.events[watch.constraint].name if watch.what == "event" else self._label(watch.constraint)
            self._happened(t, name, watch.what)
            if watch.what == "event" and self.events[watch.constraint].terminal:
                self._record(t, y)
                raise Stopped(f"event {name} at t = {t:.6g} s")
            return  # the motion goes on undisturbed from the end of the step
        stepper.t = t
        stepper.restart(y)
        if watch.what == "opens":
            self._set(watch.constraint, False)
            self._happened(t, self._label(watch.constraint), "opens")
        else:
            self._close(t, watch.constraint, watch.side)
        self._settle(t)
        stepper.restart(stepper.y)  # a solver keeps the rate at its start, and other constraints act now
        self._watched = self._watch()

    def _happened(self, t: float, name: str, what: str):
        self.happenings.append(Happening(t, name, what))
        if len(self.happenings) >= MAX_HAPPENINGS:
            raise Stopped(f"{MAX_HAPPENINGS} contacts and events by t = {t:.6g} s")

    def _label(self, i: int) -> str:
        return self.equations.constraints[i].label

    # --- contacts

    def _set(self, i: int, on: bool):
        """Switch the rows of a constraint; a contact that closes is anchored where it touches."""
        equations, c = self.equations, self.rates.c
        assert c is not None
        self.active[i] = on
        c[1:][equations.row_slices[i]] = float(on)
        if on:
            constraint = equations.constraints[i]
            held = c[1 + equations.n_rows :][equations.anchor_slices[i]]
            held[:] = constraint.anchor(equations.mechanism, self.stepper.y[equations.q])
        self.rates.reset()

    def _pushing(self) -> list[tuple[int, float]]:
        rows = self.equations.row_slices
        return [
            (rows[i].start, self.sides.get(i, 1.0))
            for i, constraint in enumerate(self.equations.constraints)
            if constraint.unilateral and self.active[i]
        ]

    def _close(self, t: float, i: int, side: float):
        """The impact of constraint i with those already closed; it stays closed unless it bounces."""
        equations, stepper = self.equations, self.stepper
        inputs = Inputs(self.rates.command(t, stepper.y), self.rates.c)
        speed = equations.terms(t, stepper.y, *inputs.arrays())[5]
        closing = {i: side} | self._also_touching(t, inputs, speed)
        e = np.zeros(equations.n_rows)
        for k, end in closing.items():
            self.sides[k] = end
            self._set(k, True)
            row = equations.row_slices[k].start
            bounce = getattr(equations.constraints[k], "restitution", 0.0)
            if -bounce * end * speed[row] > REST_VELOCITY:
                e[row] = bounce
        hit = impact(equations, t, stepper.y, Inputs(inputs.u, self.rates.c), e, self._pushing())
        y = stepper.y.copy()
        y[equations.v] = hit.v
        y[-1] += hit.energy
        stepper.restart(y)
        for k in closing:
            bounces = bool(e[equations.row_slices[k].start])
            if bounces:
                self._set(k, False)
            self._happened(t, self._label(k), "bounces" if bounces else "closes")

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

    def _settle(self, t: float, close_touching: bool = False):
        """Open contacts that would have to pull or move apart, one at a time, the worst first."""
        equations, stepper = self.equations, self.stepper
        if close_touching:
            for i, constraint in enumerate(equations.constraints):
                if constraint.unilateral and self.active[i]:
                    self.sides[i] = self._side(i)
        for _ in range(len(equations.constraints)):
            pushing = self._pushing()
            if not pushing:
                return
            inputs = Inputs(self.rates.command(t, stepper.y), self.rates.c)
            _, _, reactions, _, speed, *_ = reported(equations, t, stepper.y, inputs)
            leaving = {row: side * speed[row] for row, side in pushing if side * speed[row] > 1e-9}
            pulling = {row: -side * reactions[row] for row, side in pushing if side * reactions[row] < 0}
            worst = leaving or pulling
            if not worst:
                return
            row = max(worst, key=worst.__getitem__)
            i = next(k for k, at in enumerate(equations.row_slices) if at.start == row)
            self._set(i, False)
            self._happened(t, self._label(i), "opens")

    def _side(self, i: int) -> float:
        constraint = self.equations.constraints[i]
        if isinstance(constraint, GroundContact):
            return 1.0
        at = self.equations.mechanism.q_slices[constraint.joint].start  # type: ignore[attr-defined]
        q = self.stepper.y[at]
        lower, upper = self.equations.mechanism.lower[at], self.equations.mechanism.upper[at]
        return 1.0 if abs(q - lower) <= abs(q - upper) else -1.0
