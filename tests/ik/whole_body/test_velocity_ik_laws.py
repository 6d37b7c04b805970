"""Laws of velocity steps: complex steps, strict, relative and momentum tasks, rows, and where a step begins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from body_model import FEET, HANDS, humanoid, targets_at

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno import ik
from zveno.clearance import Capsules
from zveno.ik import CenterOfMassTask, FrameTask, MomentumTask, PostureTask
from zveno.ik._whole_body.task_rows import all_rows

DT = 0.01
H = 1e-30
"""A complex step has no rounding of its own."""


@pytest.fixture(scope="module")
def body():
    return humanoid()


def bent(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.mechanism.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.n_v))


@pytest.mark.parametrize("seed", few(range(3), 1))
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("kind", ["pose", "position", "rotation", "position+axis"])
def test_rows_of_frames_against_a_complex_step(kind, relative, seed):
    """At the target, where the turning of the frame's axes does nothing to the error."""
    mechanism = random_mechanism(seed, 7)
    robot = zveno.Robot(mechanism)
    frame, other = mechanism.link_names[-1], mechanism.link_names[2]
    task = FrameTask(frame, kind=kind, relative_to=other if relative else None)
    q, v = robot.random((), seed), np.random.default_rng(seed).normal(size=robot.n_v)
    T = robot.forward_kinematics(q, frame=frame)
    if relative:
        T = np.linalg.inv(robot.forward_kinematics(q, frame=other)) @ T
    target = {"pose": T, "position": T[:3, 3], "rotation": T[:3, :3], "position+axis": (T[:3, 3], T[:3, 2])}[kind]
    at = task.numbers(mechanism, target)
    ((_, J),) = all_rows(mechanism, [task], q, at)
    ((moved, _),) = all_rows(mechanism, [task], mechanism.integrate(q, 1j * H * v), at)
    assert np.allclose(np.imag(moved) / H, -J @ v, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", few(range(6), 1))
@pytest.mark.parametrize("away", [0.0, 1e-13, 1e-12, 1e-9, 1e-6, 1e-3, 0.5, np.pi - 1e-7])
def test_the_error_of_an_axis_is_its_angle(away, seed):
    """Also where the axis is exactly, or nearly, the opposite of its target."""
    mechanism = random_mechanism(seed, 5)
    robot, frame = zveno.Robot(mechanism), mechanism.link_names[-1]
    R, p = (lambda T: (T[:3, :3], T[:3, 3]))(robot.forward_kinematics(robot.random((), seed), frame=frame))
    axis = -(np.cos(away) * R[:, 2] + np.sin(away) * R[:, 0])
    task = FrameTask(frame, kind="position+axis")
    ((e, _),) = all_rows(mechanism, [task], robot.random((), seed), task.numbers(mechanism, (p, axis)))
    assert abs(np.linalg.norm(e[3:]) - (np.pi - away)) < 1e-9


@pytest.mark.parametrize(
    ("name", "seed"), few([(n, s) for n in ("puma560", "scara", "ur5", "panda") for s in (0, 1)])
)
def test_an_axis_is_reached_only_where_it_points_along_its_target(name, seed):
    robot = zveno.load(name)
    frame, q = robot.mechanism.link_names[-1], robot.random((), seed)
    T = robot.forward_kinematics(q, frame=frame)
    for away in (0.0, 1e-13, 1e-9, 1e-6):
        axis = -(np.cos(away) * T[:3, 2] + np.sin(away) * T[:3, 0])
        postures = ik.whole_body(robot, {frame: (T[:3, 3], axis)}, q0=q)
        reached = robot.forward_kinematics(postures.q, frame=frame)[:, :3, 2] @ axis
        assert (reached > 1 - 1e-9).all()
        assert (postures.status == "solved") == (postures.count > 0)
        if name == "scara":  # its axes are vertical
            assert postures.status == "undecided"
        solver = zveno.ik.DifferentialIK(robot, [FrameTask(frame, kind="position+axis")], 1.0, velocity=False)
        assert abs(solver(q, {frame: (T[:3, 3], axis)}).errors[0] - (np.pi - away)) < 1e-6


def test_a_tool_that_points_the_opposite_way_is_not_solved():
    """Both were solved with residuals below 1e-12: eight configurations of an arm that only points down, and q."""
    scara = zveno.load("scara")
    p = scara.forward_kinematics([0.4, 0.6, 0.1, 0.2], frame="link4")[:3, 3]
    answer = ik.whole_body(scara, {"link4": (p, (0, 0, 1))})
    assert (answer.status, answer.count) == ("undecided", 0)
    puma, q = zveno.load("puma560"), np.radians([20, -40, 30, 10, 60, 0])
    T = puma.forward_kinematics(q, frame="link6")
    answer = ik.whole_body(puma, {"link6": (T[:3, 3], -T[:3, 2])}, q0=q)
    reached = puma.forward_kinematics(answer.q, frame="link6")[:, :3, 2] @ -T[:3, 2]
    assert (reached > 1 - 1e-9).all()
    assert (answer.status == "solved") == (answer.count > 0)


def test_the_centre_of_mass_against_a_complex_step_and_momentum_against_the_robot(body):
    q, v = bent(body), np.random.default_rng(1).normal(size=body.n_v)
    tasks = [CenterOfMassTask(), MomentumTask()]
    targets = np.zeros(9)
    center, momentum = all_rows(body.mechanism, tasks, q, targets, DT)
    moved, _ = all_rows(body.mechanism, tasks, body.mechanism.integrate(q, 1j * H * v), targets, DT)
    assert np.allclose(np.imag(moved.e) / H, -center.J @ v, rtol=1e-11, atol=1e-12)
    mass = sum(link.inertia[0] for link in body.mechanism.links)
    assert np.allclose((momentum.J @ v)[:3], mass * np.imag(-moved.e) / H, rtol=1e-10)
    h = body.momentum(q, v)
    about_center = h[3:] - np.cross(body.center_of_mass(q), h[:3])
    assert np.allclose((momentum.J @ v)[3:], about_center, rtol=1e-9, atol=1e-12)


def test_a_frame_follows_another_that_moves(body):
    """A hand is asked to stay where it is seen from a foot, and the foot goes away."""
    q = bent(body, 3)
    foot, hand = FEET[0], HANDS[0]
    seen = np.linalg.inv(body.forward_kinematics(q, frame=foot)) @ body.forward_kinematics(q, frame=hand)
    away = body.forward_kinematics(q, frame=foot)[:3, 3] + [0.1, 0.05, 0.1]
    tasks = [FrameTask(foot, kind="position"), FrameTask(hand, kind="position", relative_to=foot)]
    solver, step = zveno.ik.DifferentialIK(body, tasks, DT, velocity=False), None
    for _ in range(60):
        step = solver(q, {foot: away, hand: seen[:3, 3]}, previous=step)
        q = step.q
    T_foot, T_hand = body.frame_poses(q, frames=[foot, hand])
    assert abs(T_foot[:3, 3] - away).max() < 1e-6
    assert abs((np.linalg.inv(T_foot) @ T_hand)[:3, 3] - seen[:3, 3]).max() < 1e-6


def test_a_strict_momentum_of_zero_is_kept(body):
    q = bent(body, 4)
    hand = FrameTask(HANDS[0], kind="position")
    targets = {HANDS[0]: body.forward_kinematics(q, frame=HANDS[0])[:3, 3] + [0.1, 0.0, 0.1]}
    free = zveno.ik.DifferentialIK(body, [hand], DT, velocity=1.0)(q, targets)
    assert abs(body.momentum(q, free.v)[:3]).max() > 0.1
    solver, step = zveno.ik.DifferentialIK(body, [MomentumTask(math.inf), hand], DT, velocity=1.0), None
    for _ in range(40):
        step = solver(q, targets, previous=step)
        assert step.solved
        h = body.momentum(q, step.v)
        assert abs(h[:3]).max() < 1e-4
        assert abs(h[3:] - np.cross(body.center_of_mass(q), h[:3])).max() < 1e-4
        q = step.q
    assert step.errors[1] < 0.1  # the hand has moved meanwhile


def test_strict_tasks_that_say_the_same_twice_say_it_once(body):
    q = bent(body, 6)
    goal = targets_at(body, body.mechanism.integrate(q, np.full(body.n_v, 0.01)), [*FEET, *HANDS])
    once = zveno.ik.DifferentialIK(body, [FrameTask(FEET[0], math.inf), FrameTask(HANDS[0])], DT)
    tool = body.with_tool(np.eye(4), FEET[0])  # another frame at the same place of the same link
    twice = zveno.ik.DifferentialIK(
        tool, [FrameTask(FEET[0], math.inf), FrameTask("tool", math.inf), FrameTask(HANDS[0])], DT
    )
    one = once(q, {name: goal[name] for name in (FEET[0], HANDS[0])})
    two = twice(q, {FEET[0]: goal[FEET[0]], "tool": goal[FEET[0]], HANDS[0]: goal[HANDS[0]]})
    assert two.solved
    assert np.allclose(one.v, two.v, atol=1e-4)


def test_a_weight_of_zero_is_a_task_that_is_not_there(body):
    q = bent(body, 7)
    targets = targets_at(body, body.neutral(), [FEET[0], HANDS[0]])
    without = zveno.ik.DifferentialIK(body, [FrameTask(FEET[0]), PostureTask()], DT)(q, {FEET[0]: targets[FEET[0]]})
    tasks = [FrameTask(FEET[0]), FrameTask(HANDS[0], 0.0), PostureTask()]
    assert np.allclose(zveno.ik.DifferentialIK(body, tasks, DT)(q, targets).v, without.v, atol=1e-9)


def test_rows_that_contradict_limits_are_infeasible_and_the_robot_stands():
    """The support polygon lies beside the robot, farther than a step may go."""
    body = humanoid("fixed")
    q = bent(body, 1)
    corners = np.array([[5.0, 5.0], [6.0, 5.0], [6.0, 6.0], [5.0, 6.0]])
    solver = zveno.ik.DifferentialIK(body, [PostureTask()], DT, support=corners, clearance_gain=1.0)
    step = solver(q, {"posture": q})
    assert step.status == "infeasible"
    assert not step.v.any()
    assert np.array_equal(step.q, q)


def test_where_a_step_begins_changes_nothing(body):
    """With and without the step before, and from bounds that are all wrong; strict tasks and rows included."""
    corners = np.array([[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]])
    tasks = [FrameTask(FEET[0], math.inf), FrameTask(HANDS[0]), CenterOfMassTask()]
    solver = zveno.ik.DifferentialIK(body, tasks, DT, velocity=0.5, support=corners)
    q, step = np.stack([bent(body, k) for k in range(6)]), None
    for _ in range(5):
        targets = targets_at(body, body.neutral(), [FEET[0], HANDS[0]]) | {"center_of_mass": np.zeros(3)}
        alone = solver(q, targets)
        step = solver(q, targets, previous=step)
        wrong = ik.VelocityStep(**{**vars(step), "held": -np.ones_like(step.held)})
        misled = solver(q, targets, previous=wrong)
        assert alone.solved.all()
        assert np.allclose(step.v, alone.v, atol=1e-6)
        assert np.allclose(misled.v, alone.v, atol=1e-6)
        q = step.q


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_half_a_turn_is_taken(body, seed):
    """A target half a turn away has no shortest way; any is taken, and the error falls."""
    q = bent(body, seed)
    T = body.forward_kinematics(q, frame="trunk")
    axis = np.random.default_rng(seed).normal(size=3)
    T = T @ zveno.transforms.transform(zveno.rotations.exp(np.pi * axis / np.linalg.norm(axis)), [0.0, 0.0, 0.0])
    solver, step = zveno.ik.DifferentialIK(body, [FrameTask("trunk")], DT, velocity=20.0), None
    first = solver(q, {"trunk": T})
    assert first.errors[0] == pytest.approx(np.pi, abs=1e-6)
    for _ in range(40):
        step = solver(q, {"trunk": T}, previous=step)
        assert step.solved
        q = step.q
    assert solver(q, {"trunk": T}).errors[0] < 1e-6


def test_postures_keep_clear_where_they_are_asked_to(body):
    q = body.random((), 3)
    targets = {name: T[:3, 3] for name, T in targets_at(body, q, FEET).items()}
    clearance = zveno.Clearance(radius=0.04)
    answer = ik.whole_body(body, targets, where=clearance, n=3)
    assert answer.status == "solved"
    assert (Capsules(body, clearance).distances(answer.q) > 0.0).all()
    some = ik.whole_body(body, targets, n=40)
    assert not Capsules(body, clearance).clear(some.q).all(), "others touch"


def test_a_step_that_cannot_meet_its_constraints_says_so():
    """The centre of mass is to be half a metre away at once; the limits of velocity allow a millimetre."""
    robot = zveno.load("biped")
    q = robot.neutral()
    corners = robot.center_of_mass(q)[:2] + [[0.5, 0.5], [0.6, 0.5], [0.6, 0.6], [0.5, 0.6]]
    for weight in (1e-3, 1.0, 1e3):
        step = zveno.ik.DifferentialIK(robot, [PostureTask(weight)], DT, support=corners, velocity=0.1)(
            q, {"posture": q}
        )
        assert step.status == "infeasible"
        assert not step.v.any()


@pytest.mark.parametrize("seed", few(range(30), 2))
def test_a_solved_step_keeps_position_velocity_and_acceleration(seed):
    """In streams towards poses anywhere, with any period, gain and limits: no step contradicts the next."""
    rng = np.random.default_rng(seed)
    robot = zveno.load(["ur5", "panda", "puma560"][seed % 3])
    frame = robot.frame_names[-1]
    a, v = float(rng.choice([0.5, 2.0, 10.0])), float(rng.choice([0.5, 3.0]))
    dt, gain = float(rng.choice([1e-3, 1e-2, 5e-2])), float(rng.choice([0.2, 0.5, 0.9, 1.0]))
    solver = zveno.ik.DifferentialIK(robot, [FrameTask(frame)], dt, acceleration=a, velocity=v, limit_gain=gain)
    q, step, before = robot.random(20, rng), None, np.zeros((20, robot.n_v))
    for k in range(120):
        if k % 30 == 0:
            T = robot.forward_kinematics(robot.random(20, rng), frame=frame)
        step = solver(q, {frame: T}, previous=step)
        assert step.solved.all()
        assert (abs(step.v) <= v * (1 + 1e-9)).all()
        assert (abs(step.v - before) <= a * dt * (1 + 1e-9) + 1e-12).all()
        assert (step.q <= robot.upper + 1e-12).all()
        assert (step.q >= robot.lower - 1e-12).all()
        q, before = step.q, step.v


@pytest.mark.parametrize("beyond", [0.05, 0.5])
def test_beyond_a_limit_it_goes_back_within_its_acceleration(beyond):
    robot = zveno.load("ur5")
    frame = robot.frame_names[-1]
    q, limit = np.array([0.3, -1.2, 1.0, -0.5, 0.6, -0.7]), {robot.joint_names[0]: (-1.0, 0.3 - beyond)}
    solver = zveno.ik.DifferentialIK(robot, [FrameTask(frame)], DT, limits=limit, acceleration=2.0, velocity=1.0)
    target, step, before = {frame: robot.forward_kinematics(q, frame=frame)}, None, np.zeros(6)
    for _ in range(2000):
        step = solver(q, target, previous=step)
        assert step.solved
        assert (abs(step.v - before) <= 2.0 * DT * (1 + 1e-9)).all()
        q, before = step.q, step.v
    assert q[0] <= 0.3 - beyond + 1e-6


def test_a_velocity_that_cannot_be_stopped_before_a_limit_is_infeasible():
    """At 2 rad/s and 1 rad/s², 2 rad are needed; with 0.01 rad of room the limit of acceleration gives way."""
    robot = zveno.load("ur5")
    frame = robot.frame_names[-1]
    solver = zveno.ik.DifferentialIK(robot, [FrameTask(frame)], DT, acceleration=1.0, velocity=3.0)
    q = np.array([0.3, -1.2, 1.0, -0.5, 0.6, -0.7])
    for room, status in ((0.01, "infeasible"), (2.5, "solved")):
        q[0] = robot.upper[0] - room
        target = {frame: robot.forward_kinematics(q, frame=frame)}
        fast = replace(solver(q, target), v=np.array([2.0, 0, 0, 0, 0, 0]))
        step = solver(q, target, previous=fast)
        assert step.status == status
        assert (step.v == 0.0).all() == (status == "infeasible")
