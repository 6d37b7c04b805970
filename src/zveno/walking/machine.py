"""Simulated robot that a walk controls: its state, pushes, and foot loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..io.results import registered
from ..robot_functions import RobotFunctions
from ..simulation.controllers import Called, effort_limits
from ..simulation.drives import DriveModel
from ..simulation.start import initial_state
from ..simulation.time_stepping.contact import Contact
from ..simulation.time_stepping.grounds import Ground
from ..simulation.time_stepping.parts import stepping_of
from ..simulation.time_stepping.program import time_steps_kernel
from ..simulation.time_stepping.shapes import Sphere
from ..simulation.time_stepping.stepping import Stepping
from ..spatial.rotations import from_quaternion
from .feet import Foot
from .known_drive import KnownDrive, known_drive

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
