"""Parts of a hydraulic drive: servo valve, cylinder with its lever, supply. SI units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...kernels.ops import sqrt
from ...mechanism import Joint

# --- levers


class _Lever(ABC):
    """Relation between the extension of a cylinder and the coordinate of a joint."""

    @abstractmethod
    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Return (x, dx/dq): extension from the middle of the stroke, m, and lever arm, m/rad or 1, at q."""

    @abstractmethod
    def check(self, joint: Joint) -> None:
        """Refuse values that do not suit the joint."""


@dataclass(frozen=True)
class ConstantLever(_Lever):
    """Constant lever arm: a rack and pinion, a belt, or a cylinder along a prismatic joint.

    Attributes:
        arm: extension over coordinate, m/rad of a turning joint, 1 or −1 of a prismatic one.
        middle: coordinate at which the cylinder is in the middle of its stroke, rad or m.
    """

    arm: float = 1.0
    middle: float = 0.0

    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Return an extension proportional to the coordinate."""
        return self.arm * (q - self.middle), self.arm

    def check(self, joint: Joint) -> None:
        """Raise an error unless the arm is nonzero."""
        if not (np.isfinite([self.arm, self.middle]).all() and self.arm):
            raise ModelError(
                f"the lever has the arm {self.arm} and the middle {self.middle}",
                element=f"joint {joint.name}",
                remedy="Give finite numbers, and an arm that is not zero",
            )


@dataclass(frozen=True)
class PivotLever(_Lever):
    """Cylinder between two pins: one on the joint's parent link, one on its child link.

    Attributes:
        parent: pin on the parent link, (3,) m, in that link's frame.
        child: pin on the child link, (3,) m, in that link's frame.
        retracted: distance between the pins when the cylinder is fully retracted, m.
    """

    parent: tuple[float, float, float]
    child: tuple[float, float, float]
    retracted: float

    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Compute x from the pin distance l; dl/dq is the velocity of the child's pin along the cylinder."""
        T_joint_moved = joint.type.motion(np.array([q]))
        T_moved_child = joint.T_joint_child
        R, child = T_joint_moved[:3, :3], T_moved_child[:3, :3] @ np.array(self.child, float) + T_moved_child[:3, 3]
        axis = T_joint_moved[:3, 3] + R @ child - self._parent_in_joint(joint)
        length = sqrt(axis @ axis)
        linear, angular = np.split(joint.type.subspace(np.array([q]))[:, 0], 2)
        speed = R @ (linear + np.cross(angular, child))
        return length - (self.retracted + 0.5 * stroke), (axis @ speed) / length

    def _parent_in_joint(self, joint: Joint) -> np.ndarray:
        T_parent_joint = joint.T_parent_joint
        return T_parent_joint[:3, :3].T @ (np.array(self.parent, dtype=float) - T_parent_joint[:3, 3])

    def check(self, joint: Joint) -> None:
        """Raise an error unless pins and length are valid and the joint has a lever."""
        where = f"joint {joint.name}"
        try:
            points = np.array([self.parent, self.child], dtype=float)
        except (TypeError, ValueError):
            points = np.zeros(0)
        if points.shape != (2, 3) or not np.isfinite(points).all():
            raise ModelError(
                "a pin is not a point of three finite numbers", element=where, remedy="Give x, y, z in metres"
            )
        if not (np.isfinite(self.retracted) and self.retracted > 0):
            raise ModelError(
                f"the retracted length is {self.retracted}", element=where, remedy="Give metres, more than 0"
            )
        with np.errstate(all="ignore"):
            arms = np.array([self.extension(joint, q, 0.0)[1] for q in np.linspace(-1.5, 1.5, 7)])
        if not (np.nan_to_num(abs(arms)) > 1e-9).any():
            raise ModelError(
                "the cylinder has no lever: a pin lies on the axis of the joint, or its motion is square to it",
                element=where,
                remedy="Place both pins away from the axis",
            )


# --- valve, cylinder, supply


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
    lever: _Lever = field(default_factory=ConstantLever)
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
        if not isinstance(self.valve, ServoValve) or not isinstance(self.lever, _Lever):
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
                f"the tank's {self.tank:.3g} Pa are not below the pressure of {self.pressure:.3g} Pa",
                element=where,
                remedy="Give a lower pressure to the tank, or more to the supply",
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
