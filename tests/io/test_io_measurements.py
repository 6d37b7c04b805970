"""Joint values and groups of measurement files: units by coordinate, absent columns, quaternions as they are."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.io.measurements import group_names, joint_values, parse_measurements


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
