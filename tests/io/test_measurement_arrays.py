"""Arrays of measurements: names say what they are, and bad numbers have a row."""

import numpy as np
import pytest
from scipy.io import savemat

import zveno
from zveno import calibration
from zveno.errors import ModelError

Q = np.linspace(-1.0, 1.0, 24).reshape(12, 2)
Y = np.linspace(0.1, 0.5, 36).reshape(12, 3)


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


def read(tmp_path, robot, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return calibration.read_dataset(tmp_path / "a.npz", robot, "position")


def changed(values, bad):
    values = values.astype(type(bad)) if isinstance(bad, complex) else values.copy()
    values[3, 1] = bad
    return values


@pytest.mark.parametrize("name", ["torque", "tau", "joint_torques", "dq", "velocity"])
def test_other_columns_of_joints_are_not_joint_values(tmp_path, robot, name):
    with pytest.raises(ModelError, match=rf"a\.npz: has no column for joint1.*{name}_0"):
        read(tmp_path, robot, **{name: Q, "position": Y})


@pytest.mark.parametrize("name", ["sigma", "std", "position_std"])
def test_a_standard_deviation_is_not_a_measurement(tmp_path, robot, name):
    with pytest.raises(ModelError, match=rf"has no column x, y, z.*{name}_0"):
        read(tmp_path, robot, q=Q, **{name: Y})


def test_names_count_before_shapes(tmp_path, robot):
    with pytest.raises(ModelError, match=r"a\.npz: array q: has 3 columns, and the robot has 2 coordinates"):
        read(tmp_path, robot, position=Q, q=Y)
    three = zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.3) Rz(q3) Tx(0.1)")
    campaign = read(tmp_path, three, q=Y + 1.0, position=Y)
    np.testing.assert_array_equal(campaign.q, Y + 1.0)
    np.testing.assert_array_equal(campaign.y, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_joint_values_that_are_not_finite_have_a_row(tmp_path, robot, bad):
    with pytest.raises(ModelError, match=r"a\.npz: array q, row 4: -?(nan|inf) is not a finite number"):
        read(tmp_path, robot, q=changed(Q, bad), position=Y)


def test_measurements_that_are_infinite_have_a_row(tmp_path, robot):
    with pytest.raises(ModelError, match=r"a\.npz: array position, row 4: inf is not a finite number"):
        read(tmp_path, robot, q=Q, position=changed(Y, np.inf))
    assert np.isnan(read(tmp_path, robot, q=Q, position=changed(Y, np.nan)).y[3]).any()  # missing


def test_complex_numbers_are_refused(tmp_path, robot):
    with pytest.raises(ModelError, match=r"a\.npz: array q: it holds complex numbers"):
        read(tmp_path, robot, q=changed(Q, 1j), position=Y)
    savemat(tmp_path / "a.mat", {"q": changed(Q, 1j), "position": Y})
    with pytest.raises(ModelError, match=r"a\.mat: array q: it holds complex numbers"):
        calibration.read_dataset(tmp_path / "a.mat", robot, "position")


def test_shapes_alone_decide_nothing(tmp_path, robot):
    with pytest.raises(ModelError, match=r"has no column for joint1.*numbers_0"):
        read(tmp_path, robot, numbers=Q, position=Y)
    with pytest.raises(ModelError, match=r"has no column x, y, z.*laser_0"):
        read(tmp_path, robot, q=Q, laser=Y)
    chosen = calibration.read_dataset(tmp_path / "a.npz", robot, "position", settings={"readings": "laser"})
    np.testing.assert_array_equal(chosen.y, Y)


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    """The last one won in silence."""
    (tmp_path / "a.json").write_text('{"q": [[0.1, 0.2]], "q": [[0.3, 0.2]], "position": [[1, 2, 3]]}')
    with pytest.raises(ModelError, match="name 'q': is there twice"):
        calibration.read_dataset(tmp_path / "a.json", zveno.load("planar2"), "position")
