"""For each verb, commands whose JSON is read, and the files they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zveno

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0.02"/><mass value="4"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.2 0 0.02"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
<joint name="joint1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="3" effort="100"/></joint>
<joint name="joint2" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="100"/></joint></robot>"""
"""Two links in a vertical plane."""

EXAMPLES: dict[str, list[list[str]]] = {
    "info": [["info", "puma560"], ["info", "biped"], ["info", "arm.urdf", "--payload", "1"]],
    "fk": [["fk", "puma560", "--all"], ["fk", "biped", "--frame", "pelvis"]],
    "convert": [["convert", "puma560", "new.urdf"], ["convert", "puma560", "new.ets"]],
    "dynamics": [["dynamics", "planar2", "--v", "1", "2"], ["dynamics", "arm.urdf", "--tau", "1", "2"]],
    "ik": [
        ["ik", "puma560", "--at", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "--explain"],
        ["ik", "puma560", "--pose", "9", "9", "9"],
        ["ik", "puma560", "--poses", "poses.csv"],
        ["ik", "puma560", "--path", "poses.csv"],
    ],
    "workspace": [["workspace", "puma560", "--cell", "0.6", "--orientations", "2"]],
    "simulate": [
        ["simulate", "arm.urdf", "--duration", "0.1"],
        ["simulate", "quadruped", "--walk", "--gait", "static", "--steps", "1"],
    ],
    "base": [["base", "planar2"], ["base", "planar2", "--drives", "--gravity", "0", "0", "0"]],
    "identifiability": [["identifiability", "planar2"]],
    "plan": [["plan", "planar2", "--measurement", "relative_pose", "--n", "6", "--candidates", "40"]],
    "calibrate": [
        ["calibrate", "planar2", "readings.csv", "--measurement", "position", "--folds", "3"],
        ["calibrate", "planar2", "readings.csv", "--measurement", "position", "--folds", "3", "--postures", "99"],
    ],
    "axes": [["axes", "axes.csv", "found.urdf"]],
    "excite": [["excite", "planar2", "--duration", "3"]],
    "identify": [["identify", "arm.urdf", "log.csv", "--friction-terms", "basic"]],
    "payload": [["payload", "arm.urdf", "log.csv", "--friction-terms", "basic"]],
    "export": [["export", "arm.urdf", "--out", "c_code", "--no-measure"]],
    "studio": [["studio", "planar2", "puma560", "--save", "scene.html"]],
    "robots": [["robots"]],
    "cache": [["cache"], ["cache", "--clear"]],
}
SLOW_WORD = "--walk"


def write_files(folder: Path) -> None:
    """The files that the commands name, made of simulated readings with a little noise."""
    rng = np.random.default_rng(0)
    (folder / "arm.urdf").write_text(ARM)
    one_by_one = [(a, b) for a in np.linspace(-1, 1, 5) for b in [0.3]] + [(0.2, b) for b in np.linspace(-1, 1, 5)]
    p = zveno.load("planar2").forward_kinematics(np.array(one_by_one))[:, :3, 3]
    lines = [",".join(map(repr, row)) for row in np.c_[one_by_one, p].tolist()]
    (folder / "axes.csv").write_text("\n".join(["q1,q2,x,y,z", *lines]))
    puma = zveno.load("puma560")
    q = rng.uniform(-0.5, 0.5, (4, 6)).cumsum(axis=0) * 0.1
    np.savetxt(folder / "poses.csv", puma.forward_kinematics(q).reshape(-1, 16), delimiter=",")

    planar = zveno.load("planar2")
    q = rng.uniform(-1.5, 1.5, (20, 2))
    places = planar.forward_kinematics(q)[:, :3, 3] + rng.normal(0.0, 1e-4, (20, 3))
    _table(folder / "readings.csv", ["joint1", "joint2", "x", "y", "z"], np.hstack([q, places]), planar)

    arm = zveno.load(folder / "arm.urdf")
    t = np.arange(0.0, 12.0, 0.004)
    w, phase = np.array([1.3, 2.1]), np.array([0.2, 1.0])
    angle = np.outer(t, w) + phase
    q, v, a = 0.8 * np.sin(angle), 0.8 * w * np.cos(angle), -0.8 * w**2 * np.sin(angle)
    fast = np.outer(t, 2.9 * w)
    q, v, a = q + 0.2 * np.sin(fast), v + 0.58 * w * np.cos(fast), a - 1.682 * w**2 * np.sin(fast)
    tau = arm.inverse_dynamics(q, v, a) + 0.5 * v + 0.8 * np.sign(v) + rng.normal(0.0, 0.05, v.shape)
    _table(folder / "log.csv", ["t", "q1", "q2", "tau1", "tau2"], np.column_stack([t, q, tau]))


def _table(file: Path, names: list[str], rows: np.ndarray, robot=None) -> None:
    if robot is not None:
        names = [*robot.joint_names, *names[robot.n_q :]]
    np.savetxt(file, rows, delimiter=",", header=",".join(names), comments="", fmt="%.12g")
