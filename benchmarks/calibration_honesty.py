"""How honest the uncertainty of a calibration is, on simulated campaigns whose errors are not those of the model.

PUMA and UR5 with a tracker whose place is known, or touching known targets. Errors besides noise: hysteresis of the
joints, errors shared by all rows of a target, oval gears, and none. Every row gives χ² per component of readings
that the fit has not seen, without the factor of the covariance (their variance is that of the reading and of the
prediction; bar 0.9–1.3), the share of them inside their 95 % region with that factor (bar 0.93–0.97) and without,
and, for clean campaigns, how many show terms, a tool that moved or errors of groups that are not there. Readings
that are not seen are of targets of their own: their errors are independent.

`python -m benchmarks.calibration_honesty 200` runs as many campaigns of each, `… 200 targets` those whose name
has a word.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

import zveno
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import transform

from .timing import Row

NOISE = 1e-4
SIZES = {"m": 1e-3, "rad": 2e-3}
CAMPAIGNS = ((5, 6), (5, 12), (10, 3), (10, 6), (10, 12), (20, 2), (20, 3), (20, 6), (40, 1), (40, 3))
TARGETS = {f"{n} targets of {m}": (n, m) for n, m in CAMPAIGNS}
"""Campaigns whose rows share the error of a target: how many, and rows of each."""
SCENARIOS = ("clean", "hysteresis", "oval gears", *TARGETS)


@dataclass
class Honesty:
    """Sums over campaigns."""

    chi2: float = 0.0
    components: int = 0
    inside: int = 0
    inside_plain: int = 0
    readings: int = 0
    terms: int = 0
    moved: int = 0
    groups: int = 0
    campaigns: int = 0

    @property
    def text(self) -> str:
        """One line."""
        return (
            f"χ² per component {self.chi2 / self.components:.3f}, "
            f"95 % regions hold {self.inside / self.readings:.3f}, without the factor "
            f"{self.inside_plain / self.readings:.3f}, terms in {self.terms}, a moved tool in {self.moved}, "
            f"groups in {self.groups} of {self.campaigns}"
        )


def campaign(scenario: str, seed: int) -> tuple[zveno.Robot, Dataset, np.ndarray, np.ndarray]:
    """Robot, campaign, and postures and readings that are not shown to the fit."""
    rng = np.random.default_rng(seed)
    robot = zveno.load("puma560" if seed % 2 else "ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    terms = ("ovality",) if scenario == "oval gears" else ()
    model = redundant_model(robot.mechanism, None, terms)
    off = np.array([rng.normal() * (1e-4 if term.role == "ovality" else SIZES[term.unit]) for term in model.terms])
    count, rows = TARGETS.get(scenario, (60, 1))
    n, unseen = count * rows, 40
    q = robot.random(n + unseen, rng)
    read = q.copy()
    if scenario == "hysteresis":
        read = q + 1.5e-4 * rng.choice([-1.0, 1.0], size=q.shape)
    y = frame_motion(model, model.frames[0], q, off)[0][:, :3, 3] + NOISE * rng.normal(size=(n + unseen, 3))
    names: tuple[str, ...] = ()
    if scenario in TARGETS:
        target = np.concatenate([np.arange(n) // rows, count + np.arange(unseen)])
        y = y + 3e-4 * rng.normal(size=(count + unseen, 3))[target]
        names = tuple(f"target {k}" for k in target[:n])
    return robot, Dataset(Position(), read[:n], y[:n], groups=names), read[n:], y[n:]


def judged(scenario: str, runs: int, first: int = 0, **options) -> Honesty:
    """Honesty over campaigns of a scenario, numbered from `first`."""
    total = Honesty()
    for seed in range(first, first + runs):
        robot, seen, q, y = campaign(scenario, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zveno.ZvenoWarning)
            calibration = calibrate(robot, seen, **options)
        prediction = calibration.predict(q)
        sigma2 = sum(
            value**2 for by_noise in (calibration.sigma, calibration.group_sigma) for value in by_noise.values()
        )
        R, factor = prediction.T_world_frame[:, :3, :3], calibration.covariance_factor
        C = R @ prediction.covariance[:, :3, :3] @ np.swapaxes(R, 1, 2) + factor * sigma2 * np.eye(3)
        d = y - prediction.T_world_frame[:, :3, 3]
        distance = np.einsum("ni,nij,nj->n", d, np.linalg.inv(C), d)
        total.chi2 += factor * float(distance.sum())
        total.components += d.size
        total.inside += int((distance < chi2.ppf(0.95, 3)).sum())
        total.inside_plain += int((factor * distance < chi2.ppf(0.95, 3)).sum())
        total.readings += len(d)
        total.terms += bool(calibration.joint_terms)
        total.moved += calibration.tool_moved is not None
        total.groups += bool(calibration.group_sigma or calibration.shared_error_factor)
        total.campaigns += 1
    return total


def run(runs: int = 30) -> list[Row]:
    """χ² per component beside 1; the ratio is what variances are judged too large by."""
    out = []
    for scenario in SCENARIOS:
        honesty = judged(scenario, runs)
        out.append(Row(f"{scenario}: χ² per component", honesty.chi2 / honesty.components, 1.0, "1", 1 / 1.3, "1"))
    return out


if __name__ == "__main__":
    for scenario in SCENARIOS:
        if all(word in scenario for word in sys.argv[2:]):
            print(f"{scenario}: {judged(scenario, int(sys.argv[1])).text}", flush=True)
