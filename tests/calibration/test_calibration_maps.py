"""Accuracy over the workspace: cells sum up what the postures say."""

import numpy as np
import pytest

import zveno
from zveno import calibration
from zveno.calibration import accuracy
from zveno.errors import ZvenoError


@pytest.fixture(scope="module")
def found():
    robot = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    q = robot.random(40, 1)
    true = zveno.calibration.apply_deviations(robot, {"Tx2": 1e-3, "Rz3": 2e-3})
    return robot.calibrate(
        calibration.Dataset(calibration.Position(sigma=1e-4), q, true.forward_kinematics(q)[:, :3, 3]),
        folds=0,
    )


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(accuracy, "PIECE", 100)


def test_a_map_is_what_predictions_say(found):
    result = found.accuracy_map(50, rng=3)
    at = found.predict(result.q)
    np.testing.assert_allclose(result.points, at.T_world_frame[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(result.sigma_position, at.sigma_position)
    assert found.accuracy_map(50, rng=4).q[0, 0] != result.q[0, 0]


def test_cells_are_sums_of_the_map(found, small_pieces):
    result, cells = (
        found.accuracy_map(450, rng=3),
        calibration.accuracy_cells(found, 450, 0.25, rng=3),
    )
    assert cells.number.sum() == 450
    index = np.floor(result.points / 0.25).astype(int)
    for k in range(0, len(cells.number), 7):
        inside = (index == cells.index[k]).all(axis=1)
        assert inside.sum() == cells.number[k]
        assert cells.before[k] == pytest.approx(np.sqrt(np.mean(result.nominal_error[inside] ** 2)))
        assert cells.after[k] == pytest.approx(np.sqrt(np.mean(result.sigma_position[inside] ** 2)))
        assert cells.worst_after[k] == result.sigma_position[inside].max()
        assert cells.worst_before[k] == result.nominal_error[inside].max()
    slices = cells.slices(3)
    assert sum(one.number.sum() for one in slices) == 450
    assert [one.low for one in slices] == sorted(one.low for one in slices)


def test_bad_maps_are_refused(found):
    for postures in (0, -3, 1.5, True):
        with pytest.raises(ZvenoError, match="postures"):
            calibration.accuracy_cells(found, postures)
    for cell in (0.0, -1.0, np.nan, "x"):
        with pytest.raises(ZvenoError, match="cell"):
            calibration.accuracy_cells(found, 10, cell)
    with pytest.raises(ZvenoError, match="frame"):
        calibration.accuracy_cells(found, 10, frame="elbow")
    with pytest.raises(ZvenoError, match="slices"):
        calibration.accuracy_cells(found, 10).slices(0)
