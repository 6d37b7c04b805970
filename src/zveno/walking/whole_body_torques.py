"""The controller's inner loop: from accelerations that tasks ask for to torques, by one compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..fit.quadratic.steps import SOLVED
from ..kernels.door import compiled
from ..kernels.structured.kernel import compiled_structured
from ..mechanism import Mechanism
from ..simulation.controllers import effort_limits
from .body_state import Felt, felt
from .feet import Foot
from .torque_program import FOOT_NUMBERS, TorqueProblem, torque_program

FREE = 1e6
"""Bound of what has none, m/s², rad/s², N or N·m."""


@dataclass(frozen=True)
class WalkingWeights:
    """How much tasks count against each other, per (m/s²)² or (rad/s²)².

    Attributes:
        stance, swing: feet that stand, at rest, and feet in the air.
        center: of mass, horizontally. It runs away where it is not held (an error of its acceleration, kept for a
            step, moves ξ a hundred times further than the same error moves a foot in the air, which its own gains
            bring back), so no task but the standing feet outweighs it.
        height: of the centre of mass; it gives way where a foot would not reach the ground.
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
class WalkingGains:
    """Of the errors, 1/s², and of their rates, 1/s.

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
    """What the program found."""

    tau: np.ndarray
    """(n_v,), zero at the base"""
    forces: np.ndarray
    """expected on every foot, N in world axes, (f, 3)"""
    solved: bool


class WholeBodyTorques:
    """The quadratic program of one machine, solved again at every control step from the bounds held before."""

    def __init__(
        self,
        mechanism: Mechanism,
        feet: Sequence[Foot],
        friction: float,
        weights: WalkingWeights,
        gains: WalkingGains,
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
        self._settings = np.array([friction, weights.center, weights.height, weights.attitude, weights.posture])
        self._sides = np.zeros(self.problem.n)
        self._last = np.zeros(mechanism.n_v)
        self._contacts: tuple[Any, ...] = ()
        """of the last step: which feet stand, and which are in the air"""
        self._foot_weights, self._carried = np.zeros(len(feet)), np.zeros(len(feet))
        self._wanted = np.zeros(self.problem.n_wanted)
        self._feet: np.ndarray = self._wanted[: FOOT_NUMBERS * len(feet)].reshape(-1, FOOT_NUMBERS)
        self._rest: np.ndarray = self._wanted[FOOT_NUMBERS * len(feet) :]
        self._rest[12:14], self._rest[-2:] = gains.attitude, gains.posture
        self.gains = gains
        self.failures: int = 0
        """steps whose program was not solved; the torques before were kept"""

    def felt(self, q: np.ndarray, v: np.ndarray) -> Felt:
        """Feet and centre of mass at a state."""
        return Felt(*self._felt(q, v))

    def hold(self, attitude: np.ndarray, joints: np.ndarray, feet: np.ndarray) -> None:
        """Attitudes of the body (3, 3) and of feet in the air (f, 3, 3), and the posture (n_j,), from now on."""
        self._rest[3:12] = attitude.ravel()
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
        """The torques, and the forces that the feet are to expect.

        Args:
            q, v: state, as estimated.
            standing: which feet may carry, (f,).
            center: acceleration of the centre of mass, (3,).
            swings: place and velocity, (3,) each, wanted of feet in the air.
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
        """Weights, bounds and gains for other feet that stand, and others in the air."""
        self._feet[:, :6] = 0.0
        self._feet[:, 15:19] = (0.0, self.gains.rest, 0.0, self.gains.rest)
        for k in swings:
            self._feet[k, 15:19] = (*self.gains.swing, *self.gains.swing_turn)
        self._foot_weights = np.where(standing, self.weights.stance, self.weights.swing)
        self._carried = np.where(standing, FREE, 0.0)
