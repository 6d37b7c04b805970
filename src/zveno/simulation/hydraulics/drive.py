"""Hydraulic drives at the joints of a robot: states, torques, and the affine law of an implicit step.

For every cylinder z = [p_a/P, p_b/P, s, ṡ/ω] with P the supply's pressure; then the supply's own p/P if a pump with
limited flow feeds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError, ShapeError, unknown_name
from ...kernels.ops import abs as magnitude
from ...kernels.ops import cos, exp, log, maximum, minimum, sign, sin, sqrt, tanh, where
from ...mechanism import Joint, Mechanism
from ..control import unactuated
from ..drives import Advance, DriveModel
from .parts import HydraulicCylinder, HydraulicSupply, ServoValve

# --- flows and forces

_LAMINAR = 1e4
"""Pressure drop, Pa, below which flow is nearly linear in it; at 1 MPa the root is off by 2.5e-5."""
_LEAST_DROP = 1e5
"""Smallest pressure drop, Pa, in the pressure loop, so that it asks for finite openings."""
_USED_FORCE = 0.95
"""Share of the largest force that the pressure loop uses."""
_BLUNT = 0.003
"""Opening within which the compensation of a dead zone changes its sign."""


class _Edges(NamedTuple):
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


def _clipped(x: Any, most: float = 1.0) -> Any:
    """Clip x to ± most."""
    return minimum(maximum(x, -most), most)


def _root_over(drop: Any) -> Any:
    """Return √|Δp| over |Δp|, smooth through zero: 1/(Δp² + ε²)^¼."""
    return 1.0 / sqrt(sqrt(drop * drop + _LAMINAR * _LAMINAR))


def opening(valve: ServoValve, spool: Any) -> Any:
    """Return the opening of the edges, −1 to 1, at a spool position: zero in the dead zone, full at the end."""
    spool = _clipped(spool)
    if not valve.dead_zone:
        return spool
    return sign(spool) * maximum(magnitude(spool) - valve.dead_zone, 0.0) / (1.0 - valve.dead_zone)


def edges(valve: ServoValve, spool: Any, p_a: Any, p_b: Any, supply: Any, tank: float) -> _Edges:
    """Compute the flows through the open edges of a valve."""
    forward = spool >= 0.0
    flow = valve.conductance * magnitude(opening(valve, spool))
    drop_a = where(forward, supply, tank) - p_a
    drop_b = where(forward, tank, supply) - p_b
    conductance_a, conductance_b = flow * _root_over(drop_a), flow * _root_over(drop_b)
    a, b = conductance_a * drop_a, conductance_b * drop_b
    behind = where(forward, conductance_a, 0.0), where(forward, 0.0, conductance_b)
    return _Edges(a, b, conductance_a, conductance_b, *behind, where(forward, a, b))


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


def _friction_secant(cylinder: HydraulicCylinder, speed: Any) -> Any:
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


def _valve_command(
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
    most, least = _USED_FORCE * area_a * (supply - tank), -_USED_FORCE * area_b * (supply - tank)
    error = minimum(maximum(force, least), most) - (area_a * p_a - area_b * p_b)
    leak = cylinder.leakage * (p_a - p_b)
    flow = (
        gain * error / cylinder.bulk_modulus
        + (area_a * area_a / V_a + area_b * area_b / V_b) * speed
        + (area_a / V_a + area_b / V_b) * leak
    )
    forward = flow >= 0.0
    drop_a, drop_b = where(forward, supply - p_a, p_a - tank), where(forward, p_b - tank, supply - p_b)
    full_a, full_b = (sqrt(maximum(drop, _LEAST_DROP)) for drop in (drop_a, drop_b))
    wanted = flow / (cylinder.valve.conductance * (area_a * full_a / V_a + area_b * full_b / V_b))
    dead = cylinder.valve.dead_zone
    if dead:  # step over the overlap
        wanted = (1.0 - dead) * wanted + dead * wanted / sqrt(wanted * wanted + _BLUNT * _BLUNT)
    return _clipped(wanted)


def capacity(supply: HydraulicSupply, pressure: Any) -> Any:
    """Return the oil volume that lines and accumulator take per rise of the supply's pressure, m³/Pa."""
    oil = supply.line_volume / supply.bulk_modulus
    if not supply.accumulator:
        return oil
    filled = maximum(pressure, supply.gas_pressure)
    gas = supply.accumulator * exp(log(supply.gas_pressure / filled) / supply.exponent)
    return oil + where(pressure > supply.gas_pressure, gas / (supply.exponent * filled), 0.0)


