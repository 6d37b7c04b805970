"""Flows and forces of one cylinder as traceable functions: chambers, valve edges, friction, end stops."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...kernels.ops import abs as magnitude
from ...kernels.ops import exp, log, maximum, minimum, sign, sqrt, tanh, where
from .parts import HydraulicCylinder, HydraulicSupply, ServoValve

LAMINAR = 1e4
"""Pressure drop, Pa, below which flow is nearly linear in it; at 1 MPa the root is off by 2.5e-5."""
LEAST_DROP = 1e5
"""Smallest pressure drop, Pa, in the pressure loop, so that it asks for finite openings."""
USED_FORCE = 0.95
"""Share of the largest force that the pressure loop uses."""
BLUNT = 0.003
"""Opening within which the compensation of a dead zone changes its sign."""


class Edges(NamedTuple):
    """Flows into both chambers, m³/s, and the conductances of their edges, flow over pressure drop, m³/s/Pa."""

    a: Any
    b: Any
    conductance_a: Any
    conductance_b: Any
    supply_a: Any
    """conductance between chamber a and the supply: that of its edge, or zero while it is connected to the tank"""
    supply_b: Any
    taken: Any
    """from the supply"""


def clipped(x: Any, most: float = 1.0) -> Any:
    """Clip x to ± most."""
    return minimum(maximum(x, -most), most)


def root_over(drop: Any) -> Any:
    """Return √|Δp| over |Δp|, smooth through zero: 1/(Δp² + ε²)^¼."""
    return 1.0 / sqrt(sqrt(drop * drop + LAMINAR * LAMINAR))


def opening(valve: ServoValve, spool: Any) -> Any:
    """Return the opening of the edges, −1 to 1, at a spool position: zero in the dead zone, full at the end."""
    spool = clipped(spool)
    if not valve.dead_zone:
        return spool
    return sign(spool) * maximum(magnitude(spool) - valve.dead_zone, 0.0) / (1.0 - valve.dead_zone)


def edges(valve: ServoValve, spool: Any, p_a: Any, p_b: Any, supply: Any, tank: float) -> Edges:
    """Compute the flows through the open edges of a valve."""
    forward = spool >= 0.0
    flow = valve.conductance * magnitude(opening(valve, spool))
    drop_a = where(forward, supply, tank) - p_a
    drop_b = where(forward, tank, supply) - p_b
    conductance_a, conductance_b = flow * root_over(drop_a), flow * root_over(drop_b)
    a, b = conductance_a * drop_a, conductance_b * drop_b
    behind = where(forward, conductance_a, 0.0), where(forward, 0.0, conductance_b)
    return Edges(a, b, conductance_a, conductance_b, *behind, where(forward, a, b))


def volumes(cylinder: HydraulicCylinder, x: Any) -> tuple[Any, Any]:
    """Return both chamber volumes, m³, at extension x from the middle; never below 0.1 of the dead volume."""
    area_a, area_b = cylinder.areas
    least = 0.1 * cylinder.dead_volume
    half = 0.5 * cylinder.stroke
    return (
        maximum(cylinder.dead_volume + area_a * (half + x), least),
        maximum(cylinder.dead_volume + area_b * (half - x), least),
    )


def friction(cylinder: HydraulicCylinder, speed: Any) -> Any:
    """Return the friction force against the speed, N."""
    return cylinder.viscous * speed + cylinder.coulomb * tanh(speed / cylinder.friction_speed)


def friction_secant(cylinder: HydraulicCylinder, speed: Any) -> Any:
    """Return friction force over speed, N·s/m: a damper with the same force at that speed."""
    ratio = speed / cylinder.friction_speed
    small = magnitude(ratio) < 1e-6
    slope = where(small, 1.0, tanh(ratio) / where(small, 1.0, ratio))
    return cylinder.viscous + cylinder.coulomb / cylinder.friction_speed * slope


def stops(cylinder: HydraulicCylinder, x: Any, speed: Any) -> Any:
    """Return the force of the end stops along x, N: they push, never pull (Hunt and Crossley 1975)."""
    half, k, c = 0.5 * cylinder.stroke, cylinder.stop_stiffness, cylinder.stop_damping
    beyond, before = maximum(x - half, 0.0), maximum(-half - x, 0.0)
    return k * (before * maximum(1.0 - c * speed, 0.0) - beyond * maximum(1.0 + c * speed, 0.0))


def valve_command(
    cylinder: HydraulicCylinder,
    gain: float,
    force: Any,
    x: Any,
    speed: Any,
    p_a: Any,
    p_b: Any,
    supply: Any,
    tank: float,
) -> Any:
    """Return the valve command, −1 to 1, for a desired force: the flow of the motion, and a pressure loop.

    With F = A p_a − B p_b, Ḟ = β [(A g_a/V_a + B g_b/V_b) u − (A²/V_a + B²/V_b) ẋ − (A/V_a + B/V_b) q_leak], where
    g are the flows of a fully open valve; u is such that Ḟ = gain (F* − F).
    """
    (area_a, area_b), (V_a, V_b) = cylinder.areas, volumes(cylinder, x)
    most, least = USED_FORCE * area_a * (supply - tank), -USED_FORCE * area_b * (supply - tank)
    error = minimum(maximum(force, least), most) - (area_a * p_a - area_b * p_b)
    leak = cylinder.leakage * (p_a - p_b)
    flow = (
        gain * error / cylinder.bulk_modulus
        + (area_a * area_a / V_a + area_b * area_b / V_b) * speed
        + (area_a / V_a + area_b / V_b) * leak
    )
    forward = flow >= 0.0
    drop_a, drop_b = where(forward, supply - p_a, p_a - tank), where(forward, p_b - tank, supply - p_b)
    full_a, full_b = (sqrt(maximum(drop, LEAST_DROP)) for drop in (drop_a, drop_b))
    wanted = flow / (cylinder.valve.conductance * (area_a * full_a / V_a + area_b * full_b / V_b))
    dead = cylinder.valve.dead_zone
    if dead:  # step over the overlap
        wanted = (1.0 - dead) * wanted + dead * wanted / sqrt(wanted * wanted + BLUNT * BLUNT)
    return clipped(wanted)


def capacity(supply: HydraulicSupply, pressure: Any) -> Any:
    """Return the oil volume that lines and accumulator take per rise of the supply's pressure, m³/Pa."""
    oil = supply.line_volume / supply.bulk_modulus
    if not supply.accumulator:
        return oil
    filled = maximum(pressure, supply.gas_pressure)
    gas = supply.accumulator * exp(log(supply.gas_pressure / filled) / supply.exponent)
    return oil + where(pressure > supply.gas_pressure, gas / (supply.exponent * filled), 0.0)


def pump(supply: HydraulicSupply, pressure: Any) -> Any:
    """Return the flow of the pump, m³/s, at the supply's pressure."""
    share = (supply.pressure - pressure) / (supply.band * supply.pressure)
    assert supply.pump_flow is not None
    return supply.pump_flow * minimum(maximum(share, 0.0), 1.0)
