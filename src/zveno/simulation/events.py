"""Events of the user: functions of (t, q, v) whose zeros are found and reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ZvenoError
from .equations import Equations

ZERO = 1e-12
"""A value below this share of the largest one seen counts as zero: a machine at rest crosses nothing by rounding"""

States = Callable[[np.ndarray], np.ndarray]
"""y (n, n_y) at the given times (n,) of a step"""


@dataclass(frozen=True, eq=False)
class Event:
    """A function of (t, q, v) whose zero is found and reported.

    Attributes:
        function: returns one finite number.
        name: what the report calls it.
        direction: 1 only where it rises, −1 only where it falls, 0 both.
        terminal: whether the run ends there.
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: str = "event"
    direction: int = 0
    terminal: bool = False


class Crossing(NamedTuple):
    """An event's function reaches zero."""

    t: float
    number: int
    """of the event"""
    sign: int
    """of the function afterwards: 0 where it stays at zero"""
    rises: bool
    wanted: bool
    """whether the event asks for this direction"""
    terminal: bool
    """whether the run ends here"""


class EventTracker:
    """The sign of every event's function along a run.

    A crossing is a sign that differs from the last one that was not zero, so that a zero at the boundary of a step
    is seen once. A zero at the start of the run is none.
    """

    equations: Equations
    events: tuple[Event, ...]

    def __init__(self, equations: Equations, events: Sequence[Event]):
        for event in events:
            if event.direction not in (-1, 0, 1):
                raise ZvenoError(
                    f"direction is {event.direction}", element=f"event {event.name}", remedy="Give −1, 0 or 1"
                )
        self.equations, self.events = equations, tuple(events)
        self._largest = np.zeros(len(self.events))
        self._sign = self._last = np.zeros(len(self.events), dtype=int)

    def start(self, t: float, y: np.ndarray) -> None:
        """The run starts at a state (n_y,)."""
        values = self._values(np.array([t]), y[None])
        self._sign = self._signs(values)[0]

    def crossings(self, times: np.ndarray, states: States, Y: np.ndarray) -> list[Crossing]:
        """Crossings between consecutive times (n,) of a step with states Y (n, n_y), in the order of time.

        Then `reach` has to be called with those that the run reaches, or `finish` if it reaches the step's end.
        """
        values = self._values(times, Y)
        signs = self._signs(values)
        self._last = signs[-1]
        crossings = []
        for i in range(len(self.events)):
            before = self._sign[i]
            for k in range(1, len(times)):
                sign = signs[k, i]
                if before and sign != before:
                    t = float(times[k])
                    if values[k - 1, i] * values[k, i] < 0:
                        t = first_zero(lambda t, i=i: self._value(i, t, states), float(times[k - 1]), t)
                    crossings.append(self._crossing(t, i, sign, before))
                before = sign
        return sorted(crossings, key=lambda one: one.t)

    def reach(self, crossings: Sequence[Crossing]) -> None:
        """The run has passed the given crossings."""
        for one in crossings:
            self._sign[one.number] = one.sign

    def finish(self) -> None:
        """The run has reached the end of the step."""
        self._sign = self._last

    def jump(self, t: float, y: np.ndarray) -> list[Crossing]:
        """Crossings by a jump of the state at a time, to y (n_y,)."""
        signs = self._signs(self._values(np.array([t]), y[None]))[0]
        before, self._sign = self._sign, signs
        changed = np.flatnonzero((before != 0) & (signs != before))
        return [self._crossing(t, int(i), signs[i], before[i]) for i in changed]

    def _crossing(self, t: float, i: int, sign, before) -> Crossing:
        event, rises = self.events[i], bool(before < 0)
        wanted = event.direction in (0, 1 if rises else -1)
        return Crossing(t, i, int(sign), rises, wanted, wanted and event.terminal)

    def _signs(self, values: np.ndarray) -> np.ndarray:
        self._largest = np.maximum(self._largest, abs(values).max(axis=0))
        return np.where(abs(values) <= ZERO * self._largest, 0, np.sign(values)).astype(int)

    def _values(self, times: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """(n, events)"""
        pairs = list(zip(times.tolist(), Y, strict=True))
        return np.array([[self._call(event, t, y) for event in self.events] for t, y in pairs])

    def _value(self, i: int, t: float, states: States) -> float:
        return self._call(self.events[i], t, states(np.array([t]))[0])

    def _call(self, event: Event, t: float, y: np.ndarray) -> float:
        try:
            number = float(event.function(t, y[self.equations.q], y[self.equations.v]))
        except (TypeError, ValueError) as error:
            raise ZvenoError(
                f"does not return one number at t = {t:.6g} s: {error}", element=f"event {event.name}"
            ) from error
        if not np.isfinite(number):
            raise ZvenoError(
                f"returns {number} at t = {t:.6g} s",
                element=f"event {event.name}",
                remedy="Let the function return a finite number at every state",
            )
        return number


def first_zero(value: Callable[[float], float], t_old: float, t: float) -> float:
    """The time in [t_old, t] at which a function with different signs at both ends is zero."""
    from scipy.optimize import brentq

    return float(brentq(value, t_old, t, xtol=1e-14, rtol=1e-14))  # type: ignore[arg-type]  (stubs)
