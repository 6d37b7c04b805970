"""Simulated robot that a walk controls: its state, pushes, foot loads, and the drive model its controller knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ZvenoError
from ..geometry.grounds import Ground
from ..geometry.shapes import Sphere
from ..io.results import registered
from ..mechanism import Drive, Mechanism
from ..robot_functions import RobotFunctions
from ..simulation.contact import Contact
from ..simulation.control import Called, effort_limits
from ..simulation.drives import DriveModel
from ..simulation.hydraulics.drive import GAIN_SHARE, HydraulicDrive, volumes
from ..simulation.start import initial_state
from ..simulation.time_stepping.run import time_steps_kernel
from ..simulation.time_stepping.stepping import Stepping, stepping_of
from ..spatial.rotations import from_quaternion
from .feet import Foot

JAMMED = 30.0
"""Load on one point of a sole, in weights, beyond which the next step starts its iterations from zero forces:
between two facing walls a sole can be squeezed without bound, and the squeeze would grow with every step.
"""


@registered
@dataclass(frozen=True)
class Push:
    """Push on the body, at the origin of its frame.

    Attributes:
        time: when it begins, s.
        impulse: N·s in world axes, (3,).
        duration: s.
    """

    time: float
    impulse: Sequence[float]
    duration: float = 0.1

    def check(self) -> None:
        """Raise an error unless time, impulse and duration are valid."""
        try:
            impulse = np.asarray(self.impulse, dtype=float)
            given = impulse.shape == (3,) and bool(np.isfinite([*impulse, self.time, self.duration]).all())
        except (TypeError, ValueError):
            given = False
        if not given or self.duration <= 0:
            raise ZvenoError(
                f"is {self}", element="push", remedy="Give a time, an impulse (3,) in N·s and a duration above 0"
            )


def sole_contacts(feet: Sequence[Foot], ground: Ground, friction: float) -> list[Contact]:
    """Return a contact for every point of every sole."""
    return [
        Contact(foot.frame, Sphere(0.0, point), ground=ground, friction=friction, name=f"{foot.frame}[{i}]")
        for foot in feet
        for i, point in enumerate(foot.points.tolist())
    ]


class Machine:
    """Robot on its feet, advanced by time stepping with commanded torques.

    Attributes:
        row: state carried from step to step; see `Stepping`.
        sample: the row, and the other values of `Trajectory`.
        owner: the foot of every point of the soles.
        effort: limits of torques, (n_v,).
        known: drive model for the controller.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        feet: tuple[Foot, ...],
        ground: Ground,
        friction: float,
        drive: DriveModel | None,
        h: float,
        q: np.ndarray,
    ):
        self.robot: RobotFunctions = robot
        self.feet: tuple[Foot, ...] = feet
        self.h: float = h
        self.ground: Ground = ground
        mechanism = robot.mechanism
        prepared = None if drive is None else drive.prepared(mechanism)
        self.known: KnownDrive = known_drive(mechanism, drive, q)
        contacts = sole_contacts(feet, ground, friction)
        self.stepping: Stepping = stepping_of(robot, contacts, True, Called(_commanded), prepared, False)
        self._kernel = time_steps_kernel(self.stepping, 1, 1)
        self._h = np.array([h])
        self._q, self._v, self._n_row = self.stepping.q, self.stepping.v, self.stepping.n_row
        self.owner: np.ndarray = np.repeat(np.arange(len(feet)), [len(foot.points) for foot in feet])
        self.effort: np.ndarray = np.minimum(effort_limits(mechanism), 1e12)
        self.row: np.ndarray = np.zeros(self._n_row)
        self.row[self._q] = q
        self.sample: np.ndarray = np.zeros(self._n_row + self.stepping.n_extra)
        weight = sum(link.inertia[0] for link in mechanism.links[1:]) * np.linalg.norm(mechanism.gravity)
        k, first = len(self.owner), self.stepping.impulses.start
        self._resting = np.full(k, weight / k)
        self._normals = slice(first, first + 3 * k, 3)
        self.forces: np.ndarray = self._resting
        self._jammed = JAMMED * float(weight)
        self._started = False

    @property
    def q(self) -> np.ndarray:
        """(n_q,)."""
        return self.row[self._q]

    @property
    def v(self) -> np.ndarray:
        """(n_v,)."""
        return self.row[self._v]

    @property
    def normals(self) -> np.ndarray:
        """Normal forces of all points of the soles, (k,), N; even loads before the first step."""
        if not self._started:
            return self._resting
        return self.forces

    def begin(self, tau: np.ndarray) -> None:
        """Start with drives that exert the first torques."""
        equations = self.stepping.equations
        y = initial_state(equations, self.q, self.v, tau)
        self.row[self.stepping.z] = y[equations.z]
        self.sample[: len(self.row)] = self.row
        self.sample[len(self.row) + 2 * self.robot.n_v] = np.inf

    def step(self, t: float, tau: np.ndarray, pushes: Sequence[Push]) -> None:
        """Take one step with torques, clamped to the effort limits."""
        u = np.minimum(np.maximum(tau, -self.effort), self.effort)
        for push in pushes:
            if push.time <= t < push.time + push.duration:
                u[:3] += from_quaternion(self.q[3:7]).T @ np.asarray(push.impulse, dtype=float) / push.duration
        self.sample = self._kernel(np.array([t]), self._h, self.row, self.stepping.settings, u)[0]
        self.row = self.sample[: self._n_row].copy()
        self.forces = self.row[self._normals] / self.h
        if self.forces.max() > self._jammed:
            self.row[self.stepping.impulses] = 0.0
        self._started = True


