"""Exciting trajectories with the predicted accuracy of their recording, and their file formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from ...errors import ZvenoError
from ...io.files import write_text
from ...io.results import registered
from ...mechanism import Mechanism
from ...mechanism.units import with_unit
from ...motion_limits import MotionBounds
from ...report.description import Description
from ...report.result import Result
from ._curves import FourierCurve

RATE = 100.0
"""Default number of samples per second."""


ExcitationStatus = Literal["planned", "interrupted"]


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
    limits: MotionBounds
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
    def status(self) -> ExcitationStatus:
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


class Samples(NamedTuple):
    """Motion at equidistant times: t (n,), q, v and a (n, joints)."""

    names: Sequence[str]
    units: Sequence[str]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def csv_text(samples: Samples) -> str:
    """Return one row per sample: t, q, v and a, every column with its unit."""
    header = [with_unit("t", "s")]
    for letter, per in (("q", ""), ("v", "/s"), ("a", "/s^2")):
        header += [
            with_unit(f"{letter}.{name}", f"{unit}{per}")
            for name, unit in zip(samples.names, samples.units, strict=True)
        ]
    rows = np.column_stack([samples.t, samples.q, samples.v, samples.a])
    return "\n".join([",".join(header), *(",".join(f"{x:.12g}" for x in row) for row in rows)]) + "\n"


def joint_trajectory(samples: Samples) -> dict[str, object]:
    """Return the fields of a ROS message trajectory_msgs/JointTrajectory."""
    points = [
        {
            "positions": q.tolist(),
            "velocities": v.tolist(),
            "accelerations": a.tolist(),
            "time_from_start": _duration(t),
        }
        for t, q, v, a in zip(samples.t, samples.q, samples.v, samples.a, strict=True)
    ]
    return {"joint_names": list(samples.names), "points": points}


def json_text(samples: Samples) -> str:
    """Return JointTrajectory as JSON."""
    return json.dumps(joint_trajectory(samples), indent=1) + "\n"


def yaml_text(samples: Samples) -> str:
    """Return JointTrajectory as the YAML that `ros2 topic pub` and `ros2 action send_goal` take."""

    def row(values: np.ndarray) -> str:
        return "[" + ", ".join(f"{x:.12g}" if x % 1 else f"{x:.1f}" for x in values.tolist()) + "]"

    lines = ["joint_names: [" + ", ".join(json.dumps(name) for name in samples.names) + "]", "points:"]
    for t, q, v, a in zip(samples.t, samples.q, samples.v, samples.a, strict=True):
        at = _duration(t)
        lines += [
            f"- positions: {row(q)}",
            f"  velocities: {row(v)}",
            f"  accelerations: {row(a)}",
            f"  time_from_start: {{sec: {at['sec']}, nanosec: {at['nanosec']}}}",
        ]
    return "\n".join(lines) + "\n"


def urscript_text(samples: Samples) -> str:
    """Return a URScript program: a slow move to the first posture, then `servoj` once per sample."""
    if samples.q.shape[1] != 6 or any(unit != "rad" for unit in samples.units):
        raise ZvenoError("a URScript moves six revolute joints", remedy="Write .csv, .json or .yaml")
    step = float(samples.t[1] - samples.t[0])
    if step < 0.002 - 1e-9:
        raise ZvenoError(
            f"a controller takes servoj at most every 2 ms, not every {1e3 * step:.3g} ms",
            remedy="Give a rate of 500 Hz or less",
        )

    def posture(q: np.ndarray) -> str:
        return "[" + ", ".join(f"{x:.9f}" for x in q) + "]"

    lines = ["def excitation():", f"  movej({posture(samples.q[0])}, a=0.5, v=0.3)", "  sleep(1.0)"]
    lines += [f"  servoj({posture(q)}, t={step:.6g}, lookahead_time=0.03, gain=300)" for q in samples.q]
    return "\n".join([*lines, "  stopj(2.0)", "end", ""])


WRITERS: dict[str, Callable[[Samples], str]] = {
    ".csv": csv_text,
    ".json": json_text,
    ".yaml": yaml_text,
    ".yml": yaml_text,
    ".script": urscript_text,
}
"""Writers by suffix: a table, JointTrajectory as JSON and YAML, and a URScript program."""


def _duration(t: float) -> dict[str, int]:
    nanoseconds = round(float(t) * 1e9)
    return {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
