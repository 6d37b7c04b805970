"""When feet stand and when they swing: the timing of gaits that repeat, such as the trot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ..robot_functions import RobotFunctions
from .feet import Foot, checked_feet


@dataclass(frozen=True)
class GaitTiming:
    """Every foot stands for `duty` of each period, from `offsets` of the period on, and swings for the rest.

    Attributes:
        feet: names of the frames.
        period: s.
        duty: share of the period in which a foot stands, between 0 and 1.
        offsets: of each foot, shares of the period from 0 to 1.
    """

    feet: tuple[str, ...]
    period: float
    duty: float
    offsets: tuple[float, ...]

    def contacts(self, t: ArrayLike) -> np.ndarray:
        """Which feet stand at times (...): booleans (..., n)."""
        return self._phase(t) < self.duty

    def swing_phase(self, t: ArrayLike) -> np.ndarray:
        """How far a swing has gone, 0 to 1, (..., n); NaN while the foot stands."""
        phase = self._phase(t)
        return np.where(phase < self.duty, np.nan, (phase - self.duty) / (1.0 - self.duty))

    def _phase(self, t: ArrayLike) -> np.ndarray:
        return np.mod(np.asarray(t, dtype=float)[..., None] / self.period - np.array(self.offsets), 1.0)


def trot_timing(
    robot: RobotFunctions, feet: Sequence[Foot | str], start: Any, period: float = 0.5, duty: float = 0.6
) -> GaitTiming:
    """A trot: feet on one diagonal step together, half a period before those on the other one.

    Args:
        robot: the robot.
        feet: four, whose places at `start` tell the diagonals.
        start: q (n_q,) of the standing machine.
        period: s.
        duty: above a half, all feet stand for a moment between the steps; below, none does.
    """
    made = checked_feet(robot.mechanism, feet, 4)
    if not (np.isfinite(period) and period > 0) or not 0 < duty < 1:
        raise ZvenoError(
            f"a period of {period} s with {duty} of it on the ground is no gait",
            element="timing",
            remedy="Give seconds, more than 0, and a share between 0 and 1",
        )
    names = [foot.frame for foot in made]
    q = robot.mechanism.checked_q(start, "start")
    places = robot.forward_kinematics(q, frames=names)[:, :2, 3]
    relative = places - places.mean(axis=0)
    # Seen from the middle, feet that are opposite to each other are a diagonal.
    turned = np.argsort(np.arctan2(relative[:, 1], relative[:, 0]))
    if len(made) != 4:
        raise ZvenoError(f"{len(made)} feet have no diagonals", element="feet", remedy="A trot needs four feet")
    offsets = np.zeros(4)
    offsets[turned[[1, 3]]] = 0.5
    return GaitTiming(tuple(names), float(period), float(duty), tuple(offsets.tolist()))
