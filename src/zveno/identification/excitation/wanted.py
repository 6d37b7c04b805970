"""Parameters that a motion is to determine, and the rows of their regressor with derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms.regressor import DRIVE_PARAMETER_NAMES
from ...base_parameters.analyse import base_parameters
from ...base_parameters.regressor import regressor_columns, states_of
from ...errors import ModelError, ZvenoWarning
from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.trace import call, trace
from ...mechanism import Mechanism
from ...spatial.inertia import N_PARAMETERS

SHARP = 0.02
"""Smoothing of Coulomb friction: it reaches its full size at about twice this share of a joint's velocity limit.

A sign has no derivative where the direction changes, and a real joint creeps there.
"""


class WantedParameters:
    """Base parameters of a mechanism whose torques are measured at all of its joints.

    Args:
        mechanism: the moving part.
        drives: kinds of drive parameters that are wanted as well, as in `base_parameters`.
        payload: name of a link; then only the parameters of its load are wanted, all else is known.
        sigma: standard deviation of a measured torque, (n_v,).
        velocity: limits of the velocities, (n_v,), which Coulomb friction is smoothed by.
    """

    mechanism: Mechanism
    sigma: np.ndarray

    def __init__(
        self,
        mechanism: Mechanism,
        drives: bool | Sequence[str],
        payload: str | None,
        sigma: np.ndarray,
        velocity: np.ndarray,
    ):
        self.mechanism, self.sigma = mechanism, sigma
        known = () if payload is None else tuple(name for name in mechanism.link_names[1:] if name != payload)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)  # near-degenerate geometry shows as a large σ
            base = base_parameters(
                mechanism,
                drives=drives if payload is None else False,
                massless=None if payload is None else known,
                loops=(),
            )
        self.columns: tuple[int, ...] = tuple(int(k) for k in base.regressor_columns)
        self.names: tuple[str, ...] = base.names
        self.expressions: tuple[str, ...] = base.expressions
        self.certified: bool = base.certified
        if not self.columns:
            raise ModelError(
                f"no torque of {mechanism.name} depends on a parameter that is wanted",
                remedy="Let more joints move, or ask for other parameters",
            )
        first = N_PARAMETERS * len(mechanism.joints) + DRIVE_PARAMETER_NAMES.index("coulomb") * mechanism.n_v
        signs = [(place, c - first) for place, c in enumerate(self.columns) if 0 <= c - first < mechanism.n_v]
        self._signs: np.ndarray = np.array(signs, dtype=int).reshape(-1, 2)
        self._sharpness: np.ndarray = 1.0 / (SHARP * velocity)
        states, constants = states_of(mechanism), (mechanism, self.columns)
        self._kernel: Kernel = compiled(regressor_columns, states, constants=constants, name="base_regressor")
        self._adjoint: Kernel = compiled(
            regressor_slopes,
            states | {"weights": (mechanism.n_v, len(self.columns))},
            constants=constants,
            name="base_regressor_slopes",
            outputs=("bar_q", "bar_v", "bar_a"),
        )

    @property
    def n(self) -> int:
        """Number of wanted parameters."""
        return len(self.columns)

    def rows(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return (..., n_v, r): torques of the parameters over the standard deviation of a torque."""
        W = self._kernel(q, v, a)
        place, joint = self._signs.T
        W[..., joint, place] = np.tanh(v[..., joint] * self._sharpness[joint])
        W /= self.sigma[:, None]
        return W

    def slopes(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of Σ weights · rows by q, v and a, (..., n) each, for weights (..., n_v, r)."""
        weights = weights / self.sigma[:, None]
        place, joint = self._signs.T
        bar_q, bar_v, bar_a = self._adjoint(q, v, a, weights)
        bend = np.tanh(v[..., joint] * self._sharpness[joint])
        bar_v[..., joint] += weights[..., joint, place] * self._sharpness[joint] * (1.0 - bend * bend)
        return bar_q, bar_v, bar_a

    def information(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return M (..., r, r) of states (..., n, n_q): its inverse is the covariance of the parameters."""
        W = self.rows(q, v, a)
        A = W.reshape(*W.shape[:-3], -1, self.n)
        return np.swapaxes(A, -1, -2) @ A


def regressor_slopes(mechanism: Mechanism, columns: Sequence[int], q: Any, v: Any, a: Any, weights: Any) -> Any:
    """Return derivatives of Σ weights · W by q, v and a, W the regressor's columns, for weights (n_v, columns)."""
    states = states_of(mechanism)
    program = trace(regressor_columns, states, outputs=("W",), constants=(mechanism, columns))
    return call(derivatives.reverse(program), q, v, a, weights)
