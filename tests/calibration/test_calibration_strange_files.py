"""Files of strangers: without header, by place, folders, arrays, makers' angles, one marker a row."""

import json

import numpy as np
import pytest
import tyro
from calibration_arms import FAR, arm, measured_puma

import zveno
from zveno.calibration.estimate import calibrate
from zveno.calibration.files.tables import campaign_from, read_campaign
from zveno.calibration.measurements import Camera, RelativePose, RelativePosition, Sockets
from zveno.cli.calibrate import calibrate as calibrate_verb
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.io.measurements import parse_measurements
from zveno.spatial.rotations import elementary, log, to_quaternion, to_rpy

SIX = range(1, 7)
NAMES = [f"joint{k}" for k in SIX]


@pytest.fixture(scope="module")
def measured():
    sigma = {"position": 5e-5, "rotation": 1e-4}
    robot, campaign = measured_puma(RelativePose(), 20, sigma, {"tracker": FAR})
    y = campaign.y.reshape(len(campaign.q), 12)
    return robot, campaign.q, y[:, :3], y[:, 3:].reshape(-1, 3, 3)


def _lines(columns, separator=",", form=repr):
    return "\n".join(separator.join(form(float(x)) for x in row) for row in np.column_stack(columns)) + "\n"


def _same(found, q, p, R=None):
    y, _ = found.measurement.data(found.y, len(found.q))
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    np.testing.assert_allclose(y[:, 0, :3], p, atol=1e-12)
    if R is not None:
        np.testing.assert_allclose(y[:, 0, 3:].reshape(-1, 3, 3), R, atol=1e-9)


def _read(text, robot, kind="relative_pose"):
    return campaign_from(parse_measurements(text, head_needed=False), robot.mechanism, kind)


