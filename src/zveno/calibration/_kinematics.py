"""Pose of a model frame and its derivative by every parameter; closed loops are closed first."""

from __future__ import annotations

import numpy as np

from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..spatial.vectors import skews
from ._closing import closed_rates
from ._products import product_motion, product_rates
from .models import Model


def frame_motion(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return T (..., 4, 4) of a frame in the world and J (..., 6, P) with T⁻¹ dT = [v, w] = J d(values).

    Where the model has closed loops, q is near a closed state; only its independent coordinates count, and J holds
    what the dependent joints do when a parameter changes. Such models take floats only.

    Args:
        model: the model.
        frame: one of its frames.
        q: joint coordinates, (..., n_q).
        values: deviations of all P parameters, (..., P).
        tau: torques that hold the robot at rest, (..., n_v), where joints of the model yield.
        side: sign of every joint's last motion, (..., n_v), where joints of the model have hysteresis; 0 if None.
    """
    if model.mechanism.loops:
        return closed_rates(model, frame, q, values, tau, side)[:2]
    return product_motion(model, frame, q, values, tau, side)


def frame_rates(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return T (..., 4, 4) of a frame and its body twists (..., 6, n_v) by velocities of joints of all types.

    Where loops are closed, those of dependent joints are zero. Arguments as for `frame_motion`, floats.
    """
    rates = closed_rates if model.mechanism.loops else product_rates
    T, _, Q = rates(model, frame, q, values, tau, side)
    return T, Q


def pose_kernel(model: Model, frame: str) -> Kernel:
    """Compile (q, values, tau, side) → T (4, 4) and J (6, P) of `frame_motion` for batches, for trees.

    Parameters are inputs: a fit, another strategy or another robot state needs no recompilation.
    """
    n_v = model.mechanism.n_v
    inputs = {"q": (model.mechanism.n_q,), "values": (len(model.terms),), "tau": (n_v,), "side": (n_v,)}
    constants, outputs = (model, frame), ("T", "J")
    return compiled(product_motion, inputs, constants=constants, name="calibration_pose", outputs=outputs)


def relative_motion(
    T_world_b: np.ndarray, J_b: np.ndarray, T_world_a: np.ndarray, J_a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (..., 4, 4) of a frame a in another one, b, and its body twist J (..., 6, k), from those of
    both in the world: T⁻¹ dT = J_a − Ad(T⁻¹) J_b. Entries may be traced."""
    Rt = np.swapaxes(T_world_b[..., :3, :3], -1, -2)
    R = Rt @ T_world_a[..., :3, :3]
    p = (Rt @ (T_world_a[..., :3, 3] - T_world_b[..., :3, 3])[..., None])[..., 0]
    T = np.zeros_like(T_world_a)
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    back, v, w = np.swapaxes(R, -1, -2), J_b[..., :3, :], J_b[..., 3:, :]
    linear = back @ (v + np.cross(w, p[..., None], axis=-2))
    return T, J_a - np.concatenate([linear, back @ w], axis=-2)


def inverses(T: np.ndarray) -> np.ndarray:
    """Return the inverse of each transform."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def displaced(T: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return T moved by small body displacements d (..., 6): translated, then turned by a rotation vector."""
    w = d[..., 3:]
    K = skews(w)
    half = 0.5 * np.sqrt(np.einsum("...i,...i", w, w))[..., None, None] + 1e-30
    s = np.sin(half) / half
    E = np.zeros((*w.shape[:-1], 4, 4))
    # exp K = 1 + K sin θ / θ + K² (1 − cos θ) / θ²
    E[..., :3, :3] = np.eye(3) + s * np.cos(half) * K + 0.5 * s**2 * (K @ K)
    E[..., :3, 3] = d[..., :3]
    E[..., 3, 3] = 1.0
    return T @ E
