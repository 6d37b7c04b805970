"""Manipulability of a frame at a configuration."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..mechanism.loops import for_trees
from ..robot_functions import RobotFunctions


@for_trees
def manipulability(robot: RobotFunctions, q: ArrayLike, frame: str | None = None) -> np.ndarray:
    """Return √det(J Jᵀ) of the frame's Jacobian J, or √det(JᵀJ) with fewer than six velocities: zero if singular.

    Yoshikawa (1985), "Manipulability of robotic mechanisms". Metres and radians enter as they are: compare values
    of one robot only.

    Args:
        robot: the robot.
        q: configurations, (..., n_q).
        frame: a frame or link; the default frame if none is named.

    Returns:
        (...), the product of the Jacobian's singular values.
    """
    J = np.asarray(robot.jacobian(q, frame=frame))
    return np.prod(np.linalg.svd(J, compute_uv=False), axis=-1)
