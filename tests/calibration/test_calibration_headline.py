"""The headline compares the same rows before and after, and a calibration that is worse is called so."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import Dataset
from zveno.cli import main


@pytest.fixture(scope="module")
def measured():
    robot, kind = arm(), RelativePosition()
    rng = np.random.default_rng(2)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    return robot, simulated(robot, kind, values, 60, rng, {"position": 1e-4})


@pytest.mark.parametrize("folds", [0, 5])
def test_outliers_do_not_flatter_the_calibration(measured, folds):
    """A few rows off by 5 cm: the nominal error of the headline is that of the rows that the new one is of."""
    robot, campaign = measured
    clean = calibrate(robot, campaign, folds=folds)
    y = campaign.y.copy()
    y[[3, 17, 40]] += 0.05
    spoilt = calibrate(robot, Dataset(campaign.measurement, campaign.q, y), folds=folds)
    assert len(spoilt.outliers) == 3
    ((before, after),) = spoilt.compared
    assert before.rows == after.rows == 57
    assert before.rms == pytest.approx(clean.compared[0][0].rms, rel=0.1)
    assert spoilt.baseline[0].rms > 2 * before.rms
    assert f"{1e3 * before.rms:.3g} → {1e3 * after.rms:.3g} mm" in spoilt.verdict
    assert spoilt.status == "calibrated"


@pytest.fixture(scope="module")
def reflector():
    """A reflector that is not in the model, which a fit of DH parameters alone has no place for."""
    robot, rng = zveno.load("puma560"), np.random.default_rng(1)
    true = zveno.calibration.apply_deviations(robot, {"Tx2": 1e-3, "Rx1": 2e-3, "Tx3": -8e-4}).with_tool(
        zveno.transforms.transform(None, [0.04, 0.015, 0.06])
    )
    q = robot.random(60, rng)
    y = (FAR @ true.forward_kinematics(q))[:, :3, 3] + 5e-5 * rng.normal(size=(60, 3))
    return robot, q, y


def test_worse_is_called_worse(reflector):
    robot, q, y = reflector
    restricted = calibrate(robot, Dataset(RelativePosition(), q, y), model=CalibrationModel(parameters="dh"))
    assert restricted.status == "worse"
    assert restricted.improvement > 1.05
    assert "worse than the nominal one" in restricted.verdict
    better = calibrate(robot, Dataset(RelativePosition(), q, y), model=CalibrationModel(parameters=["dh", "tcp"]))
    assert better.status == "calibrated"
    assert better.improvement < 0.5


@pytest.mark.laws
def test_a_model_from_data_in_doubt_is_written_only_by_force(reflector, tmp_path, capsys):
    robot, q, y = reflector
    table = np.concatenate([q * [1, -1, 1, 1, 1, 1], y], axis=1)
    header = ",".join([*robot.joint_names, "x", "y", "z"])
    data, model, offsets = tmp_path / "tracker.csv", tmp_path / "calibrated.urdf", tmp_path / "offsets.txt"
    np.savetxt(data, table, delimiter=",", header=f"# kind = relative_position\n{header}", comments="")
    words = ["calibrate", "puma560", str(data), "--folds", "0", "--joint-terms", "none"]
    words += ["--write", str(model), "--controller", f"offsets={offsets}"]
    assert main(words) == 3
    said = capsys.readouterr()
    assert "joint joint2 had the opposite sign" in said.out
    assert "data in doubt: no model was written" in said.err
    assert not model.exists()
    assert not offsets.exists()
    assert main([*words, "--overwrite"]) == 3  # offsets that are worse than none are not written even so
    assert "offsets.txt was not written" in capsys.readouterr().err
    assert model.exists()
    assert not offsets.exists()


def test_a_worse_model_is_written_only_by_force(reflector, tmp_path, capsys):
    robot, q, y = reflector
    data = tmp_path / "tracker.csv"
    table = np.concatenate([q, 1e3 * y], axis=1)
    header = ",".join([*robot.joint_names, "x", "y", "z"])
    np.savetxt(data, table, delimiter=",", header=f"# kind = relative_position\n# unit = mm\n{header}", comments="")
    model = tmp_path / "calibrated.urdf"
    words = ["calibrate", "puma560", str(data), "--parameters", "dh", "--write", str(model), "--folds", "0"]
    assert main(words) == 3, capsys.readouterr()
    assert not model.exists()
    said = capsys.readouterr()
    assert "worse" in said.out
    assert "--overwrite" in said.err
    assert main([*words, "--overwrite"]) == 0
    assert model.exists()
    assert main(["calibrate", "puma560", str(data), "--parameters", "dh", "tcp", "--folds", "0"]) == 0
