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


def lead_in(
    start: np.ndarray | None,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    limits: MotionLimits,
    torque: NominalTorque,
) -> LeadCurve:
    """From rest at `start` (near the state if None) to a state (q, v, a), as short as the limits allow."""
    q, v, a = state
    duration = SHORTEST
    while duration < LONGEST:
        # From rest with constant acceleration a joint would have come so far.
        first = np.clip(q - 0.5 * duration * v, limits.lower, limits.upper) if start is None else start
        curve = _between(duration, (first, 0.0 * v, 0.0 * a), state)
        if _allowed(curve, limits, torque):
            return curve
        duration *= GROWTH
    raise ZvenoError(
        f"no way within {LONGEST:g} s leads from rest to where the motion begins",
        remedy='Loosen the limits, or ask for ends="rest"',
    )


def lead_out(
    state: tuple[np.ndarray, np.ndarray, np.ndarray], limits: MotionLimits, torque: NominalTorque
) -> LeadCurve:
    """From a state to rest nearby: a way in, backwards."""
    q, v, a = state
    backwards = lead_in(None, (q, -v, a), limits, torque)
    return LeadCurve(backwards.duration, backwards.coefficients[::-1].copy())


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
