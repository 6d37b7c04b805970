"""The URDF reader: what every element means, checked by hand-written models and against Pinocchio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from urdf_models import ARM, INERTIAL, PinocchioTwin, joint_text

from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.jacobian import jacobian
from zveno.errors import ZvenoWarning
from zveno.io.urdf import parse_urdf, read_urdf
from zveno.mechanism import Joint, Link, Prismatic, Revolute, assemble
from zveno.mechanism.plausibility import impossible_inertias, links_without_inertia, warn_about_inertia
from zveno.spatial import inertia
from zveno.spatial.rotations import elementary, from_rpy

ALL_STANDARD = f"""<robot name="all">
  <link name="world"/> <link name="l1">{INERTIAL}</link> <link name="l2">{INERTIAL}</link>
  <link name="l3">{INERTIAL}</link> <link name="l4">{INERTIAL}</link> <link name="l5">{INERTIAL}</link>
  <link name="l6">{INERTIAL}</link> <link name="l7">{INERTIAL}</link>
  <joint name="float" type="floating"><parent link="world"/><child link="l1"/>
    <origin xyz="1 2 3" rpy="1 2 3"/></joint>
  <joint name="plane" type="planar"><parent link="l1"/><child link="l2"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/></joint>
  <joint name="spin" type="continuous"><parent link="l2"/><child link="l3"/><axis xyz="1 2 3"/>
    <origin xyz="0 0.2 0" rpy="-1 0.4 0.1"/></joint>
  <joint name="turn" type="revolute"><parent link="l3"/><child link="l4"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><origin xyz="0 0.2 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="l4"/><child link="l5"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="follow" type="revolute"><parent link="l2"/><child link="l6"/><mimic joint="turn" multiplier="-0.5"
    offset="0.2"/><limit lower="-1" upper="1" effort="1" velocity="1"/><origin rpy="0 0 0.7"/></joint>
  <joint name="weld" type="fixed"><parent link="l6"/><child link="l7"/><origin xyz="0 0 1" rpy="0.1 0 0"/></joint>
