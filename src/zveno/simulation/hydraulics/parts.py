"""Parts of a hydraulic drive: servo valve, cylinder, supply. SI units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from .levers import ConstantLever, Lever


@dataclass(frozen=True)
class ServoValve:
    """Four-way spool valve: Q = s · rated_flow · √(Δp/rated_drop) through each of its two open edges.

    The spool s follows the command u, both from −1 to 1: s̈ = ω² (u − s) − 2 ζ ω ṡ. Positive openings connect the
    supply to chamber a and chamber b to the tank.

    Attributes:
        rated_flow: at full opening and rated drop, m³/s.
        rated_drop: pressure drop of one edge, Pa (data sheets: 70 bar in all, 35 bar per edge).
        frequency: ω/2π of the spool, Hz.
        damping: ζ of the spool.
        dead_zone: overlap, the share of the stroke around the middle in which all edges are closed, 0 to < 1.
    """

    rated_flow: float
    rated_drop: float = 3.5e6
    frequency: float = 100.0
    damping: float = 0.8
    dead_zone: float = 0.0

    @property
    def conductance(self) -> float:
        """Flow over √Δp of one edge at full opening, m³/s/√Pa."""
        return self.rated_flow / np.sqrt(self.rated_drop)

    @property
    def omega(self) -> float:
        """Natural frequency of the spool, rad/s."""
        return 2.0 * np.pi * self.frequency

    def check(self, where: str) -> None:
        """Refuse invalid values."""
        _positive(where, self, "rated_flow", "rated_drop", "frequency", "damping")
        if not 0.0 <= self.dead_zone < 1.0:
            raise ModelError(f"dead_zone is {self.dead_zone}", element=where, remedy="Give a share, 0 to below 1")


@dataclass(frozen=True)
class HydraulicCylinder:
    """Cylinder with two chambers, its valve and its lever; the force is area · p_a − rod_area · p_b.

    Attributes:
        valve: its servo valve.
        area: of the piston at chamber a, whose pressure extends the cylinder, m².
        rod_area: of the piston at chamber b, m²; equal to area if None (a rod on both sides).
        stroke: m, from end stop to end stop.
        lever: between cylinder and joint.
        dead_volume: of hoses and of the chamber at its end, each side, m³.
        bulk_modulus: of the oil with hoses, Pa.
        leakage: past the piston, m³/s per Pa.
        viscous, coulomb: friction, N·s/m and N; the sign of the speed is smoothed as tanh(ẋ/friction_speed).
        friction_speed: m/s.
        stop_stiffness, stop_damping: end stops push back with stiffness · δ · (1 + damping · δ̇), N/m and s/m.
    """

    valve: ServoValve
    area: float
    rod_area: float | None = None
    stroke: float = 0.1
    lever: Lever = field(default_factory=ConstantLever)
    dead_volume: float = 2e-5
    bulk_modulus: float = 1e9
    leakage: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    friction_speed: float = 2e-3
    stop_stiffness: float = 1e8
    stop_damping: float = 1.5

    @property
    def areas(self) -> tuple[float, float]:
        """Piston areas of both chambers, m²."""
        return self.area, self.area if self.rod_area is None else self.rod_area

    def check(self, where: str) -> None:
        """Refuse invalid values."""
        if not isinstance(self.valve, ServoValve) or not isinstance(self.lever, Lever):
            raise ModelError(
                "a cylinder needs a ServoValve and a lever", element=where, remedy="Use ConstantLever or PivotLever"
            )
        self.valve.check(where)
        names = ("area", "stroke", "dead_volume", "bulk_modulus", "friction_speed", "stop_stiffness")
        _positive(where, self, *names, *(() if self.rod_area is None else ("rod_area",)))
        _not_negative(where, self, "leakage", "viscous", "coulomb", "stop_damping")


@dataclass(frozen=True)
class HydraulicSupply:
    """Pressure supply shared by all drives.

    Without `pump_flow` it is constant. With it, the pump delivers up to that flow, less as the pressure comes
    within `band` of its setting, and the pressure falls with the oil that the valves take: an accumulator's gas
    (p Vⁿ constant) and the oil in the lines give it the capacity C, C ṗ = Q_pump − Σ Q.

    Attributes:
        pressure: setting of the pump, Pa.
        tank: return pressure, Pa.
        pump_flow: largest flow of the pump, m³/s; None for unlimited.
        accumulator: gas volume at its precharge, m³; 0 for none.
        precharge: gas pressure of the empty accumulator, Pa; 60 % of `pressure` if None.
        exponent: n of the gas, 1 (slow) to 1.4 (fast).
        line_volume: oil in the lines, m³.
        bulk_modulus: of that oil, Pa.
        band: share of `pressure` over which the pump goes from full flow to none.
    """

    pressure: float = 21e6
    tank: float = 0.0
    pump_flow: float | None = None
    accumulator: float = 1e-3
    precharge: float | None = None
    exponent: float = 1.4
    line_volume: float = 1e-3
    bulk_modulus: float = 1e9
    band: float = 0.05

    @property
    def gas_pressure(self) -> float:
        """Gas pressure of the empty accumulator, Pa."""
        return 0.6 * self.pressure if self.precharge is None else self.precharge

    def check(self) -> None:
        """Refuse invalid values."""
        where = "supply"
        _positive(where, self, "pressure", "exponent", "line_volume", "bulk_modulus", "band")
        _not_negative(where, self, "tank", "accumulator")
        if self.pump_flow is not None:
            _positive(where, self, "pump_flow")
        if self.precharge is not None:
            _positive(where, self, "precharge")
        if self.tank >= self.pressure:
            raise ModelError(
                f"the tank's {self.tank:.3g} Pa are not below the pressure of {self.pressure:.3g} Pa", element=where
            )


def _number(where: str, part: Any, name: str) -> float:
    value = getattr(part, name)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{name} is {value!r}", element=where, remedy="Give one number in SI units") from None


def _positive(where: str, part: Any, *names: str) -> None:
    for name in names:
        value = _number(where, part, name)
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name} is {value}", element=where, remedy="Give a positive number in SI units")


def _not_negative(where: str, part: Any, *names: str) -> None:
    for name in names:
        value = _number(where, part, name)
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(f"{name} is {value}", element=where, remedy="Give zero or more, in SI units")
