"""Measurements in folders, arrays and mixed rows: one marker a row, options in the file, frames by their joints."""

import json

import numpy as np
import pytest
import tyro
from calibration_arms import arm
from calibration_tables import NAMES, campaign_of, lines, measured_poses, poses_of, same_readings

import zveno
from zveno.calibration.calibrate import calibrate
from zveno.calibration.files import read_dataset, template
from zveno.calibration.measurements import Camera, RelativePosition, Sockets
from zveno.cli.app import main
from zveno.cli.calibrate import calibrate as calibrate_verb
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.spatial.rotations import exp, from_rpy, log, to_quaternion
from zveno.spatial.transforms import inverse, transform


@pytest.fixture(scope="module")
def measured():
    return measured_poses()


def test_one_of_several_markers_a_row():
    robot = arm("puma560")
    q = robot.random(3, np.random.default_rng(0))
    text = (
        ",".join([*NAMES, "x", "y", "z", "SMR"])
        + "\n"
        + lines([q, np.arange(9.0).reshape(3, 3), [1, 10, 2]], form="{:g}".format)
    )
    found = campaign_of(text, robot, "relative_position")
    assert found.y.shape == (3, 9)
    assert len(found.measurement.right) == 3
    np.testing.assert_array_equal(found.y[1, 6:], [3, 4, 5])
    np.testing.assert_array_equal(np.isfinite(found.y).sum(axis=1), 3)


def test_options_of_a_kind_stand_in_the_file(measured):
    robot, q, p, R = measured
    head = ",".join([*NAMES, "x", "y", "z", "qw", "qx", "qy", "qz"])
    wxyz = np.array([to_quaternion(one) for one in R])
    found = campaign_of(f"# mount = world\n# gives = board\n{head}\n{lines([q, p, wxyz])}", robot, "camera")
    assert isinstance(found.measurement, Camera)
    assert (found.measurement.mount, found.measurement.gives) == ("world", "board")
    head = f"# unit = mm\n# distance = 30\n{','.join(NAMES)},place,hole\n1,2,3,4,5,6,a,0\n"
    kind = campaign_of(head, robot, "sockets").measurement
    assert isinstance(kind, Sockets)
    assert kind.distance == pytest.approx(0.03)
    head = f"# unit = mm\n# points = 40 45 0\n{','.join(NAMES)},x,y,z\n1,2,3,4,5,6,7,8,9\n"
    kind = campaign_of(head, robot, "relative_position").measurement
    assert isinstance(kind, RelativePosition)
    np.testing.assert_allclose(kind.points, [[0.04, 0.045, 0.0]])
    assert kind.unknown_points
    for wrong in ("# distance = far", "# distance = "):
        with pytest.raises(ZvenoError, match="distance"):
            campaign_of(f"{wrong}\n{','.join(NAMES)},place,hole\n1,2,3,4,5,6,a,0\n", robot, "sockets")


def test_a_folder_of_sockets(tmp_path):
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    q = {(place, hole): robot.random(3, rng) for place in ("back", "front") for hole in (0, 1)}
    for (place, hole), own in q.items():
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / f"hole_{hole}.csv").write_text(lines([own]))
        (tmp_path / place / f"hole_{hole}_pose.csv").write_text("not,read\n")
    with pytest.warns(ZvenoWarning, match="no header"):
        found = read_dataset(tmp_path, robot.mechanism, "sockets", settings={"unit": "mm", "distance": "40"})
    np.testing.assert_array_equal(found.q, np.concatenate(list(q.values())))
    assert found.groups[::3] == ("back/hole_0", "back/hole_1", "front/hole_0", "front/hole_1")
    assert isinstance(found.measurement, Sockets)
    assert found.measurement.distance == pytest.approx(0.04)
    with pytest.raises(ZvenoError, match="folder without JSON"):
        read_dataset(tmp_path / "back", robot.mechanism, "sockets")


def test_arrays(measured, tmp_path):
    robot, q, p, R = measured
    T = poses_of(p, R)
    np.savez(tmp_path / "a.npz", joint_positions=q, camera_poses=T, other=np.arange(3))
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"q": q.tolist(), "T": T.tolist(), "robot": "puma", "kind": "relative_pose"}))
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{"q": a.tolist(), "pose": b.tolist()} for a, b in zip(q, T, strict=True)]))
    for file in (tmp_path / "a.npz", lists, records):
        kind = None if file is lists else "relative_pose"
        same_readings(read_dataset(file, robot.mechanism, kind), q, p, R)
    found = calibrate(robot, read_dataset(records, robot.mechanism, "relative_pose"), folds=0)
    assert found.converged
    for text, said in (
        ("[1, 2", "is not JSON"),
        ("[1, 2]", "list of records"),
        ('{"a": "b", "c": "d"}', "no arrays"),
    ):
        lists.write_text(text)
        with pytest.raises(ZvenoError, match=said):
            read_dataset(lists, robot.mechanism, "pose")
    (tmp_path / "a.npz").write_bytes(b"PK no")
    with pytest.raises(ZvenoError, match="it is damaged"):
        read_dataset(tmp_path / "a.npz", robot.mechanism, "pose")


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
        read_dataset(tmp_path, robot.mechanism, "relative_pose")
    found = read_dataset(tmp_path, robot.mechanism, "relative_pose", settings={"readings": "T_cam"})
    same_readings(found, q, p, R)


