"""The MJCF reader against MuJoCo itself, one element at a time."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from mjcf_models import (
    INERTIAL,
    POSE,
    Generator,
    assert_same_kinematics,
    model_of,
)

from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.io.mjcf import parse_mjcf, read_mjcf
from zveno.mechanism import Continuous, Fixed, Free, Prismatic, Revolute, Spherical
from zveno.spatial import inertia

mujoco = pytest.importorskip("mujoco")


@pytest.mark.laws(after=8)
@pytest.mark.parametrize("seed", range(25))
def test_random_models_move_as_in_mujoco(seed):
    text = Generator(seed).text()
    model = mujoco.MjModel.from_xml_string(text)
    assert_same_kinematics(model, parse_mjcf(text), np.random.default_rng(seed))


def test_the_random_models_cover_what_they_promise():
    models = [mujoco.MjModel.from_xml_string(Generator(seed).text()) for seed in range(25)]
    kinds = np.concatenate([model.jnt_type for model in models])
    assert set(kinds.tolist()) == {0, 1, 2, 3}
    assert max(model.body_jntnum.max() for model in models) == 3
    assert max(np.count_nonzero(model.body_parentid[1:] == 0) for model in models) == 3
    assert max(np.bincount(model.body_parentid[1:])[1:].max() for model in models if model.nbody > 4) == 2


def test_inertia_of_every_body():
    text = Generator(3).text()
    model = mujoco.MjModel.from_xml_string(text)
    mechanism = parse_mjcf(text)
    assert sum(link.inertia[0] for link in mechanism.links) == pytest.approx(model.body_mass.sum(), rel=1e-14)
    for b in range(1, model.nbody):
        p = mechanism.links[mechanism.link_number(model.body(b).name)].inertia
        np.testing.assert_allclose(inertia.center_of_mass(p), model.body_ipos[b], atol=1e-13)
        moments = np.linalg.eigvalsh(inertia.tensor_at_center(p))
        np.testing.assert_allclose(moments, np.sort(model.body_inertia[b]), rtol=1e-10)


@pytest.mark.parametrize("name", ["model.xml", "msh.xml"])
def test_models_shipped_with_mujoco(name):
    path = Path(mujoco.__file__).parent / "testdata" / name
    if not path.exists():
        pytest.skip("this version of mujoco ships no such file")
    model = mujoco.MjModel.from_xml_path(str(path))
    mechanism = read_mjcf(path)
    assert mechanism.name == path.stem
    poses = link_poses(mechanism, model.qpos0)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for b in range(model.nbody):
        i = mechanism.link_number(model.body(b).name or f"body{b}")
        np.testing.assert_allclose(poses[i][:3, 3], data.xpos[b], atol=POSE)


# --- one thing at a time


def test_joint_types_limits_drive_and_names():
    mechanism = parse_mjcf(
        model_of(
            f"""<body name="cart">{INERTIAL}<joint name="x" type="slide" axis="1 0 0" range="-1 2"/>
                  <joint name="tilt" axis="0 1 0" armature="0.2" damping="0.3" frictionloss="0.4"/>
                  <body>{INERTIAL}<joint type="ball"/><body name="cap"/></body></body>
                <body name="drone">{INERTIAL}<freejoint/></body>"""
        )
    )
    assert mechanism.link_names == ("world", "cart/x", "cart", "body2", "cap", "drone")
    assert [type(joint.type) for joint in mechanism.joints] == [Prismatic, Continuous, Spherical, Fixed, Free]
    assert mechanism.joint_names == ("x", "tilt", "joint2", "joint3")
    assert not mechanism.links[1].inertia.any()
    x, tilt = mechanism.joint("x"), mechanism.joint("tilt")
    assert (x.limits.lower[0], x.limits.upper[0], x.drive) == (-1.0, 2.0, None)
    assert (tilt.drive.rotor_inertia[0], tilt.drive.gear_ratio[0]) == (0.2, 1.0)
    assert (tilt.drive.viscous[0], tilt.drive.coulomb[0]) == (0.3, 0.4)
    assert any("MuJoCo has v in world axes" in note for note in mechanism.notes)


def test_limited_hinge_is_revolute_in_radians():
    joint = parse_mjcf(model_of(f'<body>{INERTIAL}<joint name="j" range="-90 45"/></body>')).joint("j")
    assert isinstance(joint.type, Revolute)
    np.testing.assert_allclose([joint.limits.lower[0], joint.limits.upper[0]], [-math.pi / 2, math.pi / 4])


def test_ref_is_where_the_model_was_drawn():
    mechanism = parse_mjcf(
        model_of(f'<body pos="1 0 0">{INERTIAL}<joint name="j" ref="90"/><site name="tip" pos="1 0 0"/></body>')
    )
    np.testing.assert_allclose(frame_pose(mechanism, np.array([math.pi / 2]), "tip")[:3, 3], [2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(frame_pose(mechanism, np.array([math.pi]), "tip")[:3, 3], [1, 1, 0], atol=1e-15)


def test_effort_limits():
    def effort(attributes: str, actuator: str) -> float:
        body = f'<body>{INERTIAL}<joint name="j" {attributes}/></body>'
        return float(
            parse_mjcf(model_of(body, after=f"<actuator>{actuator}</actuator>")).joint("j").limits.effort[0]
        )

    assert effort("", "") == np.inf
    assert effort('actuatorfrcrange="-7 7"', "") == 7
    assert effort("", '<position joint="j" kp="9" forcerange="-5 5" gear="3"/>') == 15
    assert effort("", '<motor joint="j" ctrllimited="true" ctrlrange="-0.4 0.4" gear="150"/>') == pytest.approx(60)
    assert effort('actuatorfrcrange="-7 7"', '<motor joint="j" ctrlrange="-1 1" gear="150"/>') == 7
    assert effort("", '<motor joint="j" forcerange="-5 5"/><motor joint="j" forcerange="-6 6"/>') == np.inf
    assert effort("", '<position joint="j" kp="9" ctrlrange="-1 1"/>') == np.inf


def test_armature_and_damping_of_actuators():
    body = f'<body>{INERTIAL}<joint name="j" armature="0.1" damping="0.2"/></body>'
    text = model_of(body, after='<actuator><motor joint="j" gear="3" armature="0.01" damping="0.02"/></actuator>')
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this version of mujoco has no armature of actuators")
    drive = parse_mjcf(text).joint("j").drive
    assert 1 + drive.rotor_inertia[0] == pytest.approx(model.dof_M0[0])
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    mujoco.mj_forward(model, data)
    assert -drive.viscous[0] == pytest.approx(data.qfrc_passive[0] + data.qfrc_actuator[0])


def test_linear_joint_equality_is_a_mimic():
    text = model_of(
        f"""<body name="a">{INERTIAL}<joint name="lead" ref="20"/></body>
            <body name="b">{INERTIAL}<joint name="follow" type="slide" ref="0.5"/><site name="tip"/></body>""",
        after='<equality><joint joint1="follow" joint2="lead" polycoef="0.1 -2 0 0 0"/></equality>',
    )
    mechanism = parse_mjcf(text)
    assert mechanism.joint_names == ("lead",)
    q = np.array([0.7])
    follow = mechanism.joint_positions(q)[2][0]
    assert follow - 0.5 == pytest.approx(0.1 - 2 * (0.7 - math.radians(20)), abs=1e-15)
    np.testing.assert_allclose(frame_pose(mechanism, q, "tip")[:3, 3], [0, 0, follow - 0.5], atol=1e-15)


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        ('<joint joint1="i" joint2="j" polycoef="0 1 2 0 0"/>', "not linear"),
        ('<joint joint1="i"/>', "holds joint i still"),
        ('<joint joint1="i" joint2="j" active="false"/>', "not active"),
        ('<connect site1="s" site2="t"/>', "one body"),
    ],
)
def test_other_equalities_are_noted_and_left_out(equality, words):
    sites = '<site name="s"/><site name="t"/>'
    body = f'<body>{INERTIAL}<joint name="i"/>{sites}</body><body>{INERTIAL}<joint name="j"/></body>'
    mechanism = parse_mjcf(model_of(body, after=f"<equality>{equality}</equality>"))
    assert mechanism.joint_names == ("i", "j")
    assert mechanism.loops == ()
    assert any(words in note for note in mechanism.notes)


@pytest.mark.parametrize(
    "equality",
    [
        '<connect name="pin" body1="a" body2="b" anchor="0.1 0.2 0.3"/>',
        '<connect name="pin" body1="b" anchor="0.1 0.2 0.3"/>',
        '<weld name="pin" body1="a" body2="b" anchor="0.1 0.2 0.3"/>',
        '<weld name="pin" body1="a" body2="b" anchor="0.1 0.2 0.3" relpose="0.4 0.1 0.2 0.5 0.5 0.5 0.5"/>',
        '<weld name="pin" site1="s" site2="t"/>',
    ],
)
def test_connect_and_weld_close_loops(equality):
    """The residual of MuJoCo's constraint is the distance of the two frames that the loop holds together."""
    bodies = f"""<body name="a" pos="1 0 0">{INERTIAL}<joint name="i" axis="0 0 1"/>
        <site name="s" pos="0 0 0.3" euler="10 20 30"/></body>
        <body name="b" pos="0 0.5 0" euler="20 30 0">{INERTIAL}
        <joint name="j" type="ball"/><site name="t"/></body>"""
    text = model_of(bodies, after=f"<equality>{equality}</equality>")
    mechanism = parse_mjcf(text)
    (loop,) = mechanism.loops
    assert (loop.frame, loop.other) == ("pin_first", "pin_second")
    assert len(loop.locked) == (3 if "connect" in equality else 6)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for _ in range(3):
        data.qpos[:] = mechanism.normalized(rng.normal(size=mechanism.n_q))
        mujoco.mj_forward(model, data)
        T, other = (frame_pose(mechanism, data.qpos, name) for name in (loop.frame, loop.other))
        np.testing.assert_allclose(T[:3, 3] - other[:3, 3], data.efc_pos[:3], atol=1e-12)
        if len(loop.locked) == 6:  # MuJoCo has the vector part of the quaternion between the two
            turned = np.arccos(np.clip((np.trace(T[:3, :3].T @ other[:3, :3]) - 1) / 2, -1, 1))
            assert abs(np.sin(turned / 2)) == pytest.approx(np.linalg.norm(data.efc_pos[3:6]), abs=1e-9)


