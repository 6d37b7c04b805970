"""Drives between controller and joint: document 003's machine has servo drives that lag and saturate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..mechanism import Mechanism
from .controllers import clamped, effort_limits, unactuated


@dataclass(frozen=True, eq=False)
class ServoDrive:
    """A first-order drive at every actuated joint: lag · τ̇ + τ = gain · command, never beyond ± saturation.

    The command is cut before the lag, so that the torque follows it within the lag once it comes back in range.
    The floating base has no drive.

    Attributes:
        gain: torque over command in the steady state.
        lag: time constant, s; a joint with 0 follows at once.
        saturation: N·m or N; the joints' effort limits if None.
            Each is one number, one a velocity, or a mapping of joint names (others get gain 1, lag 0, no limit).
    """

    gain: Any = 1.0
    lag: Any = 0.02
    saturation: Any = None

    def prepared(self, mechanism: Mechanism) -> ServoDrive:
        """The same drive with arrays, (n_v,) each."""
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
            raise ModelError("gain and lag must be finite, lag not negative, saturation positive", element="drive")
        free = unactuated(mechanism)
        return ServoDrive(np.where(free, 0.0, gain), np.where(free, 0.0, lag), saturation)

    def n_states(self, mechanism: Mechanism) -> int:
        """How many drives have a lag."""
        return int(np.count_nonzero(self.lag))

    def torque(self, mechanism: Mechanism, command: Any, z: Any) -> tuple[Any, Any]:
        """(τ, ż): torques at the joints (n_v,) and rates of the drives' states."""
        goal = clamped(self.gain * command, self.saturation)
        tau, rate, k = [], [], 0
        for i in range(mechanism.n_v):
            if self.lag[i]:
                tau.append(z[k])
                rate.append((goal[i] - z[k]) / self.lag[i])
                k += 1
            else:
                tau.append(goal[i])
        return np.array(tau), np.array(rate)


def _shaped(mechanism: Mechanism, value, default: float, what: str) -> np.ndarray:
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
        raise ModelError(f"the {what} is neither one number nor {mechanism.n_v}", element="drive") from None
    return array
