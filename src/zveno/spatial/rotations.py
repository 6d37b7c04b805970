"""Rotations: matrices, axis and angle, roll–pitch–yaw, quaternions `wxyz`, rotation vectors.

Functions used inside recursions (`about_axis`, `from_quaternion`, `exp`, `log`, …) take float, complex or traced
entries. Functions used only by file readers (`from_rpy`, `to_quaternion`, …) take floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.ops import atan2, cos, sin, sqrt, where
from .vectors import cross, skew

RIGHT_ANGLE = math.pi / 2
_ROUNDING = 4 * np.finfo(float).eps


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine of a constant angle, exact at multiples of 90° up to rounding.

    π/2 is not a double; otherwise every right angle of a model file would give 6e-17 instead of zero.
    """
    quarter_turns = round(angle / RIGHT_ANGLE)
    if abs(angle - quarter_turns * RIGHT_ANGLE) <= _ROUNDING * max(1.0, abs(angle)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter_turns % 4]
    return math.cos(angle), math.sin(angle)


def about_axis(axis: np.ndarray, c: Any, s: Any) -> np.ndarray:
    """Rotation matrix about a unit axis, from the cosine and sine of the angle.

    R = aaᵀ + cos θ (1 − aaᵀ) + sin θ [a]× (Rodrigues). Grouped like this, a traced rotation about a
    coordinate axis needs no arithmetic.
    """
    along = np.outer(axis, axis)
    return along + c * (np.eye(3) - along) + s * skew(axis)


def about_axis_by(axis: np.ndarray, angle: Any) -> np.ndarray:
    """Rotation matrix about a unit axis by an angle in radians, which may be traced."""
    return about_axis(axis, cos(angle), sin(angle))


def elementary(letter: str, angle: float) -> np.ndarray:
    """Constant rotation about the x, y or z axis by `angle` radians."""
    return about_axis(np.eye(3)["xyz".index(letter)], *cos_sin(angle))


def from_rpy(rpy: Sequence[float] | np.ndarray) -> np.ndarray:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) from (roll, pitch, yaw) in radians: URDF's fixed-axis angles."""
    roll, pitch, yaw = (float(angle) for angle in rpy)
    return elementary("z", yaw) @ elementary("y", pitch) @ elementary("x", roll)


def to_rpy(R: ArrayLike) -> np.ndarray:
    """Angles (roll, pitch, yaw) of R in radians, pitch in [−π/2, π/2], accurate to rounding at every pitch.

    The roll is computed after yaw and pitch are undone. Near pitch = ±90°, only the sum or the difference of roll
    and yaw is well determined; the roll computed in this way compensates the error of the yaw.
    """
    R = np.asarray(R) + 0.0  # atan2(0, −0) would be π
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = cos_sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return np.array([math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw])