def test_a_weld_to_a_mocap_body_is_left_out():
    bodies = f'<body name="m" mocap="true"/><body name="b">{INERTIAL}<joint name="j"/></body>'
    mechanism = parse_mjcf(model_of(bodies, after='<equality><weld body1="m" body2="b"/></equality>'))
    assert mechanism.loops == ()
    assert any("mocap" in note and "left out" in note for note in mechanism.notes)


def test_equalities_in_a_circle_or_twice_are_left_out():
    bodies = "".join(f'<body>{INERTIAL}<joint name="{j}"/></body>' for j in "ijk")
    pairs = "".join(f'<joint joint1="{a}" joint2="{b}"/>' for a, b in ("ij", "ji", "ik"))
    mechanism = parse_mjcf(model_of(bodies, after=f"<equality>{pairs}</equality>"))
    assert mechanism.joint_names == ("j", "k")
    assert sum("circle" in note for note in mechanism.notes) == 1
    assert sum("already" in note for note in mechanism.notes) == 1


def test_what_is_not_represented_is_noted():
    notes = "\n".join(
        parse_mjcf(
            model_of(
                f"""<body name="hand" mocap="true"><site name="s"/></body>
                    <body name="a" gravcomp="1">{INERTIAL}<joint name="turned"/><site name="t"/></body>
                    <body>{INERTIAL}<joint name="loose" type="free" stiffness="2"/></body>""",
                after='<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>',
            )
        ).notes
    )
    for words in ("hand: a mocap", "a: gravity comp", "loose: the spring of a free joint", "tendons"):
        assert words in notes


