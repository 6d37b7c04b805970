"""What is kept of a body in rows of numbers, and read again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.velocities import Motion
from ..spatial.transforms import transform


def placement(T: Any, p: Any) -> Any:
    """Twelve numbers of a transform: its rotation, and what the joint's own motion adds to its placement p."""
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3] - p])


def placed(numbers: Any, p: Any) -> Any:
    """The transform (4, 4) of these numbers."""
    return transform(numbers[:9].reshape(3, 3), p + numbers[9:])


def motion_numbers(motion: Motion) -> Any:
    """`[w, a, e]`: dynamics does not depend on the velocity of a point, so it is left out."""
    return np.concatenate([motion.w, motion.a, motion.e])


def motion_of(numbers: Any) -> Motion:
    """The motion of these numbers; the velocity of the point is not known."""
    return Motion(np.zeros(3), numbers[:3], numbers[3:6], numbers[6:])