def _commanded(t: Any, q: Any, v: Any) -> Any:
    """Raise an error: torques are given with every call."""
    raise AssertionError


class KnownDrive(NamedTuple):
    """Inertia and friction that drives add to the joints, as the controller sees them."""

    mechanism: Mechanism
    """with the inertia as that of rotors"""
    viscous: np.ndarray
    """N·m·s/rad or N·s/m, (n_v,)"""


def known_drive(mechanism: Mechanism, drive: DriveModel | None, q: np.ndarray) -> KnownDrive:
    """Return the mechanism with the effect of hydraulic drives near a configuration; unchanged for other drives.

    The valve lags by 2 ζ/ω in following the flow A ẋ that the piston takes. The oil, of stiffness
    K = β (A²/V_a + B²/V_b), turns the missing flow into a force against the acceleration, K (2 ζ/ω) ẍ per second,
    and the pressure loop removes it at its gain k:

        force wanted − force = K (2 ζ/ω)/k ẍ,

    an inertia. At a foot of a biped it is ten times the foot's own; a controller that ignores it lets swinging feet
    lag and land tilted.
    """
    viscous = np.zeros(mechanism.n_v)
    if not isinstance(drive, HydraulicDrive) or drive.command != "torque":
        return KnownDrive(mechanism, viscous)
    joints = list(mechanism.joints)
    for i, joint in enumerate(joints):
        cylinder = drive.cylinders.get(joint.name)
        if cylinder is None:
            continue
        x, arm = cylinder.lever.extension(joint, q[mechanism.q_slices[joint.name].start], cylinder.stroke)
        stiffness = cylinder.bulk_modulus * sum(
            area * area / volume for area, volume in zip(cylinder.areas, volumes(cylinder, x), strict=True)
        )
        valve = cylinder.valve
        gain = GAIN_SHARE * valve.omega if drive.pressure_gain is None else drive.pressure_gain
        inertia = arm * arm * stiffness * (2.0 * valve.damping / valve.omega) / gain
        motor = Drive() if joint.drive is None else joint.drive
        rotor = np.asarray(motor.rotor_inertia, dtype=float) + inertia / np.square(motor.gear_ratio)
        joints[i] = replace(joint, drive=replace(motor, rotor_inertia=rotor))
        viscous[mechanism.v_slices[joint.name]] = arm * arm * cylinder.viscous
    return KnownDrive(replace(mechanism, joints=tuple(joints)), viscous)
