"""The MJCF reader against MuJoCo itself, and against files nobody should write."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.algorithms.velocities import body_motions
from zveno.errors import MissingExtraError, ModelError
from zveno.io.files import MAX_BYTES
from zveno.io.mjcf import parse_mjcf, read_mjcf
from zveno.mechanism import Continuous, Fixed, Free, Prismatic, Revolute, Spherical
from zveno.spatial import inertia
from zveno.spatial.rotations import from_quaternion

mujoco = pytest.importorskip("mujoco")

POSE = 1e-12
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def model_of(body: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{body}</worldbody>{after}</mujoco>"


def numbers(values) -> str:
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


# --- random models in every spelling of MJCF, and MuJoCo as the judge


class Generator:
    """Random MJCF trees: all joint types, several a body, anchors, refs, roots, classes, angle conventions."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.degrees = bool(self.rng.integers(2))
        self.sequence = str(self.rng.choice(["xyz", "zyx", "XYZ", "zxz", "ZYX"]))
        self.count = 0
        self.sites = 0

    def angle(self, radians) -> str:
        return numbers(np.degrees(radians) if self.degrees else radians)

    def placement(self) -> str:
        rng = self.rng
        text = f'pos="{numbers(rng.uniform(-0.5, 0.5, 3))}"'
        match rng.integers(6):
            case 0:
                return text
            case 1:
                return f'{text} euler="{self.angle(rng.uniform(-3, 3, 3))}"'
            case 2:
                return f'{text} quat="{numbers(rng.normal(size=4))}"'
            case 3:
                return f'{text} axisangle="{numbers(rng.normal(size=3))} {self.angle(rng.uniform(-3, 3))}"'
            case 4:
                return f'{text} zaxis="{numbers(rng.normal(size=3))}"'
        return f'{text} xyaxes="{numbers(rng.normal(size=6))}"'

    def joint(self, kind: str, k: int) -> str:
        rng = self.rng
        if kind == "free":
            return f'<joint type="free" name="free{k}" armature="0.3"/>'
        text = f'<joint type="{kind}" name="{kind}{k}" pos="{numbers(rng.uniform(-0.3, 0.3, 3))}"'
        if rng.random() < 0.3:
            text += ' class="geared"'
        if kind != "ball":
            ref = rng.uniform(-1, 1) if rng.random() < 0.5 else 0.0
            axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
            text += f' axis="{numbers(axis)}" ref="{self.angle(ref) if kind == "hinge" else numbers(ref)}"'
        return text + "/>"

    def body(self, depth: int) -> str:
        rng, k = self.rng, self.count
        self.count += 1
        kinds = rng.choice(["hinge", "slide", "ball"], size=rng.integers(4)).tolist()
        if "ball" in kinds:  # MuJoCo wants nothing that turns after a ball
            kinds = kinds[: kinds.index("ball") + 1]
            kinds = [kind for kind in kinds if kind != "hinge"]
        if depth == 0 and rng.random() < 0.3:
            kinds = ["free"]
        joints = "".join(self.joint(kind, 10 * k + n) for n, kind in enumerate(kinds))
        A = rng.normal(size=(3, 3))
        I = A @ A.T + np.trace(A @ A.T) * np.eye(3)
        full = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        shape = (
            f'<inertial pos="{numbers(rng.normal(size=3))}" mass="{rng.uniform(1, 2)!r}" fullinertia="{full}"/>'
            if rng.random() < 0.5
            else f'<geom type="box" size="0.1 0.2 0.3" {self.placement()}/>'
            f'<geom type="capsule" size="0.1" fromto="{numbers(rng.normal(size=6))}"/>'
        )
        site = f'<site name="site{k}" {self.placement()}/>'
        self.sites += 1
        branches = int(rng.integers(0, 3)) if depth < 4 and self.count < 12 else 0
        inside = "".join(self.body(depth + 1) for _ in range(branches))
        if rng.random() < 0.3:
            inside = f"<frame {self.placement()}>{inside}</frame>"
        return f'<body name="b{k}" {self.placement()}>{shape}{joints}{site}{inside}</body>'

    def text(self) -> str:
        head = (
            f'<compiler angle="{"degree" if self.degrees else "radian"}" eulerseq="{self.sequence}"/>'
            '<default><joint armature="0.02" damping="0.1"/>'
            '<default class="geared"><joint armature="0.5" frictionloss="0.7"/></default></default>'
        )
        roots = "".join(self.body(0) for _ in range(self.rng.integers(1, 4)))
        return model_of(roots + '<site name="home" pos="1 2 3"/>', head)


def random_state(model, rng):
    """Random qpos and qvel, by taking a step from the reference so that quaternions stay unit."""
    q, v = model.qpos0.copy(), rng.normal(size=model.nv)
    mujoco.mj_integratePos(model, q, rng.normal(size=model.nv), 1.0)
    return q, v


