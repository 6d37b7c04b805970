"""The commands `fk` and `info` in process: answers, JSON, text for people."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from commands import answer, refused, run

import zveno
from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.io.load import load_mechanism

SLIDE = """<robot name="slide">
  <link name="rail"/>
  <link name="cart"><inertial><mass value="2.5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="[odd] hand"/>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="0 -1 0"/>
    <limit lower="-0.5" upper="0.5" effort="10" velocity="1"/></joint>
  <joint name="turn" type="revolute"><parent link="cart"/><child link="arm"/><axis xyz="1 0 0"/>
    <origin rpy="1.5708 0 0"/><limit lower="-1" upper="2" effort="10" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="arm"/><child link="[odd] hand"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
    <mimic joint="slide" multiplier="-2" offset="0.1"/></joint>
</robot>"""


@pytest.fixture
def slide(tmp_path):
    file = tmp_path / "slide.urdf"
    file.write_text(SLIDE)
    return str(file)


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "cache"))


# --- fk


def test_fk_is_the_algorithm(capsys):
    q = [0.1, -1.57, 0.3, -1e-1, 0.5, -0.25]
    data = answer(capsys, "fk", "puma560", *map(str, q))
    assert np.array_equal(data["T"], frame_pose(load_mechanism("puma560"), np.array(q)))
    assert list(data["q"].values()) == q
    assert data["position"] == [row[3] for row in data["T"][:3]]
    assert math.isclose(math.hypot(*data["quaternion_wxyz"]), 1.0)


def test_degrees_names_and_order_do_not_matter(capsys):
    by_order = answer(capsys, "fk", "ur5", "0", "-90", "30", "0", "0", "0", "--deg")
    by_name = answer(capsys, "fk", "--deg", "ur5", "elbow=30", "shoulder_lift=-90")
    radians = answer(capsys, "fk", "ur5", "0", str(-math.pi / 2), str(math.radians(30)), "0", "0", "0")
    assert by_order["T"] == by_name["T"]
    assert np.allclose(by_order["T"], radians["T"], atol=1e-15)


def test_degrees_leave_lengths_alone(capsys, slide):
    data = answer(capsys, "fk", slide, "slide=0.25", "turn=90", "--deg", "--frame", "arm")
    assert data["q"] == {"slide": 0.25, "turn": math.pi / 2}
    assert data["position"] == [0.0, -0.25, 0.0]


def test_fk_of_a_named_frame_and_of_all_links(capsys):
    mechanism = load_mechanism("puma560")
    data = answer(capsys, "fk", "puma560", "--frame", "link3", "--all")
    T = link_poses(mechanism, mechanism.neutral())
    assert np.array_equal(data["T"], T[3])
    assert list(data["links"]) == list(mechanism.link_names)
    assert np.array_equal(data["links"]["link6"]["T"], T[6])


def test_fk_for_people(capsys):
    code, out, err = run(capsys, "fk", "puma560")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("puma560: frame link6 in the world")
    assert ["position,", "m", "0.411500", "0.150000", "0.503100"] in lines
    assert ["quaternion", "wxyz", "1.000000", "0.000000", "0.000000", "0.000000"] in lines
    assert ["roll", "pitch", "yaw,", "rad", "0.000000", "0.000000", "0.000000"] in lines


def test_a_robot_may_be_typed_in(capsys):
    data = answer(capsys, "fk", "Tz(0.3) Rz(q1) Tx(0.4) Rz(q2) Tx(0.2)", "q1=90", "q2=-90", "--deg")
    assert np.allclose(data["position"], [0.2, 0.4, 0.3])


def test_a_quaternion_is_given_as_one_joint_or_by_coordinate(capsys):
    together = answer(capsys, "fk", "biped", "floating_base=1,2,3,0,0,0,1", "--frame", "pelvis")
    apart = ["x=1", "y=2", "z=3", "qw=0", "qx=0", "qy=0", "qz=-1"]
    one_by_one = answer(capsys, "fk", "biped", *(f"floating_base.{pair}" for pair in apart), "--frame", "pelvis")
    assert together["T"] == one_by_one["T"] == [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]


def test_narrower_limits(capsys):
    """Solutions are those of the library within the same limits; angles may be in degrees."""
    at = ["ik", "puma560", "--at", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
    code, out, _ = run(capsys, *at, "--limits", "joint1=-0.5,0.5", "joint5=0,90deg", "--json")
    assert code == 0
    robot = zveno.load("puma560")
    T = robot.forward_kinematics([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    expected = robot.ik(T, limits={"joint1": (-0.5, 0.5), "joint5": (0.0, np.pi / 2)})
    assert 0 < expected.count < robot.ik(T).count
    assert len(json.loads(out)["poses"][0]["solutions"]) == expected.count
    assert "not a range" in refused(capsys, *at, "--limits", "joint1=1")
    assert "is empty" in refused(capsys, *at, "--limits", "joint1=1,-1")
    assert "joint9" in refused(capsys, *at, "--limits", "joint9=1,2")
    assert "exclude each other" in refused(capsys, *at, "--no-limits", "--limits", "joint1=1,2")


def test_outside_the_limits_is_a_warning(capsys):
    code, out, err = run(capsys, "fk", "puma560", "joint2=80", "joint5=-99", "--deg")
    assert code == 0
    assert out
    assert err == "warning: outside the limits: joint2\n"


# --- info


def test_info_for_people(capsys, slide):
    code, out, err = run(capsys, "info", slide)
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "slide, joints: 1 revolute, 2 prismatic"
    assert "└─ slide prismatic -y -0.5 … 0.5 m 0 cart 2.5 kg" in lines
    assert "turn revolute x -1 … 2 rad 1 arm 1 kg" in lines
    assert "follow prismatic (0.6 0 0.8) = -2 · slide + 0.1 [odd] hand" in lines
    assert "coordinates n_q = 2, n_v = 2" in lines
    assert "links 4, with 3.5 kg in all" in lines
    assert "default frame [odd] hand" in lines
    assert "gravity 0 0 -9.81 m/s²" in lines
    assert any("near-exact angle kept at joint turn" in line and "1.5708" in line for line in lines)
    assert any(line.startswith("• link arm:") and "triangle inequality" in line for line in lines)
    assert any("moving links without inertia: [odd] hand" in line for line in lines)
    assert err
    assert all(line.startswith("warning: slide: ") for line in err.splitlines())


def test_info_in_degrees(capsys, slide):
    _, out, _ = run(capsys, "info", slide, "--deg")
    assert "-57.3 … 114.6°" in out
    assert "-0.5 … 0.5 m" in out


def test_info_as_json(capsys, slide):
    data = answer(capsys, "info", slide)
    joints = {joint["name"]: joint for joint in data["joints"]}
    assert (data["n_q"], data["mass"], data["joint_counts"]) == (2, 3.5, {"revolute": 1, "prismatic": 2})
    assert joints["slide"]["parameters"] == {"axis": [0, -1, 0]}
    assert joints["turn"]["lower"] == [-1]
    assert joints["turn"]["q"] == [1, 2]
    assert joints["follow"]["mimic"] == {"joint": "slide", "multiplier": -2, "offset": 0.1}
    assert joints["follow"]["q"] is None
    assert answer(capsys, "info", "chain(3)")["joints"][0]["lower"] == [None]


def test_snapping_is_asked_for(capsys, slide):
    near = math.sin(1.5708 - math.pi / 2)
    kept = answer(capsys, "fk", slide, "--frame", "arm")["T"][1][1]
    assert math.isclose(kept, -near, rel_tol=1e-6)
    assert answer(capsys, "fk", slide, "--frame", "arm", "--snap")["T"][1][1] == 0.0
    typed = "Rx(1.5708) Rz(q1)"
    assert answer(capsys, "fk", typed)["T"][1][1] == 0.0
    assert math.isclose(answer(capsys, "fk", typed, "--no-snap")["T"][1][1], -near, rel_tol=1e-6)
    assert "exclude" in refused(capsys, "fk", typed, "--snap", "--no-snap")


def test_info_shows_drives(capsys):
    _, out, _ = run(capsys, "info", "puma560")
    lines = [line.split() for line in out.splitlines()]
    assert ["joint1", "0.0002", "62.61", "5.802", "25.98"] in lines


def test_only_branches_are_indented(capsys):
    _, out, _ = run(capsys, "info", "biped")
    starts = [line.split("  revolute")[0].split("  free")[0].rstrip() for line in out.splitlines()]
    chosen = ("floating_base", "waist", "left_hip_yaw", "left_hip_roll", "right_hip_yaw", "right_ankle_roll")
    found = [start for start in starts if start.split(" ")[-1] in chosen]
    assert found == [
        "└─ floating_base",
        "   ├─ waist",
        "   ├─ left_hip_yaw",
        "   │  left_hip_roll",
        "   └─ right_hip_yaw",
        "      right_ankle_roll",
    ]


def test_a_narrow_terminal_keeps_every_name(capsys, monkeypatch):
    mechanism = load_mechanism("biped")
    for columns in (40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = run(capsys, "info", "biped")
        tree = out.split("\ncoordinates")[0]
        assert all(len(line.rstrip()) <= columns for line in tree.splitlines())
        for name in (*(joint.name for joint in mechanism.joints), *mechanism.link_names):
            assert name in tree, (columns, name)
