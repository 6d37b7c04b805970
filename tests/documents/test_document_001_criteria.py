"""Document 001: one linearised step (19), the trace criterion of (26), and the observability indices."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.documents.calibration import CRITERIA, criteria, linear_step, observability

SIGMA = {"position": 5e-5, "rotation": 1e-4}


def _random_information(seed: int, n_rows: int = 20) -> np.ndarray:
    J = np.random.default_rng(seed).normal(size=(n_rows, 6)) * np.linspace(1, 3, 6)
    return J.T @ J


@pytest.mark.parametrize(
    "kind",
    [
        calibration.Pose(sigma=SIGMA),
        calibration.RelativePose(sigma=SIGMA),
        calibration.Position(sigma=5e-5),
    ],
)
def test_the_linear_step_is_nearly_the_calibration(kind):
    """Deviations of 0.1 mm and 0.2 mrad: what is left out is of second order."""
    robot, rng = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.02, 0.05])), 12
    names = zveno.calibration.identifiability(robot, kind).chosen
    draw = np.random.default_rng(rng)
    deviations = {name: draw.normal() * (1e-4 if name[0] == "T" else 2e-4) for name in names}
    data = calibration.simulate_dataset(
        zveno.calibration.apply_deviations(robot, deviations), kind, robot.random(40, rng), rng=rng
    )
    step = linear_step(robot, data)
    fit = robot.calibrate(data, model=CalibrationModel(joint_terms=()), prior=None, loss="none", folds=0)
    found = dict(zip(fit.names, fit.values, strict=True))
    assert set(step) == set(names) == set(found)
    assert max(abs(step[name] - found[name]) for name in names) < 0.05 * fit.std.max()


def test_criteria_are_those_of_the_literature():
    J = np.random.default_rng(5).normal(size=(24, 6))
    s = np.linalg.svd(J, compute_uv=False)
    expected = {
        "T": np.sum(J**2) / 6,
        "O1": np.prod(s) ** (1 / 6) / np.sqrt(8),
        "O2": s[-1] / s[0],
        "O3": s[-1],
        "O4": s[-1] ** 2 / s[0],
        "O5": 1 / np.sum(1 / s),
    }
    assert criteria(J.T @ J, 8) == pytest.approx(expected, rel=1e-10)
    assert set(CRITERIA) == set(expected)


@pytest.mark.parametrize("name", [name for name in CRITERIA if name not in ("O2", "O4")])
def test_more_information_is_never_worse(name):
    for seed in range(10):
        M, more = _random_information(seed), np.random.default_rng(seed + 50).normal(size=(2, 6))
        assert criteria(M + more.T @ more, 4)[name] >= criteria(M, 4)[name] * (1 - 1e-12)


@pytest.mark.laws
def test_the_trace_accepts_a_singular_plan_and_the_indices_do_not():
    """Of all plans the one with the largest trace measures at a single configuration, again and again."""
    robot = zveno.load("planar2")
    q = robot.random(200, 9)
    best = max(q, key=lambda x: observability(robot, x, "position")["T"])
    again, spread = (observability(robot, x, "position") for x in (np.tile(best, (20, 1)), q[:20]))
    assert again["T"] > spread["T"]
    for name in ("O1", "O2", "O3", "O4", "O5"):
        assert again[name] < 1e-6 * spread[name]


def test_contacts_are_rejected():
    with pytest.raises(zveno.ZvenoError, match="does not specify the contacts"):
        observability(zveno.load("puma560"), np.zeros((3, 6)), "point")
