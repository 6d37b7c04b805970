"""Integrators of `simulate`: names, settings, and one rk4 step for a called function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import unknown_name

RK4, DOP853, TIME_STEPPING = "rk4", "dop853", "time-stepping"
METHODS = (RK4, DOP853, TIME_STEPPING)
"""Runge–Kutta of order 4 with fixed steps and of order 8 with adaptive ones; fixed steps at the level of
velocities, through contacts that close and open.
"""
EVALUATIONS = 4
"""Evaluations of the equations in one rk4 step."""


class Method(NamedTuple):
    """Integrator and its settings."""

    name: str
    step: float
    """s, of methods with fixed steps"""
    rtol: float
    atol: float
    max_step: float
    """s, of dop853"""

    @staticmethod
    def of(name: str, step: float, rtol: float, atol: float | None, max_step: float) -> Method:
        """Return the method of that name; `atol` is rtol/1000 if not given."""
        if name not in METHODS:
            raise unknown_name("integrator", name, METHODS)
        return Method(name, step, rtol, rtol * 1e-3 if atol is None else atol, max_step)

    @property
    def fixed_step(self) -> float:
        """s; 0 for dop853."""
        return 0.0 if self.name == DOP853 else self.step

    @property
    def settings(self) -> str:
        """Text of the settings."""
        if self.fixed_step:
            return f"{self.name}, step {self.step:.3g} s"
        return f"{self.name}, rtol {self.rtol:g}, atol {self.atol:.3g}"

    def stabilization(self, rate: float) -> float:
        """Return the rate of stabilisation, 1/s, as far as fixed steps can follow it."""
        return min(rate, 0.5 / self.step) if self.fixed_step else rate

    def times(self, duration: float, sample: float | None) -> np.ndarray:
        """Return the sample times: multiples of `sample`, and the end of the run."""
        if duration == 0:
            return np.zeros(1)
        if sample is None:
            return np.linspace(0.0, duration, 1 + (steps_in(duration, self.step) if self.fixed_step else 1000))
        times = sample * np.arange(1 + int(duration / sample * (1 + 1e-12)))
        if len(times) > 1 and duration - times[-1] < 1e-9 * sample:
            times[-1] = duration
            return times
        return np.append(times, duration)


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
