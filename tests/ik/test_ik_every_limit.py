"""Law: what inverse kinematics returns keeps every limit of the model, those of followers and balls included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import zveno
from tiers import few
from zveno import ik
from zveno.ik import FrameTask
from zveno.mechanism import Frame, Joint, Limits, Link, Mimic, Prismatic, Revolute, Spherical, assemble
from zveno.mechanism.unit_quaternions import ball_angle
from zveno.spatial.transforms import transform

SLACK = 1e-8
FOLLOWED, BALL, SPEED = 0.9, 0.5, 0.7
"""Largest angles of the follower and of the ball, rad, and velocity of the follower, rad/s."""


def arm(seed: int) -> zveno.Robot:
    """Revolute joints, one of which another follows, a slide, and a ball for a wrist, in random places."""
    rng = np.random.default_rng(seed)

    def place():
        return transform(zveno.rotations.exp(rng.normal(size=3)), 0.3 * rng.normal(size=3))

    factor, offset = rng.choice([-1.5, -0.7, 0.6, 2.0]), rng.uniform(-0.3, 0.3)
    joints = [
        Joint("one", "l0", "l1", Revolute((0, 0, 1)), place(), limits=Limits(-2.0, 2.0)),
        Joint("two", "l1", "l2", Revolute((0, 1, 0)), place(), limits=Limits(-2.0, 2.0)),
        Joint(
            "follower", "l2", "l3", Revolute((0, 1, 0)), place(),
            limits=Limits(-FOLLOWED, FOLLOWED, SPEED), mimic=Mimic("two", factor, offset),
        ),
        Joint("slide", "l3", "l4", Prismatic((1, 0, 0)), place(), limits=Limits(-0.2, np.inf)),
        Joint("ball", "l4", "l5", Spherical(), place(), limits=Limits(angle=BALL)),
    ]  # fmt: skip
    tool = Frame("tool", "l5", transform(None, [0.1, 0.05, 0.2]))
    links = [Link(f"l{k}", np.array([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])) for k in range(6)]
    return zveno.Robot(assemble(f"arm{seed}", links, joints, [tool]))


def outside(robot: zveno.Robot, q: np.ndarray) -> float:
    """By how much the worst of configurations (..., n_q) is beyond a limit, joint by joint of the model."""
    worst = -np.inf
    for joint in robot.mechanism.joints:
        own = q[..., robot.mechanism.q_slices[joint.name if joint.mimic is None else joint.mimic.joint]]
        if np.isfinite(joint.limits.angle):
            worst = max(worst, float(np.max(ball_angle(own) - joint.limits.angle, initial=-np.inf)))
            continue
        value = own if joint.mimic is None else joint.mimic.multiplier * own + joint.mimic.offset
        over = np.maximum(joint.limits.lower - value, value - joint.limits.upper)
        worst = max(worst, float(np.max(over, initial=-np.inf)))
    return worst


def within_all(robot: zveno.Robot, seed: int) -> np.ndarray:
    """A configuration that keeps all limits."""
    q = robot.random((), seed)
    assert outside(robot, q) < 0
    return q


def beyond_the_ball(robot: zveno.Robot, seed: int) -> np.ndarray:
    """A configuration whose ball is turned four times as far as it may be."""
    q, rng = robot.random((), seed), np.random.default_rng(seed)
    direction = rng.normal(size=3)
    turn = 4.0 * BALL * direction / np.linalg.norm(direction)
    q[robot.mechanism.q_slices["ball"]] = zveno.rotations.quaternion_exp(turn)
    return q


@pytest.mark.parametrize("seed", few(range(12), 1))
def test_every_configuration_returned_keeps_every_limit(seed):
    robot = arm(seed)
    reachable = robot.forward_kinematics(within_all(robot, seed))
    poses = [reachable, robot.forward_kinematics(beyond_the_ball(robot, seed + 100))]
    for T in poses:
        assert outside(robot, robot.ik(T).q) < SLACK
        postures = ik.whole_body(robot, {"tool": T})
        assert outside(robot, postures.q) < SLACK
    assert ik.whole_body(robot, {"tool": reachable}).status == "solved"


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_velocity_steps_keep_every_limit(seed):
    """Towards poses out of reach: joints, follower and ball stop at their limits, and keep their velocities."""
    robot, dt = arm(seed), 0.05
    q, target = within_all(robot, seed), robot.forward_kinematics(beyond_the_ball(robot, seed + 50))
    solver, step = ik.DifferentialIK(robot, [FrameTask("tool")], dt), None
    follower = robot.mechanism.joint("follower").mimic
    place = robot.mechanism.v_slices["two"]
    for _ in range(60):
        step = solver(q, {"tool": target}, previous=step)
        assert step.solved
        assert outside(robot, step.q) < SLACK
        assert abs(follower.multiplier * step.v[place]) <= SPEED * (1 + 1e-9)
        assert np.allclose(robot.integrate(q, step.v * dt), step.q, atol=1e-9)
        q = step.q
    loose = ik.DifferentialIK(robot, [FrameTask("tool")], dt, limits=False, velocity=False)
    for _ in range(60):
        q = loose(q, {"tool": target}).q
    assert outside(robot, q) > 1e-3  # limits did hold it


def test_a_ball_turns_no_farther_than_its_limit():
    """1.2 rad were listed, solved and stepped to."""
    inertia = np.array([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    joint = Joint("ball", "base", "hand", Spherical(), limits=Limits(angle=0.3))
    robot = zveno.Robot(assemble("ball", [Link("base"), Link("hand", inertia)], [joint]))
    R = zveno.rotations.elementary("x", 1.2)
    assert robot.ik(transform(R), task="rotation").count == 0
    assert (ik.whole_body(robot, {"hand": R}).status, ik.whole_body(robot, {"hand": R}).count) == ("undecided", 0)
    solver, q = ik.DifferentialIK(robot, [FrameTask("hand", kind="rotation")], 0.05), robot.neutral()
    for _ in range(60):
        q = solver(q, {"hand": R}).q
    assert 2.0 * np.arccos(q[0]) == pytest.approx(0.3, abs=1e-8)


def test_limits_of_followers_narrow_those_of_their_leader():
    robot = arm(3)
    joint = robot.mechanism.joint("follower")
    k = robot.mechanism.q_slices["two"].start
    ends = sorted((side - joint.mimic.offset) / joint.mimic.multiplier for side in (-FOLLOWED, FOLLOWED))
    assert robot.lower[k] == pytest.approx(max(-2.0, ends[0]))
    assert robot.upper[k] == pytest.approx(min(2.0, ends[1]))
    impossible = assemble(
        "none",
        [Link("a"), Link("b"), Link("c")],
        [
            Joint("one", "a", "b", Revolute((0, 0, 1)), limits=Limits(0.0, 1.0)),
            Joint("two", "b", "c", Revolute((0, 0, 1)), limits=Limits(5.0, 6.0), mimic=Mimic("one", 1.0, 0.0)),
        ],
    )
    with pytest.raises(zveno.ZvenoError, match="mimic"):
        _ = impossible.lower


def test_farthest_from_limits_sees_limits_at_one_end():
    """Two solutions of an elbow; one of them nearly at the only limit there is."""
    robot = zveno.load("planar2")
    first, second = robot.mechanism.joints[:2]
    joints = [first, replace(second, limits=Limits(-1.21, np.inf).shaped(1, 1)), *robot.mechanism.joints[2:]]
    one_sided = zveno.Robot(assemble("planar", robot.mechanism.links, joints, robot.mechanism.frames))
    T = one_sided.forward_kinematics([0.3, 1.2])
    found = one_sided.ik(T, task=(1, 1, 0, 0, 0, 0))
    assert found.count == 2
    assert found.sorted_by("limit distance").q[0, 1] == pytest.approx(1.2)