def own_velocity(model, q, v):
    """Our velocities from MuJoCo's: a free joint's linear velocity is turned into body axes."""
    v = v.copy()
    for j in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        at, start = model.jnt_dofadr[j], model.jnt_qposadr[j]
        v[at : at + 3] = from_quaternion(q[start + 3 : start + 7]).T @ v[at : at + 3]
    return v


def body_names(mechanism):
    return [name for name in mechanism.link_names if "/" not in name]


def assert_same_kinematics(model, mechanism, rng, states: int = 4):
    data = mujoco.MjData(model)
    assert body_names(mechanism) == [model.body(k).name or f"body{k}" for k in range(model.nbody)]
    assert mechanism.n_q == model.nq
    assert mechanism.n_v == model.nv
    for _ in range(states):
        q, v = random_state(model, rng)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        own = own_velocity(model, q, v)
        poses = link_poses(mechanism, q)
        motions = body_motions(mechanism, q, own, np.zeros(model.nv))
        for b, name in enumerate(body_names(mechanism)):
            i = mechanism.link_number(name)
            np.testing.assert_allclose(poses[i][:3, 3], data.xpos[b], atol=POSE)
            np.testing.assert_allclose(poses[i][:3, :3], data.xmat[b].reshape(3, 3), atol=POSE)
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, b, twist, 1)
            np.testing.assert_allclose(motions[i].w, twist[:3], atol=1e-11)
            np.testing.assert_allclose(motions[i].v, twist[3:], atol=1e-11)
        for s in range(model.nsite):
            T = frame_pose(mechanism, q, model.site(s).name)
            np.testing.assert_allclose(T[:3, 3], data.site_xpos[s], atol=POSE)
            np.testing.assert_allclose(T[:3, :3], data.site_xmat[s].reshape(3, 3), atol=POSE)
        momentum = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, momentum, v)
        assert kinetic_energy(mechanism, motions, own) == pytest.approx(0.5 * v @ momentum, rel=1e-10)


