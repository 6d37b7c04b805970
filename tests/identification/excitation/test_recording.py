"""From a plan to a recording to an identification."""

from dataclasses import replace

import numpy as np
import pytest

import zveno
from zveno import MotionLimits, identification
from zveno.errors import ZvenoError


@pytest.fixture(scope="module")
def arm():
    robot = zveno.load("planar2").with_gravity((0.0, -9.81, 0.0))
    inertia = np.array([2.0, 0.3, 0.02, 0.0, 0.02, 0.0, 0.08, 0.0, 0.0, 0.09])
    robot = robot.with_inertia(dict.fromkeys(robot.link_names[1:], inertia))
    drive = zveno.Drive(rotor_inertia=1e-4, gear_ratio=50.0, viscous=0.8, coulomb=0.6)
    joints = tuple(
        joint if joint.type.n_v == 0 else replace(joint, drive=drive) for joint in robot.mechanism.joints
    )
    return zveno.Robot(zveno.edit.rebuilt(robot.mechanism, joints=joints))


@pytest.fixture(scope="module")
def motion(arm):
    return zveno.identification.plan_excitation(
        arm, 6.0, motion=MotionLimits(velocity=3.0, acceleration=20.0, torque=60.0)
    )


@pytest.fixture(scope="module")
def log(arm, motion):
    return identification.simulate_log(arm, motion, torque_sigma=0.3, resolution=1e-5, periods=2)


@pytest.mark.laws
def test_the_robot_follows_the_motion(motion, log):
    rows = log.arrays()
    _, q, _, _ = motion.sample(500.0, 2)
    assert abs(rows.q - q).max() < 0.02


@pytest.mark.laws
def test_an_identification_of_the_recording_finds_the_robot(arm, log):
    identified = arm.identify(log, friction_terms="basic")
    assert identified.status == "usable"
    q, v, a = arm.random(200, 1), *np.random.default_rng(2).normal(size=(2, 200, 2))
    true = arm.inverse_dynamics(q, v, a)
    found = identified.robot.inverse_dynamics(q, v, a)
    assert np.sqrt(np.mean((found - true) ** 2)) < 0.03 * np.sqrt(np.mean(true**2))


@pytest.mark.laws
def test_a_recording_counts_like_the_motion_it_followed(arm, motion, log):
    limits = {"motion": MotionLimits(velocity=3.0, acceleration=20.0, torque=60.0)}
    by_log = zveno.identification.plan_excitation(arm, 3.0, existing=log, **limits)
    by_motion = zveno.identification.plan_excitation(arm, 3.0, existing=[motion, motion], **limits)
    # Edges that filters need are lost, and friction of a smoothed velocity turns a little later.
    np.testing.assert_allclose(by_log.sigma_before, by_motion.sigma_before, rtol=0.15)


def test_other_joints_are_refused(arm, motion):
    with pytest.raises(ZvenoError, match="planned for"):
        identification.simulate_log(zveno.load("puma560"), motion)
