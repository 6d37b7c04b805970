"""Recordings of another robot than the model: named, not usable; recordings of the robot itself are not accused."""

from dataclasses import replace

import numpy as np
import pytest
from simulated_logs import recorded

import zveno
from zveno import identification


@pytest.mark.parametrize(
    ("robot", "model"),
    [("puma560", "ur5"), ("ur5", "puma560"), pytest.param("tx40", "ur5", marks=pytest.mark.laws)],
)
def test_another_robot_is_named(robot, model):
    """Torques of a PUMA are explained to 0.5 % by a UR5, so that errors alone do not tell."""
    other = zveno.load(model)
    found = other.identify(identification.Log.of(other, *recorded(zveno.load(robot))), friction_terms="default")
    (fault,) = (fault for fault in found.faults if fault.kind == "geometry")
    assert fault.size > 0.1
    assert "Is it a recording of this robot" in fault.text
    assert "Is it a recording of this robot" in found.verdict
    assert found.status == "not usable"


@pytest.mark.parametrize(
    "name", ["puma560", pytest.param("ur5", marks=pytest.mark.laws), pytest.param("panda", marks=pytest.mark.laws)]
)
def test_the_robot_itself_is_not_accused(name):
    robot = zveno.load(name)
    found = robot.identify(identification.Log.of(robot, *recorded(robot)), friction_terms="default")
    assert [fault for fault in found.faults if fault.kind != "little motion"] == []
    assert found.status == "usable"


def test_a_geometry_that_is_off_by_little_is_not_another_robot():
    """Axes off by 10 mm and 10 mrad: the identified model serves."""
    robot = zveno.load("puma560")
    t, q, tau = recorded(robot)
    rng = np.random.default_rng(3)
    joints = []
    for joint in robot.mechanism.joints:
        T = joint.T_parent_joint @ zveno.transforms.exp(1e-2 * rng.uniform(-1.0, 1.0, 6))
        joints.append(replace(joint, T_parent_joint=T))
    near = zveno.Robot(zveno.edit.rebuilt(robot.mechanism, joints=joints))
    found = near.identify(identification.Log.of(near, t, q, tau), friction_terms="default")
    assert [fault.kind for fault in found.faults] == []
    assert found.status == "usable"
