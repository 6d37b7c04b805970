"""A planned walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..io.results import Result, registered
from ..mechanism import Mechanism

PLANNED = "planned"


@registered
@dataclass(frozen=True, eq=False, repr=False)
class WalkPlan(Result):
    """A static walk: n samples of a motion in which the centre of mass stays above the feet that stand.

    Attributes:
        robot: its name.
        feet: names of the frames that stand, (f,).
        order: in which the feet step, numbers of `feet`.
        t: (n,), s.
        q: (n, n_q), within the joints' limits at every sample.
        center_of_mass: (n, 3), m.
        positions: of the feet's frames, (n, f, 3), m.
        contacts: which feet stand, (n, f).
        corners: of the support polygon at every sample, (n, k, 2), m, the last corner repeated.
        margin: of the centre of mass to the edge of the polygon, (n,), m.
        least_margin: that was asked for, m.
        footholds: where feet were put down, in order, (steps, 3), m.
        steps: which foot that was, (steps,).
        torque_share: largest static torque over its limit in the middle of every step, (steps,).
        residual: worst miss of a foot, the centre of mass or the attitude, m or rad.
        mechanism: the robot.
        inputs: hash of what it was computed from.
    """

    kind: ClassVar[str] = "walk"

    robot: str
    feet: tuple[str, ...]
    order: tuple[int, ...]
    t: np.ndarray
    q: np.ndarray
    center_of_mass: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray
    corners: np.ndarray
    margin: np.ndarray
    least_margin: float
    footholds: np.ndarray
    steps: np.ndarray
    torque_share: np.ndarray
    residual: float
    mechanism: Mechanism | None = None
    inputs: str = ""

    @property
    def status(self) -> str:
        """ "planned", or where the margin is less than asked for."""
        short = self.margin < self.least_margin - 1e-5
        if not short.any():
            return PLANNED
        first = int(np.argmax(short))
        return (
            f"margin of {self.margin[first]:.4g} m at t = {self.t[first]:.4g} s, {self.least_margin:g} m asked for"
        )

    @property
    def summary(self) -> str:
        """One sentence."""
        way = np.linalg.norm(self.center_of_mass[-1, :2] - self.center_of_mass[0, :2])
        return (
            f"{self.robot}: {len(self.steps)} steps of {len(self.feet)} feet, {way:.3g} m in {self.t[-1]:.3g} s; "
            f"margin at least {self.margin.min():.4g} m at {len(self.t)} samples, "
            f"static torques up to {100 * self.torque_share.max(initial=0.0):.0f} % of their limits"
        )
