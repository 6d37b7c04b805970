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
from ...mechanism import Joint, Mechanism
from ..controllers import unactuated
from ..drives import Advance, DriveModel
from . import flows
from .flows import clipped
from .implicit import SupplyRise, linear_force, spool_step, supply_rise
from .parts import HydraulicCylinder, HydraulicSupply

GAIN_SHARE = 0.4
"""Rate of the pressure loop over the spool's ω."""
LEAST_ARM = 1e-5
"""Lever arm, m, below which the pressure loop reduces the force that it asks for, to keep it finite."""
COMMANDS = ("torque", "valve")
N_STATES = 4
"""Number of states of one cylinder: two pressures, position and speed of the spool."""


class Chamber(NamedTuple):
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
        if self.command not in COMMANDS:
            raise unknown_name("command of a hydraulic drive", self.command, COMMANDS)
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
            force = force - flows.stops(cylinder, x, 0.0)
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

    def _chamber(self, mechanism: Mechanism, k: int, name: str, q: Any, v: Any, z: Any) -> Chamber:
        cylinder, joint = self.cylinders[name], mechanism.joint(name)
        x, arm = cylinder.lever.extension(joint, q[mechanism.q_slices[name].start], cylinder.stroke)
        p_a, p_b, spool, spool_rate = z[N_STATES * k : N_STATES * (k + 1)]
        P = self.supply.pressure
        speed = arm * v[mechanism.v_slices[name].start]
        return Chamber(P * p_a, P * p_b, spool, spool_rate, x, arm, speed)

    def _supply_pressure(self, z: Any) -> Any:
        return self.supply.pressure * z[N_STATES * len(self.cylinders)] if self._pumped else self.supply.pressure

    def _wanted_opening(self, cylinder: HydraulicCylinder, at: Chamber, command: Any, supply: Any) -> Any:
        if self.command == "valve":
            return clipped(command)
        force = command * at.arm / (at.arm * at.arm + LEAST_ARM * LEAST_ARM)
        gain = GAIN_SHARE * cylinder.valve.omega if self.pressure_gain is None else self.pressure_gain
        return flows.valve_command(cylinder, gain, force, at.x, at.speed, at.p_a, at.p_b, supply, self.supply.tank)

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
            (area_a, area_b), (V_a, V_b) = cylinder.areas, flows.volumes(cylinder, at.x)
            flow = flows.edges(cylinder.valve, at.spool, at.p_a, at.p_b, supply, tank)
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
            force = area_a * at.p_a - area_b * at.p_b - flows.friction(cylinder, at.speed)
            tau[i] = at.arm * (force + flows.stops(cylinder, at.x, at.speed))
        if self._pumped:
            pumped = flows.pump(self.supply, supply)
            rates.append((pumped - taken) / (P * flows.capacity(self.supply, supply)))
        return np.array(tau), np.array(rates)

    # --- one implicit step

    def affine(
        self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any, h: Any
    ) -> tuple[Any, Any, Advance]:
        """Solve spools exactly and all pressures by one step of backward Euler (`implicit`)."""
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
            flow = flows.edges(cylinder.valve, ahead, at.p_a, at.p_b, supply, tank)
            law = linear_force(cylinder, flow, at.p_a, at.p_b, at.x, at.speed, h)
            tau[i], damping[i] = at.arm * law.force, at.arm * at.arm * law.damping
            laws.append((i, at.arm, law, spool, spool_rate))
        torques, D = np.array(tau), np.diag(np.array(damping))
        shares: Any = np.zeros(mechanism.n_v)
        rise = SupplyRise(0.0, 0.0)
        if self._pumped:
            arms = {i: arm * law.share for i, arm, law, _, _ in laws}
            shares = np.array([arms.get(i, 0.0) for i in range(mechanism.n_v)])
            taken = sum(law.taken for _, _, law, _, _ in laws)
            conductance = sum(law.conductance for _, _, law, _, _ in laws)
            rise = supply_rise(self.supply, supply, taken, conductance, shares @ v, h)
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
