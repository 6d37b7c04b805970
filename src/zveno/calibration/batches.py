"""Small operations on batches of rigid transforms, (..., 4, 4)."""

from __future__ import annotations

import math

import numpy as np


def inverses(T: np.ndarray) -> np.ndarray:
    """T⁻¹ of each."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def displaced(T: np.ndarray, free: tuple[int, ...], step: np.ndarray) -> np.ndarray:
    """T moved by the free entries of a small body displacement: translated, then turned by a rotation vector."""
    d = [0.0] * 6
    for k, value in zip(free, step.tolist(), strict=True):
        d[k] = value
    x, y, z = d[3:]
    angle = math.sqrt(x * x + y * y + z * z)
    a, b = (math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle**2) if angle > 1e-8 else (1.0, 0.5)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    E = np.eye(4)
    E[:3, :3] += a * K + b * (K @ K)
    E[:3, 3] = d[:3]
    return T @ E
