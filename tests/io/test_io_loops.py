"""Loops, motors and closed references in files."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno import ZvenoError
from zveno.algorithms.loop_rows import loop_rows
from zveno.loops import mobility

URDF = """<robot name="four">
  {links}
  <joint name="crank" type="continuous"><parent link="ground"/><child link="crank"/><axis xyz="0 0 1"/></joint>
  <joint name="coupler" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="rocker" type="continuous"><parent link="ground"/><child link="rocker"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint>
  {more}
</robot>"""
LINKS = "".join(
    f'<link name="{name}"><inertial><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for name in ("ground", "crank", "coupler", "rocker")
)
LOOP = """<loop_joint name="top" type="{type}"><link1 link="coupler" xyz="0.5 0 0" rpy="0 0 0"/>
  <link2 link="rocker" xyz="0.4 0 0" rpy="0 0 0"/>{axis}</loop_joint>"""
MJCF = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="crank"><joint name="crank" axis="0 0 1"/><geom size="0.1" mass="1"/>
    <body name="coupler" pos="0.3 0 0"><joint name="coupler" axis="0 0 1"/><geom size="0.1" mass="1"/>
      <site name="end" pos="0.5 0 0"/></body></body>
  <body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 0 1"/><geom size="0.1" mass="1"/>
    <site name="top" pos="0.4 0 0"/></body></worldbody>
  <equality><connect site1="end" site2="top"/></equality>
  <actuator><motor joint="crank"/></actuator>
  <keyframe><key name="home" qpos="1.2 -0.9 1.8"/></keyframe></mujoco>"""
DH = """convention = "standard"
unit = "m"
angle = "deg"
motors = ["joint1"]
[reference]
joint1 = 70
joint3 = 100
[[joint]]
a = 0.3
d = 0
alpha = 0
[[joint]]
a = 0.5
d = 0
alpha = 0
[[joint]]
d = 0
alpha = 0
parent = "base"
at = "Tx(0.5)"
a = 0.4
[[loop]]
frame = "link2"
other = "link3"
locked = "hinge"
"""


def urdf(*more) -> str:
    return URDF.format(links=LINKS, more="".join(more))


def read(text: str, folder: Path, name="four.urdf") -> zveno.Robot:
    (folder / name).write_text(text)
    return zveno.load(folder / name)


@pytest.mark.parametrize(
    ("kind", "axis", "redundant"),
    [("spherical", "", 1), ("revolute", '<axis xyz="0 0 1"/>', 3), ("continuous", '<axis xyz="0 0 -1"/>', 3)],
)
def test_loop_joint(tmp_path, kind, axis, redundant):
    robot = read(urdf(LOOP.format(type=kind, axis=axis), '<motor joint="crank"/>'), tmp_path)
    result = mobility(robot)
    assert (result.mobility, result.driven, len(result.redundant_rows)) == (1, ("crank",), redundant)


def test_motors_of_transmissions_and_ros2_control(tmp_path):
    loop = LOOP.format(type="spherical", axis="")
    transmission = '<transmission name="t"><joint name="rocker"/><actuator name="m"/></transmission>'
    assert read(urdf(loop, transmission), tmp_path).mechanism.motors == ("rocker",)
    control = (
        '<ros2_control name="c" type="system"><joint name="crank"><command_interface name="effort"/></joint>'
        '<joint name="rocker"><state_interface name="position"/></joint></ros2_control>'
    )
    assert read(urdf(loop, control), tmp_path).mechanism.motors == ("crank",)
    assert read(urdf(loop), tmp_path).mechanism.motors is None


def test_faults_of_loop_joints(tmp_path):
    with pytest.raises(ZvenoError, match=r"loop_joint top.*does not close a loop"):
        read(urdf(LOOP.format(type="prismatic", axis="")), tmp_path)
    with pytest.raises(ZvenoError, match="'knob' does not exist"):
        read(urdf(LOOP.format(type="fixed", axis="").replace('link="rocker"', 'link="knob"')), tmp_path)


def assert_same_loops(first: zveno.Mechanism, second: zveno.Mechanism):
    assert [loop.locked for loop in first.loops] == [loop.locked for loop in second.loops]
    assert first.motors == second.motors
    assert np.allclose(first.reference, second.reference, atol=1e-15)
    pair = [mobility(zveno.Robot(m)) for m in (first, second)]
    assert pair[0].redundant_rows[0].split()[-1] == pair[1].redundant_rows[0].split()[-1]
    assert np.allclose(pair[0].q, pair[1].q, atol=1e-12)


