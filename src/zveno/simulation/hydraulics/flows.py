"""Flows and forces of one cylinder as functions that can be traced: chambers, valve edges, friction, end stops."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...kernels.math import abs as magnitude
from ...kernels.math import exp, log, maximum, minimum, select, sign, sqrt, tanh
from .parts import HydraulicCylinder, HydraulicSupply, ServoValve

LAMINAR = 1e4
"""Pressure drop, Pa, below which flow is nearly linear in it; at 1 MPa the root is off by 2.5e-5."""
LEAST_DROP = 1e5
"""Pressure drop, Pa, that the pressure loop counts with at least, so that it asks for finite openings."""
USED_FORCE = 0.95
"""Share of the largest force that the pressure loop asks for."""
BLUNT = 0.003
"""Opening within which the compensation of a dead zone changes its sign."""


class Edges(NamedTuple):
    """Flows into both chambers, m³/s, and their slopes by the chamber's own pressure, m³/s/Pa (not positive)."""

    a: Any
    b: Any
    slope_a: Any
    slope_b: Any
    taken: Any
    """from the supply"""


def clipped(x: Any, most: float = 1.0) -> Any:
    """x within ± most."""
    return minimum(maximum(x, -most), most)


def root(drop: Any) -> Any:
    """√Δp with the sign of Δp, smooth through zero: Δp/(Δp² + ε²)^¼."""
    return drop / sqrt(sqrt(drop * drop + LAMINAR * LAMINAR))


def root_slope(drop: Any) -> Any:
    """The derivative of `root`."""
    squared = drop * drop + LAMINAR * LAMINAR
    return (0.5 * drop * drop + LAMINAR * LAMINAR) / (squared * sqrt(sqrt(squared)))


def opening(valve: ServoValve, spool: Any) -> Any:
    """Opening of the edges, −1 to 1, at a position of the spool: none in the dead zone, whole at the end."""
    spool = clipped(spool)
    if not valve.dead_zone:
        return spool
    return sign(spool) * maximum(magnitude(spool) - valve.dead_zone, 0.0) / (1.0 - valve.dead_zone)


def edges(valve: ServoValve, spool: Any, p_a: Any, p_b: Any, supply: Any, tank: float) -> Edges:
    """Flows through the open edges of a valve."""
    forward = spool >= 0.0
    flow = valve.conductance * opening(valve, spool)
    drop_a = select(forward, supply - p_a, p_a - tank)
    drop_b = select(forward, p_b - tank, supply - p_b)
    a, b = flow * root(drop_a), -flow * root(drop_b)
    slope_a, slope_b = -magnitude(flow) * root_slope(drop_a), -magnitude(flow) * root_slope(drop_b)
    return Edges(a, b, slope_a, slope_b, select(forward, a, b))


def volumes(cylinder: HydraulicCylinder, x: Any) -> tuple[Any, Any]:
    """Of both chambers, m³, at the extension x from the middle; past an end stop part of the dead volume stays."""
    area_a, area_b = cylinder.areas
    least = 0.1 * cylinder.dead_volume
    half = 0.5 * cylinder.stroke
    return (
        maximum(cylinder.dead_volume + area_a * (half + x), least),
        maximum(cylinder.dead_volume + area_b * (half - x), least),
    )


def friction(cylinder: HydraulicCylinder, speed: Any) -> Any:
    """Friction force against the speed, N."""
    return cylinder.viscous * speed + cylinder.coulomb * tanh(speed / cylinder.friction_speed)


def friction_secant(cylinder: HydraulicCylinder, speed: Any) -> Any:
    """Friction force over speed, N·s/m: a damper that has the same force at that speed."""
    ratio = speed / cylinder.friction_speed
    small = magnitude(ratio) < 1e-6
    slope = select(small, 1.0, tanh(ratio) / select(small, 1.0, ratio))
    return cylinder.viscous + cylinder.coulomb / cylinder.friction_speed * slope


def stops(cylinder: HydraulicCylinder, x: Any, speed: Any) -> Any:
    """Force of the end stops along x, N: they push, never pull (Hunt and Crossley 1975)."""
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
    """Command of the valve, −1 to 1, for a force wanted: the flow that the motion takes, and a pressure loop.

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
    drop_a, drop_b = select(forward, supply - p_a, p_a - tank), select(forward, p_b - tank, supply - p_b)
    full_a, full_b = (sqrt(maximum(drop, LEAST_DROP)) for drop in (drop_a, drop_b))
    wanted = flow / (cylinder.valve.conductance * (area_a * full_a / V_a + area_b * full_b / V_b))
    dead = cylinder.valve.dead_zone
    if dead:  # step over the overlap
        wanted = (1.0 - dead) * wanted + dead * wanted / sqrt(wanted * wanted + BLUNT * BLUNT)
    return clipped(wanted)


def capacity(supply: HydraulicSupply, pressure: Any) -> Any:
    """Oil that the lines and the accumulator take for a rise of the supply's pressure, m³/Pa."""
    oil = supply.line_volume / supply.bulk_modulus
    if not supply.accumulator:
        return oil
    filled = maximum(pressure, supply.gas_pressure)
    gas = supply.accumulator * exp(log(supply.gas_pressure / filled) / supply.exponent)
    return oil + select(pressure > supply.gas_pressure, gas / (supply.exponent * filled), 0.0)


def pump(supply: HydraulicSupply, pressure: Any) -> Any:
    """Flow of the pump, m³/s, at the supply's pressure."""
    share = (supply.pressure - pressure) / (supply.band * supply.pressure)
    assert supply.pump_flow is not None
    return supply.pump_flow * minimum(maximum(share, 0.0), 1.0)
