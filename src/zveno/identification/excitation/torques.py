"""Torques of the nominal robot along a motion, with derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...algorithms.drives import friction_torque
from ...algorithms.inverse_dynamics import inverse_dynamics
from ...base_parameters.regressor import states_of
from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.trace import call, trace
from ...mechanism import Mechanism
from ...mechanism.edit import rebuilt


class NominalTorque:
    """Motor torques without Coulomb friction: it is discontinuous, so its size is subtracted from the limits."""

    def __init__(self, mechanism: Mechanism):
        smooth = _without_coulomb(mechanism)
        states = states_of(mechanism)
        self._torque: Kernel = compiled(smooth_torque, states, constants=(smooth,), outputs=("tau",))
        weighted, slopes = states | {"weights": (mechanism.n_v,)}, ("bar_q", "bar_v", "bar_a")
        self._adjoint: Kernel = compiled(smooth_torque_slopes, weighted, constants=(smooth,), outputs=slopes)
        forward = np.ones(mechanism.n_v)
        self.coulomb: np.ndarray = abs(friction_torque(mechanism, forward) - friction_torque(smooth, forward))

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return torques (..., n_v), N·m or N."""
        return self._torque(q, v, a)

    def slopes(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of Σ weights · torque by q, v and a."""
        return self._adjoint(q, v, a, weights)


def smooth_torque(mechanism: Mechanism, q: Any, v: Any, a: Any) -> Any:
    """Compute inverse dynamics with rotors, viscous friction and offsets, (n_v,)."""
    return inverse_dynamics(mechanism, q, v, a) + friction_torque(mechanism, v)


def smooth_torque_slopes(mechanism: Mechanism, q: Any, v: Any, a: Any, weights: Any) -> Any:
    """Return the derivatives of Σ weights · `smooth_torque` by q, v and a."""
    program = trace(smooth_torque, states_of(mechanism), outputs=("tau",), constants=(mechanism,))
    return call(derivatives.reverse(program), q, v, a, weights)


def _without_coulomb(mechanism: Mechanism) -> Mechanism:
    joints = tuple(
        joint if joint.drive is None else replace(joint, drive=replace(joint.drive, coulomb=0.0))
        for joint in mechanism.joints
    )
    return rebuilt(mechanism, joints=joints)
