"""The URDF writer: what is written and read again is the same mechanism, for every joint type."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from urdf_models import ARM, PinocchioTwin, joint_text

from mechanisms import KINDS, random_mechanism, random_state
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.jacobian import jacobian
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.io.results import decode, encode
from zveno.io.urdf import parse_urdf, read_urdf
from zveno.io.write import write_model
from zveno.io.write_urdf import to_urdf
from zveno.mechanism import Drive, Free, Joint, Limits, Link, Planar, Revolute, Spherical, Universal, assemble, edit
from zveno.spatial.rotations import exp, from_rpy, to_rpy

STANDARD = ("revolute", "continuous", "prismatic", "fixed", "free")


def both(seed: int, **options):
    one = random_mechanism(seed, n=14, **options)
    return one, parse_urdf(to_urdf(one))


@pytest.mark.parametrize("seed", range(8))
def test_poses_by_name_survive(seed):
    one, two = both(seed, kinds=KINDS)
    assert one.coordinate_names == two.coordinate_names
    q, *_ = random_state(one, seed)
    for name in one.frame_names:
        own = one.frame(name)
        T_one = link_poses(one, q)[one.link_number(own.link)] @ own.T_link_frame
        np.testing.assert_allclose(link_poses(two, q)[two.link_number(name)], T_one, rtol=0, atol=1e-12)
        np.testing.assert_allclose(jacobian(two, q, name), jacobian(one, q, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_inertia_limits_mimics_drives_and_gravity_survive(seed):
    one, two = both(seed, drives=True, mimic=0.4)
    np.testing.assert_array_equal(one.gravity, two.gravity)
    assert two.name == one.name
    for link in one.links:
        again = two.links[two.link_number(link.name)]
        np.testing.assert_allclose(again.inertia, link.inertia, rtol=0, atol=1e-12 * abs(link.inertia).max())
    for joint in one.joints:
        again = two.joint(joint.name)
        assert again.mimic == joint.mimic
        assert again.type.kind == joint.type.kind
        for name, value in joint.type.parameters().items():
            np.testing.assert_allclose(again.type.parameters()[name], value, rtol=0, atol=1e-15)
        for name in ("lower", "upper", "velocity", "effort"):
            np.testing.assert_array_equal(getattr(again.limits, name), getattr(joint.limits, name))
        if joint.drive is not None and joint.type.n_v:
            for name in ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset"):
                np.testing.assert_array_equal(getattr(again.drive, name), getattr(joint.drive, name))


@pytest.mark.parametrize("seed", range(3))
def test_other_programs_read_it(seed):
    one = random_mechanism(seed, n=12, kinds=STANDARD)
    text = to_urdf(one)
    two = parse_urdf(text)
    twin = PinocchioTwin(two, text)
    q, *_ = random_state(one, seed)
    twin.move(q)
    for name, T in zip(one.link_names, link_poses(one, q), strict=True):
        np.testing.assert_allclose(twin.link_pose(name), T, rtol=0, atol=1e-12)


def test_joints_written_twice_are_the_same_to_the_last_digit(tmp_path):
    path = tmp_path / "arm.urdf"
    write_model(parse_urdf(ARM), path)
    first = path.read_text(encoding="utf-8").partition("<joint")[2]
    write_model(read_urdf(path), path)
    assert path.read_text(encoding="utf-8").partition("<joint")[2] == first
    assert 'rpy="0 1.5707963267948966 0"' in first


def test_half_open_limits_and_joints_with_several_coordinates():
    inf = np.inf
    links = [Link(name, inertia_given=False) for name in "abcde"]
    joints = [
        Joint("half", "a", "b", Revolute((0, 0, 1)), limits=Limits(-1.0, inf, 2.0, inf)),
        Joint("plane", "b", "c", Planar(), limits=Limits([-1, -2, -inf], [1, inf, 3], [1, 2, 3], 5.0)),
        Joint("ball", "c", "d", Spherical(), drive=Drive(1e-4, [1, 2, 3], [0.1, 0.2, 0.3], 0.5, 0.0)),
        Joint("cross", "d", "e", Universal((1, 0, 0), (0, 1, 1)), limits=Limits(-1, [1, 2])),
    ]
    one = assemble("odd", links, joints)
    with pytest.warns(ZvenoWarning, match="no inertia"):
        two = parse_urdf(to_urdf(one))
    for a, b in zip(one.joints, two.joints, strict=True):
        for name in ("lower", "upper", "velocity", "effort"):
            np.testing.assert_array_equal(getattr(a.limits, name), getattr(b.limits, name))
    before, after = one.joint("ball").drive, two.joint("ball").drive
    for name in ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_extra_names_avoid_those_taken():
    T = np.eye(4)
    T[0, 3] = 1.0
    names = ["a", "b", "b_joint_frame"]
    joints = [
        Joint("j", "a", "b", Revolute((0, 0, 1)), T_joint_child=T),
        Joint("j_offset", "b", "b_joint_frame"),
    ]
    two = parse_urdf(to_urdf(assemble("taken", [Link(name, np.eye(10)[0]) for name in names], joints)))
    assert set(two.link_names) == {*names, "b_joint_frame_"}
    assert two.joint("j_offset_").child == "b"


def test_names_that_xml_must_escape():
    name = 'a <"&\n> α'
    one = assemble(name, [Link("x"), Link(name, np.eye(10)[0])], [Joint(name, "x", name, Free())])
    two = parse_urdf(to_urdf(one))
    assert (two.name, two.link_names[1], two.joint_names) == (name, name, (name,))


def test_names_that_xml_cannot_hold_are_refused():
    with pytest.raises(ModelError, match="XML cannot hold"):
        to_urdf(assemble("a\x00b", [Link("x")], []))


def test_what_urdf_cannot_hold_is_named_in_one_warning():
    one = parse_urdf(joint_text("continuous"))
    lost = replace(one, transmission=np.array([[2.0]]), links=(Link("a", np.eye(10)[1]), one.links[1]))
    with pytest.warns(ZvenoWarning, match="coupling matrix .* first moments of link a") as caught:
        to_urdf(lost)
    assert len(caught) == 1


def test_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "folder.urdf").mkdir()
    for path in (tmp_path, tmp_path / "folder.urdf", tmp_path / "missing" / "arm.urdf", "nul\x00.urdf", 3.5):
        with pytest.raises(ZvenoError, match=r"cannot be written|is a directory|no suffix|to a path, not to 3\.5"):
            write_model(parse_urdf(ARM), path)


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-12, 1e-10, 3e-9, 1e-7, 1e-4, 0.1])
@pytest.mark.parametrize("sign", [-1, 1])
def test_rpy_gives_the_rotation_back_at_every_pitch(off, sign):
    rng = np.random.default_rng(1)
    for _ in range(20):
        turn = from_rpy([rng.uniform(-3, 3), sign * (math.pi / 2 - off), rng.uniform(-3, 3)])
        for R in (turn, turn @ exp(off * rng.normal(size=3))):
            np.testing.assert_allclose(from_rpy(to_rpy(R)), R, rtol=0, atol=2e-15)


SHAPED = """
<robot name="r" xmlns:x="http://example.org/x">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="a"><visual name="v"><origin xyz="0 0 1"/><geometry><mesh filename="package://p/a.stl"/></geometry>
    <material name="blue"/></visual><collision><geometry><box size="1 2 3"/></geometry></collision></link>
  <link name="b"><visual><geometry><sphere radius="1"/></geometry></visual></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <calibration rising="0"/><safety_controller k_velocity="3"/></joint>
  <transmission name="t"><type>T</type><joint name="j"><hardwareInterface>E</hardwareInterface></joint>
    <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <transmission name="d"><joint name="j"/><joint name="k"/><actuator name="n"/></transmission>
  <gazebo reference="a"><x:thing>text</x:thing></gazebo>
