"""The simulated machine that a walk controls: its state, what pushes it, and the loads of its feet."""

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
"""Weights on one point of a sole beyond which the iterations of the next step begin from no forces: between two
walls that face each other a sole can be squeezed without bound, and from step to step the squeeze would grow."""


@registered
@dataclass(frozen=True)
class Push:
    """A push on the body, at the origin of its frame.

    Attributes:
        time: when it begins, s.
        impulse: N·s in world axes, (3,).
        duration: s.
    """

    time: float
    impulse: Sequence[float]
    duration: float = 0.1

    def check(self) -> None:
        """Refuse what is no push."""
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
    """A contact for every point of every sole."""
    return [
        Contact(foot.frame, Sphere(0.0, point), ground=ground, friction=friction, name=f"{foot.frame}[{i}]")
        for foot in feet
        for i, point in enumerate(foot.points.tolist())
    ]


class Machine:
    """A robot on its feet, advanced by time stepping with torques that are commanded.

    Attributes:
        row: what is carried from step to step; see `Stepping`.
        sample: the row, and what `Trajectory` holds beside it.
        owner: the foot of every point of the soles.
        effort: limits of torques, (n_v,).
        known: what a controller may know of its drives.
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
        self.stepping: Stepping = stepping_of(robot, contacts, True, Called(_commanded), prepared, False, None)
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
        """Normal forces of all points of the soles, (k,), N; those of even loads before the first step."""
        if not self._started:
            return self._resting
        return self.forces

    def begin(self, tau: np.ndarray) -> None:
        """Drives that exert the first torques."""
        equations = self.stepping.equations
        y = initial_state(equations, self.q, self.v, tau)
        self.row[self.stepping.z] = y[equations.z]
        self.sample[: len(self.row)] = self.row
        self.sample[len(self.row) + 2 * self.robot.n_v] = np.inf

    def step(self, t: float, tau: np.ndarray, pushes: Sequence[Push]) -> None:
        """One step with torques, cut at the limits of effort."""
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
    """Torques are given with every call."""
    raise AssertionError
