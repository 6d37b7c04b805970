"""Models that Pinocchio and MuJoCo have open: the same kinematics and dynamics as there."""

import numpy as np
import pytest

import zveno
from mechanisms import SINGLE, random_mechanism
from zveno.errors import ZvenoError


def test_a_pinocchio_model_moves_and_weighs_the_same():
    """Random trees of joints with one axis, built in Pinocchio: torques, poses of frames, limits."""
    pin = pytest.importorskip("pinocchio")
    from pinocchio_oracle import Oracle

    for seed in range(8):
        model = Oracle(random_mechanism(seed, n=6, kinds=SINGLE)).model
        robot = zveno.load(model)
        assert set(robot.mechanism.joint_names) == set(list(model.names)[1:])
        q, v, a = np.random.default_rng(seed).normal(size=(3, model.nv))
        place = [robot.mechanism.joint_names.index(name) for name in list(model.names)[1:]]
        mine = [np.zeros(model.nv) for _ in range(3)]
        for ours, theirs in zip(mine, (q, v, a), strict=True):
            ours[place] = theirs
        data = model.createData()
        assert robot.inverse_dynamics(*mine)[place] == pytest.approx(pin.rnea(model, data, q, v, a), abs=1e-9)
        pin.framesForwardKinematics(model, data, q)
        for frame in robot.mechanism.frames:
            there = data.oMf[model.getFrameId(frame.name)].homogeneous
            assert robot.forward_kinematics(mine[0], frame.name) == pytest.approx(there, abs=1e-12)


def test_a_sample_manipulator_and_a_floating_humanoid():
    pin = pytest.importorskip("pinocchio")
    arm = pin.buildSampleModelManipulator()
    robot = zveno.load(arm)
    assert robot.mechanism.link_names[1] == "shoulder1_body"
    data = arm.createData()
    q = np.random.default_rng(0).normal(size=6)
    assert robot.gravity_torque(q) == pytest.approx(pin.computeGeneralizedGravity(arm, data, q), abs=1e-10)
    humanoid = pin.buildSampleModelHumanoid()
    walker = zveno.load(humanoid)
    assert walker.n_v == humanoid.nv
    theirs = pin.crba(humanoid, humanoid.createData(), pin.neutral(humanoid))[0, 0]
    assert walker.mass_matrix(walker.neutral())[0, 0] == pytest.approx(theirs)  # the whole mass


def test_continuous_joints_of_cosine_and_sine_and_what_has_no_counterpart():
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    last = model.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Identity(), "turn")
    model.appendBodyToJoint(last, pin.Inertia.Random(), pin.SE3.Identity())
    assert zveno.load(model).mechanism.joint("turn").type.kind == "continuous"
    model.addJoint(last, pin.JointModelTranslation(), pin.SE3.Identity(), "carried")
    with pytest.raises(ZvenoError, match="carried"):
        zveno.load(model)


def test_an_open_mujoco_model_is_what_its_file_is(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco model="two"><worldbody><body name="upper" pos="0 0 1">
      <joint name="a" axis="0 1 0" range="-1 2" limited="true"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
      <body name="lower" pos=".4 0 0"><joint name="b" axis="0 0 1" damping="0.2"/>
      <geom type="box" size=".1 .02 .02"/></body></body></worldbody></mujoco>"""
    file = tmp_path / "two.xml"
    file.write_text(text)
    read, opened = zveno.load(file), zveno.load(mujoco.MjModel.from_xml_string(text))
    assert opened.mechanism.name == "two"
    assert opened.mechanism.joint_names == read.mechanism.joint_names
    q = np.array([0.3, -0.8])
    assert np.array_equal(opened.inverse_dynamics(q, q, q), read.inverse_dynamics(q, q, q))


def test_other_things_are_refused():
    with pytest.raises(ZvenoError, match=r"pinocchio\.Model"):
        zveno.load(3.0)
