"""Small operations on batches of rigid transforms, (..., 4, 4)."""

from __future__ import annotations

import numpy as np

from ..spatial.transforms import exp


def inverses(T: np.ndarray) -> np.ndarray:
    """T⁻¹ of each."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def displaced(T: np.ndarray, free: tuple[int, ...], step: np.ndarray) -> np.ndarray:
    """T exp(twist) with the free entries of the twist taken from `step`."""
    twist = np.zeros(6)
    twist[list(free)] = step
    return T @ exp(twist)
