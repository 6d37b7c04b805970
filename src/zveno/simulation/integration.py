"""A run from its start to its end, by a method with fixed or adaptive steps: states at the times of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .dop853_stepper import CompiledDop853
from .equations import Equations
from .events import Event
from .fixed_runs import Integrated, notes_of, without_contacts
from .fixed_stepper import FixedStep
from .integrators import FIXED, TIME_STEPPING, Adaptive, checked_method
from .rates import Rates, steps_in
from .single import Run
from .start import Start

STABLE = 3.0
"""Steps of dop853, which is explicit, are no longer than this over the rate of stabilisation. It is stable up to
about twice as much; beyond, rounding errors of constraints grow to the tolerance and open contacts that stick."""


class Method(NamedTuple):
    """An integrator and its settings."""

    name: str
    step: float
    """s, of methods with fixed steps"""
    rtol: float
    atol: float
    max_step: float
    """s, of adaptive methods"""

    @staticmethod
    def of(name: str, step: float, rtol: float, atol: float | None, max_step: float) -> Method:
        """The method of that name; `atol` is rtol/1000 if not given."""
        return Method(checked_method(name), step, rtol, rtol * 1e-3 if atol is None else atol, max_step)

    @property
    def fixed_step(self) -> float:
        """s; 0 for adaptive methods."""
        return self.step if self.name in (*FIXED, TIME_STEPPING) else 0.0

    @property
    def stepped(self) -> bool:
        """Whether it is time stepping."""
        return self.name == TIME_STEPPING

    @property
    def settings(self) -> str:
        """In words."""
        if self.fixed_step:
            return f"{self.name}, step {self.step:.3g} s"
        return f"{self.name}, rtol {self.rtol:g}, atol {self.atol:.3g}"

    def stabilization(self, rate: float) -> float:
        """The rate of stabilisation, 1/s, as far as fixed steps can follow it."""
        return min(rate, 0.5 / self.step) if self.fixed_step else rate

    def times(self, duration: float, sample: float | None) -> np.ndarray:
        """Times of the samples: multiples of `sample`, and the end of the run."""
        if duration == 0:
            return np.zeros(1)
        if sample is None:
            return np.linspace(0.0, duration, 1 + (steps_in(duration, self.step) if self.fixed_step else 1000))
        times = sample * np.arange(1 + int(duration / sample * (1 + 1e-12)))
        if len(times) > 1 and duration - times[-1] < 1e-9 * sample:
            times[-1] = duration
            return times
        return np.append(times, duration)


def integrated(
    equations: Equations,
    start: Start,
    method: Method,
    times: np.ndarray,
    events: Sequence[Event],
    projection: bool,
    progress: Callable[[float], None],
) -> Integrated:
    """A run, or a batch of them, sampled at the times (n,)."""
    y0, c, rates = start.y, start.c, Rates(equations, start.c)
    if method.fixed_step and not (projection or any(one.unilateral for one in equations.constraints)):
        return without_contacts(equations, rates, method.name, method.step, y0, times, events, progress)
    stepper = _stepper(rates, method, y0, max(float(times[-1]), 1e-300))
    run = Run(equations, rates, stepper, events, start.modes, projection, progress)
    run.go(times)
    C = None if c is None else np.array(run.c)
    notes = notes_of(rates, run.changes.chatter)
    return Integrated(
        np.array(run.t), np.array(run.y), C, run.status, run.n_steps, rates.n, tuple(run.records), notes, {}
    )


def _stepper(rates: Rates, method: Method, y0: np.ndarray, t_end: float) -> FixedStep | Adaptive:
    if method.fixed_step:
        return FixedStep(rates, method.name, 0.0, y0, method.step)
    longest = method.max_step
    if method.name == "dop853" and rates.c is not None and rates.c[0] > 0.0:
        longest = min(longest, STABLE / float(rates.c[0]))
    options = 0.0, y0, t_end, method.rtol, method.atol, longest
    if method.name == "dop853" and not rates.equations.commanded:
        return CompiledDop853(rates, *options)
    return Adaptive(method.name, rates, *options)
