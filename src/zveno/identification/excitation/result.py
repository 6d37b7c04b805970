"""Exciting trajectories with the predicted accuracy of their recording."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import ZvenoError
from ...io.files import write_text
from ...io.results import registered
from ...mechanism import Mechanism
from ...motion_limits import MotionLimits
from ...report.description import Description
from ...report.result import Result
from .curves import FourierCurve
from .formats import WRITERS, Samples

RATE = 100.0
"""Default number of samples per second."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Result):
    """Periodic motion whose torques determine the dynamic parameters best.

    Attributes:
        robot_name: name of the robot.
        joint_names, units: of the coordinates that move, "rad" or "m".
        held: coordinates that stand still, by name.
        curve: the motion of one period; calling it gives q (..., n), or a derivative.
        limits: kept by the motion: q, v, a and jerk at all times by proof, torques on a grid.
        peaks: largest share of each limit that is used, by name, (n,) each.
        clearance: whether links were kept clear of each other and of the ground.
        names, expressions: base parameters that the torques show.
        sigma: predicted standard deviation of each for the given noise and rate, in its own unit; `sigma_before`
            from earlier recordings alone, infinite where these do not determine it, or None without.
        covariance: of the parameters, (r, r).
        rate, torque_sigma: samples per second, and standard deviation of a torque (n,), that σ is predicted for.
        log_det: of the information.
        condition: condition number of the regressor with columns of length 1.
        random: log det of the random feasible motions that were tried first.
        starts: log det that each start reached.
        interrupted: whether the search was stopped; the motion is feasible all the same.
        notes: assumptions.
        inputs_hash: hash of its inputs.
        mechanism: the robot, with the coordinates that move.
    """

    kind: ClassVar[str] = "excitation"

    robot_name: str
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    held: dict[str, float]
    curve: FourierCurve
    limits: MotionLimits
    peaks: dict[str, np.ndarray]
    clearance: bool
    names: tuple[str, ...]
    expressions: tuple[str, ...]
    sigma: np.ndarray
    sigma_before: np.ndarray | None
    covariance: np.ndarray
    rate: float
    torque_sigma: np.ndarray
    log_det: float
    condition: float
    random: np.ndarray
    starts: tuple[float, ...]
    interrupted: bool
    notes: tuple[str, ...]
    inputs_hash: str
    mechanism: Mechanism | None = None

    @property
    def status(self) -> str:
        """ "planned", or "interrupted" where the search was stopped before its end."""
        return "interrupted" if self.interrupted else "planned"

    @property
    def duration(self) -> float:
        """Duration of one period, s."""
        return self.curve.duration

    @property
    def over_random(self) -> float:
        """Factor by which σ is smaller, in the geometric mean, than for the best random motion tried."""
        return float(np.exp((self.log_det - self.random.max()) / (2 * len(self.names))))

    @property
    def summary(self) -> str:
        """One-sentence summary."""
        text = (
            f"{self.duration:g} s of {self.robot_name} for {len(self.names)} base parameters: σ "
            f"{self.over_random:.2f} times smaller than for the best of {len(self.random)} random motions, "
            f"condition number {self.condition:.3g} (scaled columns)"
        )
        return text + ("; the search was interrupted" if self.interrupted else "")

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_excitation

        return describe_excitation(self)

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest coordinates of a period, (n,) each, among 1000 samples."""
        q = self.curve(np.linspace(0.0, self.duration, 1000))
        return q.min(axis=0), q.max(axis=0)

    def sample(self, rate: float = RATE, periods: int = 1) -> tuple[np.ndarray, ...]:
        """Return t (n,), q, v and a (n, joints) at a rate, Hz."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise ZvenoError(f"the rate is {rate}", element="rate", remedy="Give samples per second")
        if periods < 1:
            raise ZvenoError(f"{periods} periods cannot be sampled", element="periods", remedy="Give 1 or more")
        t = np.arange(int(np.floor(periods * self.duration * rate + 1e-9)) + 1) / rate
        return (t, *(self.curve(t, order) for order in range(3)))

    def write_trajectory(self, path: str | PathLike[str], rate: float = RATE, periods: int = 1) -> Path:
        """Write the sampled motion: .csv, .json or .yaml (JointTrajectory), or .script (URScript servoj)."""
        path = Path(path)
        writer = WRITERS.get(path.suffix.lower())
        if writer is None:
            raise ZvenoError(
                f"motions are not written as {path.suffix or 'files without a suffix'}",
                file=path,
                remedy=f"Use {', '.join(WRITERS)}; .save() keeps the result itself",
            )
        return write_text(path, writer(Samples(self.joint_names, self.units, *self.sample(rate, periods))))
