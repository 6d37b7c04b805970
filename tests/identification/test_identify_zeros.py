"""Joint zeros: what torques cannot show is said to be unseen, what they show is named with its size."""

import numpy as np
import pytest
from simulated_logs import recorded

import zveno
from zveno.identification.faults import geometry, zeros

SAME = 1e-6
"""Relative change of held-out errors that rounding and settling weights leave."""


@pytest.fixture(scope="module")
def arm():
    """Shoulder and elbow of a UR5 with its wrist locked, and a recording of it."""
    ur5 = zveno.load("ur5").mechanism
    robot = zveno.Robot(zveno.edit.fix_joints(ur5, ur5.joint_names[3:]))
    return robot, recorded(robot)


def displaced(arm, joint, offset):
    robot, (t, q, tau) = arm
    q = q + offset * np.eye(len(robot.joint_names))[joint]
    return robot.identify(zveno.Log.of(robot, t, q, tau), friction="default")


@pytest.fixture(scope="module")
def sound(arm):
    return displaced(arm, 0, 0.0)


@pytest.mark.parametrize("offset", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("joint", [0, 2])
def test_zeros_of_a_vertical_base_joint_and_of_the_last_joint_are_unseen(arm, sound, joint, offset):
    """Predictions by least squares are the same whatever these zeros are, so nothing may be said about them."""
    found = displaced(arm, joint, offset)
    for word in ("least squares", "friction only"):
        np.testing.assert_allclose(found.validation.errors[word], sound.validation.errors[word], rtol=SAME)
    assert found.faults == ()
    assert found.status == "usable"
    assert "zero of a joint with a fixed vertical axis" in found.unseen
    assert "carries no other joint" in found.unseen


@pytest.mark.parametrize("offset", [0.05, 0.3, -0.6, 1.0])
def test_a_zero_that_moves_axes_behind_it_is_named_with_its_size(arm, offset):
    found = displaced(arm, 1, offset)
    assert "zeros of other joints only if they are off by much" in found.unseen
    if abs(offset) < zeros.LEAST:
        assert found.faults == ()
        return
    (fault,) = found.faults
    assert (fault.kind, fault.joints) == ("joint zero", ("shoulder_lift",))
    assert fault.size == pytest.approx(offset, rel=0.1)
    assert "at shoulder_lift" in fault.text
    assert found.status == "not usable"
    assert "counted from the model's zeros" in found.verdict


def test_a_zero_is_not_named_where_the_whole_geometry_is_wrong():
    """A PUMA read as a UR5: no single zero explains it."""
    ur5 = zveno.load("ur5")
    found = ur5.identify(zveno.Log.of(ur5, *recorded(zveno.load("puma560"))), friction="default")
    assert [fault.kind for fault in found.faults] == ["geometry"]
    assert found.faults[0].worth > geometry.WORTH
    assert "with the joints' zeros of its model" in found.faults[0].text


@pytest.mark.slow
@pytest.mark.parametrize("joint", [1, 2, 3])
@pytest.mark.parametrize("offset", [0.3, -0.6, 1.0])
def test_zeros_of_parallel_joints_are_told_apart(joint, offset):
    robot = zveno.load("ur5")
    found = displaced((robot, recorded(robot)), joint, offset)
    (fault,) = found.faults
    assert (fault.kind, fault.joints[0]) == ("joint zero", robot.joint_names[joint])
    assert fault.size == pytest.approx(offset, rel=0.1)
