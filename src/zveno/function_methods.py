"""Methods of a robot for every function of `functions.FUNCTIONS`; written by tools/write_methods.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .algorithms.references import Reference

Outputs = tuple[np.ndarray | None, ...] | None
"""Arrays for the results of a function that has several."""


class FunctionMethods:
    """The compiled functions of a robot."""

    def _run(self, key: tuple, arrays: tuple, out: Any, external: ArrayLike | None = None) -> Any:
        raise NotImplementedError

    def integrate(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Move from q with constant velocity v for unit time.

        Returns:
            q (..., n_q)
        """
        return self._run(("integrate",), (q, v), out)

    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return the constant velocity that takes q0 to q1 in unit time.

        Returns:
            v (..., n_v)
        """
        return self._run(("difference",), (q0, q1), out)

    def forward_kinematics(
        self, q: ArrayLike, frame: str | None = None, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the pose of a frame; of the default frame if none is named.

        Args:
            frame: name of the frame; None for the default frame.

        Returns:
            T_world_frame (..., 4, 4)
        """
        return self._run(("forward_kinematics", frame), (q,), out)

    def frame_poses(self, q: ArrayLike, frames: Sequence[str], *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the poses of several frames.

        Args:
            frames: names of frames.

        Returns:
            T_world_frames (..., n_frames, 4, 4)
        """
        return self._run(("frame_poses", tuple(frames)), (q,), out)

    def link_poses(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the poses of all links.

        Returns:
            T_world_links (..., n_links, 4, 4)
        """
        return self._run(("link_poses",), (q,), out)

    def jacobian(
        self,
        q: ArrayLike,
        frame: str | None = None,
        *,
        reference: Reference = "aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the Jacobian of a frame's twist `[v, w]`.

        Args:
            frame: name of the frame; None for the default frame.
            reference: axes and point of the twist: "aligned" (world axes, origin of the frame), "local" or "world".

        Returns:
            J (..., 6, n_v)
        """
        return self._run(("jacobian", frame, reference), (q,), out)

    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | None = None,
        *,
        reference: Reference = "aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the time derivative of `jacobian`: `frame_acceleration` is J a + J̇ v (not in local axes).

        Args:
            frame: name of the frame; None for the default frame.
            reference: axes and point of the twist: "aligned" (world axes, origin of the frame), "local" or "world".

        Returns:
            J_rate (..., 6, n_v)
        """
        return self._run(("jacobian_derivative", frame, reference), (q, v), out)

    def frame_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | None = None,
        *,
        reference: Reference = "aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the twist `[v, w]` of a frame.

        Args:
            frame: name of the frame; None for the default frame.
            reference: axes and point of the twist: "aligned" (world axes, origin of the frame), "local" or "world".

        Returns:
            twist (..., 6)
        """
        return self._run(("frame_velocity", frame, reference), (q, v), out)

    def frame_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str | None = None,
        *,
        reference: Reference = "aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the true linear and angular acceleration of a frame.

        Args:
            frame: name of the frame; None for the default frame.
            reference: axes and point of the twist: "aligned" (world axes, origin of the frame), "local" or "world".

        Returns:
            acceleration (..., 6)
        """
        return self._run(("frame_acceleration", frame, reference), (q, v, a), out)

    def center_of_mass(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the centre of mass in world axes.

        Returns:
            center (..., 3)
        """
        return self._run(("center_of_mass",), (q,), out)

    def center_of_mass_jacobian(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the Jacobian of the centre of mass.

        Returns:
            J (..., 3, n_v)
        """
        return self._run(("center_of_mass_jacobian",), (q,), out)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        joint_friction: bool = False,
        external: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the joint torques for accelerations a.

        Args:
            joint_friction: True to include the friction of drives.
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            tau (..., n_v)
        """
        return self._run(("inverse_dynamics", joint_friction), (q, v, a), out, external)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        joint_friction: bool = False,
        external: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the accelerations under joint torques tau.

        Args:
            joint_friction: True to include the friction of drives.
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            a (..., n_v)
        """
        return self._run(("forward_dynamics", joint_friction), (q, v, tau), out, external)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        external: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the wrench `[f, n]` that each link receives through its joint, in its own axes.

        Args:
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            wrenches (..., n_links, 6)
        """
        return self._run(("joint_wrenches",), (q, v, a), out, external)

    def bias(
        self, q: ArrayLike, v: ArrayLike, *, external: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the torques at zero acceleration: Coriolis, centrifugal, gravity and external ones.

        Args:
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            tau (..., n_v)
        """
        return self._run(("bias",), (q, v), out, external)

    def gravity_torque(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the torques that hold the robot at rest.

        Returns:
            tau (..., n_v)
        """
        return self._run(("gravity_torque",), (q,), out)

    def mass_matrix(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the mass matrix, rotors included.

        Returns:
            M (..., n_v, n_v)
        """
        return self._run(("mass_matrix",), (q,), out)

    def inverse_mass_matrix(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the inverse of the mass matrix.

        Returns:
            M_inverse (..., n_v, n_v)
        """
        return self._run(("inverse_mass_matrix",), (q,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute C with C v = bias − gravity torque and Ṁ − 2C skew-symmetric.

        Returns:
            C (..., n_v, n_v)
        """
        return self._run(("coriolis_matrix",), (q, v), out)

    def centroidal_matrix(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute A with momentum `[p, L]` about the centre of mass = A v.

        Returns:
            A (..., 6, n_v)
        """
        return self._run(("centroidal_matrix",), (q,), out)

    def momentum(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the momentum `[p, L]` about the origin of the world.

        Returns:
            momentum (..., 6)
        """
        return self._run(("momentum",), (q, v), out)

    def energy(self, q: ArrayLike, v: ArrayLike, *, out: Outputs = None) -> tuple[np.ndarray, np.ndarray]:
        """Compute the kinetic and potential energy, J.

        Returns:
            kinetic (...), potential (...)
        """
        return self._run(("energy",), (q, v), out)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute W: torques are W p, p the inertial parameters of links 1 … N.

        Returns:
            W (..., n_v, 10 N)
        """
        return self._run(("regressor",), (q, v, a), out)

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        joint_friction: bool = False,
        external: ArrayLike | None = None,
        out: Outputs = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute ∂τ/∂q in the tangent of q, ∂τ/∂v and ∂τ/∂a; external wrenches turn with the links.

        Args:
            joint_friction: True to include the friction of drives.
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            dtau_dq (..., n_v, n_v), dtau_dv (..., n_v, n_v), dtau_da (..., n_v, n_v)
        """
        return self._run(("inverse_dynamics_derivatives", joint_friction), (q, v, a), out, external)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        joint_friction: bool = False,
        external: ArrayLike | None = None,
        out: Outputs = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute ∂a/∂q in the tangent of q, ∂a/∂v and ∂a/∂τ; external wrenches turn with the links.

        Args:
            joint_friction: True to include the friction of drives.
            external: wrenches `[f, n]` on links in their own axes, (..., n_links, 6).

        Returns:
            da_dq (..., n_v, n_v), da_dv (..., n_v, n_v), da_dtau (..., n_v, n_v)
        """
        return self._run(("forward_dynamics_derivatives", joint_friction), (q, v, tau), out, external)
