"""Inner loop of the controller: torques for desired task accelerations, by one compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..fit.quadratic.steps import SOLVED
from ..kernels.compile import compiled, compiled_structured
from ..mechanism import Mechanism
from ..simulation.controllers import effort_limits
from .body_state import Felt, felt
from .feet import Foot, heading
from .torque_program import FOOT_NUMBERS, TorqueProblem, torque_program

FREE = 1e6
"""Value of missing bounds, m/s², rad/s², N or N·m."""


@dataclass(frozen=True)
class Weights:
    """Task weights, per (m/s²)² or (rad/s²)².

    Attributes:
        stance, swing: feet that stand, at rest, and feet in the air.
        center: of mass, horizontally. Its motion is unstable: a constant acceleration error during a step moves ξ
            a hundred times further than it moves a swinging foot, which its own gains bring back. Only the standing
            feet have a larger weight.
        height: of the centre of mass; it yields if a foot would not reach the ground.
        attitude: of the body.
        posture: of every joint.
    """

    stance: float = 1000.0
    swing: float = 200.0
    center: float = 200.0
    height: float = 20.0
    attitude: float = 10.0
    posture: float = 0.05


@dataclass(frozen=True)
class Gains:
    """Gains of the errors, 1/s², and of their rates, 1/s.

    Attributes:
        attitude: of the body.
        posture: of the joints.
        height: of the centre of mass.
        swing, swing_turn: place and attitude of a foot in the air.
        rest: rate at which a standing foot that moves is slowed down.
    """

    attitude: tuple[float, float] = (150.0, 25.0)
    posture: tuple[float, float] = (40.0, 10.0)
    height: tuple[float, float] = (60.0, 14.0)
    swing: tuple[float, float] = (600.0, 50.0)
    swing_turn: tuple[float, float] = (400.0, 40.0)
    rest: float = 20.0


class Torques(NamedTuple):
    """Solution of the program."""

    tau: np.ndarray
    """(n_v,), zero at the base"""
    forces: np.ndarray
    """expected on every foot, N in world axes, (f, 3)"""
    solved: bool


class WholeBodyTorques:
    """Quadratic program of one robot, solved at every control step, warm-started from the last active bounds."""

    def __init__(
        self,
        mechanism: Mechanism,
        feet: Sequence[Foot],
        friction: float,
        weights: Weights,
        gains: Gains,
    ):
        if mechanism.joints[0].type.kind != "free" or mechanism.n_v <= 6:
            raise ModelError(
                "it does not walk: its first joint is not a free one, or nothing else moves",
                element=mechanism.name,
                remedy='Use robot.with_base("free")',
            )
        self.problem: TorqueProblem = TorqueProblem(mechanism, tuple(feet))
        shapes = {"q": (mechanism.n_q,), "v": (mechanism.n_v,)}
        self._felt = compiled(felt, shapes, constants=(mechanism, self.problem.frames))
        self._kernel = compiled_structured(torque_program, self.problem, state_by_state=True)
        self.weights = weights
        speeds = [
            np.broadcast_to(joint.limits.velocity, joint.type.n_v)
            for joint in mechanism.joints[1:]
            if joint.mimic is None
        ]
        limits = [effort_limits(mechanism)[6:], mechanism.lower[7:], mechanism.upper[7:], np.concatenate(speeds)]
        self._limits = np.clip(np.concatenate(limits), -FREE, FREE)
        self._friction = friction
        task_weights = weights.center, weights.height, weights.attitude, weights.posture
        self._settings = np.array([friction, 0.0, *task_weights])
        self._sides = np.zeros(self.problem.n)
        self._last = np.zeros(mechanism.n_v)
        self._contacts: tuple[Any, ...] = ()
        """standing feet and swinging feet of the last step"""
        self._foot_weights, self._carried = np.zeros(len(feet)), np.zeros(len(feet))
        self._wanted = np.zeros(self.problem.n_wanted)
        self._feet: np.ndarray = self._wanted[: FOOT_NUMBERS * len(feet)].reshape(-1, FOOT_NUMBERS)
        self._rest: np.ndarray = self._wanted[FOOT_NUMBERS * len(feet) :]
        self._rest[12:14], self._rest[-2:] = gains.attitude, gains.posture
        self.gains = gains
        self.failures: int = 0
        """steps whose program was not solved; the last torques were kept"""

    def felt(self, q: np.ndarray, v: np.ndarray) -> Felt:
        """Return feet and centre of mass at a state."""
        return Felt(*self._felt(q, v))

    def hold(self, attitude: np.ndarray, joints: np.ndarray, feet: np.ndarray) -> None:
        """Set the attitudes of the body (3, 3) and of swinging feet (f, 3, 3), and the posture (n_j,)."""
        self._rest[3:12] = attitude.ravel()
        self._settings[:2] = self._friction * heading(attitude)[:, 0]
        self._rest[14:-2] = joints
        self._feet[:, 6:15] = feet.reshape(-1, 9)

    def solve(
        self,
        q: np.ndarray,
        v: np.ndarray,
        standing: np.ndarray,
        center: Sequence[float],
        swings: dict[int, tuple[np.ndarray, np.ndarray]],
    ) -> Torques:
        """Compute the torques, and the expected forces on the feet.

        Args:
            q, v: state, as estimated.
            standing: mask of the feet that may carry load, (f,).
            center: acceleration of the centre of mass, (3,).
            swings: desired position and velocity, (3,) each, of swinging feet.
        """
        contacts = (standing.tobytes(), *swings)
        if contacts != self._contacts:
            self._contacts = contacts
            self._switch(standing, swings)
        for k, (place, speed) in swings.items():
            self._feet[k, :3], self._feet[k, 3:6] = place, speed
        self._rest[:3] = center
        tau, forces, sides, status, _ = self._kernel(
            q, v, self._wanted, self._foot_weights, self._carried, self._limits, self._settings, self._sides
        )
        if status != SOLVED:
            self.failures += 1
            self._sides = np.zeros(self.problem.n)
            return Torques(self._last, np.zeros((len(standing), 3)), False)
        self._sides = sides
        self._last = np.zeros(len(v))
        self._last[6:] = tau
        return Torques(self._last, forces.reshape(-1, 3), True)

    def _switch(self, standing: np.ndarray, swings: Iterable[int]) -> None:
        """Set weights, bounds and gains for changed sets of standing and swinging feet."""
        self._feet[:, :6] = 0.0
        self._feet[:, 15:19] = (0.0, self.gains.rest, 0.0, self.gains.rest)
        for k in swings:
            self._feet[k, 15:19] = (*self.gains.swing, *self.gains.swing_turn)
        self._foot_weights = np.where(standing, self.weights.stance, self.weights.swing)
        self._carried = np.where(standing, FREE, 0.0)