def kinetic_energy(mechanism, motions, v) -> float:
    energy = 0.0
    for i, _, joint in mechanism.outward():
        p, m = mechanism.links[i].inertia, motions[i]
        energy += 0.5 * p[0] * m.v @ m.v + m.v @ np.cross(m.w, p[1:4]) + 0.5 * m.w @ inertia.tensor(p) @ m.w
        if joint.drive is not None:
            own = v[mechanism.v_slices[joint.name]]
            energy += 0.5 * np.sum(joint.drive.gear_ratio**2 * joint.drive.rotor_inertia * own**2)
    return energy


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
                    <body name="a" gravcomp="1">{INERTIAL}<joint name="sprung" stiffness="2"/><site name="t"/>
                      <body>{INERTIAL}<joint name="limited" type="ball" range="0 20"/></body></body>""",
                after='<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>',
            )
        ).notes
    )
    for words in ("hand: a mocap", "a: gravity comp", "sprung: springs", "limited: the limit of a ball", "tendons"):
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


# --- exact and near-exact angles


@pytest.mark.parametrize(
    "turn", ["euler='90 0 0'", "euler='0 -90 180'", "quat='0.5 0.5 -0.5 0.5'", "quat='1 1 0 0'"]
)
def test_right_angles_are_exact(turn):
    mechanism = parse_mjcf(model_of(f"<body pos='1 2 3' {turn}>{INERTIAL}<joint/></body>"))
    T = mechanism.joints[0].T_parent_joint
    np.testing.assert_array_equal(T, np.round(T))
    assert mechanism.notes == ()


@pytest.mark.parametrize("turn", ["euler='15 30 45'", "euler='60 75 -105'", "euler='33 20 11'", "euler='12 90 77'"])
def test_exact_and_arbitrary_angles_are_not_reported(turn):
    assert parse_mjcf(model_of(f"<body {turn}>{INERTIAL}<joint/></body>")).notes == ()


@pytest.mark.parametrize(
    ("turn", "meant"),
    [
        ("euler='1.5708 0 0'", [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        ("euler='0 1.57079 0.78539'", None),
        ("quat='0.92388 0 0 0.382683'", np.array([[1, -1, 0], [1, 1, 0], [0, 0, np.sqrt(2)]]) / np.sqrt(2)),
        ("quat='0.653281 0.270598 0.653281 0.270598'", None),
    ],
)
def test_near_exact_rotations_are_reported_and_snapped_on_request(turn, meant):
    text = model_of(
        f"<body name='arm' {turn}>{INERTIAL}<joint/></body>", "<compiler angle='radian' eulerseq='XYZ'/>"
    )
    kept, snapped = parse_mjcf(text), parse_mjcf(text, snap=True)
    assert "body arm" in kept.notes[0]
    assert "kept" in kept.notes[0]
    assert snapped.notes[0].startswith("snapped at ")
    before, after = (mechanism.joints[0].T_parent_joint[:3, :3] for mechanism in (kept, snapped))
    np.testing.assert_allclose(
        before, from_quaternion(mujoco.MjModel.from_xml_string(text).body_quat[1]), atol=1e-15
    )
    assert 1e-8 < abs(before - after).max() < 2e-4
    np.testing.assert_allclose(after.T @ after, np.eye(3), atol=1e-15)
    if meant is not None:
        np.testing.assert_allclose(after, meant, atol=1e-15)


def test_the_initial_pose_of_a_free_body_is_not_part_of_the_mechanism():
    text = model_of(f"<body pos='1 2 3' quat='0.7071 0.7072 0 0'>{INERTIAL}<freejoint/></body>")
    mechanism = parse_mjcf(text)
    np.testing.assert_array_equal(mechanism.joints[0].T_parent_joint, np.eye(4))
    assert not any("near-exact" in note for note in mechanism.notes)


def test_roll_and_yaw_are_told_apart_at_a_pitch_of_90_degrees():
    # Six digits leave the split of one turn into roll and yaw open; only the sum, 45°, is in the numbers.
    text = model_of(f"<body quat='0.653281 -0.270598 0.653282 0.270599'>{INERTIAL}<joint/></body>")
    R = parse_mjcf(text, snap=True).joints[0].T_parent_joint[:3, :3]
    half = math.sqrt(0.5)
    np.testing.assert_allclose(R, [[0, -half, half], [0, half, half], [-1, 0, 0]], atol=1e-15)


def test_near_exact_ref_and_axis():
    text = model_of(
        f"<body>{INERTIAL}<joint name='j' ref='1.5708' axis='0 0.00001 1'/><site name='t' pos='1 0 0'/></body>",
        "<compiler angle='radian'/>",
    )
    kept, snapped = parse_mjcf(text), parse_mjcf(text, snap=True)
    assert len(kept.notes) == len(snapped.notes) == 2
    np.testing.assert_array_equal(snapped.joints[0].type.axis, [0, 0, 1])
    np.testing.assert_array_equal(snapped.joints[0].T_parent_joint[:3, :3], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(frame_pose(kept, np.array([1.5708]), "t")[:3, 3], [1, 0, 0], atol=1e-15)


def test_many_near_exact_angles_make_one_note():
    bodies = "".join(f"<body name='b{k}' euler='1.5708 0 0'/>" for k in range(20))
    notes = parse_mjcf(model_of(bodies, "<compiler angle='radian'/>")).notes
    assert len(notes) == 1
    assert "b19" in notes[0]


# --- files


ARM = model_of(
    f'<body name="arm">{INERTIAL}<geom type="mesh" mesh="shape" material="paint"/><joint name="j"/>'
    f'<geom name="ball" size="1" contype="0"/></body><geom type="hfield" hfield="ground"/>',
    '<asset><mesh name="shape" file="missing.stl"/><texture name="skin" type="2d" file="missing.png"/>'
    '<texture type="skybox" fileright="sky.png"/><material name="paint" texture="skin"/>'
    '<hfield name="ground" file="ground.png" size="1 1 1 1"/></asset>',
    '<contact><exclude body1="world" body2="arm"/></contact>',
)


def test_missing_shapes_and_pictures_are_not_needed(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    mechanism = read_mjcf(tmp_path / "arm.xml")
    assert mechanism.link_names == ("world", "arm")
    assert mechanism.links[1].inertia.tolist() == [1, 0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert "missing.stl" in mechanism.notes[0]


@pytest.mark.parametrize(
    ("geom", "needed"),
    [
        ('<geom type="mesh" mesh="shape"/>', True),
        ('<geom type="mesh" mesh="shape" mass="0"/>', False),
        ('<geom type="mesh" mesh="shape" density="0"/>', False),
        ('<geom type="mesh" mesh="shape" group="2"/>', False),
        ('<geom class="visual"/>', False),
    ],
)
def test_missing_meshes_matter_only_where_they_have_mass(geom, needed):
    text = model_of(
        f'<body name="arm"><geom size="1" mass="3"/>{geom}<joint name="j"/></body>',
        '<compiler inertiagrouprange="0 1"/><asset><mesh name="shape" file="missing.stl"/></asset>'
        '<default><default class="visual"><geom type="mesh" mesh="shape" group="3"/></default></default>',
    )
    if needed:
        with pytest.raises(ModelError, match=r"missing\.stl.*<inertial>"):
            parse_mjcf(text)
    else:
        assert parse_mjcf(text).links[1].inertia[0] == 3


def test_includes_are_found_beside_the_file(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        f'<mujocoinclude><body name="arm">{INERTIAL}<joint/></body></mujocoinclude>'
    )
    (tmp_path / "robot.xml").write_text(model_of('<include file="parts/arm.xml"/>'))
    assert read_mjcf(tmp_path / "robot.xml").link_names == ("world", "arm")
    monkeypatch.chdir(tmp_path)
    assert read_mjcf("robot.xml").link_names == ("world", "arm")
    with pytest.raises(ModelError, match="part of a model"):
        read_mjcf("parts/arm.xml")
    (tmp_path / "broken.xml").write_text(model_of('<include file="parts/leg.xml"/>'))
    with pytest.raises(ModelError, match=r"broken\.xml.*include.*leg\.xml.*must exist"):
        read_mjcf("broken.xml")


def test_reading_prints_nothing_and_leaves_no_files(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    parse_mjcf(ARM)
    handler = mujoco.get_mju_user_warning()
    with pytest.raises(ModelError, match=r"arm.*not finite"):
        parse_mjcf(model_of(f'<body name="arm" pos="nan 0 0">{INERTIAL}<joint/></body>'))
    assert mujoco.get_mju_user_warning() is handler
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


# --- bad input: one clear error


def refuse(words: str, text: str):
    with pytest.raises(ModelError, match=words) as caught:
        parse_mjcf(text, "bad.xml")
    assert str(caught.value).startswith("bad.xml: ")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("empty", ""),
        ("not XML", "hello"),
        ("malformed", "<mujoco><worldbody></mujoco>"),
        ("URDF.*read_urdf", '<robot name="r"><link name="a"/></robot>'),
        ("root element is <sdf>", "<sdf/>"),
        ("document type", '<!DOCTYPE m [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><mujoco model="&c;"/>'),
        ("document type", '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco model="&x;"/>'),
        ("mass and inertia.*<inertial>", model_of('<body name="arm"><joint/></body>')),
        ("body.*line 1.*unrecognized attribute: 'poss'", model_of('<body poss="1 0 0"/>')),
        ("body.*bad format|problem reading", model_of('<body pos="1 0 o"/>')),
        ("not have enough data", model_of('<body pos="1 0"/>')),
        ("repeated name 'a'", model_of('<body name="a"/><body name="a"/>')),
        ("axis too small", model_of(f'<body>{INERTIAL}<joint axis="0 0 0"/></body>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" pos="0 inf 0"/></body>')),
        ("body b.*not finite", model_of('<body name="b" pos="inf 0 0"/>')),
        ("body b.*out of range", model_of('<body name="b" pos="1e200 0 0"/>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" type="slide" ref="nan"/></body>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" damping="inf"/></body>')),
        ("site s.*not finite", model_of('<site name="s" pos="0 0 nan"/>')),
        (
            "mass and inertia",
            model_of('<body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/><joint/></body>'),
        ),
        (
            "A \\+ B >= C.*balance",
            model_of('<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/><joint/></body>'),
        ),
        ("range", model_of(f'<body>{INERTIAL}<joint limited="true" range="2 1"/></body>')),
        ("joint type|invalid keyword", model_of(f'<body>{INERTIAL}<joint type="hing"/></body>')),
        ("zz", model_of("", after='<actuator><motor joint="zz"/></actuator>')),
        ("[Pp]lugin.*take them out", "<mujoco><extension><plugin plugin='no.such'/></extension></mujoco>"),
        ("copies", model_of('<replicate count="1000"><replicate count="100000"><site/></replicate></replicate>')),
        ("copies", model_of('<replicate count="nan"><site/></replicate>')),
    ],
)
def test_bad_text_is_refused(words, text):
    refuse(words, text)


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_bad_gravity_is_refused(number):
    refuse("gravity", f'<mujoco><option gravity="0 0 {number}"/></mujoco>')


@pytest.mark.parametrize("text", [None, 3, b"<mujoco/>"])
def test_text_must_be_text(text):
    with pytest.raises(ModelError, match="where text is needed"):
        parse_mjcf(text)


def test_bad_paths_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        read_mjcf(tmp_path / "nothing.xml")
    with pytest.raises(ModelError, match="directory"):
        read_mjcf(tmp_path)
    large = tmp_path / "large.xml"
    with large.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelError, match=r"large\.xml.*MB"):
        read_mjcf(large)
    binary = tmp_path / "binary.xml"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(ModelError, match=r"binary\.xml"):
        read_mjcf(binary)


def test_deep_nesting_is_refused():
    refuse("nested|nesting", model_of("<body>" * 5000 + "</body>" * 5000))


def test_without_mujoco_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"zveno\[mjcf\]"):
        parse_mjcf("<mujoco/>")


def test_an_old_mujoco_is_refused(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(MissingExtraError, match=r"3\.2\.7 is too old"):
        parse_mjcf("<mujoco/>")
