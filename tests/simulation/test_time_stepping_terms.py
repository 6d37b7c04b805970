"""Time stepping has every term of the model: it comes to dop853 as the step goes to zero, and keeps all ranges."""

from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.errors import ZvenoError
from zveno.mechanism import Drive, Joint, Limits, Link, Mimic, Prismatic, Revolute, Spring, Universal, assemble
from zveno.mechanism.edit import rebuilt
from zveno.simulation import DOP853, TimeStepping
from zveno.simulation.simulate import simulate
from zveno.spatial import inertia

PLAIN = ("revolute", "prismatic", "universal", "planar", "helical", "continuous")
"""Kinds whose coordinates are numbers of their own."""


def followed(seed: int, kinds=PLAIN) -> zveno.Robot:
    """A random machine with drives and friction, springs, and at least one follower."""
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(seed, 4, kinds, mimic=0.0)
    leader = next(joint.name for joint in mechanism.joints if joint.type.n_q == 1)
    joints = [
        replace(
            joint,
            drive=Drive(1e-3, 10.0, viscous=rng.uniform(0.5, 1), coulomb=rng.uniform(0.05, 0.1), offset=0.1),
            spring=Spring(rng.uniform(1, 5)) if joint.type.n_v == 1 else None,
        )
        for joint in mechanism.joints
    ]
    drive = Drive(1e-3, 5.0, viscous=0.7, coulomb=0.2, offset=-0.1)
    joints.append(
        Joint("follower", "link1", "followed", Prismatic((0, 1, 0)), drive=drive, mimic=Mimic(leader, -1.7, 0.1))
    )
    body = inertia.parameters(1.0, np.array([0.1, 0.0, 0.1]), 0.02 * np.eye(3))
    return zveno.Robot(rebuilt(mechanism, links=(*mechanism.links, Link("followed", body)), joints=tuple(joints)))


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(10), 1))
def test_the_motion_comes_to_that_of_dop853(seed):
    robot = followed(seed, (*PLAIN, "spherical", "free")[seed % 3 :])
    q, v, _ = random_state(robot.mechanism, seed)
    v = 1.5 * np.sign(v) + v  # away from zero, where dop853 smooths Coulomb's friction
    options = {"duration": 0.04, "joint_friction": True, "sample_time": 0.04}
    right = simulate(robot, q, v, integrator=DOP853(1e-10), **options)
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        run = simulate(robot, q, v, integrator=TimeStepping(step), **options)
        moved = robot.difference(right.q[-1], run.q[-1])
        errors.append(max(abs(moved).max(), 0.04 * abs(run.v[-1] - right.v[-1]).max()))
    assert errors[1] < 0.7 * errors[0] + 1e-7
    assert errors[2] < 0.7 * errors[1] + 1e-7
    assert errors[0] < 0.05


@pytest.mark.parametrize("seed", few(range(10), 1))
def test_no_coordinate_leaves_its_range(seed):
    robot = followed(seed)
    mechanism, rng = robot.mechanism, np.random.default_rng(seed)
    q = mechanism.random(rng)
    positions = mechanism.joint_positions(q)
    joints = []
    for i, joint in enumerate(mechanism.joints, start=1):
        at = np.asarray(positions[i], dtype=float)
        one_sided = rng.random() < 0.3
        upper = np.full(len(at), np.inf) if one_sided else at + rng.uniform(1e-3, 0.05, len(at))
        joints.append(replace(joint, limits=Limits(at - rng.uniform(1e-3, 0.05, len(at)), upper)))
    robot = zveno.Robot(rebuilt(mechanism, joints=tuple(joints)))
    v = 3.0 * rng.normal(size=robot.n_v)
    run = simulate(robot, q, v, 0.2, joint_limits=True, joint_friction=bool(seed % 2))
    assert run.status == "finished"
    for moment in run.q:
        positions = robot.mechanism.joint_positions(moment)
        for i, joint in enumerate(robot.mechanism.joints, start=1):
            assert (positions[i] >= joint.limits.lower - 1e-7).all(), joint.name
            assert (positions[i] <= joint.limits.upper + 1e-7).all(), joint.name


def slide(**options) -> zveno.Robot:
    body = inertia.parameters(1.0, np.zeros(3), 0.01 * np.eye(3))
    joint = Joint("x", "w", "b", Prismatic((1, 0, 0)), limits=Limits(-0.5, 0.5), **options)
    return zveno.Robot(assemble("slide", [Link("w"), Link("b", body)], [joint]))


def test_starts_outside_a_range_are_moved_or_refused():
    run = simulate(slide(), [0.55], duration=0.01, joint_limits=True)
    assert run.moved == pytest.approx(0.05)
    assert run.q.max() <= 0.5
    with pytest.raises(ZvenoError, match="outside its range"):
        simulate(slide(), [5.0], duration=0.01, joint_limits=True)


def test_a_range_that_one_step_crosses():
    """±0.1 mm at 1 m/s and 1 ms: the end it goes to counts, not the nearer one."""
    joint = replace(slide().mechanism.joints[0], limits=Limits(-1e-4, 1e-4))
    run = simulate(
        zveno.Robot(rebuilt(slide().mechanism, joints=(joint,))), [-9e-5], [1.0], 0.01, joint_limits=True
    )
    assert abs(run.q).max() <= 1e-4 + 1e-12


def test_cases_from_outside():
    bodies = [Link(name, inertia.parameters(1.0, np.zeros(3), 0.1 * np.eye(3))) for name in "ab"]
    for friction, end in (({"coulomb": 0.2}, 2.2), ({"viscous": 0.2}, 3.0 * np.exp(-1.6))):
        joints = [
            Joint("x", "w", "a", Revolute((0, 0, 1)), drive=Drive()),
            Joint("y", "w", "b", Revolute((0, 0, 1)), mimic=Mimic("x", -2.0), drive=Drive(**friction)),
        ]
        robot = zveno.Robot(assemble("gear", [Link("w"), *bodies], joints))
        run = simulate(robot, [0.0], [3.0], 1.0, joint_friction=True, integrator=TimeStepping(), sample_time=0.1)
        assert run.v[-1, 0] == pytest.approx(end, rel=2e-3)  # 0.5 v' = −0.4, or −0.8 v; first order in 1 ms
    limits = Limits(np.array([-0.2, -0.3]), np.array([0.2, 0.3]))
    swinging = Link("b", inertia.parameters(1.0, np.array([0.0, 0.0, -0.3]), 0.01 * np.eye(3)))
    joint = Joint("z", "w", "b", Universal((1, 0, 0), (0, 1, 0)), limits=limits)
    robot = zveno.Robot(assemble("one", [Link("w"), swinging], [joint]))
    run = simulate(robot, robot.neutral(), [2.0, 2.0], 1.0, joint_limits=True, sample_time=0.005)
    assert (abs(run.q).max(axis=0) <= [0.2 + 1e-7, 0.3 + 1e-7]).all()
    joints = [
        Joint("x", "w", "a", Prismatic((1, 0, 0)), limits=Limits(-1, 1)),
        Joint("y", "w", "b", Prismatic((0, 1, 0)), mimic=Mimic("x", 2.0), limits=Limits(-0.2, 0.2)),
    ]
    robot = zveno.Robot(assemble("fingers", [Link("w"), *bodies], joints))
    run = simulate(robot, [0.0], [1.0], 0.9, joint_limits=True, sample_time=0.01)
    assert run.q.max() == pytest.approx(0.1, abs=1e-7)
