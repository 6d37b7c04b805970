"""The verb `ik`, its files and pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tyro

import zveno
from zveno.cli.app import main
from zveno.cli.ik import ik
from zveno.errors import ModelError, ShapeError, ZvenoError
from zveno.ik.parts import joined
from zveno.ik.paths.pose_files import pose_of, read_poses
from zveno.ik.solve import solve_ik
from zveno.spatial.rotations import log, to_quaternion, to_rpy


def run(*words):
    tyro.cli(ik, args=list(words), config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes))


def test_a_pose_in_every_form():
    T = zveno.load("puma560").forward_kinematics([0.1, -0.2, 0.3, 0.4, 0.5, 0.6])
    p, R = T[:3, 3], T[:3, :3]
    for row in ([*p, *to_rpy(R)], [*p, *to_quaternion(R)], T[:3].ravel(), T.ravel()):
        assert np.allclose(pose_of(row), T)
    assert np.allclose(pose_of([*p, *np.degrees(to_rpy(R))], degrees=True), T)
    assert np.allclose(pose_of([*p, *log(R)], rotation="rotvec"), T)
    assert np.allclose(pose_of([*p, *np.degrees(log(R))], degrees=True, rotation="rotvec"), T)
    with pytest.raises(ShapeError, match="rotation vector"):
        pose_of([*p, *to_quaternion(R)], rotation="rotvec")
    assert np.allclose(pose_of(p)[:3, 3], p)
    with pytest.raises(ShapeError, match="5 numbers"):
        pose_of([1.0] * 5)
    with pytest.raises(ShapeError, match="quaternion"):
        pose_of([0, 0, 0, 2, 0, 0, 0])


def test_files_of_poses(tmp_path):
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(4, 0))
    text = tmp_path / "poses.csv"
    text.write_text(
        "x,y,z,qw,qx,qy,qz\n# a remark\n"
        + "\n".join(",".join(repr(float(v)) for v in [*A[:3, 3], *to_quaternion(A[:3, :3])]) for A in T)
    )
    np.save(tmp_path / "poses.npy", T)
    np.savez(tmp_path / "poses.npz", T=T.reshape(4, 16))
    for name in ("poses.csv", "poses.npy", "poses.npz"):
        assert np.allclose(read_poses(tmp_path / name), T, atol=1e-12)
        with pytest.raises(ShapeError, match="rotation vector"):
            read_poses(tmp_path / name, rotation="rotvec")
    np.save(tmp_path / "vectors.npy", [[*A[:3, 3], *log(A[:3, :3])] for A in T])
    assert np.allclose(read_poses(tmp_path / "vectors.npy", rotation="rotvec"), T, atol=1e-12)
    with pytest.raises(ModelError, match="cannot be read"):
        read_poses(tmp_path / "none.csv")
    text.write_text("1 2 3\nspam 1 2\n")
    with pytest.raises(ModelError, match="line 2"):
        read_poses(text)
    text.write_text("")
    with pytest.raises(ModelError, match="no poses"):
        read_poses(text)


def test_rotation_vectors_and_degrees_of_every_option(capsys):
    T = zveno.load("puma560").forward_kinematics([0.1, -0.2, 0.3, 0.4, 0.5, 0.6])
    p, R = [str(x) for x in T[:3, 3]], T[:3, :3]
    run("puma560", "--pose", *p, *map(str, np.degrees(log(R))), "--rotation", "rotvec", "--deg", "--json")
    vectors = json.loads(capsys.readouterr().out)
    run("puma560", "--pose", *p, *map(str, to_rpy(R)), "--json")
    rpy = json.loads(capsys.readouterr().out)
    assert np.allclose(vectors["poses"][0]["solutions"], rpy["poses"][0]["solutions"], atol=1e-9)
    with pytest.raises(ZvenoError, match="would be ignored"):
        run("puma560", "--at", "0", "0", "0", "0", "0", "0", "--rotation", "rotvec")


def test_json_table_and_nearest(capsys):
    q = [0.1, -0.4, 0.3, 0.2, 0.5, 0.1]
    words = [str(x) for x in q]
    run("puma560", "--at", *words, "--json")
    data = json.loads(capsys.readouterr().out)
    found = np.array(data["poses"][0]["solutions"])
    assert data["poses"][0]["status"] == "complete"
    assert np.abs(found - q).max(axis=1).min() < 1e-9
    run("puma560", "--at", *words, "--nearest", *words, "--json")
    nearest = json.loads(capsys.readouterr().out)["poses"][0]
    assert np.allclose(nearest["solutions"][0], q, atol=1e-9)
    assert len(nearest["solutions"]) == len(found)
    run("puma560", "--at", *words, "--explain", "--method", "scan")
    shown = capsys.readouterr().out
    assert "sampled" in shown
    assert "Scan of" in shown
    assert main(["ik", "puma560", "--pose", "5", "0", "0", "0", "0", "0"]) == 3
    shown = capsys.readouterr().out
    assert "Unreachable" in shown
    assert "no branch is real" in shown or "out of the arm's reach" in shown


def test_batches_and_paths_to_files(tmp_path, capsys):
    robot = zveno.load("puma560")
    q = np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]) + np.linspace(0, 0.3, 12)[:, None]
    T = robot.forward_kinematics(q)
    np.save(tmp_path / "poses.npy", T)
    run("puma560", "--poses", str(tmp_path / "poses.npy"), "--out", str(tmp_path / "all.csv"))
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert lines[0].startswith("pose,joint1")
    assert len(lines) - 1 == solve_ik(robot, T).count.sum()
    run("puma560", "--poses", str(tmp_path / "poses.npy"), "--out", str(tmp_path / "all.npz"))
    assert np.load(tmp_path / "all.npz")["q"].shape[0] == 12
    start = [repr(float(x)) for x in q[0]]
    run("puma560", "--path", str(tmp_path / "poses.npy"), "--nearest", *start, "--out", str(tmp_path / "path.npz"))
    assert np.abs(np.load(tmp_path / "path.npz")["q"] - q).max() < 1e-6
    run("puma560", "--path", str(tmp_path / "poses.npy"))
    assert "continuous" in capsys.readouterr().out


@pytest.mark.laws
def test_a_picture_of_the_solutions(tmp_path, capsys):
    at = ["puma560", "--at", "0.1", "-0.4", "0.3", "0.2", "0.5", "0.1"]
    run(*at, "--plot", str(tmp_path / "solutions.png"))
    assert (tmp_path / "solutions.png").stat().st_size > 10_000
    with pytest.raises(ZvenoError, match="cannot be saved as"):
        run(*at, "--plot", str(tmp_path / "solutions.doc"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ur5"], ["three parallel axes", "polynomial p of the angle of", "8 zeros: 8 configurations, all inside"]),
        (["ur5", "--method", "six_revolute"], ["The loop is cut before", "8 zeros: 8 configurations"]),
        (["ur5", "--method", "local"], ["damped Newton"]),
        (["panda"], ["joint7 is held at 48 values", "Closed form by canonical subproblems: spherical wrist"]),
        pytest.param(
            ["gen3"], ["joint3 is held at 16 values", "polynomial p of the angle of"], marks=pytest.mark.laws
        ),
    ],
)
def test_the_route_is_told(words, told, capsys):
    at = ["0.3", "-1", "1.2", "-0.4", "0.9", "0.2", "0.1"]
    run(*words, "--at", *at[: 6 if words[0] == "ur5" else 7], "--explain", "--json")
    text = json.loads(capsys.readouterr().out)["explanation"]
    for words in told:
        assert words in text


def test_joined_batches_are_the_whole():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(7, 0))
    whole, parts = solve_ik(robot, T), joined([solve_ik(robot, T[:3]), solve_ik(robot, T[3:])])
    assert np.array_equal(whole.count, parts.count)
    assert np.allclose(np.nan_to_num(whole.q), np.nan_to_num(parts.q), atol=1e-9)


def test_nothing_to_solve():
    with pytest.raises(ZvenoError, match="one pose"):
        run("puma560")


def test_tolerances_and_redundant_joints(capsys):
    """The flags reach the solver: a miss that is allowed counts, and the slices are of the joint named."""
    pose = ["puma560", "--pose", "3", "0", "0", "--position-only", "--json"]
    with pytest.raises(SystemExit) as stop:
        run(*pose)
    assert stop.value.code == 3
    alone = json.loads(capsys.readouterr().out)
    run(*pose, "--tolerance", "3", "1")
    allowed = json.loads(capsys.readouterr().out)
    assert alone["poses"][0]["status"] == "unreachable"
    assert allowed["poses"][0]["status"] == "within tolerance"
    arm = ["panda", "--at", "0.1", "0.2", "0.3", "-1", "0.5", "1.5", "0.1", "--samples", "3", "--json"]
    found = {}
    for joint in ("joint1", "joint7"):
        run(*arm, "--redundant-joint", joint)
        found[joint] = json.loads(capsys.readouterr().out)
    assert found["joint1"] != found["joint7"]
    with pytest.raises(ZvenoError, match="joint9"):
        run(*arm, "--redundant-joint", "joint9")


@pytest.mark.laws
def test_many_poses_are_shared(tmp_path, capsys):
    robot = zveno.load("puma560")
    np.save(tmp_path / "poses.npy", robot.forward_kinematics(robot.random(20, 0)))
    poses = ["puma560", "--poses", str(tmp_path / "poses.npy"), "--json"]
    run(*poses)
    alone = json.loads(capsys.readouterr().out)
    run(*poses, "--workers", "2")
    assert json.loads(capsys.readouterr().out)["poses"] == alone["poses"]
    with pytest.raises(ZvenoError, match="--workers: must be 1 to 1024, got 0"):
        run(*poses, "--workers", "0")
    with pytest.raises(ZvenoError, match="nothing to share"):
        run("puma560", "--at", "0", "0", "0", "0", "0", "0", "--workers", "2")
