"""Rigid transforms as 4×4 matrices, twists and wrenches as (6,) vectors, linear part first.

`T_a_b` maps coordinates in frame b to coordinates in frame a: adjacent names cancel in `T_a_b @ T_b_c`.
Functions take float, complex or traced entries unless stated otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .rotations import exp_coefficients, is_rotation
from .vectors import cross, skew

_LAST_ROW = np.array([[0.0, 0.0, 0.0, 1.0]])


def transform(R: ArrayLike | None = None, p: ArrayLike | None = None) -> np.ndarray:
    """Build the 4×4 transform with rotation `R` (default identity) and translation `p` (default zero)."""
    R = np.eye(3) if R is None else np.asarray(R)
    p = np.zeros(3) if p is None else np.asarray(p)
    return np.concatenate([np.concatenate([R, p[:, None]], axis=1), _LAST_ROW])


def _parts(T: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and translation of a transform."""
    T = np.asarray(T)
    return T[:3, :3], T[:3, 3]


def inverse(T: ArrayLike) -> np.ndarray:
    """Inverse of a rigid transform: [Rᵀ, −Rᵀp]."""
    R, p = _parts(T)
    return transform(R.T, -(R.T @ p))


def adjoint(T_a_b: ArrayLike) -> np.ndarray:
    """Adjoint matrix (6, 6) that maps a twist `[v, w]` from frame b to frame a: [[R, [p]×R], [0, R]]."""
    R, p = _parts(T_a_b)
    return np.concatenate([np.concatenate([R, skew(p) @ R], axis=1), np.concatenate([np.zeros((3, 3)), R], axis=1)])


def move_twist(T_a_b: ArrayLike, twist: ArrayLike) -> np.ndarray:
    """Transform a twist `[v, w]` from frame b to frame a: v_a = R v + p × R w, w_a = R w."""
    (R, p), twist = _parts(T_a_b), np.asarray(twist)
    w = R @ twist[3:]
    return np.concatenate([R @ twist[:3] + cross(p, w), w])


def move_wrench(T_a_b: ArrayLike, wrench: ArrayLike) -> np.ndarray:
    """Transform a wrench `[f, n]` from frame b to frame a: f_a = R f, n_a = R n + p × R f."""
    (R, p), wrench = _parts(T_a_b), np.asarray(wrench)
    f = R @ wrench[:3]
    return np.concatenate([f, R @ wrench[3:] + cross(p, f)])


def exp(twist: ArrayLike) -> np.ndarray:
    """Displacement after unit time with a constant body twist `[v, w]`.

    p = V v with V = 1 + b [w]× + c [w]×², coefficients as in `rotations.exp_coefficients`.
    """
    twist = np.asarray(twist)
    v, w = twist[:3], twist[3:]
    a, b, c, _ = exp_coefficients(w @ w)
    K = skew(w)
    KK = K @ K
    return transform(np.eye(3) + a * K + b * KK, v + b * (K @ v) + c * (KK @ v))


def log(rotation_vector: ArrayLike, p: ArrayLike) -> np.ndarray:
    """Body twist `[v, w]` whose `exp` has translation `p` and the rotation of `rotation_vector`.

    v = V⁻¹p with V⁻¹ = 1 − [w]×/2 + d [w]×², d = (1 − a/2b)/θ² = (c − 2e)/2b.
    """
    rotation_vector, p = np.asarray(rotation_vector), np.asarray(p)
    _, b, c, e = exp_coefficients(rotation_vector @ rotation_vector)
    d = (c - 2.0 * e) / (2.0 * b)
    K = skew(rotation_vector)
    return np.concatenate([p - 0.5 * (K @ p) + d * (K @ (K @ p)), rotation_vector])


def is_transform(T: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Return True if a float array is a rigid (4, 4) transform within `tolerance`."""
    T = np.asarray(T, dtype=float)
    return T.shape == (4, 4) and bool(
        np.isfinite(T).all() and abs(T[3] - _LAST_ROW[0]).max() <= tolerance and is_rotation(T[:3, :3], tolerance)
    )