@pytest.mark.parametrize("locked", ["point", "hinge", ("x", "y", "z", "rx")])
def test_urdf_holds_loops(tmp_path, locked):
    pytest.importorskip("mujoco")
    robot = read(MJCF, tmp_path, "four.xml")
    mechanism = robot.mechanism
    loop = zveno.Loop(mechanism.loops[0].frame, mechanism.loops[0].other, locked)
    robot = zveno.Robot(zveno.edit.rebuilt(mechanism, loops=[loop]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = robot.write(tmp_path / "again.urdf")
    assert_same_loops(robot.mechanism, zveno.load(path).mechanism)


@pytest.mark.parametrize("locked", ["point", "weld"])
def test_mjcf_holds_loops(tmp_path, locked):
    pytest.importorskip("mujoco")
    mechanism = read(MJCF, tmp_path, "four.xml").mechanism
    loop = zveno.Loop(mechanism.loops[0].frame, "rocker", locked)
    frames = [frame for frame in mechanism.frames if frame.name == loop.frame]
    robot = zveno.Robot(zveno.edit.rebuilt(mechanism, loops=[loop], frames=frames))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = zveno.load(robot.write(tmp_path / "again.mjcf")).mechanism
    assert [each.locked for each in again.loops] == [loop.locked]
    assert again.motors == mechanism.motors
    assert np.array_equal(again.reference, mechanism.reference)
    rows = [loop_rows(each, [0.3, 0.4, 0.5], np.zeros(3)) for each in (robot.mechanism, again)]
    assert np.allclose(rows[0].value, rows[1].value, atol=1e-14)
    hinge = zveno.Loop(loop.frame, "rocker", "hinge")
    with pytest.warns(zveno.ZvenoWarning, match="loop"):
        zveno.Robot(zveno.edit.rebuilt(robot.mechanism, loops=[hinge])).write(tmp_path / "hinge.mjcf")


def test_mjcf_actuators_and_keyframe(tmp_path):
    pytest.importorskip("mujoco")
    mechanism = read(MJCF, tmp_path, "four.xml").mechanism
    assert mechanism.motors == ("crank",)
    assert mechanism.reference.tolist() == [1.2, -0.9, 1.8]
    assert any("keyframe home" in note for note in mechanism.notes)
    bare = MJCF.split("<actuator>")[0] + "</mujoco>"
    other = read(bare, tmp_path, "bare.xml").mechanism
    assert other.motors is None
    assert other.reference.tolist() == [0, 0, 0], "anchors are computed at qpos0"


def test_denavit_hartenberg(tmp_path):
    robot = read(DH, tmp_path, "four.toml")
    assert robot.mechanism.motors == ("joint1",)
    assert np.allclose(robot.mechanism.reference, np.radians([70, 0, 100]))
    assert mobility(robot).mobility == 1
    with pytest.raises(ZvenoError, match=r"four\.toml"):
        read(DH.replace('"hinge"', '"knee"'), tmp_path, "four.toml")


def test_gepetto(tmp_path):
    pytest.importorskip("yaml")
    frames = "".join(
        f'<link name="{name}"/><joint name="{name}_fix" type="fixed"><parent link="{link}"/><child link="{name}"/>'
        f'<origin xyz="{x} 0 0"/></joint>'
        for name, link, x in (("end", "coupler", 0.5), ("top", "rocker", 0.4))
    )
    (tmp_path / "robot.urdf").write_text(urdf(frames))
    text = "closed_loop: [['end', 'top_fix']]\ntype: ['3D']\nname_mot: ['crank', 'ghost']\n"
    robot = read(text, tmp_path, "robot.yaml")
    assert mobility(robot).driven == ("crank",)
    assert any("ghost" in note for note in robot.mechanism.notes)
    more = "joint_name: ['rocker', 'nobody']\njoint_type: ['SPHERICAL', 'FIXED']\n"
    balls = read(text + more, tmp_path, "robot.yaml").mechanism
    assert balls.joint("rocker").type.kind == "spherical"
    assert any("nobody" in note for note in balls.notes)
    for wrong, words in (
        ("type: ['4d']", "3d and 6d"),
        ("name_mot: 3", "list of names"),
        ("motor: []", "not a key"),
    ):
        with pytest.raises(ZvenoError, match=words):
            read(f"closed_loop: [['end', 'top']]\n{wrong}\n", tmp_path, "robot.yaml")


FOUR_BAR = """name: four bar
motors: q1
reference: q1 0.4, q2 0.445, q3 1.729, q4 1.284
Ry(-q1) Tx(0.3) Ry(-q2) Tx(0.9) Ry(-q4)
= Tx(1.0) Ry(-q3) Tx(0.8)
"""


def test_elementary_products_that_are_equal(tmp_path):
    """Two ways from the base to one frame close a loop; errors name the line of the second one."""
    file = tmp_path / "four_bar.ets"
    file.write_text(FOUR_BAR)
    robot = zveno.load(file)
    found = zveno.loops.mobility(robot)
    assert (found.mobility, found.driven, found.dependent) == (1, ("q1",), ("q2", "q4", "q3"))
    q = dict(zip(robot.joint_names, zveno.loops.close(robot, [1.0]).q, strict=True))
    across = np.array([0.3 * np.cos(1.0) - 1.0, 0.3 * np.sin(1.0)]) + 0.9 * np.array(
        [np.cos(1.0 + q["q2"]), np.sin(1.0 + q["q2"])]
    )
    assert np.allclose(across, 0.8 * np.array([np.cos(q["q3"]), np.sin(q["q3"])]))
    file.write_text(FOUR_BAR.replace("Ry(-q3)", "Rq(-q3)"))
    with pytest.raises(zveno.ZvenoError, match=r"line 5.*'Rq'"):
        zveno.load(file)
    file.write_text(FOUR_BAR.replace("q3 1.729", "q9 1.729"))
    with pytest.raises(zveno.ZvenoError, match=r"reference: 'q9 1\.729' is not a joint"):
        zveno.load(file)
    file.write_text(FOUR_BAR.replace("motors: q1", "motors: q7"))
    with pytest.raises(zveno.ZvenoError, match="q7"):
        zveno.load(file)


@pytest.mark.filterwarnings("ignore:.*no inertia")
def test_tables_keep_loops_of_a_chain(tmp_path):
    """A chain whose end is pinned to the ground: loop, motors and reference come back; other ends are named."""
    at = [zveno.transforms.transform(None, [x, 0, 0]) for x in (0.3, 0.9, 0.8, 1.0)]
    hinge, links = zveno.joints.Revolute(), [zveno.Link(name) for name in "gabc"]
    joints = [
        zveno.Joint("q1", "g", "a", hinge),
        zveno.Joint("q2", "a", "b", hinge, at[0]),
        zveno.Joint("q3", "b", "c", hinge, at[1]),
    ]
    frames = [zveno.Frame("tool", "c", at[2]), zveno.Frame("pin", "g", at[3])]
    reference = {"q1": 0.4, "q2": 0.445, "q3": 1.7}
    given = {"loops": [zveno.Loop("tool", "pin")], "motors": ["q1"], "reference": reference}
    robot = zveno.Robot(zveno.assemble("pinned", links, joints, frames, **given))
    again = zveno.load(robot.write(tmp_path / "pinned.toml"))
    assert again.mechanism.loops == robot.mechanism.loops
    assert again.mechanism.motors == ("q1",)
    assert np.array_equal(again.mechanism.reference, robot.mechanism.reference)
    assert np.allclose(zveno.loops.close(again, [0.6]).q, zveno.loops.close(robot, [0.6]).q, atol=1e-12)
    given["loops"] = [zveno.Loop("c", "pin")]
    other = zveno.Robot(zveno.assemble("pinned", links, joints, frames, **given))
    with pytest.warns(zveno.ZvenoWarning, match="cannot hold loop c–pin"):
        other.write(tmp_path / "other.toml")


@pytest.mark.parametrize("name", ["robot.sdf", "robot.xml"])
def test_sdf_is_refused_with_a_remedy(name, tmp_path):
    (tmp_path / name).write_text('<?xml version="1.0"?><sdf version="1.9"><model name="m"/></sdf>')
    with pytest.raises(zveno.ZvenoError, match=r"SDF is not read.*<loop_joint>"):
        zveno.load(tmp_path / name)
