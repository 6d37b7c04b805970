"""The functions of a robot as methods, written once for robots and for robots with constants as inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .algorithms import floating
from .mechanism import Mechanism

Outputs = tuple[np.ndarray | None, ...] | None
"""Where to write the results of a function that has several."""


class FunctionMethods(ABC):
    """Every function of `zveno.functions.FUNCTIONS` as a method, compiled for batches on first use.

    Arrays have any leading batch axes, (..., n_q); one state is a batch (). `out` takes the array to write to.
    Constants of the robot can be given by keyword for one call: `gravity` (3,), `inertia` (n_links, 10),
    `geometry` (n_joints, 4, 4: every T_parent_joint), `tool` (4, 4) and `payload` (10,) in the link's frame; other
    values compile nothing again.
    """

    mechanism: Mechanism

    @abstractmethod
    def _run(
        self, key: tuple, arrays: tuple, out: Any, constants: Mapping[str, Any], external: ArrayLike | None = None
    ) -> Any:
        """Call the compiled function of a key: its name and the values of its options, see `options_of`.

        External wrenches, if there are any, are an input behind `arrays`.
        """

    def integrate(
        self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """q after moving with constant velocity v for unit time, (..., n_q)."""
        return self._run(("integrate",), (q, v), out, constants)

    def difference(
        self, q0: ArrayLike, q1: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """The constant velocity (..., n_v) that takes q0 to q1 in unit time."""
        return self._run(("difference",), (q0, q1), out, constants)

    # --- kinematics

    def forward_kinematics(
        self,
        q: ArrayLike,
        frame: str | None = None,
        frames: Sequence[str] | None = None,
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Pose of a frame (the default one if none is named), (..., 4, 4), or of several, (..., k, 4, 4)."""
        if frames is not None:
            return self._run(("frame_poses", tuple(frames)), (q,), out, constants)
        return self._run(("forward_kinematics", frame), (q,), out, constants)

    def link_poses(self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike) -> np.ndarray:
        """Poses of all links, (..., n_links, 4, 4)."""
        return self._run(("link_poses",), (q,), out, constants)

    def jacobian(
        self,
        q: ArrayLike,
        frame: str | None = None,
        reference: str = "aligned",
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Jacobian of a frame's twist `[v, w]`, (..., 6, n_v); `reference` "aligned", "local" or "world"."""
        return self._run(("jacobian", frame, reference), (q,), out, constants)

    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | None = None,
        reference: str = "aligned",
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Derivative by time of `jacobian` in the same reference, (..., 6, n_v).

        "aligned" and "world": the frame's `acceleration` is J a + J̇ v.
        """
        return self._run(("jacobian_derivative", frame, reference), (q, v), out, constants)

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | None = None,
        reference: str = "aligned",
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Twist `[v, w]` of a frame, (..., 6)."""
        return self._run(("velocity", frame, reference), (q, v), out, constants)

    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str | None = None,
        reference: str = "aligned",
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """True linear and angular acceleration of a frame, (..., 6)."""
        return self._run(("acceleration", frame, reference), (q, v, a), out, constants)

    def link_velocities(
        self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """Twists of all links in their own axes at their origins, (..., n_links, 6)."""
        return self._run(("link_velocities",), (q, v), out, constants)

    def link_accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """True linear and angular accelerations of all links in their own axes, (..., n_links, 6)."""
        return self._run(("link_accelerations",), (q, v, a), out, constants)

    def center_of_mass(self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike) -> np.ndarray:
        """Centre of mass in world axes, (..., 3)."""
        return self._run(("center_of_mass",), (q,), out, constants)

    def center_of_mass_jacobian(
        self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """Jacobian of the centre of mass, (..., 3, n_v)."""
        return self._run(("center_of_mass_jacobian",), (q,), out, constants)

    # --- dynamics

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        friction: bool = False,
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Joint torques, (..., n_v), for accelerations a; `external` wrenches on links are (..., n_links, 6)."""
        return self._run(("inverse_dynamics", friction), (q, v, a), out, constants, external)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: ArrayLike | None = None,
        friction: bool = False,
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Accelerations, (..., n_v), under joint torques tau."""
        return self._run(("forward_dynamics", friction), (q, v, tau), out, constants, external)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Wrench `[f, n]` each link receives through its joint, in its own axes, (..., n_links, 6)."""
        return self._run(("joint_wrenches", False), (q, v, a), out, constants, external)

    def mass_matrix(self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike) -> np.ndarray:
        """Mass matrix, (..., n_v, n_v), rotors included."""
        return self._run(("mass_matrix",), (q,), out, constants)

    def coriolis_matrix(
        self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """C, (..., n_v, n_v), with C v = bias − gravity torque and Ṁ − 2C skew-symmetric."""
        return self._run(("coriolis_matrix",), (q, v), out, constants)

    def inverse_mass_matrix(
        self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """Inverse of the mass matrix, (..., n_v, n_v)."""
        return self._run(("inverse_mass_matrix",), (q,), out, constants)

    def bias(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external: ArrayLike | None = None,
        out: np.ndarray | None = None,
        **constants: ArrayLike,
    ) -> np.ndarray:
        """Torques at zero acceleration, (..., n_v): Coriolis, centrifugal and gravity, less external ones."""
        return self._run(("bias", False), (q, v), out, constants, external)

    def gravity_torque(self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike) -> np.ndarray:
        """Torques that hold the robot at rest, (..., n_v)."""
        return self._run(("gravity_torque",), (q,), out, constants)

    def energy(
        self, q: ArrayLike, v: ArrayLike, out: Outputs = None, **constants: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """(kinetic, potential) energy, J, (...) each."""
        return self._run(("energy",), (q, v), out, constants)

    def momentum(
        self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """`[p, L]` about the world's origin, (..., 6)."""
        return self._run(("momentum",), (q, v), out, constants)

    def centroidal_matrix(self, q: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike) -> np.ndarray:
        """A (..., 6, n_v): `[p, L]` about the centre of mass is A v."""
        return self._run(("centroidal_matrix",), (q,), out, constants)

    def regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """W (..., n_v, 10 N): torques are W p, p the inertial parameters of links 1 … N."""
        return self._run(("regressor",), (q, v, a), out, constants)

    def drive_regressor(
        self, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None, **constants: ArrayLike
    ) -> np.ndarray:
        """W (..., n_v, 4 n_v) of rotor inertia, viscous and Coulomb friction, and offset."""
        return self._run(("drive_regressor",), (v, a), out, constants)

    def partitioned(self, q: ArrayLike, v: ArrayLike, **constants: ArrayLike) -> floating.Partitioned:
        """I_II, I_IR, I_RR, H_I, H_R of document 003's last equation; the base must float."""
        n = floating.base_velocities(self.mechanism)
        floating.warn_near_trunk_singularity(self.mechanism, q)
        M = self._run(("mass_matrix",), (q,), None, constants)
        return floating.partitioned(M, self._run(("bias",), (q, v), None, constants), n)

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        friction: bool = False,
        out: Outputs = None,
        external: ArrayLike | None = None,
        **constants: ArrayLike,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(∂τ/∂q, ∂τ/∂v, ∂τ/∂a), (..., n_v, n_v) each, by q in its tangent; `external` turns with the links."""
        return self._run(("inverse_dynamics_derivatives", friction), (q, v, a), out, constants, external)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        friction: bool = False,
        out: Outputs = None,
        external: ArrayLike | None = None,
        **constants: ArrayLike,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(∂a/∂q, ∂a/∂v, ∂a/∂τ), (..., n_v, n_v) each, by q in its tangent; `external` turns with the links."""
        return self._run(("forward_dynamics_derivatives", friction), (q, v, tau), out, constants, external)


_FRAME = ("frame", "reference")
_FORCES = ("friction", "external")
_OPTIONS = {
    "forward_kinematics": ("frame",),
    "frame_poses": ("frames",),
    "jacobian": _FRAME,
    "jacobian_derivative": _FRAME,
    "velocity": _FRAME,
    "acceleration": _FRAME,
}


def options_of(key: tuple[Any, ...]) -> dict[str, Any]:
    """Options by name from the key of a call; what is None or False is left out."""
    name, *values = key
    names = _OPTIONS.get(name, _FORCES)
    return {option: value for option, value in zip(names, values, strict=False) if value}


def is_of_one_frame(name: str) -> bool:
    """Whether a function has one frame among its options."""
    return "frame" in _OPTIONS.get(name, ())


def takes_frame(name: str) -> bool:
    """Whether a function has a frame or frames among its options."""
    return name in _OPTIONS
