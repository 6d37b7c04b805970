"""Ranges of coordinates without limits: slides a metre, turns half a turn, each coordinate of a joint alike."""

import numpy as np

import zveno
from zveno import mechanism as parts


def test_a_joint_with_two_slides_and_a_turn():
    body = zveno.inertia.parameters(2.0, [0.1, 0.0, 0.05], np.diag([0.03, 0.02, 0.04]))
    plane = parts.Joint("plane", "base", "car", parts.Planar([0.0, 0.0, 1.0]))
    tilt = parts.Joint("tilt", "car", "arm", parts.Revolute([0.0, 1.0, 0.0]))
    links = [parts.Link("base"), parts.Link("car", inertia=body), parts.Link("arm", inertia=body)]
    robot = zveno.Robot(parts.assemble("car", links, [plane, tilt]))
    motion = zveno.identification.plan_excitation(robot, 4.0)
    most = 0.96 * np.array([1.0, 1.0, np.pi, np.pi])  # a margin of 2 % at either end
    np.testing.assert_allclose(motion.limits.upper, most)
    np.testing.assert_allclose(motion.limits.lower, -most)
    q = motion.curve(np.linspace(0.0, 4.0, 4001))
    assert (abs(q) <= most + 1e-12).all()