def _poses(p, R):
    T = np.tile(np.eye(4), (len(p), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = R, p
    return T


@pytest.mark.parametrize("separator", [",", ";", "\t", "  ", ", "])
def test_numbers_without_names_are_joints_and_readings(measured, separator):
    robot, q, p, _ = measured
    text = _lines([q, p], separator).replace("\n", separator + "\n" if separator != "  " else "\n")
    with pytest.warns(ZvenoWarning, match="no header: its columns are taken for joint1"):
        _same(_read(text, robot, "relative_position"), q, p)


def test_rows_without_names_for_a_kind_without_readings(measured):
    """A probe held at one point gives joint values alone; a further column is no reading of it."""
    robot, q, _, _ = measured
    with pytest.raises(ZvenoError, match="has 7 columns and no names for them"):
        _read(_lines([q, np.arange(len(q))]), robot, "point")


@pytest.mark.parametrize("width", [12, 16])
def test_matrices_without_names(measured, width):
    robot, q, p, R = measured
    T = _poses(p, R).reshape(len(q), 16)[:, :width]
    with pytest.warns(ZvenoWarning, match="no header"):
        _same(_read(_lines([q, T]), robot), q, p, R)
    if width == 16:
        columnwise = _poses(p, R).transpose(0, 2, 1).reshape(len(q), 16)
        with pytest.warns(ZvenoWarning, match="no header"):
            _same(_read(_lines([q, columnwise]), robot), q, p, R)


def test_a_number_of_columns_that_fits_nothing_is_refused_with_a_header_to_copy(measured):
    robot, q, p, _ = measured
    with pytest.raises(
        ModelError, match=r"8 columns and no names.*joint1,joint2,joint3,joint4,joint5,joint6,x,y,z"
    ):
        _read(_lines([q, p[:, :2]]), robot, "relative_position")


def test_blanks_and_tabs_mixed_and_columns_that_are_not_read(measured):
    robot, q, p, _ = measured
    numbers = "".join(
        f"{_lines([a], chr(9)).strip()}  {_lines([b], ' ')}" for a, b in zip(q[:, None], p[:, None], strict=True)
    )
    with pytest.warns(ZvenoWarning, match="no header"):
        _same(_read(numbers, robot, "relative_position"), q, p)
    tabs = "\t".join([*NAMES, "x", "y", "z"])
    _same(_read(f"{tabs}\n{numbers}", robot, "relative_position"), q, p)
    head = " ".join(["-", "x", "y", "z", "-", *NAMES])
    body = _lines([np.zeros(len(q)), p, np.ones(len(q)), q], " ")
    _same(_read(f"% from a tracker\n{head}\n{body}", robot, "relative_position"), q, p)


def test_readings_in_another_file(measured):
    robot, q, p, _ = measured
    with pytest.raises(ModelError, match=r"no column x, y, z.*paste -d, joints\.csv readings\.csv"):
        _read(",".join(NAMES) + "\n" + _lines([q]), robot, "relative_position")
    with (
        pytest.warns(ZvenoWarning, match="no header"),
        pytest.raises(ModelError, match="no angle of a joint in any unit"),
    ):
        _read(_lines([1e4 * p, q]), robot, "relative_position")


def _named_variants(q, p, R):
    rpy, turn = np.array([to_rpy(one) for one in R]), np.array([log(one) for one in R])
    wxyz = np.array([to_quaternion(one) for one in R])
    T = _poses(p, R)
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
        found = _read(f"{head}\n{_lines(columns)}", robot)
        assert found.measurement.kind == "relative_pose", name
        _same(found, q, p, R)
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
    _same(_read(head + _lines([q, p, angles]), robot), q, p, R)


def test_joints_by_their_places():
    """The names of a teach pendant are not those of the model."""
    robot = zveno.load("ur5")
    q = robot.random(4, np.random.default_rng(0))
    head = "Pose,Base (°),Shoulder (°),Elbow (°),Wrist 1 (°),Wrist 2 (°),Wrist 3 (°),X (mm),Y (mm),Z (mm)\n"
    text = head + _lines([np.arange(1, 5), np.rad2deg(q), np.zeros((4, 3))])
    with pytest.warns(ZvenoWarning, match="base for shoulder_pan, shoulder for shoulder_lift"):
        found = _read(text, robot, "position")
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    with pytest.raises(ZvenoError, match="no column for shoulder_pan"):
        _read(text.replace("Elbow", "wrist_3").replace("Wrist 3", "other"), robot, "position")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_signs_of_old_programs(tmp_path, encoding):
    robot = arm("puma560")
    head = ",".join([*(f"J{k} [°]" for k in SIX), "x (µm)", "y (µm)", "z (µm)"])
    (tmp_path / "a.csv").write_bytes(f"{head}\r\n90,0,0,0,0,0,1,2,3\r\n".encode(encoding))
    found = read_campaign(tmp_path / "a.csv", robot.mechanism, "position")
    assert found.q[0, 0] == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(np.ravel(found.y), [1e-6, 2e-6, 3e-6])
    (tmp_path / "a.csv").write_bytes(b"PK\x03\x04\x00\x00\x81\x00")
    with pytest.raises(ModelError, match="not a text file"):
        read_campaign(tmp_path / "a.csv", robot.mechanism, "position")


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
        _read(f"{head}\n{_lines([np.full((1, width), 90.0)])}", arm("puma560"), "relative_pose")


def test_one_of_several_markers_a_row():
    robot = arm("puma560")
    q = robot.random(3, np.random.default_rng(0))
    text = (
        ",".join([*NAMES, "x", "y", "z", "SMR"])
        + "\n"
        + _lines([q, np.arange(9.0).reshape(3, 3), [1, 10, 2]], form="{:g}".format)
    )
    found = _read(text, robot, "relative_position")
    assert found.y.shape == (3, 9)
    assert len(found.measurement.right) == 3
    np.testing.assert_array_equal(found.y[1, 6:], [3, 4, 5])
    np.testing.assert_array_equal(np.isfinite(found.y).sum(axis=1), 3)


def test_options_of_a_kind_stand_in_the_file(measured):
    robot, q, p, R = measured
    head = ",".join([*NAMES, "x", "y", "z", "qw", "qx", "qy", "qz"])
    wxyz = np.array([to_quaternion(one) for one in R])
    found = _read(f"# mount = world\n# gives = board\n{head}\n{_lines([q, p, wxyz])}", robot, "camera")
    assert isinstance(found.measurement, Camera)
    assert (found.measurement.mount, found.measurement.gives) == ("world", "board")
    head = f"# unit = mm\n# distance = 30\n{','.join(NAMES)},place,hole\n1,2,3,4,5,6,a,0\n"
    kind = _read(head, robot, "sockets").measurement
    assert isinstance(kind, Sockets)
    assert kind.distance == pytest.approx(0.03)
    head = f"# unit = mm\n# points = 40 45 0\n{','.join(NAMES)},x,y,z\n1,2,3,4,5,6,7,8,9\n"
    kind = _read(head, robot, "relative_position").measurement
    assert isinstance(kind, RelativePosition)
    np.testing.assert_allclose(kind.points, [[0.04, 0.045, 0.0]])
    assert kind.unknown_points
    for wrong in ("# distance = far", "# distance = "):
        with pytest.raises(ZvenoError, match="distance"):
            _read(f"{wrong}\n{','.join(NAMES)},place,hole\n1,2,3,4,5,6,a,0\n", robot, "sockets")


def test_a_folder_of_sockets(tmp_path):
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    q = {(place, hole): robot.random(3, rng) for place in ("back", "front") for hole in (0, 1)}
    for (place, hole), own in q.items():
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / f"hole_{hole}.csv").write_text(_lines([own]))
        (tmp_path / place / f"hole_{hole}_pose.csv").write_text("not,read\n")
    with pytest.warns(ZvenoWarning, match="no header"):
        found = read_campaign(tmp_path, robot.mechanism, "sockets", settings={"unit": "mm", "distance": "40"})
    np.testing.assert_array_equal(found.q, np.concatenate(list(q.values())))
    assert found.groups[::3] == ("back/hole_0", "back/hole_1", "front/hole_0", "front/hole_1")
    assert isinstance(found.measurement, Sockets)
    assert found.measurement.distance == pytest.approx(0.04)
    with pytest.raises(ZvenoError, match="folder without JSON"):
        read_campaign(tmp_path / "back", robot.mechanism, "sockets")


def test_arrays(measured, tmp_path):
    robot, q, p, R = measured
    T = _poses(p, R)
    np.savez(tmp_path / "a.npz", joint_positions=q, camera_poses=T, other=np.arange(3))
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"q": q.tolist(), "T": T.tolist(), "robot": "puma", "kind": "relative_pose"}))
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{"q": a.tolist(), "pose": b.tolist()} for a, b in zip(q, T, strict=True)]))
    for file in (tmp_path / "a.npz", lists, records):
        kind = None if file is lists else "relative_pose"
        _same(read_campaign(file, robot.mechanism, kind), q, p, R)
    found = calibrate(robot, read_campaign(records, robot.mechanism, "relative_pose"), folds=0)
    assert found.converged
    for text, said in (
        ("[1, 2", "is not JSON"),
        ("[1, 2]", "list of records"),
        ('{"a": "b", "c": "d"}', "no arrays"),
    ):
        lists.write_text(text)
        with pytest.raises(ZvenoError, match=said):
            read_campaign(lists, robot.mechanism, "pose")
    (tmp_path / "a.npz").write_bytes(b"PK no")
    with pytest.raises(ZvenoError, match="cut off or damaged"):
        read_campaign(tmp_path / "a.npz", robot.mechanism, "pose")