</robot>
"""


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_shapes_materials_transmissions_and_sections_are_written_again():
    one = parse_urdf(SHAPED)
    text = to_urdf(one)
    again = parse_urdf(text)
    assert len(one.extras) == 9
    assert again.joint("j").drive.gear_ratio == one.joint("j").drive.gear_ratio == 50
    assert {e for e in again.extras if e.joint != "j"} == {e for e in one.extras if e.joint != "j"}
    for kept in (
        "package://p/a.stl",
        "box size",
        "rgba",
        "<hardwareInterface",
        "k_velocity",
        "thing>text</",
        'name="d"',
    ):
        assert text.count(kept) == 1, kept
    assert text.count("mechanicalReduction>50<") == 1
    assert to_urdf(again) == text
    assert one.fingerprint == parse_urdf(re.sub(r"<visual.*?</visual>", "", SHAPED, flags=re.DOTALL)).fingerprint


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_edits_keep_the_shapes_that_still_fit(tmp_path):
    one = parse_urdf(SHAPED)
    assert to_urdf(edit.with_gravity(one, [0, 0, 0])).count("<visual") == 2
    only_b = edit.subtree(one, "b")
    assert {extra.link for extra in only_b.extras} == {"", "b"}
    two = edit.attach(one, one, "b", prefix="x_")
    assert to_urdf(two).count("<visual") == 4
    assert '<joint name="x_j"><hardwareInterface' in re.sub(r">\s+<", "><", to_urdf(two))
    larger = edit.scaled(one, length=2.0)
    assert not larger.extras
    assert "left out when lengths were scaled" in larger.notes[-1]
    changed = replace(one, joints=(replace(one.joints[0], drive=Drive(gear_ratio=7.0).shaped(1)),))
    assert parse_urdf(to_urdf(changed)).joint("j").drive.gear_ratio == 7.0
    assert decode(encode(one)).extras == one.extras
