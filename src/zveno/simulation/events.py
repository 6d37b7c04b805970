"""User events: functions of (t, q, v) whose zeros are found and reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ZvenoError
from ..kernels.compile import compiled_program
from ..kernels.kernel import Kernel
from ..kernels.trace import trace
from ._equations import Equations

ZERO = 1e-12
"""Share of the largest value seen below which a value counts as zero, so that rounding at rest does not cross."""

States = Callable[[np.ndarray], np.ndarray]
"""y (n, n_y) at the given times (n,) of a step"""


@dataclass(frozen=True, eq=False)
class Event:
    """Event at a zero of a function of (t, q, v), which is found and reported.

    Attributes:
        function: returns one finite number.
        name: name in reports.
        direction: 1 for rising, −1 for falling, 0 for both.
        terminal: True to end the run there; in a batch, each run at its own time.
        traced: True if the function can be traced (`zveno.kernels.ops`; it must be pure): it is then compiled, and
            evaluated for many steps and all runs of a batch at once. Other functions are called once per step and
            run, a few microseconds each.
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: str = "event"
    direction: int = 0
    terminal: bool = False
    traced: bool = False


class Crossing(NamedTuple):
    """Zero of an event function."""

    t: float
    number: int
    """of the event"""
    wanted: bool
    """True if the event asks for this direction"""
    terminal: bool
    """True if the run ends here"""