def test_a_folder_of_records(measured, tmp_path):
    """One file a posture, with the controller's own pose and intrinsics of the camera beside what was measured."""
    robot, q, p, R = measured
    for k in range(len(q)):
        own = {
            "joint_pose": q[k].tolist(),
            "O_T_EE": np.eye(4).ravel().tolist(),
            "camera_intrinsics": [[600.0, 0, 300], [0, 600, 200], [0, 0, 1]],
            "T_cam_target_rvec": log(R[k])[:, None].tolist(),
            "T_cam_target_tvec": p[k][:, None].tolist(),
            "found": True,
        }
        (tmp_path / f"pose_{k:02}").mkdir()
        (tmp_path / f"pose_{k:02}" / "data.json").write_text(json.dumps(own))
    with pytest.raises(ZvenoError, match="O_T_EE and T_cam_target_tvec may both be readings"):
        read_campaign(tmp_path, robot.mechanism, "relative_pose")
    found = read_campaign(tmp_path, robot.mechanism, "relative_pose", settings={"readings": "T_cam"})
    _same(found, q, p, R)


def test_readings_are_chosen_by_how_their_names_begin():
    robot = arm("puma560")
    head = ",".join([*NAMES, *(f"tcp_{a}" for a in "xyz"), *(f"tracker_{a}" for a in "xyz")])
    text = f"{head}\n1,2,3,4,5,6,7,8,9,10,11,12\n"
    with pytest.raises(ZvenoError, match="# readings = tracker_"):
        _read(text, robot, "relative_position")
    found = _read(f"# readings = tracker\n{text.replace('tracker_', 'tracker_pos_')}", robot, "relative_position")
    np.testing.assert_array_equal(np.ravel(found.y), [10, 11, 12])
    with pytest.raises(ZvenoError, match="no column begins with leica"):
        _read(f"# readings = leica\n{text}", robot, "relative_position")


def test_the_frame_is_the_last_link_that_the_joints_of_the_file_move():
    robot = zveno.load("quadruped")
    leg = [name for name in robot.mechanism.joint_names if robot.mechanism.joint(name).type.n_q == 1][:3]
    other = [name for name in robot.mechanism.joint_names if robot.mechanism.joint(name).type.n_q == 1][3]
    free = [name for name in robot.mechanism.coordinate_names if name not in robot.mechanism.joint_names]
    text = ",".join([*free, *leg, "x", "y", "z"]) + "\n" + "0," * len(free) + "0.1,0.2,0.3,1,2,3\n"
    with pytest.warns(ZvenoWarning, match="no frame is named"):
        found = _read(text, robot, "relative_position")
    assert found.measurement.frame == robot.mechanism.joint(leg[-1]).child
    with pytest.raises(ZvenoError, match="the frame must be named"):
        _read(text.replace(leg[0], other), robot, "relative_position")


def test_the_command_line_says_what_the_file_does_not(measured, tmp_path, capsys):
    _, q, p, R = measured
    file = tmp_path / "joints and poses.txt"
    turn = np.array([log(one) for one in R])
    file.write_text(",".join([*NAMES, "x", "y", "z", "rx", "ry", "rz"]) + "\n" + _lines([q, 1e3 * p, turn]))
    words = [
        "puma560",
        str(file),
        "--measurement",
        "relative_pose",
        "--folds",
        "0",
        "--settings",
        "rotation=ur",
        "unit=mm",
    ]
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    tyro.cli(calibrate_verb, args=words, config=config)
    assert "24 of 24 parameters" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ZvenoError, match="says nothing"):
        tyro.cli(calibrate_verb, args=[*words[:4], "--settings", "mm"], config=config)
