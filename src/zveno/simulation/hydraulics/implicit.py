"""Implicit step of a cylinder: pressures at its end as affine functions of the speed at its end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernels.ops import cos, exp, sin, where
from .flows import Edges, capacity, friction_secant, volumes
from .parts import HydraulicCylinder, HydraulicSupply, ServoValve


class LinearForce(NamedTuple):
    """Cylinder at the end of a step, by the speed ẋ⁺ of its piston and the rise δ of the supply's pressure.

    It pushes with force − damping · ẋ⁺ + share · δ and takes the flow taken + share · ẋ⁺ + conductance · δ.
    """

    force: Any
    damping: Any
    rest: tuple[Any, Any]
    """pressures at the end with the piston at rest and the supply as it is, Pa"""
    slope: tuple[Any, Any]
    """pressure loss per piston speed, Pa·s/m"""
    gain: tuple[Any, Any]
    """pressure gain per rise of the supply's pressure"""
    taken: Any
    """flow from the supply at rest, m³/s"""
    conductance: Any
    """flow that a rise of the supply's pressure adds, m³/s/Pa"""
    share: Any
    """force that a rise of the supply's pressure adds, N/Pa, and flow that a speed of the piston takes from it"""

    def pressures(self, speed: Any, rise: Any) -> tuple[Any, Any]:
        """Return both chamber pressures at the step's end, for a piston speed and a rise of supply pressure."""
        a, b = (
            rest - slope * speed + gain * rise
            for rest, slope, gain in zip(self.rest, self.slope, self.gain, strict=True)
        )
        return a, b


def linear_force(
    cylinder: HydraulicCylinder, flow: Edges, p_a: Any, p_b: Any, x: Any, speed: Any, h: Any
) -> LinearForce:
    """Compute the affine law of one step of size h.

    V/β (p⁺ − p) = h (Q⁺ ∓ A ẋ⁺ ∓ leakage (p_a⁺ − p_b⁺)) for both chambers, two equations for two pressures. Each
    edge of the valve is a conductance, Q⁺ = g Δp⁺ with g = Q/Δp of now: oil flows along the pressure drop at the
    end of the step, however large that is. Tangents of √Δp would overshoot zero by as much again. Friction
    acts as a damper with the same force at the speed so far, end stops as springs at the end of the step.
    """
    (area_a, area_b), (V_a, V_b) = cylinder.areas, volumes(cylinder, x)
    c = h * cylinder.leakage
    d_a = V_a / cylinder.bulk_modulus + h * flow.conductance_a + c
    d_b = V_b / cylinder.bulk_modulus + h * flow.conductance_b + c
    determinant = d_a * d_b - c * c

    def solved(r_a: Any, r_b: Any) -> tuple[Any, Any]:
        return (d_b * r_a + c * r_b) / determinant, (c * r_a + d_a * r_b) / determinant

    leak = c * (p_a - p_b)
    change = solved(h * flow.a - leak, h * flow.b + leak)
    slope = solved(h * area_a, -h * area_b)
    gain = solved(h * flow.supply_a, h * flow.supply_b)
    rest = p_a + change[0], p_b + change[1]
    stop_force, stop_damping = _linear_stops(cylinder, x, speed, h)
    return LinearForce(
        area_a * rest[0] - area_b * rest[1] + stop_force,
        area_a * slope[0] - area_b * slope[1] + friction_secant(cylinder, speed) + stop_damping,
        rest,
        slope,
        gain,
        flow.taken - flow.supply_a * change[0] - flow.supply_b * change[1],
        flow.supply_a * (1.0 - gain[0]) + flow.supply_b * (1.0 - gain[1]),
        area_a * gain[0] - area_b * gain[1],
    )


class SupplyRise(NamedTuple):
    """Rise of the supply's pressure in one step: δ = rest − yielding · Σ share ẋ⁺."""

    rest: Any
    yielding: Any


def supply_rise(
    supply: HydraulicSupply, pressure: Any, taken: Any, conductance: Any, moving: Any, h: Any
) -> SupplyRise:
    """Solve C δ = h (pump⁺ − taken − Σ share ẋ⁺ − conductance δ) for the rise of the supply's pressure.

    The pump is full on, off, or swivels with the pressure at the end of the step: as it would at the speeds so far,
    at which the pistons take the flow `moving`.
    """
    assert supply.pump_flow is not None
    most = supply.pressure
    band = supply.band * most
    swivelling = supply.pump_flow / band
    stiffness = capacity(supply, pressure) / h + conductance
    off = pressure - (taken + moving) / stiffness
    full = off + supply.pump_flow / stiffness
    lacks, swivels = full < most - band, (full >= most - band) & (off <= most)
    pumped = where(lacks, supply.pump_flow, where(swivels, swivelling * (most - pressure), 0.0))
    stiffness = stiffness + where(swivels, swivelling, 0.0)
    return SupplyRise((pumped - taken) / stiffness, 1.0 / stiffness)


def _linear_stops(cylinder: HydraulicCylinder, x: Any, speed: Any, h: Any) -> tuple[Any, Any]:
    """Return (force, damping) of the end stops: k (δ + h ẋ⁺)(1 + c δ̇) while in contact and not leaving."""
    half, k, c = 0.5 * cylinder.stroke, cylinder.stop_stiffness, cylinder.stop_damping
    force, damping = 0.0, 0.0
    for side in (1.0, -1.0):
        depth, closing = side * x - half, side * speed
        pushes = (depth + h * closing > 0.0) & (1.0 + c * closing > 0.0)
        stiffness = where(pushes, k * (1.0 + c * closing), 0.0)
        force, damping = force - side * stiffness * depth, damping + stiffness * h
    return force, damping


def spool_step(valve: ServoValve, spool: Any, rate: Any, command: Any, h: Any) -> tuple[Any, Any]:
    """Return (s, ṡ/ω) after a step with a constant command: the exact solution of the second-order lag."""
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
