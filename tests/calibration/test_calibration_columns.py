"""Columns of measurement files that the user names, and the account of those that were understood."""

import numpy as np
import pytest
from scipy.io import savemat

import zveno
from zveno import calibration
from zveno.calibration.measurements.datasets import prepared
from zveno.errors import UnknownNameError

ROBOT = zveno.load("planar2")
Q = np.random.default_rng(0).uniform(-1, 1, (20, 2))
P = ROBOT.forward_kinematics(Q)[:, :3, 3]


def written(path, names):
    rows = np.column_stack([Q, P])
    path.write_text("\n".join([",".join(names), *(",".join(map(repr, map(float, row))) for row in rows)]))
    return path


def test_columns_that_the_user_names(tmp_path):
    file = written(tmp_path / "data.csv", ["first", "second", "east", "north", "up"])
    names = dict(zip((*ROBOT.joint_names, "x", "y", "z"), ("first", "second", "east", "north", "up"), strict=True))
    campaign = calibration.read_dataset(file, ROBOT.mechanism, "position", columns=names)
    assert np.array_equal(campaign.q, Q)
    assert np.allclose(np.reshape(campaign.y, (20, 3)), P)
    assert "east → x, as said" in campaign.account
    with pytest.raises(UnknownNameError, match="no column named 'west'"):
        calibration.read_dataset(file, ROBOT.mechanism, "position", columns={"x": "west"})


@pytest.mark.parametrize("wrong", ["xx", "joint9", "height", "from_elbow9", "az"])
def test_a_meaning_that_nothing_reads_is_refused(tmp_path, wrong):
    """A misspelt one would be lost in silence, and the column with the right name read instead."""
    file = written(tmp_path / "data.csv", [*ROBOT.joint_names, "x", "y", "z"])
    with pytest.raises(UnknownNameError, match=rf"named '{wrong}'.*Known: {ROBOT.joint_names[0]}.*x, y, z"):
        calibration.read_dataset(file, ROBOT.mechanism, "position", columns={wrong: "x"})


@pytest.mark.parametrize("meaning", ["group", "pos_x", "x1", "from_{0}", "approach_{0}", "q1"])
def test_other_spellings_of_meanings_are_taken(tmp_path, meaning):
    """Whatever a column may be called, the user may call it."""
    file = written(tmp_path / "data.csv", [*ROBOT.joint_names, "x", "y", "z"])
    text = file.read_text().splitlines()
    file.write_text("\n".join([f"{text[0]},more", *(f"{line},1" for line in text[1:])]))
    names = {meaning.format(ROBOT.joint_names[0]): "more"}
    names |= {"q2": ROBOT.joint_names[1]} if meaning == "q1" else {}
    calibration.read_dataset(file, ROBOT.mechanism, "position", columns=names)


def test_the_account_stands_in_the_notes(tmp_path):
    file = written(tmp_path / "data.csv", ["q1", "q2", "tracker_x", "tracker_y", "tracker_z"])
    campaign = calibration.read_dataset(file, ROBOT.mechanism, "position")
    (line,) = campaign.account
    assert "columns of data.csv: " in line
    assert "tracker_x → x" in line
    assert line in prepared([campaign], ROBOT.mechanism)[1]
    by_the_book = written(tmp_path / "book.csv", [*ROBOT.joint_names, "x", "y", "z"])
    assert calibration.read_dataset(by_the_book, ROBOT.mechanism, "position").account == ()


def test_arrays_of_matlab(tmp_path):
    savemat(tmp_path / "data.mat", {"q": Q, "p": P})
    campaign = calibration.read_dataset(tmp_path / "data.mat", ROBOT.mechanism, "position")
    assert np.array_equal(campaign.q, Q)
    assert np.allclose(np.reshape(campaign.y, (20, 3)), P)
