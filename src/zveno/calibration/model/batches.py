"""Operations on batches of vectors and rigid transforms, (..., 3) and (..., 4, 4)."""

from __future__ import annotations

import numpy as np

_SKEW = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0.0]])
"""Matrix that maps w to the entries of w×."""


def inverses(T: np.ndarray) -> np.ndarray:
    """Return the inverse of each transform."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def skews(a: np.ndarray) -> np.ndarray:
    """Return a× (..., 3, 3) of vectors (..., 3)."""
    return (a @ _SKEW).reshape(*a.shape, 3)


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
