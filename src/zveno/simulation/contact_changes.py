"""What happens when a contact or a limit closes, opens, slips or stops: impacts, and modes that fit the forces."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from .coulomb import Contact
from .equations import Equations
from .impacts import impact
from .inputs import Inputs
from .modes import LEAVES, OPEN, Modes
from .rates import Rates, Stopped
from .trajectory import EventRecord
from .watches import Watch, gaps

REST_VELOCITY = 1e-3
"""A bounce slower than this, m/s or rad/s, stays closed: restitution would otherwise bounce without end."""
SAME_MOMENT = 1e-9
"""Contacts with gaps below this, m or rad, when another one closes share its impact."""
MAX_CHANGES = 10_000
CHATTER, CHATTER_TIME = 4, 1e-3
"""More impacts than this within this time, s, are chattering: an endless sequence in a finite time."""


class ContactChanges:
    """Changes of contacts along a run; they are added to its records."""

    stepper: Any
    equations: Equations
    rates: Rates
    modes: Modes

    def __init__(self, equations: Equations, rates: Rates, stepper: Any, modes: Modes, records: list[EventRecord]):
        self.equations, self.rates, self.stepper, self.modes = equations, rates, stepper, modes
        self.records = records
        self.n: int = 0
        self._impacts: deque[float] = deque(maxlen=64)
        self.chatter: tuple[float, float] | None = None
        """when chattering contacts were first brought to rest, and the largest speed that this took away"""

    def follow(self, watch: Watch) -> None:
        """A watch has fired at the stepper's time and state."""
        t = self.stepper.t
        if watch.what == "closes":
            self._close(t, {watch.constraint: watch.side})
        elif watch.what == "stops":
            self.slide_on(restarts=True)  # it may have turned instead
        self.settle(t, watch.constraint if watch.what == "opens" else None)

    def settle(self, t: float, opening: int | None = None) -> bool:
        """Modes of the contacts that agree with the forces; whether any changed."""
        self.rates.reset()
        if not self.modes.closed():
            return False
        before = list(self.modes.mode)
        for _ in range(len(before)):
            u = self.rates.command(t, self.stepper.y)
            changes = self.modes.settle(t, self.stepper.y, u, opening)
            for i, what in changes:
                self._changed(t, i, what)
            if not any(what == "sticks" for _, what in changes):
                break
            # They move by less than can be seen, which takes no pressure to stop. Others may stop with them.
            self._jump(t, u, np.zeros(self.equations.n_rows), ())
        return self.modes.mode != before

    def slide_on(self, restarts: bool = False) -> None:
        """Remember where contacts slide to, after a step or where the run restarts."""
        stepper, t = self.stepper, self.stepper.t
        rate = self.equations.terms(t, stepper.y, *self.rates.inputs(t, stepper.y).arrays())[5]
        self.modes.follow(rate, restarts)

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
        self._impacts.append(t)
        slow = self._slow(t)
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
                if -bounce * end * speed[row] > slow:
                    e[row] = bounce
            self._jump(t, inputs.u, e, self.modes.contacts(speed, impact=True))
            speed = equations.terms(t, stepper.y, *inputs.arrays())[5]
            for k in closing:
                bounces = bool(e[equations.row_slices[k].start])
                if bounces:
                    self.modes.open(k)
                self._changed(t, k, "bounces" if bounces else "closes")
            for k in self.modes.slide_where_moving(self.modes.closed(), speed):
                self._changed(t, k, "slips")
            self._rest(t, inputs.u, speed, slow)
            closing = {}

    def _slow(self, t: float) -> float:
        """Speed, m/s or rad/s, below which contacts come to rest; it doubles with every impact of a chattering."""
        recent = sum(t - last < CHATTER_TIME for last in self._impacts)
        return REST_VELOCITY * 2.0 ** max(0, recent - CHATTER)

    def _rest(self, t: float, u, speed, slow: float):
        """Where contacts chatter, those that an impact lifts slowly stay closed instead."""
        if slow == REST_VELOCITY:
            return
        rows = self.equations.row_slices
        away = [self.modes.sides[i] * speed[rows[i].start] for i in self.modes.closed()]
        if any(LEAVES < lift < slow for lift in away) and max(away) < slow:
            self._jump(t, u, np.zeros(self.equations.n_rows), ())
            since, fastest = self.chatter or (t, 0.0)
            self.chatter = (since, max(fastest, *away))

    def _jump(self, t: float, u, restitution, contacts: Sequence[Contact]):
        """The velocities jump so that the rows which act agree with them."""
        hit = impact(self.equations, t, self.stepper.y, Inputs(u, self.rates.c), restitution, contacts)
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
                    if gap.value(times, y, report)[0] < SAME_MOMENT and gap.rate(times, y, report)[0] < -LEAVES:
                        touching[i] = gap.side
        return touching
