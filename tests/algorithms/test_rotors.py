"""Rotors of joints with several coordinates: all functions follow from one energy."""

from dataclasses import replace

import numpy as np
import pytest

from mechanisms import random_mechanism, relative_error
from tiers import few
from zveno.algorithms.drives import couples_joints
from zveno.mechanism import Drive, Free, Joint, Link, Revolute, Spherical, assemble
from zveno.robot import Robot
from zveno.spatial import inertia
from zveno.spatial.transforms import transform

SAME = 1e-9


def driven_everywhere(seed: int) -> Robot:
    """Random trees with different rotors along every velocity, some with ball and free joints for certain."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        mechanism = random_mechanism(seed, n=4, mimic=0.0)
    else:
        links = [Link("ground")] + [
            Link(name, inertia.parameters(m, rng.normal(size=3) * 0.1, np.diag(rng.uniform(0.05, 0.08, 3))))
            for name, m in (("trunk", 3.0), ("arm", 1.0), ("hand", 0.5))
        ]
        joints = [
            Joint("base", "ground", "trunk", Free()),
            Joint("shoulder", "trunk", "arm", Spherical(), transform(None, [0.1, 0.2, 0.3])),
            Joint("wrist", "arm", "hand", Revolute((0, 1, 0)), transform(None, [0.3, 0.0, 0.1])),
        ]
        mechanism = assemble("body", links, joints)
    joints = [
        replace(joint, drive=Drive(rng.uniform(0.1, 1.0, joint.type.n_v), rng.uniform(1, 2, joint.type.n_v)))
        for joint in mechanism.joints
    ]
    mechanism = replace(mechanism, joints=tuple(joints))
    if seed % 4 == 2:  # motors that several velocities turn
        N = np.diag(rng.uniform(1.0, 2.0, mechanism.n_v)) + 0.2 * rng.normal(size=(mechanism.n_v,) * 2)
        mechanism = replace(mechanism, transmission=N)
    return Robot(mechanism)


@pytest.mark.parametrize("seed", few(range(4)))
def test_all_functions_agree_on_rotors(seed):
    robot = driven_everywhere(seed)
    rng = np.random.default_rng(seed)
    q, (v, a) = robot.random(rng=rng), rng.normal(size=(2, robot.n_v))
    tau = robot.inverse_dynamics(q, v, a)
    assert relative_error(robot.mass_matrix(q) @ a + robot.bias(q, v), tau) < SAME
    assert relative_error(robot.forward_dynamics(q, v, tau), a) < SAME
    base = robot.base_parameters(drives=None)
    assert relative_error(base.regressor(q, v, a) @ base.values, tau) < SAME
    if not couples_joints(robot.mechanism):
        for name, arrays in (("inverse_dynamics", (q, v, a)), ("forward_dynamics", (q, v, tau))):
            looped = robot.kernel(name, engine="loop")
            assert relative_error(looped(*arrays), getattr(robot, name)(*arrays)) < SAME
    h = 1e-6
    by_v = robot.inverse_dynamics_derivatives(q, v, a)[1]
    for k, unit in enumerate(np.eye(robot.n_v)):
        change = robot.inverse_dynamics(q, v + h * unit, a) - robot.inverse_dynamics(q, v - h * unit, a)
        assert by_v[:, k] == pytest.approx(change / (2 * h), rel=1e-6, abs=1e-6 * abs(by_v).max())


@pytest.mark.parametrize("seed", few(range(4)))
def test_torques_follow_from_the_energy(seed):
    """Power of the torques is the change of energy, at any acceleration."""
    robot = driven_everywhere(seed)
    rng = np.random.default_rng(seed)
    q, (v, a), h = robot.random(rng=rng), rng.normal(size=(2, robot.n_v)), 1e-5

    def energy(t):
        at = robot.integrate(q, t * v + 0.5 * t * t * a)
        return sum(robot.energy(at, v + t * a))

    power = (energy(h) - energy(-h)) / (2 * h)
    assert robot.inverse_dynamics(q, v, a) @ v == pytest.approx(power, rel=1e-7, abs=1e-7)


def test_rotors_of_a_free_body_keep_its_momentum():
    """Equal rotors along all translations are like mass at the origin: left alone, it moves as the heavier body."""
    body = inertia.parameters(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.3, 0.4, 0.5]))
    heavier = body + inertia.parameters(0.7, np.zeros(3), np.zeros((3, 3)))
    drive = Drive(np.array([0.7] * 3 + [0.0] * 3))

    def floating(parameters, drive=None):
        links = [Link("ground"), Link("body", parameters)]
        joints = [Joint("free", "ground", "body", Free(), drive=drive)]
        return Robot(assemble("body", links, joints, gravity=(0, 0, 0)))

    rng = np.random.default_rng(0)
    q, v, tau = floating(body).random(rng=rng), rng.normal(size=6), rng.normal(size=6)
    accelerations = [floating(*parts).forward_dynamics(q, v, tau) for parts in ((body, drive), (heavier,))]
    assert relative_error(*accelerations) < SAME
