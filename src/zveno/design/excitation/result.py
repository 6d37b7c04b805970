"""An exciting trajectory, and what its recording will tell."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import ZvenoError
from ...io.files import write_text
from ...io.results import Result, registered
from ...mechanism import Mechanism
from .curves import JointCurve
from .formats import WRITERS, Samples
from .limits import MotionLimits

RATE = 100.0
"""Samples a second where none is asked for."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Result):
    """A periodic motion whose torques determine the dynamic parameters best.

    Attributes:
        robot, criterion: what was planned; `basis` is "fourier" or "spline".
        joint_names, units: of the coordinates that move, "rad" or "m".
        held: coordinates that stand still, by name.
        curve: the motion of one period; calling it gives q (..., n), or a derivative.
        phase: s; where in its period the motion is entered and left.
        lead_in, lead_out: from and to rest, where the motion itself does not rest at its ends; else None.
        limits: kept by the motion: q, v, a and jerk at all times by proof, torques on a grid.
        peaks: largest share of each limit that is used, by name, (n,) each.
        clearance: whether links were kept clear of each other and of the ground.
        names, expressions: base parameters that the torques show.
        sigma: predicted standard deviation of each for the given noise and rate, in its own unit; `sigma_before`
            from earlier recordings alone, infinite where these do not determine it, or None without.
        covariance: of the parameters, (r, r).
        rate, torque_sigma: samples a second, and the standard deviation of a torque (n,), that σ is predicted for.
        log_det: of the information.
        condition: number of the regressor with columns of length 1.
        random: log det of the random feasible motions that were tried first; of the best alone where another
            criterion chose it.
        starts: log det (or the criterion) that each start reached.
        interrupted: whether the search was stopped; the motion is feasible all the same.
        notes: what was assumed.
        inputs: hash of what it was computed from.
        mechanism: the robot, with the coordinates that move.
    """

    kind: ClassVar[str] = "excitation"

    robot: str
    criterion: str
    basis: str
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    held: dict[str, float]
    curve: JointCurve
    phase: float
    lead_in: JointCurve | None
    lead_out: JointCurve | None
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
    inputs: str
    mechanism: Mechanism | None = None

    @property
    def status(self) -> str:
        """ "good", or "interrupted" where the search was stopped before its end."""
        return "interrupted" if self.interrupted else "good"

    @property
    def duration(self) -> float:
        """Of one period, s."""
        return self.curve.duration

    @property
    def over_random(self) -> float:
        """How many times smaller σ is, in the geometric mean, than for the best random motion that was tried."""
        return float(np.exp((self.log_det - self.random.max()) / (2 * len(self.names))))

    @property
    def summary(self) -> str:
        """A sentence for people."""
        rivals = f"best of {len(self.random)} random motions" if len(self.random) > 1 else "best random motion"
        text = (
            f"{self.duration:g} s of {self.robot} for {len(self.names)} base parameters: σ "
            f"{self.over_random:.2f} times smaller than for the {rivals}, "
            f"condition number {self.condition:.3g} (scaled columns)"
        )
        return text + ("; the search was interrupted" if self.interrupted else "")

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest coordinates of a period, (n,) each, among 1000 samples."""
        q = self.curve(np.linspace(0.0, self.duration, 1000))
        return q.min(axis=0), q.max(axis=0)

    def sample(self, rate: float = RATE, periods: int = 1) -> tuple[np.ndarray, ...]:
        """t (n,), q, v and a (n, joints) at a rate, 1/s, with the ways in and out where there are any."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise ZvenoError(f"the rate is {rate}", element="rate", remedy="Give samples a second")
        if periods < 1:
            raise ZvenoError(f"{periods} periods cannot be sampled", element="periods", remedy="Give 1 or more")
        before = 0.0 if self.lead_in is None else self.lead_in.duration
        after = 0.0 if self.lead_out is None else self.lead_out.duration
        whole = before + periods * self.duration + after
        t = np.arange(int(np.floor(whole * rate + 1e-9)) + 1) / rate
        states = [np.zeros((len(t), len(self.joint_names))) for _ in range(3)]
        inside = (t >= before) & (t <= whole - after)
        leading, trailing = t < before, t > whole - after
        for order, values in enumerate(states):
            values[inside] = self.curve(np.mod(t[inside] - before + self.phase, self.duration), order)
            if self.lead_in is not None:
                values[leading] = self.lead_in(t[leading], order)
            if self.lead_out is not None:
                values[trailing] = self.lead_out(t[trailing] - (whole - after), order)
        return (t, *states)

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
