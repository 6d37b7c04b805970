"""Checks of quaternions in q: unit length, and rotation limits of ball joints."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from .joint_space import JointSpace
from .joints import QUATERNION_TOLERANCE


def refuse_unnormalized(mechanism: JointSpace, q: np.ndarray, name: str = "q") -> None:
    """Raise an error if a quaternion of configurations (..., n_q) does not have unit length."""
    for joint in mechanism.joints:
        if joint.name in mechanism.joint_names:
            error = np.max(joint.type.quaternion_error(q[..., mechanism.q_slices[joint.name]]), initial=0.0)
            if error > QUATERNION_TOLERANCE:
                raise ShapeError(
                    f"the quaternion must have unit length, but its norm differs from 1 by {error:.3g}",
                    element=f"{name} of joint {joint.name}",
                    remedy="Scale it to unit length",
                )


def limited_balls(mechanism: JointSpace) -> tuple[tuple[slice, float], ...]:
    """Slices of q of ball joints with a rotation limit, and the limit angles, rad."""
    return tuple(
        (mechanism.q_slices[joint.name], float(joint.limits.angle))
        for joint in mechanism.joints
        if np.isfinite(joint.limits.angle)
    )


def ball_angle(quaternion: np.ndarray) -> np.ndarray:
    """Rotation angles (...) of quaternions (..., 4), rad, at most π."""
    return 2.0 * np.arctan2(np.linalg.norm(quaternion[..., 1:], axis=-1), abs(quaternion[..., 0]))
