"""Accuracy over the workspace by any workers: the same bits, and cells that sum up what the postures say."""

import numpy as np
import pytest

import zveno
from slowly import rest_slow
from zveno.calibration.use import accuracy
from zveno.errors import ZvenoError
from zveno.scale import read_filed


@pytest.fixture(scope="module")
def found():
    robot = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    q = robot.random(40, 1)
    true = robot.with_deviations({"Tx2": 1e-3, "Rz3": 2e-3})
    return robot.calibrate(
        zveno.Campaign(zveno.Position(sigma=1e-4), q, true.forward_kinematics(q)[:, :3, 3]), folds=0
    )


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(accuracy, "PIECE", 100)


CELLS = ("index", "number", "before", "after", "worst_before", "worst_after")


def test_a_map_is_what_predictions_say(found):
    result = zveno.accuracy_map(found, 50, rng=3)
    at = found.predict(result.q)
    np.testing.assert_allclose(result.points, at.T_world_frame[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(result.sigma_position, at.sigma_position)
    same = found.accuracy_map(50, rng=3)
    assert same.sigma_position.tobytes() == result.sigma_position.tobytes()
    assert zveno.accuracy_map(found, 50, rng=4).q[0, 0] != result.q[0, 0]


def test_cells_are_sums_of_the_map(found, small_pieces):
    result, cells = zveno.accuracy_map(found, 450, rng=3), zveno.accuracy_cells(found, 450, 0.25, rng=3)
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


@pytest.mark.parametrize("on", rest_slow(["here", "threads", 2]))
def test_same_bits_on_any_workers_and_from_files(on, found, small_pieces, tmp_path):
    plain = zveno.accuracy_cells(found, 350, 0.2)
    for more in ({}, {"directory": tmp_path / "rows", "checkpoint": tmp_path / "run.json"}):
        other = zveno.accuracy_cells(found, 350, 0.2, on=on, **more)
        for name in CELLS:
            assert getattr(other, name).tobytes() == getattr(plain, name).tobytes(), name
        assert other.inputs == plain.inputs
    rows = np.concatenate(list(read_filed(other.manifest)))
    assert rows.shape == (350, 6 + 3 + 3)
    whole = zveno.accuracy_map(found, 350, on=on)
    np.testing.assert_array_equal(rows[:, :6], whole.q)
    np.testing.assert_array_equal(rows[:, -1], whole.nominal_error)


def test_a_map_goes_on_from_a_checkpoint(found, small_pieces, tmp_path):
    def stop(done, _total):
        if done == 2:
            raise KeyboardInterrupt

    file = tmp_path / "run.json"
    with pytest.raises(KeyboardInterrupt):
        zveno.accuracy_cells(found, 350, 0.2, checkpoint=file, progress=stop)
    calls = []
    again = zveno.accuracy_cells(found, 350, 0.2, checkpoint=file, progress=lambda *at: calls.append(at))
    assert calls == [(3, 4), (4, 4)]
    assert again.before.tobytes() == zveno.accuracy_cells(found, 350, 0.2).before.tobytes()


def test_bad_maps_are_refused(found):
    for postures in (0, -3, 1.5, True):
        with pytest.raises(ZvenoError, match="postures"):
            zveno.accuracy_cells(found, postures)
    for cell in (0.0, -1.0, np.nan, "x"):
        with pytest.raises(ZvenoError, match="cell"):
            zveno.accuracy_cells(found, 10, cell)
    with pytest.raises(ZvenoError, match="frame"):
        zveno.accuracy_cells(found, 10, frame="elbow")
    with pytest.raises(ZvenoError, match="slices"):
        zveno.accuracy_cells(found, 10).slices(0)
