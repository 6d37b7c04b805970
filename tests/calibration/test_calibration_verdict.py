"""The verdict in words: what it says of rows that do not belong."""

import numpy as np
import pytest
from calibration_arms import arm, simulated, truth

import zveno
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import Dataset


@pytest.fixture(scope="module")
def measured():
    robot, kind = arm(), RelativePosition()
    rng = np.random.default_rng(2)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    return robot, simulated(robot, kind, values, 60, rng, {"position": 1e-4})


def _moved(campaign, rows):
    y = campaign.y.copy()
    y[rows] += np.array([0.0, 0.02, 0.005])
    return Dataset(campaign.measurement, campaign.q, y)


def test_rows_that_follow_each_other_suggest_that_something_moved(measured):
    robot, campaign = measured
    verdict = calibrate(robot, _moved(campaign, slice(10, 17)), folds=0).verdict
    assert "7 of 60 rows (11.7 %) do not belong and were left out." in verdict
    assert "In rows 11–17 of relative_position such rows follow each other" in verdict
    assert "give them as a campaign with a reference of its own" in verdict
    scattered = calibrate(robot, _moved(campaign, [3, 20, 21, 22, 40, 55, 57]), folds=0).verdict
    assert "7 of 60 rows" in scattered
    assert "follow each other" not in scattered


def test_too_many_rows_put_the_model_in_doubt(measured):
    """A third of all rows left out: the verdict does not lead with the error of the others."""
    robot, campaign = measured
    found = calibrate(robot, _moved(campaign, slice(0, 60, 4)))
    assert len(found.outliers) == 15
    assert "so many mean that the model is wrong" in found.verdict
    assert f"→ {1e3 * found.held_out[0].rms:.3g} mm" in found.verdict
    assert found.held_out[0].rms > 10 * found.held_out_unflagged[0].rms
    fine = calibrate(robot, _moved(campaign, [5]))
    whole, rest = (f"→ {1e3 * error[0].rms:.3g} mm rms" for error in (fine.held_out, fine.held_out_unflagged))
    first = fine.verdict.splitlines()[0]
    assert first.index(f"{whole} on postures not used, all rows;") < first.index(f"{rest} without the rows")


def test_outliers_say_which_thing_of_a_row_is_off(measured):
    robot, _ = measured
    kind = RelativePosition(points=[[0.0, 0.0, 0.0], [0.0, 0.05, 0.02]])
    rng = np.random.default_rng(7)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 40, rng, {"position": 1e-4})
    y = campaign.y.copy()
    y[12, 1] += [0.003, 0.0, 0.004]
    found = calibrate(robot, Dataset(kind, campaign.q, y), folds=0)
    (one,) = found.outliers
    assert (one.row, one.of) == (13, "point 2")
    assert one.off["position (m)"] == pytest.approx(0.005, rel=0.1)
    assert one.text.startswith("relative_position row 13 (point 2): off by ")
    assert "mm, " in one.text


def test_rows_of_a_file_are_named_by_its_lines(measured, tmp_path):
    robot, campaign = measured
    y = campaign.y.copy()
    y[[7, *range(20, 27)]] += np.array([0.0, 0.02, 0.005])
    names = [f"q{k}" for k in range(1, 7)]
    rows = np.column_stack([campaign.q, y.reshape(60, 3)]).tolist()
    head = ["# kind = relative_position", ",".join([*names, "x", "y", "z"])]
    lines = [*head, *(",".join(map(repr, row)) for row in rows)]
    lines[-1] = ",".join([*map(repr, rows[-1][:6]), "", "", ""])
    file = tmp_path / "day2.csv"
    file.write_text("\n".join(lines))
    with pytest.warns(zveno.ZvenoWarning, match="day2.csv: line 62 has no reading; it is left out"):
        found = calibrate(robot, zveno.calibration.read_dataset(file, robot.mechanism), folds=0)
    assert any(one.text.startswith("day2.csv line 10: off by ") for one in found.outliers)
    assert "In lines 23–29 of day2.csv such rows follow each other" in found.verdict
