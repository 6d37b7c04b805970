"""The MJCF writer against MuJoCo: the same torques, poses, limits, friction and springs."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state
from tiers import every, few
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.errors import ModelError, ZvenoWarning
from zveno.io.mjcf import parse_mjcf
from zveno.io.write import model_text
from zveno.mechanism import Drive, Frame, Free, Helical, Joint, Limits, Link, Mechanism, Revolute, Spring, assemble
from zveno.robots import names
from zveno.spatial.transforms import transform

mujoco = pytest.importorskip("mujoco")

KINDS = ("revolute", "continuous", "prismatic", "fixed", "universal", "spherical", "planar")
TORQUES = 1e-9
"""Relative to the largest torque of the state."""


def written(mechanism: Mechanism) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return model_text(mechanism, "mjcf")


def addresses(mechanism: Mechanism, model) -> tuple[list[int], list[int]]:
    """Places of each coordinate in qpos, and of each velocity in qvel."""
    q_places, v_places = [], []
    for joint in mechanism.joints:
        parts = [joint.name]
        if joint.type.kind in ("universal", "planar"):
            parts = [f"{joint.name}.{suffix}" for suffix in joint.type.suffixes]
        for name in parts if joint.type.n_v else ():
            k = model.joint(name).id
            n_q, n_v = {0: (7, 6), 1: (4, 3)}.get(int(model.jnt_type[k]), (1, 1))
            q_places += range(model.jnt_qposadr[k], model.jnt_qposadr[k] + n_q)
            v_places += range(model.jnt_dofadr[k], model.jnt_dofadr[k] + n_v)
    return q_places, v_places


def assert_same_dynamics(mechanism: Mechanism, seed: int) -> None:
    """Compare torques and poses at random states; a free joint, if any, is the first."""
    model = mujoco.MjModel.from_xml_string(written(mechanism))
    data, (q_places, v_places) = mujoco.MjData(model), addresses(mechanism, model)
    free = mechanism.joints[0].type.kind == "free"
    for k in range(3):
        q, v, a = random_state(mechanism, seed + 100 * k)
        tau = inverse_dynamics(mechanism, q, v, a)
        v_there, a_there = v.copy(), a.copy()
        if free:  # MuJoCo's linear velocity is in world axes
            R = frame_pose(mechanism, q, mechanism.joints[0].child)[:3, :3]
            v_there[:3], a_there[:3] = R @ v[:3], R @ (a[:3] + np.cross(v[3:6], v[:3]))
            tau[:3] = R @ tau[:3]
        data.qpos[q_places], data.qvel[v_places], data.qacc[v_places] = q, v_there, a_there
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        inertial = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, inertial, data.qacc.copy())
        theirs = (inertial + data.qfrc_bias)[v_places]
        assert abs(theirs - tau).max(initial=0.0) <= TORQUES * max(1.0, abs(tau).max(initial=0.0))
        for name in mechanism.frame_names:
            site = next((frame for frame in mechanism.frames if frame.name == name), None)
            if name != "world":
                p = data.body(name).xpos if site is None else data.site(name).xpos
                R = data.body(name).xmat if site is None else data.site(name).xmat
                T = frame_pose(mechanism, q, name)
                np.testing.assert_allclose(p, T[:3, 3], atol=1e-12)
                np.testing.assert_allclose(R.reshape(3, 3), T[:3, :3], atol=1e-12)


@pytest.mark.parametrize("seed", few(range(40), 6))
def test_random_trees_have_the_same_torques_in_mujoco(seed):
    mechanism = random_mechanism(seed, 7, KINDS, 0.3, 0.0, drives=bool(seed % 2))
    assert_same_dynamics(mechanism, seed)


@pytest.mark.parametrize("name", every((name for name in names() if zveno.load(name).mass > 0), 4))
def test_built_in_robots_have_the_same_torques_in_mujoco(name):
    assert_same_dynamics(replace(zveno.load(name).mechanism, transmission=None), 3)


@pytest.mark.parametrize("seed", few(range(20), 4))
def test_what_is_written_is_read_back(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(seed, 6, ("revolute", "prismatic"), 0.3, 0.3)
    joints = [
        replace(
            joint,
            limits=Limits(-1.5, 0.5 + rng.random(), effort=30.0 + seed),
            drive=Drive(rng.random(), 1.0, rng.random(), rng.random()),
            spring=Spring(rng.random(), rng.normal()),
        )
        for joint in mechanism.joints
    ]
    mechanism = replace(mechanism, joints=tuple(joints))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        again = parse_mjcf(model_text(mechanism, "mjcf"))
    np.testing.assert_allclose(again.gravity, mechanism.gravity)
    for joint in mechanism.joints:
        copy = again.joint(joint.name)
        for part, fields in (
            ("limits", ("lower", "upper", "effort")),
            ("drive", ("rotor_inertia", "viscous", "coulomb")),
            ("spring", ("stiffness", "rest")),
        ):
            for field in fields:
                given, read = (getattr(getattr(each, part), field) for each in (joint, copy))
                np.testing.assert_allclose(read, given, rtol=1e-14, err_msg=f"{joint.name} {part}.{field}")
        assert (copy.mimic is None) == (joint.mimic is None)
        if joint.mimic is not None and copy.mimic is not None:
            assert copy.mimic.joint == joint.mimic.joint
            assert copy.mimic.multiplier == pytest.approx(joint.mimic.multiplier)
            assert copy.mimic.offset == pytest.approx(joint.mimic.offset)


def two_links(joint_type=None, **options) -> Mechanism:
    solid = np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    joints = [
        Joint("a", "base", "mid", Revolute((0, 0, 1)), np.eye(4), transform(None, [0.1, 0, 0])),
        Joint("b", "mid", "end", joint_type or Revolute((0, 1, 0)), transform(None, [0, 0.2, 0]), **options),
    ]
    return assemble("two", [Link("base"), Link("mid"), Link("end", solid)], joints, [Frame("tool", "end")])


def test_a_link_without_mass_becomes_a_joint_of_the_next_body():
    mechanism = two_links()
    model = mujoco.MjModel.from_xml_string(written(mechanism))
    assert [model.body(k).name for k in range(model.nbody)] == ["world", "base", "end"]
    data = mujoco.MjData(model)
    q, v, a = random_state(mechanism, 5)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    np.testing.assert_allclose(data.qfrc_inverse, inverse_dynamics(mechanism, q, v, a), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (two_links(limits=Limits(velocity=1.0)), "the velocity limits of b"),
        (two_links(limits=Limits(lower=-1.0)), "the one-sided position limits of b"),
        (two_links(drive=Drive(1e-4, 50.0)), "the gear ratios of b"),
        (two_links(drive=Drive(offset=1.0)), "the constant drive torques of b"),
        (replace(two_links(), transmission=np.array([[1, 0.1], [0, 1.0]])), "coupling matrix"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_losses_are_named(mechanism, words):
    with pytest.warns(ZvenoWarning, match=words):
        model_text(mechanism, "mjcf")


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (two_links(Helical((0, 0, 1), 0.1)), "no helical joint"),
        (two_links(Free()), "starts from the world frame"),
        (zveno.load("Rz(q1) Tx(1) Rz(q2) Tx(1)").mechanism, "moves without mass"),
        (
            replace(two_links(), links=(*two_links().links[:2], Link("end", [1.0, 0, 0, 0, 1, 0, 1, 0, 0, 3]))),
            "triangle inequality.*MuJoCo",
        ),
    ],
    ids=["helical", "free", "no mass", "impossible"],
)
def test_what_mujoco_rejects_is_one_error(mechanism, words):
    with pytest.raises(ModelError, match=words):
        model_text(mechanism, "mjcf")


def test_a_robot_is_written_and_loaded(tmp_path):
    robot = zveno.load("puma560")
    with pytest.warns(ZvenoWarning, match="gear ratios"):
        file = robot.write(tmp_path / "puma.xml")
    again = zveno.load(file)
    q, v, a = random_state(robot.mechanism, 2)
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), rtol=1e-9)
    np.testing.assert_allclose(again.forward_kinematics(q), robot.forward_kinematics(q), atol=1e-12)
