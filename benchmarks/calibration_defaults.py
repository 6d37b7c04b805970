"""Defaults of `calibrate` against their alternatives, on simulated robots: what docs/calibration.md says of them.

PUMA and Panda, every term of their models off by chance, 40 postures seen by a tracker (0.1 mm). Rows hold the
error of noise-free postures that were not used, root of the mean square over robots; bars are what a default may
cost where it is not needed.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._kinematics import frame_motion
from zveno.calibration._loads import gravity
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import transform

from .timing import Row

POSTURES, UNSEEN, ROBOTS, NOISE = 40, 100, 12, 1e-4
SIZES = {"m": 1e-3, "rad": 2e-3, "rad/Nm": 3e-5, "m/N": 3e-6}
NOISES = {
    "clean": lambda rng, n: NOISE * rng.normal(size=(n, 3)),
    "1 % lifted by 1-2 mm": lambda rng, n: _lifted(rng, n),
    "6 % wild": lambda rng, n: _wild(rng, n),
    "heavy tails (t, 3)": lambda rng, n: NOISE * rng.normal(size=(n, 3)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
}


def run() -> list[Row]:
    """The loss in four kinds of noise; joint terms of joints that are stiff, and that yield."""
    out = []
    for name, noise in NOISES.items():
        error = {loss: _error(noise, (), {"loss": loss}) for loss in ("auto", "none")}
        out.append(Row(f"{name}: loss auto", error["auto"], error["none"], "loss none", 0.9, "m"))
    for name, terms in (("stiff joints", ()), ("joints that yield", ("compliance",))):
        error = {
            word: _error(NOISES["clean"], terms, {"model": CalibrationModel(joint_terms=own)})
            for word, own in (("auto", "auto"), ("never", ()), ("always", ("compliance",)))
        }
        out += [
            Row(f"{name}: joint terms auto", error["auto"], error[word], f"compliance {word}", 0.95, "m")
            for word in ("never", "always")
        ]
    return out


def _error(noise, terms: tuple[str, ...], options: dict) -> float:
    squares = []
    for name in ("puma560", "panda"):
        robot = zveno.load(name).with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
        for seed in range(ROBOTS):
            rng = np.random.default_rng(seed)
            model = redundant_model(robot.mechanism, None, terms)
            off = np.array([rng.normal() * SIZES[term.unit] for term in model.terms])
            q = robot.random(POSTURES + UNSEEN, rng)
            y = frame_motion(model, model.frames[0], q, off, gravity(robot.mechanism)(q))[0][:, :3, 3]
            seen = Dataset(RelativePosition(), q[:POSTURES], y[:POSTURES] + noise(rng, POSTURES))
            found = calibrate(robot, seen, folds=0, **({"model": CalibrationModel(joint_terms=())} | options))
            squares.append(found.score(Dataset(RelativePosition(), q[POSTURES:], y[POSTURES:]))[0].rms ** 2)
    return float(np.sqrt(np.mean(squares)))


def _lifted(rng, n: int) -> np.ndarray:
    off = NOISE * rng.normal(size=(n, 3))
    off[:, 2] += np.where(rng.random(n) < 0.01, rng.uniform(1e-3, 2e-3, n), 0.0)
    return off


def _wild(rng, n: int) -> np.ndarray:
    wild = rng.random(n) < 0.06
    return np.where(wild[:, None], 1e-2 * rng.normal(size=(n, 3)), NOISE * rng.normal(size=(n, 3)))