def from_quaternion(wxyz: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Rotation matrix of a unit quaternion `wxyz`."""
    w, x, y, z = wxyz[0], wxyz[1], wxyz[2], wxyz[3]
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def to_quaternion(R: ArrayLike) -> np.ndarray:
    """Unit quaternion `wxyz` with w ≥ 0 of a rotation matrix (Shepperd's choice of the largest component)."""
    R = np.asarray(R)
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = np.array([trace, R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        q = np.empty(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1.0 + R[i, i] - R[j, j] - R[m, m]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    q /= np.linalg.norm(q)
    return -q if q[0] < 0 else q


def quaternion_product(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Product p ⊗ q of two quaternions `wxyz`: rotation by q, then by p."""
    p, q = np.asarray(p), np.asarray(q)
    vector = p[0] * q[1:] + q[0] * p[1:] + cross(p[1:], q[1:])
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], vector])


def quaternion_conjugate(q: ArrayLike) -> np.ndarray:
    """Conjugate of a quaternion `wxyz`, the inverse of a unit quaternion."""
    quaternion = np.asarray(q)
    return np.concatenate([quaternion[:1], -quaternion[1:]])


def exp_coefficients(squared: Any) -> tuple[Any, ...]:
    """Coefficients sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³ and (θ²/2 − 1 + cos θ)/θ⁴, smooth in θ².

    The m-th coefficient is Σ (−θ²)^k/(2k + m)!. The series is used up to θ = 1. Beyond, the closed forms lose only
    a few digits to cancellation.
    """
    small = squared < 1.0
    safe = where(small, 1.0, squared)
    angle = sqrt(safe)
    a = sin(angle) / angle
    b = (1.0 - cos(angle)) / safe
    closed = (a, b, (1.0 - a) / safe, (0.5 - b) / safe)
    return tuple(where(small, _series(squared, m), form) for m, form in enumerate(closed, start=1))


def _series(squared, m: int):
    """Evaluate Σ (−θ²)^k/(2k + m)! by Horner's rule, accurate to rounding for θ ≤ 1."""
    total = 1.0 / math.factorial(18 + m)
    for k in range(8, -1, -1):
        total = 1.0 / math.factorial(2 * k + m) - squared * total
    return total


def exp(rotation_vector: ArrayLike) -> np.ndarray:
    """Rotation matrix of a rotation vector (axis times angle, radians)."""
    vector = np.asarray(rotation_vector)
    a, b, *_ = exp_coefficients(vector @ vector)
    K = skew(vector)
    return np.eye(3) + a * K + b * (K @ K)


def quaternion_exp(rotation_vector: ArrayLike) -> np.ndarray:
    """Unit quaternion `wxyz` of a rotation vector."""
    half = 0.5 * np.asarray(rotation_vector)
    squared = half @ half
    a, b, *_ = exp_coefficients(squared)
    return np.concatenate([[1.0 - squared * b], a * half])


def quaternion_log(q: ArrayLike) -> np.ndarray:
    """Rotation vector, of angle at most π, of a unit quaternion `wxyz`."""
    quaternion = np.asarray(q)
    quaternion = quaternion * where(quaternion[0] < 0.0, -1.0, 1.0)
    w, u = quaternion[0], quaternion[1:]
    squared = u @ u
    small = squared < 1e-6
    norm = sqrt(where(small, 1.0, squared))
    # 2 atan2(|u|, w)/|u|; near zero its series 2 asin(|u|)/|u|, whose next term is below 1e-17.
    factor = where(small, 2.0 + squared / 3.0 * (1.0 + 0.45 * squared), 2.0 * atan2(norm, w) / norm)
    return factor * u


def log(R: ArrayLike) -> np.ndarray:
    """Rotation vector, of angle at most π, of a constant rotation matrix."""
    return quaternion_log(to_quaternion(R))


def is_rotation(R: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Return True if RᵀR = 1 and det R = +1 within `tolerance`."""
    R = np.asarray(R, dtype=float)
    return bool(np.isfinite(R).all() and abs(R.T @ R - np.eye(3)).max() <= tolerance and np.linalg.det(R) > 0)


def nearest_rotation(A: ArrayLike) -> np.ndarray:
    """Project a 3×3 matrix onto the nearest rotation in the Frobenius norm (polar factor, det = +1)."""
    U, _, Vt = np.linalg.svd(np.asarray(A))
    return U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt


def z_to(axis: ArrayLike) -> np.ndarray:
    """Rotation that maps the z axis to the unit vector `axis`; coordinate axes give exact entries."""
    axis = np.asarray(axis, dtype=float)
    # The formula divides by 1 + z: for negative z, rotate by 180° about x first.
    over = np.diag([1.0, -1.0, -1.0]) if axis[2] < 0 else np.eye(3)
    axis = over @ axis
    K = skew(cross(np.array([0.0, 0.0, 1.0]), axis))
    return over @ (np.eye(3) + K + K @ K / (1.0 + axis[2]))


def is_about_one_axis(R: np.ndarray) -> bool:
    """Return True if a rotation is the identity or about a coordinate axis."""
    return any(abs(R[axis, axis] - 1.0) < 1e-12 for axis in range(3))


def angle_about(R: np.ndarray, axis: int) -> float:
    """Angle of a rotation about the given coordinate axis; 0 if it is about another axis."""
    if abs(R[axis, axis] - 1.0) > 1e-12:
        return 0.0
    j, k = (axis + 1) % 3, (axis + 2) % 3
    angle = float(np.arctan2(R[k, j], R[j, j]))
    return angle if abs(angle) > 1e-12 else 0.0
