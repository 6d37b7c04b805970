"""Joint values and groups of measurement files: units by coordinate, absent columns, quaternions as they are."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.errors import ModelError
from zveno.io.tables import group_names, joint_values, parse_measurements, read_arrays, read_measurements


def test_lengths_and_angles_have_units_of_their_own():
    mechanism = zveno.load("stanford").mechanism
    names = mechanism.coordinate_names
    slide = [mechanism.joint(name).type.units[0] for name in names].index("m")
    text = f"# unit = mm\n# angle = deg\n{','.join(names)}\n{','.join(['90'] * len(names))}\n"
    expected = np.full(len(names), np.pi / 2)
    expected[slide] = 0.09
    assert np.allclose(joint_values(parse_measurements(text), mechanism, names), [expected])


def test_a_quaternion_has_no_unit():
    robot = zveno.load("quadruped")
    mechanism = robot.mechanism
    q = robot.random((), 1)
    angles = [name in mechanism.joint_names for name in mechanism.coordinate_names]
    cells = np.where(angles, np.rad2deg(q), q)
    text = f"# angle = deg\n{','.join(mechanism.coordinate_names)}\n{','.join(map(repr, cells.tolist()))}\n"
    assert mechanism.n_q != mechanism.n_v
    assert np.allclose(joint_values(parse_measurements(text), mechanism, ()), [q])


def test_joints_without_a_column_rest_unless_they_are_needed():
    mechanism = zveno.load("puma560").mechanism
    table = parse_measurements("joint2;group\n0.5;a\n;b\n")
    q = joint_values(table, mechanism, ["joint2"])
    assert q[0].tolist() == [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    assert np.isnan(q[1, 1])
    with pytest.raises(zveno.ZvenoError, match="no column for joint3"):
        joint_values(table, mechanism, ["joint2", "joint3"])
    assert group_names(table) == ("a", "b")
    assert group_names(parse_measurements("place,hole\nleft,1\n")) == ("left/1",)
    assert group_names(parse_measurements("x\n1\n")) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n3," + "4" * 200_000, "f.csv: line 3: a cell has more than 131072 characters"),
        ("x," + "y" * 200_000 + "\n1,2\n", "f.csv: line 1: a cell has more than 131072 characters"),
        ("x,y\n1,2\n3," + "4" * 5000, "f.csv: line 3, column y: '4444.*' is not a finite number"),
        ("x,y\n1,2\n3,inf\n", "f.csv: line 3, column y: 'inf' is not a finite number"),
        ("x,y\n" + "1,2\n" * 20 + "a,b\n3,-1e999", "f.csv: line 23, column y: '-1e999' is not a finite number"),
    ],
)
@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_cells_without_end_and_numbers_out_of_range_are_refused_with_their_place(tmp_path, text, words):
    (tmp_path / "f.csv").write_text(text)
    with pytest.raises(ModelError, match=words):
        read_measurements(tmp_path / "f.csv").numbers("y")


def test_numbers_of_json_that_no_float_holds(tmp_path):
    (tmp_path / "f.json").write_text('{"q": [[1, 2]], "x": [[1, 2, ' + "9" * 400 + "]]}")
    with pytest.raises(ModelError, match=r"f\.json: a number has too many digits"):
        read_arrays(tmp_path / "f.json", ["a", "b"])
    (tmp_path / "f.json").write_text('{"q": [[1, 2]], "x": [1e999]}')
    with pytest.raises(ModelError, match="row 1: inf is not a finite number"):
        read_arrays(tmp_path / "f.json", ["a", "b"]).numbers("x")