def _pump(supply: HydraulicSupply, pressure: Any) -> Any:
    """Return the flow of the pump, m³/s, at the supply's pressure."""
    share = (supply.pressure - pressure) / (supply.band * supply.pressure)
    assert supply.pump_flow is not None
    return supply.pump_flow * minimum(maximum(share, 0.0), 1.0)


# --- implicit step


class _LinearForce(NamedTuple):
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


def _linear_force(
    cylinder: HydraulicCylinder, flow: _Edges, p_a: Any, p_b: Any, x: Any, speed: Any, h: Any
) -> _LinearForce:
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
    return _LinearForce(
        area_a * rest[0] - area_b * rest[1] + stop_force,
        area_a * slope[0] - area_b * slope[1] + _friction_secant(cylinder, speed) + stop_damping,
        rest,
        slope,
        gain,
        flow.taken - flow.supply_a * change[0] - flow.supply_b * change[1],
        flow.supply_a * (1.0 - gain[0]) + flow.supply_b * (1.0 - gain[1]),
        area_a * gain[0] - area_b * gain[1],
    )


class _SupplyRise(NamedTuple):
    """Rise of the supply's pressure in one step: δ = rest − yielding · Σ share ẋ⁺."""

    rest: Any
    yielding: Any


def _supply_rise(
    supply: HydraulicSupply, pressure: Any, taken: Any, conductance: Any, moving: Any, h: Any
) -> _SupplyRise:
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
    return _SupplyRise((pumped - taken) / stiffness, 1.0 / stiffness)


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


# --- the drive

GAIN_SHARE = 0.4
"""Rate of the pressure loop over the spool's ω."""
_LEAST_ARM = 1e-5
"""Lever arm, m, below which the pressure loop reduces the force that it asks for, to keep it finite."""
_COMMANDS = ("torque", "valve")
_N_STATES = 4
"""Number of states of one cylinder: two pressures, position and speed of the spool."""


class _Chamber(NamedTuple):
    """State of one cylinder, SI units."""

    p_a: Any
    p_b: Any
    spool: Any
    spool_rate: Any
    """over the spool's ω"""
    x: Any
    """extension from the middle"""
    arm: Any
    """dx/dq"""
    speed: Any