class EventTracker:
    """Tracker of the signs of all event functions along a run.

    A crossing is a sign that differs from the last one that was not zero, so that a zero at the boundary of a step
    is seen once. A zero at the start of the run does not count.
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
        self._largest = [0.0] * len(self.events)
        self._sign = [0] * len(self.events)
        self._kernels = {i: _compiled(equations, event) for i, event in enumerate(self.events) if event.traced}

    def crossings(self, times: np.ndarray, states: States, Y: np.ndarray) -> list[Crossing]:
        """Return the crossings between consecutive times (n,) with states Y (n, n_y), in the order of time.

        No function is evaluated beyond the first terminal crossing.
        """
        if self.compiled:
            return self._seen_together(times, states, Y)
        compiled = {i: kernel(times, Y).tolist() for i, kernel in self._kernels.items()}
        crossings: list[Crossing] = []
        signs, last_values = list(self._sign), [0.0] * len(self.events)
        for k, t in enumerate(times.tolist()):
            for i, event in enumerate(self.events):
                value = self._finite(event, t, compiled[i][k]) if event.traced else self._call(event, t, Y[k])
                sign = self._sign_of(i, value)
                if k and signs[i] and sign != signs[i]:
                    at = self._located(i, times[k - 1 : k + 1], (last_values[i], value), states)
                    crossings.append(self._crossing(at, i, signs[i]))
                last_values[i] = value
                if k:
                    signs[i] = sign
            if any(crossing.terminal for crossing in crossings):
                break
        self._sign = signs
        return sorted(crossings, key=lambda crossing: crossing.t)

    def _seen_together(self, times: np.ndarray, states: States, Y: np.ndarray) -> list[Crossing]:
        """Return the `crossings` of compiled functions: all signs at once, then each change by itself."""
        values = self.values(times, Y)
        finite = np.isfinite(values).all(axis=-1)
        n = len(times) if finite.all() else int(np.argmin(finite))
        largest = np.maximum.accumulate(np.maximum(abs(values[:n]), self._largest), axis=0)
        signs = np.where(abs(values[:n]) <= ZERO * largest, 0, np.sign(values[:n])).astype(int)
        signs[:1] = self._sign
        crossings: list[Crossing] = []
        last = n - 1
        for before, i in np.argwhere((signs[:-1] != 0) & (signs[1:] != signs[:-1])).tolist():
            k = before + 1
            if k > last:
                break
            at = self._located(i, times[before : k + 1], values[before : k + 1, i], states)
            crossings.append(self._crossing(at, i, int(signs[before, i])))
            if crossings[-1].terminal:
                last = k  # crossings of other events in the same step count
        if last == n - 1 and n < len(times):
            i = int(np.argmin(np.isfinite(values[n])))
            self._finite(self.events[i], float(times[n]), float(values[n, i]))
        self._sign, self._largest = signs[last].tolist(), largest[last].tolist()
        return sorted(crossings, key=lambda crossing: crossing.t)

    def _located(self, i: int, times: np.ndarray, values: Sequence[float] | np.ndarray, states: States) -> float:
        """Return the zero of a function between two times; the second time if the values have no sign change."""
        if not values[0] * values[1] < 0:
            return float(times[1])
        return first_zero(lambda t: self._value(i, t, states), float(times[0]), float(times[1]))

    def begin(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return signs and magnitudes of all functions at the start of runs (k, n_y): (k, events) each."""
        if self.compiled:
            values = self.values(np.zeros(()), Y)
            if not np.isfinite(values).all():
                _, i = np.argwhere(~np.isfinite(values))[0].tolist()
                self._finite(self.events[i], 0.0, float(values[~np.isfinite(values)][0]))
        else:
            values = np.array([[self._call(event, 0.0, y) for event in self.events] for y in Y])
            values = values.reshape(len(Y), len(self.events))
        return np.sign(values).astype(int), np.abs(values)

    @property
    def compiled(self) -> bool:
        """True if every event function is compiled."""
        return len(self._kernels) == len(self.events)

    def values(self, times: Any, Y: np.ndarray) -> np.ndarray:
        """Return all compiled functions at times (n,) and states (..., n, n_y): (..., n, events)."""
        with np.errstate(all="ignore"):  # values that are not finite are named if a run reaches them
            return np.stack([self._kernels[i](times, Y) for i in range(len(self.events))], axis=-1)

    def remember(self, signs: list[int], largest: list[float]) -> None:
        """Continue with a run, given its signs and largest values."""
        self._sign, self._largest = list(signs), list(largest)

    @property
    def remembered(self) -> tuple[list[int], list[float]]:
        """Signs of all functions at the current state, and their largest values so far."""
        return self._sign, self._largest

    def jump(self, t: float, y: np.ndarray) -> list[Crossing]:
        """Return the crossings caused by a jump of the state to y (n_y,) at a time."""
        before = self._sign
        self._sign = [self._sign_of(i, self._call(event, t, y)) for i, event in enumerate(self.events)]
        pairs = enumerate(zip(before, self._sign, strict=True))
        return [self._crossing(t, i, last) for i, (last, sign) in pairs if last and sign != last]

    def _crossing(self, t: float, i: int, before: int) -> Crossing:
        event = self.events[i]
        wanted = event.direction in (0, 1 if before < 0 else -1)
        return Crossing(t, i, wanted, wanted and event.terminal)

    def _sign_of(self, i: int, value: float) -> int:
        self._largest[i] = max(self._largest[i], abs(value))
        return 0 if abs(value) <= ZERO * self._largest[i] else 1 if value > 0 else -1

    def _value(self, i: int, t: float, states: States) -> float:
        return self._call(self.events[i], t, states(np.array([t]))[0])

    def _call(self, event: Event, t: float, y: np.ndarray) -> float:
        try:
            q, v = np.array(y[self.equations.q]), np.array(y[self.equations.v])  # a user may write into them
            number = float(event.function(t, q, v))
        except (TypeError, ValueError) as error:
            raise ZvenoError(
                f"does not return one number at t = {t:.6g} s: {error}",
                element=f"event {event.name}",
                remedy="Return one finite number for every (t, q, v)",
            ) from error
        return self._finite(event, t, number)

    def _finite(self, event: Event, t: float, number: float) -> float:
        if not np.isfinite(number):
            raise ZvenoError(
                f"returns {number} at t = {t:.6g} s",
                element=f"event {event.name}",
                remedy="Let the function return a finite number at every state",
            )
        return number


def _compiled(equations: Equations, event: Event) -> Kernel:
    """Return the kernel (t, y) → the value of an event function."""

    def value(t, y):
        return np.asarray(event.function(t, y[equations.q], y[equations.v]), object).reshape(())

    return compiled_program(trace(value, {"t": (), "y": (equations.n_y,)}, name="event"))


def first_zero(value: Callable[[float], float], t_old: float, t: float) -> float:
    """Return the time in [t_old, t] at which a function with different signs at both ends is zero."""
    from scipy.optimize import brentq

    return float(brentq(value, t_old, t, xtol=1e-14, rtol=1e-14))  # type: ignore[arg-type]  (stubs)
