"""Result of a simulated walk: motion, footholds, and margins to its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..io.results import registered
from ..report.description import Description
from ..report.result import Result
from ..simulation.trajectory import Trajectory

WalkStatus = Literal["walked", "fell", "unfinished"]
PERCENTILES = (0, 1, 5, 50)
"""Percentiles of margins; for tilts and torques, counted from above."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Walk(Result):
    """Simulated walk, n samples.

    Attributes:
        robot_name: name of the robot.
        status: "walked"; "fell"; or "unfinished", the time was over, soles overlapped, or the motion diverged.
        reason: cause of the status, with time and step.
        gait: name of the gait.
        feet: names of the frames that stand, (f,).
        trajectory: the motion; its reactions are those of all points of the soles.
        contacts: standing feet as assumed by the controller, (n, f).
        positions: of the feet's frames, (n, f, 3), m.
        center_of_mass: (n, 3), m.
        footholds: touchdown positions, in order, (steps, 3), m.
        steps: foot of each touchdown, (steps,).
        step_times: times of the touchdowns, (steps,), s.
        margin: from the centre of pressure to the edge of the support polygon, (n,), m; NaN if there is none.
        tilt: largest angle of a standing sole to the ground below it, (n,), rad; NaN for feet that are points.
        torque_share: largest torque over its limit, (n,).
        estimate_error: of the estimated height above the feet, m, tilt, rad, and speed, m/s, of the base, (n, 3).
        unsolved: control steps whose quadratic program was not solved.
        inputs_hash: hash of the inputs.
    """

    kind: ClassVar[str] = "walk run"

    robot_name: str
    status: WalkStatus
    reason: str
    gait: str
    feet: tuple[str, ...]
    trajectory: Trajectory
    contacts: np.ndarray
    positions: np.ndarray
    center_of_mass: np.ndarray
    footholds: np.ndarray
    steps: np.ndarray
    step_times: np.ndarray
    margin: np.ndarray
    tilt: np.ndarray
    torque_share: np.ndarray
    estimate_error: np.ndarray
    unsolved: int = 0
    inputs_hash: str = ""

    @property
    def walked(self) -> bool:
        """True if all steps were made without a fall."""
        return self.status == "walked"

    @property
    def margin_percentiles(self) -> dict[int, float]:
        """Smallest margin and its percentiles, m, by percent."""
        return _percentiles(self.margin, PERCENTILES)

    @property
    def tilt_percentiles(self) -> dict[int, float]:
        """Percentiles of the tilt of standing soles up to the largest, rad, by percent."""
        return _percentiles(self.tilt, [100 - p for p in PERCENTILES])

    @property
    def speed(self) -> float:
        """Horizontal distance of the centre of mass over time, m/s."""
        way = self.center_of_mass[-1, :2] - self.center_of_mass[0, :2]
        return float(np.linalg.norm(way) / max(self.trajectory.t[-1], 1e-9))

    @property
    def summary(self) -> str:
        """Summary in one or two sentences."""
        least = self.margin_percentiles[5]
        margin = "" if np.isnan(least) else f"; support margin {1e3 * least:.0f} mm or more in 95 % of the samples"
        tilt = self.tilt_percentiles[95]
        tilted = "" if np.isnan(tilt) else f", soles tilted by {max(np.degrees(tilt), 0.1):.1f}° or less"
        count = f"{len(self.steps)} step" + ("" if len(self.steps) == 1 else "s")
        return (
            f"{self.robot_name} {self.reason}: {count} ({self.gait}), {self.speed:.3g} m/s over "
            f"{self.trajectory.t[-1]:.3g} s{margin}{tilted}; torques up to "
            f"{100 * float(np.nanmax(self.torque_share, initial=0.0)):.0f} % of their limits"
            + (
                f"; in {self.unsolved} control steps no torques within all limits were found"
                if self.unsolved
                else ""
            )
        )

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_walk

        return describe_walk(self)


def _percentiles(values: np.ndarray, percents) -> dict[int, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return dict.fromkeys(percents, float("nan"))
    return dict(zip(percents, np.percentile(known, list(percents)).tolist(), strict=True))
