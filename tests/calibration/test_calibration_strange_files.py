"""Files of strangers: without header, by place, makers' columns and angles, what may mean two things."""

import numpy as np
import pytest
from calibration_arms import arm
from calibration_tables import NAMES, SIX, campaign_of, lines, measured_poses, poses_of, same_readings

import zveno
from zveno.calibration.files import read_dataset
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.spatial.rotations import elementary, log, to_quaternion, to_rpy


@pytest.fixture(scope="module")
def measured():
    return measured_poses()


@pytest.mark.parametrize("separator", [",", ";", "\t", "  ", ", "])
def test_numbers_without_names_are_joints_and_readings(measured, separator):
    robot, q, p, _ = measured
    text = lines([q, p], separator).replace("\n", separator + "\n" if separator != "  " else "\n")
    with pytest.warns(ZvenoWarning, match="no header: its columns are taken for joint1"):
        same_readings(campaign_of(text, robot, "relative_position"), q, p)


def test_rows_without_names_for_a_kind_without_readings(measured):
    """A probe held at one point gives joint values alone; a further column is no reading of it."""
    robot, q, _, _ = measured
    with pytest.raises(ZvenoError, match="has 7 columns and no names for them"):
        campaign_of(lines([q, np.arange(len(q))]), robot, "point")


@pytest.mark.parametrize("width", [12, 16])
def test_matrices_without_names(measured, width):
    robot, q, p, R = measured
    T = poses_of(p, R).reshape(len(q), 16)[:, :width]
    with pytest.warns(ZvenoWarning, match="no header"):
        same_readings(campaign_of(lines([q, T]), robot), q, p, R)
    if width == 16:
        columnwise = poses_of(p, R).transpose(0, 2, 1).reshape(len(q), 16)
        with pytest.warns(ZvenoWarning, match="no header"):
            same_readings(campaign_of(lines([q, columnwise]), robot), q, p, R)


def test_a_number_of_columns_that_fits_nothing_is_refused_with_a_header_to_copy(measured):
    robot, q, p, _ = measured
    with pytest.raises(
        ModelError, match=r"8 columns and no names.*joint1,joint2,joint3,joint4,joint5,joint6,x,y,z"
    ):
        campaign_of(lines([q, p[:, :2]]), robot, "relative_position")


def test_blanks_and_tabs_mixed_and_columns_that_are_not_read(measured):
    robot, q, p, _ = measured
    numbers = "".join(
        f"{lines([a], chr(9)).strip()}  {lines([b], ' ')}" for a, b in zip(q[:, None], p[:, None], strict=True)
    )
    with pytest.warns(ZvenoWarning, match="no header"):
        same_readings(campaign_of(numbers, robot, "relative_position"), q, p)
    tabs = "\t".join([*NAMES, "x", "y", "z"])
    same_readings(campaign_of(f"{tabs}\n{numbers}", robot, "relative_position"), q, p)
    head = " ".join(["-", "x", "y", "z", "-", *NAMES])
    body = lines([np.zeros(len(q)), p, np.ones(len(q)), q], " ")
    same_readings(campaign_of(f"% from a tracker\n{head}\n{body}", robot, "relative_position"), q, p)


def test_readings_in_another_file(measured):
    robot, q, p, _ = measured
    with pytest.raises(ModelError, match=r"no column x, y, z.*paste -d, joints\.csv readings\.csv"):
        campaign_of(",".join(NAMES) + "\n" + lines([q]), robot, "relative_position")
    with (
        pytest.warns(ZvenoWarning, match="no header"),
        pytest.raises(ModelError, match="not an angle of a joint in any unit"),
    ):
        campaign_of(lines([1e4 * p, q]), robot, "relative_position")


