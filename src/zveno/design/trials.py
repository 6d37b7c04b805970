"""Calibrations tried out before anything is measured: robots drawn at random, measured by a plan, calibrated."""

from __future__ import annotations

import operator
import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.estimate import calibrate
from ..calibration.fit.errors import ERRORS
from ..calibration.fit.prior import USUAL, usual
from ..calibration.identifiability.postures import random_postures
from ..calibration.measurements import Measurement
from ..calibration.measurements import measurement as named_measurement
from ..calibration.model.models import redundant_model
from ..calibration.simulated import simulated_campaign, simulated_places
from ..calibration.use.output import calibrated_mechanism
from ..errors import ZvenoError, ZvenoWarning
from ..fit.rng import seed_of
from ..io.results import Result, hash_of, registered
from ..progress import Progress
from ..robot_functions import RobotFunctions
from ..scale.fold import On, fold
from ..scale.pieces import cut, stream
from .result import Plan

PIECE = 8
"""Trials that a worker is given at a time: about a second."""
N_CHECKED = 200
"""Postures that were not measured, in which the calibrated robot is judged."""
NEARBY = 0.3
"""rad or m: how far from planned contacts those are that judge the robot."""


@registered
@dataclass(frozen=True, eq=False)
class Trial:
    """One simulated calibration.

    Attributes:
        before, after: rms error by kind of reading, m or rad: of the nominal robot with fitted frames in the
            postures measured, of the calibrated one in others, without noise.
        status: of the calibration.
        flagged: rows that it took for wrong; none was.
        joint_terms: that it fitted; the robot had none.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    status: str
    flagged: int
    joint_terms: tuple[str, ...]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Trials(Result):
    """Many simulated calibrations with one plan.

    Attributes:
        robot, measurement: what was tried.
        names, units: kinds of readings, and "m" or "rad".
        n_postures: measured in each trial.
        trials: one by one.
        inputs: hash of what they were computed from.
    """

    robot: str
    measurement: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    n_postures: int
    trials: tuple[Trial, ...]
    inputs: str = ""

    kind = "calibration trials"

    @property
    def before(self) -> np.ndarray:
        """(trials, readings) rms errors of nominal robots, m or rad."""
        return np.array([trial.before for trial in self.trials])

    @property
    def after(self) -> np.ndarray:
        """(trials, readings) rms errors of calibrated robots in postures that were not measured."""
        return np.array([trial.after for trial in self.trials])

    @property
    def calibrated(self) -> float:
        """Share of the trials that ended as "calibrated"."""
        return float(np.mean([trial.status == "calibrated" for trial in self.trials]))

    @property
    def status(self) -> str:
        """ "good", or how many trials failed or left the robot worse than it was."""
        worse = np.any(self.after > self.before, axis=1)
        bad = int(np.sum(worse | np.array([trial.status != "calibrated" for trial in self.trials])))
        return "good" if not bad else f"{bad} of {len(self.trials)} failed"

    def data(self) -> dict[str, Any]:
        """Plain numbers: errors of every robot by kind of reading, m or rad."""
        errors = {
            name: {"unit": unit, "before": self.before[:, k].tolist(), "after": self.after[:, k].tolist()}
            for k, (name, unit) in enumerate(zip(self.names, self.units, strict=True))
        }
        return {"status": self.status, "postures": self.n_postures, "errors": errors}

    @property
    def summary(self) -> str:
        """A sentence for people."""
        parts = []
        for k, (name, unit) in enumerate(zip(self.names, self.units, strict=True)):
            factor, spoken = ERRORS[unit]
            low, middle, high = factor * np.percentile(self.after[:, k], [5, 50, 95])
            parts.append(
                f"{name} {factor * np.median(self.before[:, k]):.3g} → {middle:.3g} {spoken} "
                f"({low:.3g} to {high:.3g} in 90 %)"
            )
        flagged = sum(trial.flagged > 0 for trial in self.trials)
        invented = sum(bool(trial.joint_terms) for trial in self.trials)
        doubts = [f"good rows flagged in {flagged}"] * bool(flagged) + [f"joint terms in {invented}"] * bool(
            invented
        )
        text = f"{len(self.trials)} simulated calibrations of {self.robot} by {self.measurement} in "
        text += f"{self.n_postures} postures: {self.status}; {', '.join(parts)}"
        return "; ".join([text, *doubts])


def calibration_trials(
    robot: RobotFunctions,
    plan: Plan | ArrayLike,
    trials: int = 100,
    *,
    measurement: Measurement | str | None = None,
    plausible: tuple[float, float] = USUAL,
    rng: np.random.Generator | int | None = 0,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Trials:
    """What a plan is worth: calibrations of robots drawn at random, judged in postures that were not measured.

    Every trial draws all geometric parameters of a true robot, measures it with noise, calibrates with the defaults
    of `zveno.calibrate` and compares with exact readings of the true robot elsewhere.

    Args:
        robot: the nominal robot.
        plan: a Plan, or postures (n, n_q).
        trials: how many.
        measurement: what is measured, with its `sigma`; by default the plan's kind with typical noise.
        plausible: standard deviation of link parameters, m and rad; ten times as much for joint offsets, base and
            tool.
        rng: generator or seed.
        on: workers, as in `zveno.scale.fold`; this process if None. The result has the same bits for any.
        checkpoint: file that keeps what is done; the same call goes on from there.
        progress: whether a bar is shown, or a function of (done, total).
    """
    planned = plan if isinstance(plan, Plan) else None
    asked = planned.measurement if measurement is None and planned is not None else measurement
    if asked is None:
        raise ZvenoError("is not given", element="measurement", remedy='Say what is measured, such as "position"')
    kind = named_measurement(asked)
    if planned is not None and kind.frame is None:
        kind = replace(kind, frame=planned.frame)
    if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 1:
        raise ZvenoError(f"is {trials!r}", element="trials", remedy="Give a whole number from 1")
    q = robot.mechanism.checked_q(plan.q if isinstance(plan, Plan) else plan)
    groups = () if planned is None else planned.groups
    places = {} if planned is None else dict(zip(planned.place_names, planned.places, strict=True))
    work = _Tried(robot, kind, q, tuple(groups), places, plausible, seed_of(rng))
    if kind.implicit and kind.grouped is not None and not groups:
        raise ZvenoError(
            "do not say what they touch",
            element="plan",
            remedy="Give the Plan that `plan_poses` made, or a kind that reads something",
        )
    tried = fold(work, cut(int(trials), PIECE), operator.add, "here" if on is None else on, checkpoint, progress)
    return Trials(
        robot.mechanism.name,
        kind.kind,
        tuple(noise.name for noise in kind.noises),
        tuple(noise.unit for noise in kind.noises),
        len(q),
        tuple(tried),
        hash_of(robot.mechanism.fingerprint, q, kind.kind, plausible, work.seed),
    )


@dataclass(frozen=True, eq=False)
class _Tried:
    """Trials by their numbers."""

    robot: RobotFunctions
    kind: Measurement
    q: np.ndarray
    groups: tuple[str, ...]
    places: dict[str, np.ndarray]
    plausible: tuple[float, float]
    seed: int

    def __call__(self, piece: tuple[int, int]) -> list[Trial]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)
            return [self._one(number) for number in range(*piece)]

    def _one(self, number: int) -> Trial:
        rng = stream(self.seed, number)
        model = redundant_model(self.robot.mechanism, self.kind.frame)
        deviations = rng.normal(size=len(model.terms)) * [usual(term, self.plausible) for term in model.terms]
        true = RobotFunctions(calibrated_mechanism(model, deviations))
        where, noisy = (int(seed) for seed in rng.integers(1 << 62, size=2))
        frames = simulated_places(true, self.kind, self.q, self.groups, where) | self.places
        data = simulated_campaign(true, self.kind, self.q, groups=self.groups, frames=frames, rng=noisy)
        found = calibrate(self.robot, data, progress=False)
        elsewhere, touched = self._elsewhere(rng)
        exact = simulated_campaign(true, self.kind, elsewhere, groups=touched, frames=frames, noise=0.0)
        return Trial(
            tuple(error.rms for error in found.baseline),
            tuple(error.rms for error in found.score(exact)),
            found.status,
            len(found.outliers),
            found.joint_terms,
        )

    def _elsewhere(self, rng: np.random.Generator) -> tuple[np.ndarray, tuple[str, ...]]:
        """Postures that judge the result, and what they touch."""
        if not self.kind.implicit:
            return random_postures(self.robot.mechanism, N_CHECKED, rng), ()
        near = rng.integers(len(self.q), size=N_CHECKED)
        moved = self.q[near] + NEARBY * rng.normal(size=(N_CHECKED, self.q.shape[1]))
        return moved, tuple(self.groups[k] for k in near) if self.groups else ()
