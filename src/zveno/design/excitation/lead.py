"""The way into and out of a motion that does not begin at rest: a quintic within the same limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ZvenoError
from ...io.results import registered
from .curves import DEGREE, JointCurve, SplineBasis
from .limits import MotionLimits
from .torques import NominalTorque

SHORTEST, LONGEST = 0.1, 20.0
"""s: durations tried."""
GROWTH = 1.15
"""From one duration to the next."""
PHASES = 48
"""Moments of the period that are tried."""
SAMPLES = 400
"""Where torques are looked at."""


@registered
@dataclass(frozen=True, eq=False)
class LeadCurve(JointCurve):
    """A quintic between two states, as Bézier points (6, n): a spline of one piece."""

    @cached_property
    def basis(self) -> SplineBasis:
        """Bernstein polynomials."""
        return SplineBasis(self.duration, DEGREE + 1)


State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""q, v and a, (n,) each."""


def leads(
    curve: JointCurve, start: np.ndarray | None, limits: MotionLimits, torque: NominalTorque
) -> tuple[float, LeadCurve, LeadCurve]:
    """Where in its period the curve is entered and left, s, with the ways there and away.

    From rest at `start`, or near the curve if None, and to rest nearby. Slow moments are tried first.
    """
    t = np.arange(PHASES) * curve.duration / PHASES
    effort = (abs(curve(t, 1)) / limits.velocity + abs(curve(t, 2)) / limits.acceleration).max(axis=1)
    for phase in t[np.argsort(effort)]:
        q, v, a = (curve(phase, order) for order in range(3))
        away = _shortest(None, (q, -v, a), limits, torque)  # backwards in time, a way out is a way in
        there = None if away is None else _shortest(start, (q, v, a), limits, torque)
        if there is not None and away is not None:
            return float(phase), there, LeadCurve(away.duration, away.coefficients[::-1].copy())
    raise ZvenoError(
        f"no way within {LONGEST:g} s leads from rest into the motion",
        remedy='Loosen the limits, or ask for ends="rest"',
    )


def _shortest(
    start: np.ndarray | None, state: State, limits: MotionLimits, torque: NominalTorque
) -> LeadCurve | None:
    """From rest to a state, as short as the limits allow; None if there is no such way."""
    q, v, a = state
    duration = SHORTEST
    while duration < LONGEST:
        # From rest with constant acceleration a joint would have come so far.
        first = np.clip(q - 0.5 * duration * v, limits.lower, limits.upper) if start is None else start
        curve = _between(duration, (first, 0.0 * v, 0.0 * a), state)
        if _allowed(curve, limits, torque):
            return curve
        duration *= GROWTH
    return None


def _between(duration: float, first: tuple[Any, ...], last: tuple[Any, ...]) -> LeadCurve:
    T = duration
    q, v, a = first
    points = [q, q + v * T / 5, q + 2 * v * T / 5 + a * T * T / 20]
    q, v, a = last
    points += [q - 2 * v * T / 5 + a * T * T / 20, q - v * T / 5, q]
    return LeadCurve(duration, np.array(points))


def _allowed(curve: LeadCurve, limits: MotionLimits, torque: NominalTorque) -> bool:
    for order in range(4):
        points = curve.basis.bounds(order) @ curve.coefficients
        size = limits.sizes(order)
        # A state at the limit is there: rounding must not forbid it.
        if (abs(points - (limits.middle if order == 0 else 0.0)) > size * (1.0 + 1e-9)).any():
            return False
    t = np.linspace(0.0, curve.duration, SAMPLES)
    tau = torque(curve(t), curve(t, 1), curve(t, 2))
    return bool((abs(tau) <= limits.torque - torque.coulomb).all())