def _named_variants(q, p, R):
    rpy, turn = np.array([to_rpy(one) for one in R]), np.array([log(one) for one in R])
    wxyz = np.array([to_quaternion(one) for one in R])
    T = poses_of(p, R)
    deg = "# angle = deg\n"
    xyz = ["x", "y", "z"]
    yield (
        "KUKA",
        deg + ",".join([*(f"A{k}" for k in SIX), "X", "Y", "Z", "A", "B", "C"]),
        [np.rad2deg(q), p, np.rad2deg(rpy[:, ::-1])],
    )
    yield (
        "Fanuc",
        deg + ",".join([*(f"J{k}" for k in SIX), "X", "Y", "Z", "W", "P", "R"]),
        [np.rad2deg(q), p, np.rad2deg(rpy)],
    )
    yield "ABB", ",".join([*(f"rax_{k}" for k in SIX), *xyz, "q1", "q2", "q3", "q4"]), [q, p, wxyz]
    yield "UR", "# rotation = ur_rotvec\n" + ",".join([*NAMES, *xyz, "rx", "ry", "rz"]), [q, p, turn]
    yield (
        "figaroh",
        "# rotation = rpy\n" + ",".join(["x1", "y1", "z1", "phix1", "phiy1", "phiz1", *NAMES]),
        [p, rpy, q],
    )
    yield (
        "commanded beside measured",
        ",".join(
            [
                *(f"target_q_{k}" for k in range(6)),
                *(f"actual_q_{k}" for k in range(6)),
                *xyz,
                "qw",
                "qx",
                "qy",
                "qz",
            ]
        ),
        [q + 0.1, q, p, wxyz],
    )
    yield (
        "rows and columns of a matrix",
        ",".join([*(f"panda_joint{k}" for k in SIX), *(f"T{i}{j}" for i in range(4) for j in range(4))]),
        [q, T.reshape(-1, 16)],
    )
    yield (
        "a matrix column by column",
        ",".join([*NAMES, *(f"O_T_EE_{k}" for k in range(16))]),
        [q, T.transpose(0, 2, 1).reshape(-1, 16)],
    )
    mm = T.copy()
    mm[:, :3, 3] *= 1e3
    log_names = [f"{word}_{k}" for word in ("theta", "tau") for k in SIX]
    yield (
        "a log with torques and matrices in mm",
        "# unit = mm\n" + ", ".join(["number", *log_names, *(f"m_{i}{j}" for i in range(4) for j in range(4))]),
        [np.arange(len(q)), q, 10.0 * q, mm.reshape(-1, 16)],
    )
    yield (
        "unnamed columns",
        ",,".join([*NAMES, *xyz, "qw", "qx", "qy", "qz"]),
        [np.column_stack([q, p, wxyz]).repeat(2, axis=1)[:, :-1]],
    )


def test_makers_and_their_columns(measured):
    robot, q, p, R = measured
    count = 0
    for name, head, columns in _named_variants(q, p, R):
        found = campaign_of(f"{head}\n{lines(columns)}", robot)
        assert found.measurement.kind == "relative_pose", name
        same_readings(found, q, p, R)
        count += 1
    assert count == 10


@pytest.mark.parametrize(
    ("word", "axes"), [("staubli", "xyz"), ("zyx", "zyx"), ("kawasaki_oat", "zyz"), ("zxz", "zxz")]
)
def test_angles_about_turned_axes(measured, word, axes):
    robot, q, p, _ = measured
    angles = np.random.default_rng(1).uniform(-3, 3, (len(q), 3))
    R = np.array(
        [np.linalg.multi_dot([elementary(a, x) for a, x in zip(axes, row, strict=True)]) for row in angles]
    )
    head = f"# rotation = {word}\n{','.join([*NAMES, 'x', 'y', 'z', 'rx', 'ry', 'rz'])}\n"
    same_readings(campaign_of(head + lines([q, p, angles]), robot), q, p, R)


def test_joints_of_other_names_are_refused_until_named(tmp_path):
    """The names of a teach pendant are not those of the model; the user says which is which, units are kept."""
    robot = zveno.load("ur5")
    q = robot.random(4, np.random.default_rng(0))
    head = "Pose,Base (°),Shoulder (°),Elbow (°),Wrist 1 (°),Wrist 2 (°),Wrist 3 (°),X (mm),Y (mm),Z (mm)\n"
    (tmp_path / "a.csv").write_text(head + lines([np.arange(1, 5), np.rad2deg(q), np.zeros((4, 3))]))
    with pytest.raises(ZvenoError, match=r"no column for shoulder_pan, shoulder_lift.*Base \(°\).*--columns"):
        read_dataset(tmp_path / "a.csv", robot, "position")
    named = {"shoulder_pan": "Base (°)", "shoulder_lift": "Shoulder (°)"}
    found = read_dataset(tmp_path / "a.csv", robot, "position", columns=named)
    np.testing.assert_allclose(found.q, q, atol=1e-12)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_signs_of_old_programs(tmp_path, encoding):
    robot = arm("puma560")
    head = ",".join([*(f"J{k} [°]" for k in SIX), "x (µm)", "y (µm)", "z (µm)"])
    (tmp_path / "a.csv").write_bytes(f"{head}\r\n90,0,0,0,0,0,1,2,3\r\n".encode(encoding))
    found = read_dataset(tmp_path / "a.csv", robot.mechanism, "position")
    assert found.q[0, 0] == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(np.ravel(found.y), [1e-6, 2e-6, 3e-6])
    (tmp_path / "a.csv").write_bytes(b"PK\x03\x04\x00\x00\x81\x00")
    with pytest.raises(ModelError, match="not a text file"):
        read_dataset(tmp_path / "a.csv", robot.mechanism, "position")


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (",".join([*NAMES, "x", "y", "z"]), "# angle = deg"),
        (
            ",".join([*(f"q{k}" for k in SIX), *(f"joint_{k}" for k in SIX), "x", "y", "z"]),
            "may both be joint values",
        ),
        (f"# rotation = gimbal\n{','.join([*NAMES, 'x', 'y', 'z', 'rx', 'ry', 'rz'])}", "rotation"),
    ],
)
def test_what_may_mean_two_things_is_said(head, said):
    width = head.splitlines()[-1].count(",") + 1
    with pytest.raises(ZvenoError, match=said):
        campaign_of(f"{head}\n{lines([np.full((1, width), 90.0)])}", arm("puma560"), "relative_pose")
