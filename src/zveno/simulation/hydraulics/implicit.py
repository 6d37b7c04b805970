"""One implicit step of a cylinder: pressures at its end as affine functions of the speed at its end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernels.math import cos, exp, select, sin
from .flows import Edges, friction_secant, volumes
from .parts import HydraulicCylinder, ServoValve


class LinearForce(NamedTuple):
    """Force F = force − damping · ẋ⁺, and pressures p⁺ = at rest − slope · ẋ⁺."""

    force: Any
    damping: Any
    rest_a: Any
    rest_b: Any
    slope_a: Any
    slope_b: Any

    def pressures(self, speed: Any) -> tuple[Any, Any]:
        """Of both chambers at the end of the step."""
        return self.rest_a - self.slope_a * speed, self.rest_b - self.slope_b * speed


def linear_force(
    cylinder: HydraulicCylinder, flow: Edges, p_a: Any, p_b: Any, x: Any, speed: Any, h: Any
) -> LinearForce:
    """The affine law of one step of size h.

    V/β (p⁺ − p) = h (Q + Q' (p⁺ − p) ∓ A ẋ⁺ ∓ leakage (p_a⁺ − p_b⁺)) for both chambers, two equations for two
    pressures. Friction acts as a damper with the same force at the speed so far, end stops as springs at the end of
    the step.
    """
    (area_a, area_b), (V_a, V_b) = cylinder.areas, volumes(cylinder, x)
    c = h * cylinder.leakage
    d_a = V_a / cylinder.bulk_modulus - h * flow.slope_a + c
    d_b = V_b / cylinder.bulk_modulus - h * flow.slope_b + c
    determinant = d_a * d_b - c * c

    def solved(r_a: Any, r_b: Any) -> tuple[Any, Any]:
        return (d_b * r_a + c * r_b) / determinant, (c * r_a + d_a * r_b) / determinant

    leak = c * (p_a - p_b)
    change_a, change_b = solved(h * flow.a - leak, h * flow.b + leak)
    slope_a, slope_b = solved(h * area_a, -h * area_b)
    rest_a, rest_b = p_a + change_a, p_b + change_b
    stop_force, stop_damping = _linear_stops(cylinder, x, speed, h)
    return LinearForce(
        area_a * rest_a - area_b * rest_b + stop_force,
        area_a * slope_a - area_b * slope_b + friction_secant(cylinder, speed) + stop_damping,
        rest_a,
        rest_b,
        slope_a,
        slope_b,
    )


def _linear_stops(cylinder: HydraulicCylinder, x: Any, speed: Any, h: Any) -> tuple[Any, Any]:
    """(force, damping) of the end stops: k (δ + h ẋ⁺)(1 + c δ̇) while the cylinder is past them and not leaving."""
    half, k, c = 0.5 * cylinder.stroke, cylinder.stop_stiffness, cylinder.stop_damping
    force, damping = 0.0, 0.0
    for side in (1.0, -1.0):
        depth, closing = side * x - half, side * speed
        pushes = (depth + h * closing > 0.0) & (1.0 + c * closing > 0.0)
        stiffness = select(pushes, k * (1.0 + c * closing), 0.0)
        force, damping = force - side * stiffness * depth, damping + stiffness * h
    return force, damping


def spool_step(valve: ServoValve, spool: Any, rate: Any, command: Any, h: Any) -> tuple[Any, Any]:
    """(s, ṡ/ω) after a step with a constant command: the exact solution of the second-order lag."""
    zeta, phase = valve.damping, valve.omega * h
    offset = spool - command
    decay = exp(-zeta * phase)
    root = np.sqrt(abs(1.0 - zeta * zeta))
    if root < 1e-6:
        even, odd = 1.0, phase
    elif zeta < 1.0:
        even, odd = cos(root * phase), sin(root * phase) / root
    else:
        grown, fallen = exp(root * phase), exp(-root * phase)
        even, odd = 0.5 * (grown + fallen), 0.5 * (grown - fallen) / root
    after = decay * (offset * (even + zeta * odd) + rate * odd)
    after_rate = decay * (rate * (even - zeta * odd) - offset * odd)
    return command + after, after_rate