</robot>"""


@pytest.mark.parametrize("seed", range(3))
def test_every_standard_joint_type_agrees_with_pinocchio(seed):
    mechanism = parse_urdf(ALL_STANDARD)
    assert {joint.type.kind for joint in mechanism.joints} == {
        "free", "planar", "continuous", "revolute", "prismatic", "fixed"
    }  # fmt: skip
    twin = PinocchioTwin(mechanism, ALL_STANDARD)
    q = mechanism.random(seed)
    twin.move(q)
    G = twin.velocity_map(q)
    for name, T in zip(mechanism.link_names, link_poses(mechanism, q), strict=True):
        np.testing.assert_allclose(T, twin.link_pose(name), rtol=0, atol=1e-13)
        np.testing.assert_allclose(jacobian(mechanism, q, name), twin.jacobian(name) @ G, rtol=0, atol=1e-12)


def test_a_small_arm():
    arm = parse_urdf(ARM)
    assert arm.name == "arm"
    assert arm.link_names == ("base", "upper", "fore", "tool0")
    assert arm.joint_names == ("shoulder", "elbow")
    assert isinstance(arm.joint("shoulder").type, Revolute)
    assert isinstance(arm.joint("elbow").type, Prismatic)
    np.testing.assert_array_equal(arm.lower, [-2.0, 0.0])
    np.testing.assert_array_equal(arm.upper, [2.5, 0.5])
    shoulder = arm.joint("shoulder")
    assert shoulder.limits.velocity == 3.0
    assert shoulder.limits.effort == 40.0
    assert shoulder.drive is not None
    assert (shoulder.drive.viscous, shoulder.drive.coulomb) == (0.7, 0.2)
    assert arm.joint("elbow").drive is None
    T = link_poses(arm, np.array([0.5, 0.25]))
    R = from_rpy([0.1, -0.2, 0.3]) @ elementary("z", 0.5)
    np.testing.assert_allclose(T[2][:3, 3], [0, 0, 0.4] + R @ [0.3, 0.15, 0.2], atol=1e-15)
    np.testing.assert_allclose(T[3][:3, :3], R @ elementary("y", math.pi / 2), atol=1e-15)
    assert arm.notes == ()


def test_files_and_texts_give_the_same(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(ARM.encode())
    for mechanism in (read_urdf(path), read_urdf(str(path)), parse_urdf(ARM.encode())):
        assert mechanism.fingerprint == parse_urdf(ARM).fingerprint
    assert read_urdf(path).source == str(path)
    path.write_bytes("\ufeff".encode() + ARM.encode())
    assert read_urdf(path).name == "arm"
    path.write_bytes(ARM.replace('<?xml version="1.0"?>', "").encode("utf-16"))
    assert read_urdf(path).name == "arm"


def test_inertia_is_moved_to_the_link_frame():
    p = parse_urdf(ARM).links[1].inertia
    R, c = from_rpy([0.3, -0.2, 0.1]), np.array([0.01, -0.02, 0.03])
    I = R @ np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]]) @ R.T
    np.testing.assert_allclose(inertia.mass(p), 1.5)
    np.testing.assert_allclose(inertia.center_of_mass(p), c, atol=1e-16)
    np.testing.assert_allclose(inertia.tensor_at_center(p), I, atol=1e-16)


def test_links_without_inertial_say_so():
    arm = parse_urdf(ARM)
    assert [link.inertia_given for link in arm.links] == [False, True, True, False]


def test_defaults_of_urdf():
    j = parse_urdf(joint_text("continuous")).joint("j")
    np.testing.assert_array_equal(j.type.parameters()["axis"], [1, 0, 0])
    np.testing.assert_array_equal(j.T_parent_joint, np.eye(4))
    assert not np.isfinite([j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.effort]).any()
    only_xyz = parse_urdf(joint_text("continuous", '<origin xyz="1 2 3"/>')).joint("j").T_parent_joint
    np.testing.assert_array_equal(only_xyz[:3, 3], [1, 2, 3])


def test_quaternion_origins():
    text = joint_text("fixed", '<origin quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"/>')
    np.testing.assert_allclose(
        parse_urdf(text).joint("j").T_parent_joint[:3, :3], elementary("z", math.pi / 2), atol=1e-15
    )


@pytest.mark.parametrize(
    ("inside", "lower", "upper", "note"),
    [
        ("", -np.inf, np.inf, "no <limit>, taken as unlimited"),
        ('<limit velocity="1" effort="1"/>', -np.inf, np.inf, "without lower and upper"),
        ('<limit upper="2"/>', 0.0, 2.0, "no lower limit, which is 0 in URDF"),
        ('<limit lower="-2"/>', -2.0, 0.0, "no upper limit, which is 0 in URDF"),
        ('<limit lower="0" upper="0"/>', 0.0, 0.0, "cannot move"),
        ('<limit lower="-1e308" upper="1e300"/>', -np.inf, np.inf, None),
    ],
)
def test_limits_that_are_missing_or_odd(inside, lower, upper, note):
    mechanism = parse_urdf(joint_text("revolute", inside))
    assert (mechanism.lower, mechanism.upper) == (lower, upper)
    assert [note in text for text in mechanism.notes] == ([True] if note else [])


def test_a_continuous_joint_has_no_lower_and_upper_limit():
    limits = parse_urdf(joint_text("continuous", '<limit lower="-1" upper="1" velocity="2"/>')).joint("j").limits
    assert (limits.lower, limits.upper, limits.velocity) == (-np.inf, np.inf, 2.0)


def test_fixed_and_floating_joints_need_no_axis():
    for kind in ("fixed", "floating"):
        assert parse_urdf(joint_text(kind, '<axis xyz="0 0 0"/>')).notes == ()


def test_notes_tell_what_was_left_out():
    text = ARM.replace("<dynamics damping", '<dynamics mu="3" damping').replace(
        "</robot>", '<camera_joint name="l"/><gazebo reference="base"/></robot>'
    )
    assert parse_urdf(text).notes == ("attributes not read: dynamics mu (1×)", "sections not read: camera_joint")
    assert "length 2," in parse_urdf(joint_text("continuous", '<axis xyz="0 0 2"/>')).notes[0]


def test_mass_without_tensor_is_a_point_mass():
    text = joint_text("continuous").replace(INERTIAL, '<inertial><mass value="2"/></inertial>')
    mechanism = parse_urdf(text)
    assert mechanism.links[1].inertia.tolist() == [2] + [0] * 9
    assert "point mass: link b" in mechanism.notes[0]


SIMPLE = '<transmission name="t">{}</transmission></robot>'


@pytest.mark.parametrize(
    ("inside", "gear", "rotor"),
    [
        (
            '<joint name="shoulder"/><actuator name="m"><mechanicalReduction>100</mechanicalReduction></actuator>',
            100,
            0,
        ),
        ('<actuator name="m"/><joint name="shoulder"/><mechanicalReduction>-79.2</mechanicalReduction>', -79.2, 0),
        (
            '<joint name="shoulder"/><actuator name="m">'
            '<d:rotor_inertia xmlns:d="http://drake.mit.edu" value="1e-4"/>'
            '<d:gear_ratio xmlns:d="http://drake.mit.edu" value="50"/></actuator>',
            50,
            1e-4,
        ),
    ],
)
def test_simple_transmissions(inside, gear, rotor):
    drive = parse_urdf(ARM.replace("</robot>", SIMPLE.format(inside))).joint("shoulder").drive
    assert drive is not None
    assert (drive.gear_ratio, drive.rotor_inertia, drive.viscous) == (gear, rotor, 0.7)


def test_ambiguous_transmissions_are_left_out_with_a_note():
    two = '<joint name="shoulder"/><joint name="elbow"/><actuator name="m"/><actuator name="n"/>'
    assert parse_urdf(ARM.replace("</robot>", SIMPLE.format(two))).notes == ("transmissions not read: t",)
    one = '<joint name="elbow"/><actuator name="m"><mechanicalReduction>3</mechanicalReduction></actuator>'
    mechanism = parse_urdf(ARM.replace("</robot>", SIMPLE.format(one)[: -len("</robot>")] + SIMPLE.format(one)))
    assert mechanism.joint("elbow").drive is None
    assert "several transmissions" in mechanism.notes[0]


# --- near-exact angles

NEAR = joint_text("continuous", '<origin rpy="1.5708 0 -3.14159"/><axis xyz="0 -1 -4.4e-8"/>')


def test_near_exact_angles_are_reported_and_kept():
    mechanism = parse_urdf(NEAR)
    (note,) = mechanism.notes
    for words in ("joint j", "roll 1.5708", "90°", "yaw -3.14159", "-180°", "axis (0, -1, -4.4e-08)"):
        assert words in note
    np.testing.assert_array_equal(mechanism.joint("j").T_parent_joint[:3, :3], from_rpy([1.5708, 0, -3.14159]))
    assert mechanism.joint("j").type.parameters()["axis"][2] == pytest.approx(-4.4e-8)


def test_snap_makes_them_exact_and_lists_them():
    mechanism = parse_urdf(NEAR, snap=True)
    (note,) = mechanism.notes
    assert note.startswith("snapped at joint j: roll 1.5708")
    np.testing.assert_array_equal(mechanism.joint("j").T_parent_joint[:3, :3], [[-1, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(mechanism.joint("j").type.parameters()["axis"], [0, -1, 0])


@pytest.mark.parametrize(
    "rpy", ["1.5707963267948966 0 0", "0.1 0.2 0.3", "1.571 0 0", "0 0 0", "0.2617993877991494 0 0"]
)
def test_exact_and_other_angles_are_not_reported(rpy):
    exact = parse_urdf(joint_text("continuous", f'<origin rpy="{rpy}"/><axis xyz="0.7071 0 0.7071"/>'), snap=True)
    assert exact.notes == ()
    expected = from_rpy([float(word) for word in rpy.split()])
    np.testing.assert_array_equal(exact.joint("j").T_parent_joint[:3, :3], expected)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("0 0 1", (0, 0, 1)),
        ("1 1e-5 -1e-5", (1, 0, 0)),
        ("0.70711 0 0.70707", (math.sqrt(0.5), 0, math.sqrt(0.5))),
        ("0.8660 0.5 0", (math.sqrt(0.75), 0.5, 0)),
        ("1 1e-3 0", None),
        ("1 1 1", None),
    ],
)
def test_axes_snap_to_multiples_of_15_degrees_in_coordinate_planes(given, meant):
    text = joint_text("continuous", f'<axis xyz="{given}"/>')
    kept = parse_urdf(text).joint("j").type.parameters()["axis"]
    snapped = parse_urdf(text, snap=True).joint("j").type.parameters()["axis"]
    np.testing.assert_allclose(snapped, kept if meant is None else meant, rtol=0, atol=1e-15)


def test_many_near_exact_joints_make_one_note():
    links = "".join(f'<link name="l{i}">{INERTIAL}</link>' for i in range(13))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
        '<origin rpy="0 0 3.1416"/></joint>'
        for i in range(12)
    )
    text = f'<robot name="long">{links}{joints}</robot>'
    (note,) = parse_urdf(text).notes
    assert "12 places" in note
    assert "j11" in note
    (snapped,) = parse_urdf(text, snap=True).notes
    assert "were snapped" in snapped
    assert "at joint j0, yaw 3.1416 is 7.3e-06 rad from 180°" in snapped


# --- inertia worth a warning


def test_moving_links_without_inertia_are_listed_in_one_warning():
    text = ARM.replace(INERTIAL, "")
    with pytest.warns(ZvenoWarning, match=r"2 moving link\(s\) have no inertia: upper, fore\.") as caught:
        parse_urdf(text)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_impossible_inertia_names_the_link():
    with pytest.warns(ZvenoWarning, match="link upper: its principal moments .* triangle") as caught:
        parse_urdf(ARM.replace('izz="0.025"', 'izz="0.25"', 1))
    assert len(caught) == 1


def mechanism_of(*parts):
    """Links and the joints between them in a chain, from (link, joint type) pairs after the root."""
    links = [Link("root", inertia_given=False)] + [link for link, _ in parts]
    joints = [
        Joint(f"j{i}", links[i].name, link.name, *([kind] if kind else [])) for i, (link, kind) in enumerate(parts)
    ]
    return assemble("m", links, joints)


BODY = inertia.parameters(1.0, np.zeros(3), np.eye(3))


def test_which_links_need_inertia():
    turn = Revolute((0, 0, 1))
    silent = Link("a", inertia_given=False)
    # A bare link that carries a body, or that a body carries, by a fixed joint.
    assert links_without_inertia(mechanism_of((silent, turn), (Link("b", BODY), None))) == ()
    assert links_without_inertia(mechanism_of((Link("b", BODY), turn), (silent, None))) == ()
    # Between two moving joints: missing unless the zero is written down.
    assert links_without_inertia(mechanism_of((silent, turn), (Link("b", BODY), turn))) == ("a",)
    assert links_without_inertia(mechanism_of((Link("a"), turn), (Link("b", BODY), turn))) == ()
    # At the end nothing makes up for it.
    assert links_without_inertia(mechanism_of((Link("b", BODY), turn), (Link("a"), turn))) == ("a",)
    # Links that cannot move need none.
    assert links_without_inertia(mechanism_of((silent, None))) == ()


def test_long_lists_are_cut():
    mechanism = mechanism_of(*((Link(f"l{i}", inertia_given=False), Revolute((0, 0, 1))) for i in range(30)))
    with pytest.warns(ZvenoWarning, match="30 moving .* l19 and 10 more"):
        warn_about_inertia(mechanism)


def test_numbers_out_of_range_are_a_problem_and_not_a_crash():
    wild = mechanism_of((Link("a", np.array([1e-300, 1e200, 0, 0, 1, 0, 0, 0, 1, 0])), Revolute((0, 0, 1))))
    assert "range of floating point" in impossible_inertias(wild)["a"]
