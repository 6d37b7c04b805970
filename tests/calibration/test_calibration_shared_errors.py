"""Points of one posture that err together: found, and not taken for more than they tell."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Pose, RelativePosition
from zveno.calibration.measurements.datasets import Dataset

POINTS = [[0.0, 0.0, 0.0], [0.03, 0.0, 0.02], [0.0, 0.03, -0.01], [-0.02, 0.01, 0.0]]


def _measured(alone: float, together: float, seed: int, n: int = 40):
    robot, kind = arm("puma560"), RelativePosition(points=POINTS)
    rng = np.random.default_rng(seed)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, n, rng, {"position": alone}, {"tracker": FAR})
    y = campaign.y + together * rng.normal(size=(n, 1, 3))
    return robot, Dataset(kind, campaign.q, y), values


@pytest.mark.parametrize("seed", few(range(8)))
def test_rows_that_err_alone_are_not_said_to_err_together(seed):
    found = calibrate(*_measured(1e-4, 0.0, seed)[:2], folds=0)
    assert not found.shared_error_factor
    assert "share an error" not in found.verdict


@pytest.mark.parametrize(("together", "factor"), [(1e-4, 2.5), (3e-4, 3.7)])
def test_rows_that_err_together_count_for_less(together, factor):
    """Of four points with variance a each of their own and b in common: 1 + 3 b / (a + b)."""
    robot, campaign, _ = _measured(1e-4, together, 1)
    found = calibrate(robot, campaign, folds=0)
    assert found.shared_error_factor == {"relative_position: position": pytest.approx(factor, rel=0.15)}
    assert "share an error" in found.verdict
    assert found.sigma["relative_position: position"] == pytest.approx(np.hypot(1e-4, together), rel=0.15)


@pytest.mark.laws
def test_accuracy_is_predicted_as_it_is():
    """Normalised errors over robots; rows taken for independent would think themselves twice as good."""
    squares = []
    for seed in range(12):
        robot, campaign, values = _measured(5e-5, 2e-4, seed)
        found = calibrate(
            robot, campaign, model=CalibrationModel(joint_terms=(), strategy="JL"), prior=None, loss="none", folds=0
        )
        true = values[[found.model.numbers[name] for name in found.names]]
        squares.append(np.mean(((found.values - true) / found.std) ** 2))
    assert 0.8 < np.sqrt(np.mean(squares)) < 1.25


@pytest.mark.laws
def test_terms_are_not_found_because_rows_repeat_each_other():
    found = [calibrate(*_measured(2e-5, 3e-4, seed, 30)[:2], folds=0).joint_terms for seed in range(10)]
    assert sum(bool(terms) for terms in found) <= 1


def test_poses_have_nothing_to_add_up():
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    values = truth(robot, identifiability(robot, "pose").chosen, rng)
    campaign = simulated(robot, Pose(), values, 30, rng, {"position": 1e-4, "rotation": 1e-4})
    assert not calibrate(robot, campaign, folds=0).shared_error_factor
