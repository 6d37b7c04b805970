"""What happens when a contact or a limit closes, opens, slips or stops: impacts, and modes that fit the forces."""

from __future__ import annotations

import numpy as np

from .equations import Equations
from .impacts import impact
from .inputs import Inputs
from .modes import OPEN, Modes
from .rates import Rates, Stopped
from .trajectory import EventRecord
from .watches import Watch, gaps

REST_VELOCITY = 1e-3
"""A bounce slower than this, m/s or rad/s, stays closed: restitution would otherwise bounce without end."""
SAME_MOMENT = 1e-9
"""Contacts with gaps below this, m or rad, when another one closes share its impact."""
INWARDS = 1e-9
"""m/s or rad/s towards the ground that count as none."""
MAX_CHANGES = 10_000


class ContactChanges:
    """Changes of contacts along a run; they are added to its records."""

    def __init__(self, equations: Equations, rates: Rates, stepper, modes: Modes, records: list[EventRecord]):
        self.equations, self.rates, self.stepper, self.modes = equations, rates, stepper, modes
        self.records = records
        self.n = 0

    def follow(self, watch: Watch):
        """A watch has fired at the stepper's time and state."""
        t = self.stepper.t
        if watch.what == "opens":
            self.modes.open(watch.constraint)
            self._changed(t, watch.constraint, "opens")
        elif watch.what == "closes":
            self._close(t, {watch.constraint: watch.side})
        self.settle(t)

    def settle(self, t: float) -> bool:
        """Modes of the contacts that agree with the forces; whether any changed."""
        self.rates.reset()
        if not self.modes.closed():
            return False
        u = self.rates.command(t, self.stepper.y)
        changes = self.modes.settle(t, self.stepper.y, u)
        for i, what in changes:
            self._changed(t, i, what)
        if any(what == "sticks" for _, what in changes):
            # They move by less than can be seen; no pressure is needed to take that away.
            self._jump(t, u, np.zeros(self.equations.n_rows), limited=False)
        return bool(changes)

    def slide_on(self):
        """After a step: remember where contacts slide to."""
        stepper, t = self.stepper, self.stepper.t
        self.modes.follow(self.equations.terms(t, stepper.y, *self.rates.inputs(t, stepper.y).arrays())[5])

    def _changed(self, t: float, i: int, what: str):
        self.records.append(EventRecord(t, self.equations.constraints[i].label, what))
        self.n += 1
        if self.n >= MAX_CHANGES:
            raise Stopped(f"{MAX_CHANGES} changes of contacts by t = {t:.6g} s")

    # --- impacts

    def _close(self, t: float, closing: dict[int, float]):
        """Impacts of constraints (number → side) that close, and of those that this throws against the ground."""
        equations, stepper = self.equations, self.stepper
        inputs = Inputs(self.rates.command(t, stepper.y), self.rates.c)
        for _ in range(2 * len(equations.constraints)):
            closing |= self._inwards(t, inputs)
            if not closing:
                return
            speed = equations.terms(t, stepper.y, *inputs.arrays())[5]
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
                self._changed(t, k, "bounces" if bounces else "closes")
            for k in self.modes.slide_where_moving(self.modes.closed(), speed):
                self._changed(t, k, "slips")
            closing = {}

    def _jump(self, t: float, u, restitution, limited: bool = True):
        """The velocities jump so that the rows which act agree with them."""
        pushing = self.modes.pushing() if limited else ()
        hit = impact(self.equations, t, self.stepper.y, Inputs(u, self.rates.c), restitution, pushing, limited)
        y = self.stepper.y.copy()
        y[self.equations.v] = hit.v
        y[-1] += hit.energy
        self.stepper.restart(y)

    def _inwards(self, t: float, inputs: Inputs) -> dict[int, float]:
        """Open contacts that touch and move towards the ground: they share the impact."""
        equations, y = self.equations, self.stepper.y[None]
        report = [np.asarray(part)[None] for part in equations.report(t, self.stepper.y, *inputs.arrays())]
        times = np.array([t])
        touching = {}
        for i, constraint in enumerate(equations.constraints):
            if constraint.unilateral and self.modes.mode[i] == OPEN:
                for gap in gaps(equations, i):
                    assert gap.rate is not None
                    if gap.value(times, y, report)[0] < SAME_MOMENT and gap.rate(times, y, report)[0] < -INWARDS:
                        touching[i] = gap.side
        return touching