def test_readings_are_chosen_by_how_their_names_begin():
    robot = arm("puma560")
    head = ",".join([*NAMES, *(f"tcp_{a}" for a in "xyz"), *(f"tracker_{a}" for a in "xyz")])
    text = f"{head}\n1,2,3,4,5,6,7,8,9,10,11,12\n"
    with pytest.raises(ZvenoError, match="# readings = tracker_"):
        campaign_of(text, robot, "relative_position")
    found = campaign_of(
        f"# readings = tracker\n{text.replace('tracker_', 'tracker_pos_')}", robot, "relative_position"
    )
    np.testing.assert_array_equal(np.ravel(found.y), [10, 11, 12])
    with pytest.raises(ZvenoError, match="no column begins with leica"):
        campaign_of(f"# readings = leica\n{text}", robot, "relative_position")


def test_the_frame_is_the_last_link_that_the_joints_of_the_file_move():
    robot = zveno.load("quadruped")
    leg = [name for name in robot.mechanism.joint_names if robot.mechanism.joint(name).type.n_q == 1][:3]
    other = [name for name in robot.mechanism.joint_names if robot.mechanism.joint(name).type.n_q == 1][3]
    free = [name for name in robot.mechanism.coordinate_names if name not in robot.mechanism.joint_names]
    text = ",".join([*free, *leg, "x", "y", "z"]) + "\n" + "0," * len(free) + "0.1,0.2,0.3,1,2,3\n"
    with pytest.warns(ZvenoWarning, match="no frame is named"):
        found = campaign_of(text, robot, "relative_position")
    assert found.measurement.frame == robot.mechanism.joint(leg[-1]).child
    with pytest.raises(ZvenoError, match="the frame must be named"):
        campaign_of(text.replace(leg[0], other), robot, "relative_position")


def test_the_command_line_says_what_the_file_does_not(measured, tmp_path, capsys):
    _, q, p, R = measured
    file = tmp_path / "joints and poses.txt"
    turn = np.array([log(one) for one in R])
    file.write_text(",".join([*NAMES, "x", "y", "z", "rx", "ry", "rz"]) + "\n" + lines([q, 1e3 * p, turn]))
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
    with pytest.raises(ZvenoError, match="is not a pair"):
        tyro.cli(calibrate_verb, args=[*words[:4], "--settings", "mm"], config=config)


def test_hand_eye_calibration_of_a_vision_library(tmp_path):
    """Poses of the board in the camera's frame, as rotation vectors and in mm, give the camera's pose."""
    robot, rng = zveno.load("ur5"), np.random.default_rng(0)
    T_flange_camera = transform(from_rpy([0.1, 0.2, 0.3]), [0.05, 0.02, 0.1])
    T_world_board = transform(from_rpy([3.1, 0.0, 0.3]), [0.6, 0.1, 0.0])
    rows = []
    for q in 0.25 * robot.random(20, rng):
        T = inverse(robot.forward_kinematics(q) @ T_flange_camera) @ T_world_board
        T = T @ transform(exp(1e-3 * rng.normal(size=3)), 3e-4 * rng.normal(size=3))
        rows.append(",".join(f"{x:.6f}" for x in [*q, *(1e3 * T[:3, 3]), *log(T[:3, :3]), 12.0]))
    head = [
        "# kind = camera",
        "# gives = board",
        "# rotation = rotvec",
        "q1,q2,q3,q4,q5,q6,x_mm,y_mm,z_mm,rx,ry,rz,SNR",
    ]
    file = tmp_path / "eye.csv"
    file.write_text("\n".join(head + rows))
    saved = tmp_path / "fit.json"
    assert main(["calibrate", "ur5", str(file), "--parameters", "hand_eye", "--out", str(saved)]) == 0
    fit = zveno.load_result(saved)
    assert fit.status == "calibrated"
    assert "Frames alone were fitted" in fit.summary
    assert any("not understood and not read: SNR" in note for note in fit.notes)
    missed = inverse(fit.unknowns["camera"]) @ T_flange_camera
    assert np.linalg.norm(missed[:3, 3]) < 1e-3
    text = str(fit)
    assert "camera  wrist_3_link" in text
    assert "board   the world" in text


def test_the_empty_file_of_a_camera_lists_its_options():
    text = template(zveno.load("ur5").mechanism, "camera")
    assert "# gives is camera or board:\n# gives = camera" in text
    assert "# mount is hand or world:\n# mount = hand" in text
