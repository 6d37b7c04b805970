"""What is watched while contacts and limits are in their modes: one function for every way to leave a mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .contacts import GroundContact, JointLimit
from .equations import Equations
from .events import States, first_zero
from .inputs import Inputs
from .modes import MOVES, OPEN, SLIDES, Modes
from .rates import Rates
from .redundancy import reported

GAP = 1e-10
"""A contact closes when its gap falls below minus this, m or rad: past rounding, far below any tolerance."""
TURNED = 1e-7
"""A contact has stopped sliding when it turns back by this, m/s: past rounding."""

Watched = Callable[[np.ndarray, np.ndarray, Any], np.ndarray]
"""(n,) values of (times (n,), states (n, n_y), what the report kernel says there)"""


@dataclass(frozen=True, eq=False)
class Watch:
    """A function that falls below zero where a contact or a limit leaves its mode."""

    what: str
    """what the contact does: closes, opens, stops or slips"""
    constraint: int
    """number of the constraint"""
    value: Watched
    rate: Watched | None = None
    """of gaps: how fast they change"""
    side: float = 1.0
    """for joint limits: 1 at the lower end, −1 at the upper one"""

    @property
    def key(self) -> tuple[str, int, float]:
        """The same for the same watch of another moment."""
        return self.what, self.constraint, self.side


def watches(equations: Equations, modes: Modes, rates: Rates) -> list[Watch]:
    """What has to be watched while the constraints are in the given modes."""
    watched: list[Watch] = []
    for i, constraint in enumerate(equations.constraints):
        if not constraint.unilateral:
            continue
        rows = equations.row_slices[i]
        row = rows.start
        if modes.mode[i] == OPEN:
            watched += gaps(equations, i)
            continue
        side = modes.sides.get(i, 1.0)
        watched.append(Watch("opens", i, lambda t, y, report, row=row, side=side: side * report[2][:, row]))
        if modes.mode[i] == SLIDES:
            watched.append(Watch("stops", i, _forward_speed(rows, modes, i)))
        elif isinstance(constraint, GroundContact) and constraint.friction:
            watched.append(Watch("slips", i, _margin(rows, constraint.friction, i, modes, rates)))
    return watched


def gaps(equations: Equations, i: int) -> list[Watch]:
    """The watches of an open contact or limit: its gap, and how fast it changes."""
    constraint = equations.constraints[i]
    if isinstance(constraint, GroundContact):
        row = equations.row_slices[i].start
        return [
            Watch("closes", i, lambda t, y, report: report[3][:, row] + GAP, lambda t, y, report: report[4][:, row])
        ]
    assert isinstance(constraint, JointLimit)
    mechanism = equations.mechanism
    at, speed = mechanism.q_slices[constraint.joint].start, mechanism.v_slices[constraint.joint].start
    speed += equations.v.start
    return [
        Watch(
            "closes",
            i,
            lambda t, y, report, end=end, side=side: side * (y[:, at] - end) + GAP,
            lambda t, y, report, side=side: side * y[:, speed],
            side,
        )
        for end, side in ((mechanism.lower[at], 1.0), (mechanism.upper[at], -1.0))
        if np.isfinite(end)
    ]


def _margin(rows: slice, friction: float, i: int, modes: Modes, rates: Rates) -> Watched:
    """Positive while a contact holds: within its cone, or outside of it only because others could carry more."""

    def margin(times, states, report):
        N, first, second = report[2][:, rows].T
        values = MOVES + friction * N - np.hypot(first, second)
        for k in np.flatnonzero(values < MOVES):
            t, y = float(times[k]), states[k]
            values[k] = MOVES - modes.escape(i, t, y, rates.command(t, y))
        return values

    return margin


def _forward_speed(rows: slice, modes: Modes, i: int) -> Watched:
    """Speed along the direction in which a contact has been sliding; it turns back past zero."""
    direction = modes.direction(i)

    def speed(times, states, report):
        return report[4][:, rows][:, 1:] @ direction + TURNED

    return speed


def first_below(values: np.ndarray, rates: np.ndarray | None, armed: bool) -> tuple[int, bool] | None:
    """(k, whether it was armed) of the first sample k ≥ 1 at which a watch has fired, or None.

    An armed watch fires where its value is negative; one is armed by a positive value. A gap that is not armed,
    because the contact has just bounced or opened, fires where it is negative and shrinks.
    """
    armed = armed and values[0] > 0
    for k in range(1, len(values)):
        if values[k] < 0 and (armed or (rates is not None and rates[k] < 0)):
            return k, armed
        armed = armed or values[k] > 0
    return None


class Watcher:
    """The watches of a run while its contacts keep their modes."""

    equations: Equations
    modes: Modes
    rates: Rates

    def __init__(self, equations: Equations, modes: Modes, rates: Rates):
        self.equations, self.modes, self.rates = equations, modes, rates
        self.watched: list[Watch] = []
        self._looked: set[tuple] = set()
        self.armed: bool = False
        """whether all watches but those of gaps were positive at the end of the last step, so that the first
        negative value fires: several steps may then be looked at together"""

    def restart(self, fired: Watch | None = None) -> None:
        """The run starts again, perhaps in other modes; `fired` is a watch that brought no change of modes."""
        self.watched = watches(self.equations, self.modes, self.rates)
        self._looked = set() if fired is None else {fired.key}
        self.armed = False

    def arm(self) -> None:
        """A step has passed: a watch that brought no change counts again."""
        self._looked.clear()

    def first_fired(self, times: Any, states: States, Y: np.ndarray) -> tuple[tuple[float, Watch] | None, bool]:
        """(the first watch that fired in a step, with its time; whether one is below zero without being armed).

        Args:
            times: (n,), from the start to the end of the step.
            states: the step's interpolant.
            Y: states at these times, (n, n_y).
        """
        self.armed = True
        if not self.watched:
            return None, False
        report = self._reported(times, Y)
        hits, pending = [], False
        for watch in self.watched:
            values = watch.value(times, Y, report)
            rates = None if watch.rate is None else watch.rate(times, Y, report)
            hit = first_below(values, rates, watch.key not in self._looked)
            self.armed &= bool(rates is not None or values[-1] > 0)
            if hit is not None:
                hits.append((*hit, watch))
            elif watch.rate is None and values[-1] < 0:
                pending = True
        if not hits:
            return None, pending
        first = min(k for k, _, _ in hits)
        end, earliest = float(times[first]), None
        for k, armed, watch in hits:
            if k == first:
                at = self._located(watch, armed, float(times[k - 1]), end, states)
                if earliest is None or at < end:
                    end, earliest = at, watch
        assert earliest is not None
        return (end, earliest), pending

    def _located(self, watch: Watch, armed: bool, start: float, end: float, states: States) -> float:
        """When in [start, end] a watch falls below zero; the end if it does not before."""

        def value(t):
            times = np.array([t])
            Y = states(times)
            report = self._reported(times, Y)
            gap = float(watch.value(times, Y, report)[0])
            return gap if armed or watch.rate is None else max(gap, float(watch.rate(times, Y, report)[0]))

        # A contact that was let go and falls back at once is taken up at the end, so that the run goes on.
        return first_zero(value, start, end) if value(end) < 0 < value(start) else end

    def _reported(self, times, Y):
        u = None
        if self.equations.commanded:
            u = np.array([self.rates.command(float(t), y) for t, y in zip(times, Y, strict=True)])
        return reported(self.equations, times, Y, Inputs(u, self.rates.c))
