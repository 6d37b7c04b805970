"""Calibration: identifiability and fits, against one `scipy.optimize.least_squares` on the same residuals.

figaroh, the nearest tool, is compared on real data in `calibration_figaroh`.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

import zveno
from zveno.calibration._fit.noise import FitOptions
from zveno.calibration._fit.parameters import structure
from zveno.calibration._fit.solve import solve
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position, RelativePose
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset, prepared
from zveno.calibration.models import redundant_model
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

from .timing import Row, interleaved


def run() -> list[Row]:
    """Times in seconds of one call."""
    return [*_identifiability(), *_calibration()]


def _identifiability() -> list[Row]:
    robot = zveno.load("panda")
    times = interleaved({"ours": lambda: identifiability(robot, "pose")}, repeats=9)
    return [Row("identifiability of a 7-joint arm, pose", times["ours"], 0.020, "target of 20 ms", 1.0)]


def _calibration() -> list[Row]:
    robot = zveno.load("puma560").with_tool(transform(None, np.array([0.03, 0.04, 0.1])))
    out = []
    for what, campaign, target in (
        ("60 postures, pose", _campaign(robot, 60, RelativePose()), 0.2),
        ("1000 postures × 3 points", _campaign(robot, 1000, Position(points=0.1 * np.eye(3))), 1.0),
    ):
        ours, scipys = _plain_fits(robot, campaign)
        calls = {"whole": lambda c=campaign: calibrate(robot, c), "ours": ours, "scipy": scipys}
        times = interleaved(calls, repeats=5)
        out.append(
            Row(
                f"calibrate(), held-out errors included, {what}",
                times["whole"],
                target,
                f"target of {target} s",
                1.0,
            )
        )
        out.append(
            Row(f"one plain least-squares fit, {what}", times["ours"], times["scipy"], "scipy least_squares")
        )
    return out


def _campaign(robot, n: int, kind) -> Dataset:
    rng = np.random.default_rng(0)
    model = redundant_model(robot.mechanism)
    values = 1e-3 * rng.normal(size=len(model.terms))
    q = robot.random(n, rng)
    T, _ = frame_motion(model, model.frames[0], q, values)
    T[:, :3, 3] += 1e-4 * rng.normal(size=(n, 3))
    T[:, :3, :3] = [R @ exp(turn) for R, turn in zip(T[:, :3, :3], 1e-4 * rng.normal(size=(n, 3)), strict=True)]
    if isinstance(kind, Position):
        points = np.array([slot.value[:, 3] for slot in kind.right])
        return Dataset(kind, q, np.einsum("nij,kj->nki", T, points)[..., :3] + 1e-4 * rng.normal(size=(n, 3, 3)))
    return Dataset(kind, q, T)


def _plain_fits(robot, campaign):
    """The same irreducible model and residuals, by our solver and by scipy's with differences for derivatives."""
    campaigns, _ = prepared(campaign, robot.mechanism)
    problem = fit_problem(redundant_model(robot.mechanism), campaigns)
    found = structure(problem, robot.name)
    columns = [problem.names.index(name) for name in (*found.chosen, *found.unknowns)]
    P, noises = len(problem.model.terms), len(problem.noise_names)
    options = FitOptions(tuple(columns), np.full(noises, 1e-4), np.zeros(noises, dtype=bool), "none")

    def residual(x):
        full = np.zeros(problem.n_columns)
        full[columns] = x
        return problem.evaluate(full[:P], problem.moved(problem.frames, full), ())[0] / 1e-4

    return (
        lambda: solve(problem, options, np.zeros(P), problem.frames),
        lambda: least_squares(residual, np.zeros(len(columns)), x_scale="jac"),
    )
