"""Integrators of `simulate` with their settings, and one step of RK4 for a called function."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..errors import ZvenoError

EVALUATIONS = 4
"""Evaluations of the equations in one step of RK4."""
MIN_RTOL, MAX_RTOL = 1e-14, 1.0
"""Range of relative tolerances."""


class Integrator(ABC):
    """Method of `simulate` and its settings.

    Attributes:
        name: word in reports.
        step: length of fixed steps, s; 0 for adaptive ones.
    """

    name: str
    step: float

    @property
    def settings(self) -> str:
        """Text of the settings."""
        return f"{self.name}, step {self.step:.3g} s"

    def stabilization(self, rate: float) -> float:
        """Return the rate of stabilisation, 1/s, as far as fixed steps can follow it."""
        return min(rate, 0.5 / self.step) if self.step else rate

    def times(self, duration: float, sample: float | None) -> np.ndarray:
        """Return the sample times: multiples of `sample`, and the end of the run."""
        if duration == 0:
            return np.zeros(1)
        if sample is None:
            return np.linspace(0.0, duration, 1 + (steps_in(duration, self.step) if self.step else 1000))
        times = sample * np.arange(1 + int(duration / sample * (1 + 1e-12)))
        if len(times) > 1 and duration - times[-1] < 1e-9 * sample:
            times[-1] = duration
            return times
        return np.append(times, duration)


@dataclass(frozen=True)
class RK4(Integrator):
    """Runge–Kutta method of order 4 with fixed steps, for smooth motion and batches.

    Attributes:
        step: s; made a little shorter where it does not divide the time between samples.
    """

    step: float = 1e-3
    name = "rk4"

    def __post_init__(self) -> None:
        _check_seconds(self.step, "step")


@dataclass(frozen=True)
class DOP853(Integrator):
    """Runge–Kutta method of order 8 with adaptive steps, for smooth motion of one state.

    Attributes:
        rtol: relative tolerance.
        atol: absolute tolerance, rad or m and their rates; rtol/1000 if None.
        max_step: longest step, s.
    """

    rtol: float = 1e-6
    atol: float | None = None
    max_step: float = np.inf
    name = "dop853"
    step = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.rtol, Real) and MIN_RTOL < self.rtol < MAX_RTOL):
            raise ZvenoError(
                f"rtol is {self.rtol!r:.80}",
                element="integrator",
                remedy="Give a relative tolerance, for example 1e-6",
            )
        if self.atol is not None and not (isinstance(self.atol, Real) and 0.0 <= self.atol < np.inf):
            raise ZvenoError(
                f"atol is {self.atol!r:.80}",
                element="integrator",
                remedy="Give an absolute tolerance, for example 1e-9",
            )
        _check_seconds(self.max_step, "max_step", np.inf)

    @property
    def absolute_tolerance(self) -> float:
        """Absolute tolerance, as given or by default."""
        return self.rtol * 1e-3 if self.atol is None else self.atol

    @property
    def settings(self) -> str:
        """Text of the settings."""
        return f"{self.name}, rtol {self.rtol:g}, atol {self.absolute_tolerance:.3g}"


@dataclass(frozen=True)
class TimeStepping(Integrator):
    """Fixed steps at the level of velocities, through contacts that close, slide and open.

    Attributes:
        step: s; made a little shorter where it does not divide the time between samples.
    """

    step: float = 1e-3
    name = "time-stepping"

    def __post_init__(self) -> None:
        _check_seconds(self.step, "step")


def _check_seconds(value: float, name: str, largest: float = np.finfo(float).max) -> None:
    if not (isinstance(value, Real) and 0.0 < value <= largest):
        raise ZvenoError(f"{name} is {value!r:.80}", element="integrator", remedy="Give seconds, more than 0")


def steps_in(duration: float, h: float) -> int:
    """Return the number of equal steps of at most h in a duration."""
    return max(1, int(np.ceil(duration / h - 1e-6)))


def rk4_step(equations: Any, f: Callable[..., Any], t: float, y: Any, h: float) -> Any:
    """Take one step of size h with a called right-hand side f(t, y): (..., n_y) arrays.

    Quaternions are scaled to unit length in every stage and after the step: the equations are then a smooth
    continuation of themselves off the unit sphere, and the method keeps its order.
    """
    k1 = f(t, y)
    k2 = f(t + 0.5 * h, y + (0.5 * h) * k1)
    k3 = f(t + 0.5 * h, y + (0.5 * h) * k2)
    k4 = f(t + h, y + h * k3)
    return normalized(equations, y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4))


def normalized(equations: Any, y: Any) -> Any:
    """Return y with every quaternion scaled to unit length, (..., n_y) floats."""
    mechanism = equations.mechanism
    if mechanism.n_q == mechanism.n_v:
        return y
    still = equations.robot.integrate(y[..., equations.q], np.zeros(mechanism.n_v))
    return np.concatenate([still, y[..., equations.q.stop :]], axis=-1)
