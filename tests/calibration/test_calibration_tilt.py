"""Tilts: a kind of measurement in a file of its own, used everywhere by its name."""

import numpy as np
import pytest
from calibration_arms import NEAR, arm, simulated, truth

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration.measurements import KINDS
from zveno.calibration.measurements.kinds.direction import Tilt


def test_the_kind_is_found_by_its_name():
    assert KINDS["tilt"] is Tilt
    robot = zveno.load("puma560")
    structure = calibration.identifiability(robot, "tilt")
    assert structure.status in ("certain", "proved")
    assert not any(name.startswith("T") for name in structure.chosen)  # no lengths
    assert {"Rzo", "Rzq1"} <= set(structure.of_class("unidentifiable"))  # no turns about the vertical


def test_angles_are_found_again_and_the_mount_with_them():
    robot, rng = arm("puma560"), np.random.default_rng(3)
    kind = Tilt(unknown_mount=True)
    names = [name for name in calibration.identifiability(robot, kind).chosen if not name.startswith("instrument")]
    values = truth(robot, names, rng)
    mount = {"instrument": NEAR}
    campaign = simulated(robot, kind, values, 60, rng, {"rotation": 1e-4}, mount)
    found = robot.calibrate(campaign, model=CalibrationModel(joint_terms=()))
    assert not found.outliers
    error = found.values - [values[found.model.numbers[name]] for name in found.names]
    assert (abs(error) < 4.5 * found.std).all()
    assert found.held_out[0].rms < 3e-4 < found.baseline[0].rms


def test_a_file_in_degrees_says_its_kind_and_mistakes_are_named(tmp_path):
    robot, rng = arm("puma560"), np.random.default_rng(4)
    campaign = simulated(robot, Tilt(), truth(robot, ["Rzq2", "Rzq3"], rng), 30, rng, {"rotation": 1e-4})
    lines = ["# kind = tilt", "# angle = deg", "q1,q2,q3,q4,q5,q6,Tilt X [deg],tilt_y"]
    rows = np.degrees(np.column_stack([campaign.q, campaign.y.reshape(30, 2)]))
    file = tmp_path / "tilts.csv"
    file.write_text("\n".join(lines + [",".join(map(repr, row)) for row in rows.tolist()]))
    read = calibration.read_dataset(file, robot.mechanism)
    assert read.y == pytest.approx(campaign.y.reshape(30, 2), abs=1e-12)
    file.write_text(file.read_text().replace("# kind = tilt\n", ""))
    with pytest.raises(zveno.ZvenoError, match="kind = tilt"):
        calibration.read_dataset(file, robot.mechanism)
    with pytest.warns(zveno.ZvenoWarning, match="axes of the inclinometer were swapped"):
        robot.calibrate(calibration.Dataset(Tilt(), campaign.q, campaign.y[..., ::-1]), folds=0)


@pytest.mark.laws
def test_plans_take_the_kind():
    plan = calibration.plan_poses(zveno.load("puma560"), "tilt", 12, candidates=300)
    assert np.isfinite(plan.sigma).all()
