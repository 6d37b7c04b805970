"""Measurement files as strangers write them: other names, units, orders and notations of the same numbers."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, measured_puma

import zveno
from zveno.calibration.calibrate import calibrate
from zveno.calibration.files import campaign_from, template
from zveno.calibration.measurements import RelativePose
from zveno.errors import ZvenoError
from zveno.io.tables import parse_measurements
from zveno.spatial.rotations import log, to_quaternion, to_rpy


@pytest.fixture(scope="module")
def measured():
    return measured_puma(RelativePose(), 30, {"position": 5e-5, "rotation": 1e-4}, {"tracker": FAR})


def _text(head, columns, separator=",", settings="# kind = relative_pose\n", decimal="."):
    lines = [separator.join(repr(float(x)).replace(".", decimal) for x in row) for row in np.column_stack(columns)]
    return settings + separator.join(head) + "\n" + "\n".join(lines) + "\n"


def _pieces(campaign):
    y = campaign.y.reshape(len(campaign.q), 12)
    R = y[:, 3:].reshape(-1, 3, 3)
    return campaign.q, y[:, :3], R, np.array([to_quaternion(one) for one in R])


def _variants(campaign):
    q, p, R, wxyz = _pieces(campaign)
    deg, mm = np.rad2deg(q), 1e3 * p
    rpy, turn = np.array([to_rpy(one) for one in R]), np.array([log(one) for one in R])
    six = range(1, 7)
    names = [f"joint{k}" for k in six]
    yield (
        "units in brackets",
        _text(
            [*(f"q{k} [deg]" for k in six), "X (mm)", "Y (mm)", "Z (mm)", "qw", "qx", "qy", "qz"], [deg, mm, wxyz]
        ),
    )
    yield (
        "xyzw, readings first, time",
        _text(
            ["time", "quat_x", "quat_y", "quat_z", "quat_w", "pos_x_mm", "pos_y_mm", "pos_z_mm", *names],
            [np.arange(len(q)), wxyz[:, [1, 2, 3, 0]], mm, q],
        ),
    )
    yield (
        "names of a message",
        _text(
            [
                *(f"Joint_{k}" for k in six),
                *(f"pose.position.{a}" for a in "xyz"),
                *(f"pose.orientation.{a}" for a in "xyzw"),
            ],
            [q, p, wxyz[:, [1, 2, 3, 0]]],
            "\t",
        ),
    )
    yield (
        "counted from zero, shuffled",
        _text(
            [*(f"actual_q_{k}" for k in (5, 4, 3, 2, 1, 0)), "z", "y", "x", "qw", "qx", "qy", "qz"],
            [q[:, ::-1], p[:, ::-1], wxyz],
        ),
    )
    yield (
        "roll, pitch, yaw in degrees",
        _text([*names, "x", "y", "z", "roll_deg", "pitch_deg", "yaw_deg"], [q, p, np.rad2deg(rpy)]),
    )
    yield "rotation vector", _text([*names, "x", "y", "z", "rotvec_x", "rotvec_y", "rotvec_z"], [q, p, turn])
    yield (
        "a controller's pose",
        _text(
            [*names, "x", "y", "z", "rx", "ry", "rz"],
            [q, p, turn],
            settings="# kind: relative_pose\n# rotation: rotvec\n",
        ),
    )
    yield (
        "euler as rx ry rz, everything in mm and deg",
        _text(
            [*names, "x", "y", "z", "rx", "ry", "rz"],
            [deg, mm, np.rad2deg(rpy)],
            settings="# kind = relative_pose\n# unit = mm\n# angle = deg\n# rotation = rpy\n",
        ),
    )
    yield (
        "matrix",
        _text(
            [*names, "tx", "ty", "tz", *(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))],
            [q, p, R.reshape(-1, 9)],
        ),
    )
    yield "decimal commas", _text([*names, "x", "y", "z", "qw", "qx", "qy", "qz"], [q, p, wxyz], ";", decimal=",")


def test_the_same_numbers_however_they_are_written(measured):
    robot, campaign = measured
    read = []
    for name, text in _variants(campaign):
        found = campaign_from(parse_measurements(text), robot.mechanism)
        y, _ = found.measurement.data(found.y, len(found.q))
        np.testing.assert_allclose(found.q, campaign.q, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(y[:, 0], campaign.y.reshape(len(y), 12), atol=1e-9, err_msg=name)
        read.append(name)
    assert len(read) == 10
    assert calibrate(robot, found, folds=0).converged


def test_several_markers_by_any_name():
    robot = arm("puma560")
    names = [f"{a}{k}" for k in (1, 2) for a in "xyz"]
    for head in (
        names,
        [f"marker{k}_{a}" for k in (1, 2) for a in "xyz"],
        [f"P{k}{a}" for k in (1, 2) for a in "XYZ"],
    ):
        text = ",".join([*robot.joint_names, *head]) + "\n" + ",".join(map(str, range(12))) + "\n"
        read = campaign_from(parse_measurements(text), robot.mechanism, "relative_position")
        np.testing.assert_array_equal(np.ravel(read.y), range(6, 12))


def test_missing_orientations_leave_the_positions(measured):
    robot, campaign = measured
    q, p, R, _ = _pieces(campaign)
    rpy = np.array([to_rpy(one) for one in R])
    rpy[4] = np.nan
    text = _text([*robot.joint_names, "x", "y", "z", "roll", "pitch", "yaw"], [q, p, rpy]).replace("nan", "")
    found = calibrate(robot, campaign_from(parse_measurements(text), robot.mechanism), folds=0)
    assert found.scalar_rows == 6 * len(q) - 3


@pytest.mark.parametrize(
    ("head", "settings", "said"),
    [
        ("x,y,z,rx,ry,rz", "# kind = pose\n", "# rotation = rpy"),
        ("x,y,z", "# kind = relative_pose\n", "# kind = relative_position"),
        ("x,y,z", "", "looks like a position"),
        ("x,y,z,roll,pitch,yaw", "", "looks like a pose"),
        ("d1,d2", "", "# kind = distance"),
        ("pos_x,px,y,z", "# kind = position\n", "both seem to be x"),
        ("x,y,z,r11,r12,r13,r21,r22,r23,r31,r32,r33", "# kind = pose\n", "not a rotation"),
    ],
)
def test_what_cannot_be_understood_is_said_with_what_would_work(head, settings, said):
    robot = arm("puma560")
    columns = [*robot.joint_names, *head.split(",")]
    text = f"{settings}{','.join(columns)}\n{','.join(str(k) for k in range(len(columns)))}\n"
    with pytest.raises(ZvenoError, match=said):
        campaign_from(parse_measurements(text), robot.mechanism)


def test_names_of_a_robot_are_never_taken_for_readings():
    """A robot whose joints are called x, y and q1 keeps them."""
    robot = zveno.load("Tx(q1) Ty(q2) Rz(q3) Tx(0.3)")
    names = robot.mechanism.coordinate_names
    text = f"# kind = position\n{','.join([*names, 'x', 'y', 'z'])}\n0.1,0.2,0.3,1,2,3\n"
    read = campaign_from(parse_measurements(text), robot.mechanism)
    np.testing.assert_allclose(read.q[0], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(np.ravel(read.y), [1, 2, 3])


def test_a_template_filled_in_is_read():
    robot = arm("puma560")
    for kind in ("pose", "relative_position", "distance", "direction", "camera", "sockets", "point"):
        empty = template(robot.mechanism, kind)
        cells = ",".join("1" if name == "qw" else "0" for name in empty.splitlines()[-1].split(","))
        read = campaign_from(parse_measurements(f"{empty}{cells}\n"), robot.mechanism)
        assert read.measurement.kind == kind
