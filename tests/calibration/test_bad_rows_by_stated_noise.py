"""A few bad rows among not many are named, whatever the noise is said to be."""

import numpy as np
import pytest

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel

ROBOT = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.05, 0.0, 0.15]))


def campaign(sigma, seed, n=24):
    rng = np.random.default_rng(seed)
    names = zveno.calibration.identifiability(ROBOT, "relative_position").chosen
    true = zveno.calibration.apply_deviations(ROBOT, {name: 1e-3 * rng.normal() for name in names})
    exact = calibration.simulate_dataset(
        true, calibration.RelativePosition(sigma=5e-5), ROBOT.random(n, seed), rng=seed
    )
    y = exact.y.copy()
    y[7] += [0.004, 0.0, 0.0]
    y[17] += [0.0, -0.003, 0.002]
    return calibration.Dataset(calibration.RelativePosition(sigma=sigma), exact.q, y)


@pytest.mark.parametrize("sigma", [None, 5e-6, 2e-5, 5e-5, 1e-4])
def test_two_bad_rows_of_24(sigma):
    """With the true noise stated, the first fit is so far off that most rows look bad: it used to flag none."""
    found = ROBOT.calibrate(campaign(sigma, 3), model=CalibrationModel(joint_terms=()), folds=4)
    assert {outlier.row for outlier in found.outliers} == {8, 18}
    assert found.tool_moved is None
    assert found.held_out_unflagged[0].rms < 3e-4


def test_good_rows_stay_when_the_noise_is_stated_too_small():
    """What most rows do not fit says something about the noise, not about the rows."""
    rng = np.random.default_rng(0)
    names = zveno.calibration.identifiability(ROBOT, "relative_position").chosen
    true = zveno.calibration.apply_deviations(ROBOT, {name: 1e-3 * rng.normal() for name in names})
    data = calibration.simulate_dataset(true, calibration.RelativePosition(sigma=5e-5), ROBOT.random(30, 1), rng=2)
    data = calibration.Dataset(calibration.RelativePosition(sigma=2e-6), data.q, data.y)
    assert len(ROBOT.calibrate(data, model=CalibrationModel(joint_terms=()), folds=0).outliers) <= 1
