"""Residuals by row of data: a result holds them, and its errors are theirs."""

import numpy as np
import pytest
from calibration_arms import arm, simulated, truth

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.errors import errors
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Pose, Position
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model


@pytest.fixture(scope="module")
def found():
    robot, kind, rng = arm(), Pose(), np.random.default_rng(3)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 40, rng, {"position": 1e-4, "rotation": 2e-4})
    poses = campaign.y.copy()
    poses[7, ..., 0] += 0.05
    return calibrate(robot, Dataset(kind, campaign.q, poses), model=CalibrationModel(joint_terms=()), folds=3)


def test_errors_are_those_of_the_residuals(found):
    def rms(vectors):
        return np.sqrt(np.mean(np.nansum(vectors**2, axis=1)))

    assert [row.name for row in found.residuals] == [error.name for error in found.training]
    for rows, before, after, unseen in zip(
        found.residuals, found.baseline, found.training, found.held_out, strict=True
    ):
        assert rms(rows.nominal) == pytest.approx(before.rms, rel=1e-12)
        assert rms(rows.calibrated[rows.used]) == pytest.approx(after.rms, rel=1e-12)
        assert rms(rows.held_out) == pytest.approx(unseen.rms, rel=1e-12)
        assert rows.row[~rows.used].tolist() == [outlier.row for outlier in found.outliers] == [8]


def test_residuals_come_back_from_a_file(found, tmp_path):
    again = zveno.load_result(found.save(tmp_path / "found.json"))
    for one, other in zip(found.residuals, again.residuals, strict=True):
        for name in ("row", "used", "nominal", "calibrated", "held_out"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    assert again.places == found.places
    assert len(again.plot().axes) >= 3


def test_the_readings_are_in_the_result_and_explain_its_errors(found, tmp_path):
    """The saved readings, scored with the parameters found, have the errors of the residuals by row."""
    again = zveno.load_result(found.save(tmp_path / "found.json"))
    ((before, after),) = zip(found.data, again.data, strict=True)
    assert len(after) == 40
    assert type(after.measurement) is type(before.measurement)
    for name in ("q", "y", "lines"):
        assert np.array_equal(getattr(before, name), getattr(after, name), equal_nan=True)
    for error, rows in zip(again.score(again.data), found.residuals, strict=True):
        assert error.rms == pytest.approx(np.sqrt(np.mean(np.nansum(rows.calibrated**2, axis=1))), rel=1e-9)


def test_missing_components_do_not_mix_the_others():
    """A system that reads 1 mm too much in x, and often no x: its mean error is 1 mm all the same."""
    robot, rng = arm(), np.random.default_rng(0)
    q = robot.random(30, rng)
    y = np.zeros((30, 1, 3))
    y[::2, 0, 0] = np.nan
    problem = fit_problem(redundant_model(robot.mechanism), [Dataset(Position(), q, y, (), "x", np.arange(30))])
    residual = np.where(problem.component == 0, 1e-3, 0.0)
    (error,) = errors(problem, residual)
    assert error.accuracy == pytest.approx(1e-3)
    assert error.rows == 30
