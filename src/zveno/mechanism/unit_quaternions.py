"""Tasks take quaternions of length 1: others are refused, with the joint."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from .joint_space import JointSpace
from .joints import QUATERNION_TOLERANCE


def refuse_unnormalized(mechanism: JointSpace, q: np.ndarray, what: str = "q") -> None:
    """An error where a quaternion of configurations (..., n_q) is not of length 1."""
    for joint in mechanism.joints:
        if joint.name in mechanism.joint_names:
            error = np.max(joint.type.quaternion_error(q[..., mechanism.q_slices[joint.name]]), initial=0.0)
            if error > QUATERNION_TOLERANCE:
                raise ShapeError(
                    f"the quaternion's norm is off by {error:.3g}",
                    element=f"{what} of joint {joint.name}",
                    remedy="Scale it to unit length",
                )