def test_frames_from_sites_and_cameras_and_clashing_names():
    mechanism = parse_mjcf(
        model_of(
            f"""<body name="a">{INERTIAL}<joint name="a"/><site name="a" pos="0 0 1"/><site pos="0 0 2"/>
                <camera name="eye" pos="0 1 0" euler="90 0 0"/><camera name="moving" mode="track"/></body>"""
        )
    )
    assert mechanism.frame_names == ("world", "a", "a_site", "eye")
    assert any("a_site" in note for note in mechanism.notes)
    np.testing.assert_array_equal(
        mechanism.frame("eye").T_link_frame, [[1, 0, 0, 0], [0, 0, -1, 1], [0, 1, 0, 0], [0, 0, 0, 1]]
    )


def test_made_up_names_avoid_given_ones():
    mechanism = parse_mjcf(
        model_of(
            f"""<body>{INERTIAL}<joint/><joint name="joint0" axis="1 0 0"/>
                <body name="body1">{INERTIAL}</body><body name="body1/joint0"/></body>"""
        )
    )
    assert len(set(mechanism.link_names)) == 5
    assert mechanism.joint_names == ("joint0_2", "joint0")


def test_gravity_and_name():
    assert parse_mjcf("<mujoco/>").gravity.tolist() == [0, 0, -9.81]
    tilted = parse_mjcf('<mujoco model="lab"><option gravity="1 2 3"/></mujoco>', "file.xml")
    assert (tilted.name, tilted.gravity.tolist(), tilted.source) == ("lab", [1, 2, 3], "file.xml")
    off = parse_mjcf('<mujoco><option><flag gravity="disable"/></option></mujoco>', "some/file.xml")
    assert (off.name, off.gravity.tolist(), off.link_names) == ("file", [0, 0, 0], ("world",))