@dataclass(frozen=True, eq=False)
class HydraulicDrive(DriveModel):
    """Electrohydraulic servo drives at joints with one coordinate; other joints take their command as torque.

    Attributes:
        cylinders: a HydraulicCylinder for every driven joint, by name.
        supply: the pressure they share.
        command: "torque": N·m or N, which each drive follows by a pressure loop on top of the flow that the motion
            takes; add a PD controller for a position loop. "valve": −1 to 1, straight to the valve.
        pressure_gain: of the pressure loop, 1/s: the force approaches the desired one at this rate; 0.4 ω of the
            valve if None, which leaves a phase margin of 50° at a damping of 0.8.
    """

    cylinders: Mapping[str, HydraulicCylinder]
    supply: HydraulicSupply = field(default_factory=HydraulicSupply)
    command: str = "torque"
    pressure_gain: float | None = None

    def prepared(self, mechanism: Mechanism) -> HydraulicDrive:
        """Return the same drives, checked, in the order of the mechanism's joints."""
        if self.command not in _COMMANDS:
            raise unknown_name("command of a hydraulic drive", self.command, _COMMANDS)
        if not isinstance(self.cylinders, Mapping) or not self.cylinders:
            raise ModelError("there is no cylinder", element="drive", remedy="Give {joint: HydraulicCylinder(…)}")
        if not isinstance(self.supply, HydraulicSupply):
            raise ModelError(f"is {self.supply!r}", element="supply", remedy="Give a HydraulicSupply")
        if self.pressure_gain is not None and not 0 < self.pressure_gain < np.inf:
            raise ModelError(f"is {self.pressure_gain}", element="pressure_gain", remedy="Give 1/s, more than 0")
        self.supply.check()
        free = unactuated(mechanism)
        for name, cylinder in self.cylinders.items():
            if name not in mechanism.joint_names:
                raise unknown_name("joint with coordinates", name, mechanism.joint_names)
            joint, where = mechanism.joint(name), f"joint {name}"
            if joint.type.n_v != 1 or free[mechanism.v_slices[name]].any():
                raise ModelError(
                    f"is {joint.type.kind}, and a cylinder moves one coordinate of the machine",
                    element=where,
                    remedy="Put cylinders at revolute, prismatic or helical joints",
                )
            if not isinstance(cylinder, HydraulicCylinder):
                raise ModelError(f"its cylinder is {cylinder!r}", element=where, remedy="Give a HydraulicCylinder")
            cylinder.check(where)
            cylinder.lever.check(joint)
        ordered = {name: self.cylinders[name] for name in mechanism.joint_names if name in self.cylinders}
        return HydraulicDrive(ordered, self.supply, self.command, self.pressure_gain)

    # --- states

    def states(self, mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
        """Return pressures and spool of every cylinder, and the supply's pressure if it changes."""
        parts = (("pressure_a", "Pa"), ("pressure_b", "Pa"), ("spool", ""), ("spool_rate", "1/s"))
        names = [(f"{joint}.{part}", unit) for joint in self.cylinders for part, unit in parts]
        return (*names, ("supply.pressure", "Pa")) if self._pumped else tuple(names)

    @property
    def _pumped(self) -> bool:
        return self.supply.pump_flow is not None

    def physical(self, z: np.ndarray) -> np.ndarray:
        """Return pressures in Pa, and the spool's speed in 1/s."""
        P = self.supply.pressure
        scales = [[P, P, 1.0, cylinder.valve.omega] for cylinder in self.cylinders.values()]
        return z * np.concatenate([*scales, [P] * self._pumped])

    def initial(self, mechanism: Mechanism, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return closed valves, p_a + p_b = supply + tank, and the pressure difference that gives the torques."""
        supply, tank = self.supply.pressure, self.supply.tank
        columns = []
        for name, cylinder in self.cylinders.items():
            area_a, area_b = cylinder.areas
            x, arm = self._levers(mechanism, mechanism.joint(name), cylinder, q)
            torque = np.asarray(tau)[..., mechanism.v_slices[name].start]
            force = np.where(torque == 0, 0.0, torque / np.where(arm == 0, np.nan, arm))
            force = force - stops(cylinder, x, 0.0)
            p_a = (force + area_b * (supply + tank)) / (area_a + area_b)
            p_b = supply + tank - p_a
            if not (np.minimum(p_a, p_b) >= tank - 1e-6 * supply).all():
                worst = float(np.nanmax(abs(torque))) if np.isfinite(torque).any() else np.nan
                raise ShapeError(
                    f"{worst:.4g} of torque at the start is more than the cylinder gives at "
                    f"{supply / 1e6:.3g} MPa with its lever there",
                    element=f"joint {name}",
                    remedy="Give a larger area, lever or pressure, or another start",
                )
            columns += [p_a / supply, p_b / supply, np.zeros(np.shape(p_a)), np.zeros(np.shape(p_a))]
        columns += [np.ones(np.shape(columns[0]))] * self._pumped
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    @staticmethod
    def _levers(mechanism: Mechanism, joint: Joint, cylinder: HydraulicCylinder, q: np.ndarray) -> tuple[Any, Any]:
        """Return extensions and lever arms at configurations (..., n_q)."""
        at = np.asarray(q)[..., mechanism.q_slices[joint.name].start]
        pairs = np.array([cylinder.lever.extension(joint, x, cylinder.stroke) for x in at.ravel()], dtype=float)
        return pairs[:, 0].reshape(at.shape), pairs[:, 1].reshape(at.shape)

    def _chamber(self, mechanism: Mechanism, k: int, name: str, q: Any, v: Any, z: Any) -> _Chamber:
        cylinder, joint = self.cylinders[name], mechanism.joint(name)
        x, arm = cylinder.lever.extension(joint, q[mechanism.q_slices[name].start], cylinder.stroke)
        p_a, p_b, spool, spool_rate = z[_N_STATES * k : _N_STATES * (k + 1)]
        P = self.supply.pressure
        speed = arm * v[mechanism.v_slices[name].start]
        return _Chamber(P * p_a, P * p_b, spool, spool_rate, x, arm, speed)

    def _supply_pressure(self, z: Any) -> Any:
        return self.supply.pressure * z[_N_STATES * len(self.cylinders)] if self._pumped else self.supply.pressure

    def _wanted_opening(self, cylinder: HydraulicCylinder, at: _Chamber, command: Any, supply: Any) -> Any:
        if self.command == "valve":
            return _clipped(command)
        force = command * at.arm / (at.arm * at.arm + _LEAST_ARM * _LEAST_ARM)
        gain = GAIN_SHARE * cylinder.valve.omega if self.pressure_gain is None else self.pressure_gain
        return _valve_command(cylinder, gain, force, at.x, at.speed, at.p_a, at.p_b, supply, self.supply.tank)

    def _undriven(self, mechanism: Mechanism, command: Any) -> list[Any]:
        """Return the commands that are torques: those of actuated joints without a cylinder."""
        free = unactuated(mechanism)
        return [0.0 if free[i] else command[i] for i in range(mechanism.n_v)]

    # --- continuous time

    def torque(self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any) -> tuple[Any, Any]:
        """Return torques of pressures, friction and end stops, and rates of pressures and spools."""
        P, tank, supply = self.supply.pressure, self.supply.tank, self._supply_pressure(z)
        tau, rates, taken = self._undriven(mechanism, command), [], 0.0
        for k, (name, cylinder) in enumerate(self.cylinders.items()):
            i = mechanism.v_slices[name].start
            at = self._chamber(mechanism, k, name, q, v, z)
            (area_a, area_b), (V_a, V_b) = cylinder.areas, volumes(cylinder, at.x)
            flow = edges(cylinder.valve, at.spool, at.p_a, at.p_b, supply, tank)
            leak = cylinder.leakage * (at.p_a - at.p_b)
            wanted = self._wanted_opening(cylinder, at, command[i], supply)
            omega, zeta = cylinder.valve.omega, cylinder.valve.damping
            rates += [
                cylinder.bulk_modulus / (P * V_a) * (flow.a - area_a * at.speed - leak),
                cylinder.bulk_modulus / (P * V_b) * (flow.b + area_b * at.speed + leak),
                omega * at.spool_rate,
                omega * (wanted - at.spool) - 2.0 * zeta * omega * at.spool_rate,
            ]
            taken = taken + flow.taken
            force = area_a * at.p_a - area_b * at.p_b - friction(cylinder, at.speed)
            tau[i] = at.arm * (force + stops(cylinder, at.x, at.speed))
        if self._pumped:
            pumped = _pump(self.supply, supply)
            rates.append((pumped - taken) / (P * capacity(self.supply, supply)))
        return np.array(tau), np.array(rates)

    # --- one implicit step

    def affine(
        self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any, h: Any
    ) -> tuple[Any, Any, Advance]:
        """Solve spools exactly and all pressures by one step of backward Euler."""
        P, tank, supply = self.supply.pressure, self.supply.tank, self._supply_pressure(z)
        tau, damping = self._undriven(mechanism, command), [0.0] * mechanism.n_v
        laws = []
        for k, (name, cylinder) in enumerate(self.cylinders.items()):
            i = mechanism.v_slices[name].start
            at = self._chamber(mechanism, k, name, q, v, z)
            wanted = self._wanted_opening(cylinder, at, command[i], supply)
            spool, spool_rate = spool_step(cylinder.valve, at.spool, at.spool_rate, wanted, h)
            # The command is held over the step, which delays it by h/2 on average: flows are those of the spool so
            # much later. Without this, steps of 1 ms add a tenth to the error of the pressure loop.
            ahead = spool + (0.5 * h) * cylinder.valve.omega * spool_rate
            flow = edges(cylinder.valve, ahead, at.p_a, at.p_b, supply, tank)
            law = _linear_force(cylinder, flow, at.p_a, at.p_b, at.x, at.speed, h)
            tau[i], damping[i] = at.arm * law.force, at.arm * at.arm * law.damping
            laws.append((i, at.arm, law, spool, spool_rate))
        torques, D = np.array(tau), np.diag(np.array(damping))
        shares: Any = np.zeros(mechanism.n_v)
        rise = _SupplyRise(0.0, 0.0)
        if self._pumped:
            arms = {i: arm * law.share for i, arm, law, _, _ in laws}
            shares = np.array([arms.get(i, 0.0) for i in range(mechanism.n_v)])
            taken = sum(law.taken for _, _, law, _, _ in laws)
            conductance = sum(law.conductance for _, _, law, _, _ in laws)
            rise = _supply_rise(self.supply, supply, taken, conductance, shares @ v, h)
            torques, D = torques + shares * rise.rest, D + rise.yielding * np.outer(shares, shares)

        def advance(after: Any) -> Any:
            states: list[Any] = []
            rises = rise.rest - rise.yielding * (shares @ after)
            for i, arm, law, spool, spool_rate in laws:
                p_a, p_b = law.pressures(arm * after[i], rises)
                states += [p_a / P, p_b / P, spool, spool_rate]
            if self._pumped:
                states.append((supply + rises) / P)
            return np.array(states)

        return torques, D, advance

    # --- checks

    def notes(self, mechanism: Mechanism, t: np.ndarray, z: np.ndarray) -> tuple[str, ...]:
        """Report chambers and lines whose pressure falls below zero; cavitation of oil is not modelled."""
        notes, pressures = [], self.physical(z)
        for k, (name, unit) in enumerate(self.states(mechanism)):
            if unit == "Pa":
                values = pressures[..., k].reshape(-1, len(t)).min(axis=0, initial=np.inf)
                if np.nanmin(values, initial=0.0) < -1e-6 * self.supply.pressure:
                    least = int(np.nanargmin(values))
                    notes.append(
                        f"{name} falls to {values[least] / 1e6:.3g} MPa at t = {t[least]:.4g} s: "
                        "oil would cavitate, which the model leaves out"
                    )
        return tuple(notes)
