"""Which footholds a leg reaches while the body stays where it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..ik.whole_body.postures import solve_postures
from ..robot_functions import RobotFunctions
from .feet import Foot, checked_feet

REACHABLE, UNDECIDED = "reachable", "undecided"
PROOFS = ("unreachable", "excluded by limits")
"""What inverse kinematics of a leg proves where it finds no posture."""


def reachable_footholds(robot: RobotFunctions, foot: Foot | str, places: ArrayLike, start: ArrayLike) -> np.ndarray:
    """For places (k, 3) of a foot, m: "reachable", "unreachable", "excluded by limits" or "undecided", (k,) texts.

    The body stays where `start` puts it; the leg is solved as a chain of its own. Where that samples and
    finds nothing, the place is undecided.

    Args:
        robot: a tree on a free base.
        foot: name of a frame that touches at a point, or a Foot, whose sole keeps the attitude it has at `start`.
        places: of the frame's origin.
        start: q (n_q,).
    """
    (made,) = checked_feet(robot.mechanism, [foot], 1)
    wanted = np.asarray(places, dtype=float)
    if wanted.ndim != 2 or wanted.shape[1] != 3 or not np.isfinite(wanted).all():
        raise ShapeError(f"have the shape {wanted.shape}", element="places", remedy="Give finite points (k, 3)")
    q = robot.mechanism.checked_q(start, "start")
    base, pose = robot.forward_kinematics(q, frames=[robot.mechanism.joints[0].child, made.frame])
    verdicts = []
    for place in wanted:
        target = place
        if not made.is_point:
            target = pose.copy()
            target[:3, 3] = place
        postures = solve_postures(robot, {made.frame: target}, base=base)
        if postures.count:
            verdicts.append(REACHABLE)
        else:
            verdicts.append(postures.status if postures.status in PROOFS else UNDECIDED)
    return np.array(verdicts)
