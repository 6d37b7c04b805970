"""Drives between controller and joint: the robot of document 003 has servo drives with lag and saturation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..kernels.ops import exp
from ..mechanism import Mechanism
from .control import clamped, effort_limits, unactuated

Advance = Callable[[Any], Any]
"""(n_v,) velocities at the end of a step → the drive's states there, (n_z,)."""


class DriveModel(ABC):
    """Base class of drives, which turn commands (n_v,) into torques at the joints and have states z of their own.

    States are scaled to order one, so that one integrator tolerance suits them all; `physical` returns them in SI
    units. `torque` and `affine` may be traced.
    """

    @abstractmethod
    def prepared(self, mechanism: Mechanism) -> DriveModel:
        """Return the same drive, checked and shaped for a mechanism."""

    @abstractmethod
    def states(self, mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
        """Return (name, SI unit) of every state, (n_z,) pairs."""

    @abstractmethod
    def initial(self, mechanism: Mechanism, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return z (..., n_z) of drives at rest that exert the torques tau (..., n_v) at q (..., n_q)."""

    @abstractmethod
    def torque(self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any) -> tuple[Any, Any]:
        """Return (τ, ż): torques at the joints (n_v,) and rates of the states (n_z,)."""

    @abstractmethod
    def affine(
        self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any, h: Any
    ) -> tuple[Any, Any, Advance]:
        """Return (τ₀ (n_v,), D (n_v, n_v), advance) of one step of size h: τ = τ₀ − D v⁺ and z⁺ = advance(v⁺).

        For steps that are implicit in the velocity v⁺ at their end: D, symmetric and not negative, is added to the
        mass matrix as h D, so that stiff drives do not bound the step.
        """

    def physical(self, z: np.ndarray) -> np.ndarray:
        """Return the states (..., n_z) in the units of `states`."""
        return z

    def notes(self, mechanism: Mechanism, t: np.ndarray, z: np.ndarray) -> tuple[str, ...]:
        """Return warnings about states z (..., n, n_z) at times t (n,)."""
        return ()


@dataclass(frozen=True, eq=False)
class ServoDrive(DriveModel):
    """First-order drive at every actuated joint: lag · τ̇ + τ = gain · command, never beyond ± saturation.

    The command is limited before the lag, so that the torque follows within the lag once it is back in range.
    The floating base has no drive.

    Attributes:
        gain: torque over command in the steady state.
        lag: time constant, s; a joint with 0 follows at once.
        saturation: N·m or N; the joints' effort limits if None.
            Each is a scalar, one per velocity, or a mapping of joint names (others get gain 1, lag 0, no limit).
    """

    gain: Any = 1.0
    lag: Any = 0.02
    saturation: Any = None

    def prepared(self, mechanism: Mechanism) -> ServoDrive:
        """Return the same drive with arrays, (n_v,) each."""
        limits = effort_limits(mechanism)
        gain = _shaped(mechanism, self.gain, 1.0, "gain")
        lag = _shaped(mechanism, self.lag, 0.0, "lag")
        saturation = (
            limits if self.saturation is None else _shaped(mechanism, self.saturation, np.inf, "saturation")
        )
        if (
            not np.isfinite(gain).all()
            or not np.isfinite(lag).all()
            or (lag < 0).any()
            or not (saturation > 0).all()
        ):
            raise ModelError(
                "gain and lag must be finite, lag not negative, saturation positive",
                element="drive",
                remedy="Give a positive saturation",
            )
        free = unactuated(mechanism)
        return ServoDrive(np.where(free, 0.0, gain), np.where(free, 0.0, lag), saturation)

    def states(self, mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
        """Return name and unit of the torque of every drive with lag."""
        return tuple(
            (f"{name}.torque" + (f"[{k}]" if joint.n_v > 1 else ""), "N*m" if unit == "rad" else "N")
            for name in mechanism.joint_names
            for joint in [mechanism.joint(name).type]
            for k, unit in enumerate(joint.units)
            if self.lag[mechanism.v_slices[name].start + k]
        )

    def initial(self, mechanism: Mechanism, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the torques of drives with lag."""
        return np.asarray(tau)[..., self.lag > 0]

    def torque(self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any) -> tuple[Any, Any]:
        """Return torques that follow the command, and their rates."""
        goal = clamped(self.gain * command, self.saturation)
        lagging = self.lag > 0
        rate = (goal[lagging] - z) / self.lag[lagging]
        return self._with_states(goal, z), rate

    def affine(
        self, mechanism: Mechanism, q: Any, v: Any, z: Any, command: Any, h: Any
    ) -> tuple[Any, Any, Advance]:
        """Return the torques at the end of the step, which do not depend on the velocity."""
        goal = clamped(self.gain * command, self.saturation)
        lagging = self.lag > 0
        kept = np.array([exp(-h / lag) for lag in self.lag[lagging]])
        after = goal[lagging] + kept * (z - goal[lagging])
        return self._with_states(goal, after), np.zeros((mechanism.n_v, mechanism.n_v)), lambda _: after

    def _with_states(self, goal: Any, z: Any) -> Any:
        """Return torques (n_v,): the states where there is a lag, the goal elsewhere."""
        states = iter(z)
        return np.array([next(states) if lag else target for lag, target in zip(self.lag, goal, strict=True)])


def _shaped(mechanism: Mechanism, value, default: float, label: str) -> np.ndarray:
    array = np.full(mechanism.n_v, default)
    if isinstance(value, Mapping):
        for name, number in value.items():
            if name not in mechanism.joint_names:
                raise unknown_name("joint with coordinates", name, mechanism.joint_names)
            array[mechanism.v_slices[name]] = number
        return array
    try:
        array[:] = value
    except (TypeError, ValueError):
        raise ModelError(
            f"the {label} is neither one number nor {mechanism.n_v}",
            element="drive",
            remedy="Give one number, or one per velocity",
        ) from None
    return array
