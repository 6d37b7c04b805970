"""Velocities for several tasks: rows against derivatives, conditions of an optimum, limits, priorities, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from body_model import FEET, HANDS, humanoid, targets_at

import zveno
from mechanisms import random_mechanism
from tiers import every, few
from zveno import ik
from zveno.ik import CenterOfMassTask, FrameTask, MomentumTask, PostureTask
from zveno.ik._whole_body.task_rows import all_rows, rotation_vector

DT = 0.01
FIRST_ORDER = 1e-5
"""Errors fall with the square of a step of 1e-3 where rows are derivatives."""
KINDS = ("pose", "position", "rotation", "position+axis")


@pytest.fixture(scope="module")
def body():
    return humanoid()


def bent(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.mechanism.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.n_v))


# --- rows


@pytest.mark.parametrize("kind", every(KINDS))
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_rows_are_derivatives_of_the_errors(kind, relative, seed):
    mechanism = random_mechanism(seed, 7)
    robot = zveno.Robot(mechanism)
    last, other = mechanism.link_names[-1], mechanism.link_names[2]
    task = FrameTask(last, kind=kind, relative_to=other if relative else None)
    q, v = robot.random((), seed), np.random.default_rng(seed).normal(size=robot.n_v)
    near = mechanism.integrate(q, 1e-3 * v)
    T = robot.forward_kinematics(near, frame=last)
    if relative:
        T = np.linalg.inv(robot.forward_kinematics(near, frame=other)) @ T
    target = {"pose": T, "position": T[:3, 3], "rotation": T[:3, :3], "position+axis": (T[:3, 3], T[:3, 2])}[kind]
    ((e, J),) = all_rows(mechanism, [task], q, task.numbers(mechanism, target))
    assert e.shape == (task.n_rows,)
    assert np.allclose(J @ (1e-3 * v), e, atol=FIRST_ORDER)


def test_rows_of_the_centre_of_mass_and_of_momentum(body):
    q, v = bent(body), np.random.default_rng(1).normal(size=body.n_v)
    near = body.mechanism.integrate(q, 1e-4 * v)
    tasks = [CenterOfMassTask(), MomentumTask()]
    targets = np.concatenate([body.center_of_mass(near), np.zeros(6)])
    center, momentum = all_rows(body.mechanism, tasks, q, targets, DT)
    assert np.allclose(center.J @ (1e-4 * v), center.e, atol=1e-7)
    assert np.allclose((momentum.J @ v)[:3], body.momentum(q, v)[:3])


def test_rotation_vectors_up_to_half_a_turn():
    rng = np.random.default_rng(0)
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-9, np.pi):
        for _ in range(20):
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            R = zveno.rotations.exp(angle * axis)
            assert np.allclose(zveno.rotations.exp(rotation_vector(R)), R, atol=1e-9)
            assert np.linalg.norm(rotation_vector(R)) == pytest.approx(angle, abs=1e-7)


# --- steps


def test_steps_take_frames_and_the_centre_of_mass_to_their_targets(body):
    q = bent(body)
    goal = body.mechanism.integrate(q, 0.1 * np.random.default_rng(2).normal(size=body.n_v))
    frames = FEET + HANDS
    targets = targets_at(body, goal, frames) | {"center_of_mass": body.center_of_mass(goal)}
    solver = ik.DifferentialIK(body, [*(FrameTask(f) for f in frames), CenterOfMassTask()], DT, velocity=False)
    step = None
    for _ in range(40):
        step = solver(q, targets, previous=step)
        assert step.status == "solved"
        assert np.allclose(step.q, body.mechanism.integrate(q, DT * step.v), atol=1e-12)
        q = step.q
    assert solver(q, targets).errors.max() < 1e-6


def test_a_step_is_the_optimum_of_its_program(body):
    """Without strict tasks and rows: against a projected gradient on the program written out here."""
    q = bent(body, 3)
    goal = body.mechanism.integrate(q, 0.05 * np.random.default_rng(4).normal(size=body.n_v))
    targets = targets_at(body, goal, FEET) | {"center_of_mass": body.center_of_mass(goal), "posture": goal}
    tasks = [FrameTask(FEET[0], (2.0, 0.5), 0.7), FrameTask(FEET[1]), CenterOfMassTask(3.0), PostureTask(0.1)]
    fastest = np.full(body.n_v, 4.0)
    step = ik.DifferentialIK(body, tasks, DT, velocity=fastest, limits=False)(q, targets)
    rows = all_rows(
        body.mechanism, tasks[:3], q,
        np.concatenate([targets[FEET[0]][:3].ravel(), targets[FEET[1]][:3].ravel(), targets["center_of_mass"]]),
    )  # fmt: skip
    scale = [np.array([2.0] * 3 + [0.5] * 3), np.ones(6), np.full(3, 3.0)]
    A = np.concatenate([w[:, None] * row.J for w, row in zip(scale, rows, strict=True)])
    b = np.concatenate([w * gain * row.e for w, gain, row in zip(scale, (0.7, 1.0, 1.0), rows, strict=True)])
    joints = np.arange(body.n_v) >= 6
    change = np.where(joints, body.mechanism.difference(q, goal), 0.0)
    H = A.T @ A + np.diag(0.01 * joints) + 1e-6 * np.eye(body.n_v)
    slope = H @ (DT * step.v) - A.T @ b - 0.01 * change
    at_limit = abs(step.v) > 4.0 - 1e-9
    assert np.array_equal(at_limit, step.active != 0)
    assert at_limit.any()
    assert abs(slope[~at_limit]).max() < 1e-10
    assert (slope[at_limit] * np.sign(step.v[at_limit]) < 0).all()
    assert (abs(step.v) <= 4.0 + 1e-9).all()


def test_a_batch_is_its_single_states(body):
    q = np.stack([bent(body, k) for k in range(5)])
    solver = ik.DifferentialIK(body, [FrameTask(HANDS[0]), CenterOfMassTask()], DT)
    T = body.forward_kinematics(np.stack([bent(body, k + 9) for k in range(5)]), frame=HANDS[0])
    together = solver(q, {HANDS[0]: T, "center_of_mass": np.zeros(3)})
    assert together.v.shape == (5, body.n_v)
    for k in range(5):
        alone = solver(q[k], {HANDS[0]: T[k], "center_of_mass": np.zeros(3)})
        assert np.allclose(alone.v, together.v[k], atol=1e-9)
        assert together.status[k] == alone.status == "solved"


# --- limits


def test_positions_velocities_and_accelerations_stay_within_limits(body):
    q, step = body.neutral(), None
    reach = {HANDS[0]: np.array([2.0, 0.1, 1.0])}  # far out of reach
    solver = ik.DifferentialIK(body, [FrameTask(HANDS[0], kind="position")], DT, acceleration=50.0, velocity=2.0)
    joints = slice(6, None)
    for _ in range(200):
        before = np.zeros(body.n_v) if step is None else step.v
        step = solver(q, reach, previous=step)
        assert step.solved
        assert (abs(step.v) <= 2.0 + 1e-9).all()
        assert (abs(step.v - before)[joints] <= 50.0 * DT + 1e-9).all()
        q = step.q
        assert (q[7:] <= 2.0 + 1e-12).all()
        assert (q[7:] >= -2.0 - 1e-12).all()


def test_beyond_a_limit_it_goes_back_and_is_not_infeasible(body):
    q = body.neutral()
    q[7:11] = 2.05  # drifted past the upper limit
    solver = ik.DifferentialIK(body, [FrameTask(HANDS[0])], DT, velocity=1.0)
    targets = targets_at(body, q, HANDS[:1])
    for _ in range(60):
        step = solver(q, targets)
        assert step.solved
        assert (abs(step.v) <= 1.0 + 1e-9).all()
        q = step.q
    assert (q[7:11] <= 2.0 + 1e-3).all()


def test_clearance_keeps_a_foot_off_the_arm():
    body = humanoid("fixed")
    clearance = zveno.Clearance(radius=0.05, pairs=[("arm2_link", "left_leg2_link")])
    q = body.pack({"arm1": 2.0, "arm2": 1.0, "left_leg1": -0.5, "left_leg2": 0.5})
    goal = {FEET[0]: body.forward_kinematics(q, frame="arm2_link")[:3, 3]}
    task = [FrameTask(FEET[0], kind="position")]
    free = ik.DifferentialIK(body, task, DT)
    kept = ik.DifferentialIK(body, task, DT, clearance=clearance, margin=0.01)
    ends = []
    for solver in (free, kept):
        x, nearest, step = q, np.inf, None
        for _ in range(150):
            step = solver(x, goal, previous=step)
            assert step.solved
            x = step.q
            nearest = min(nearest, kept.capsules.distances(x).min())
        ends.append(nearest)
    assert ends[0] < -0.01
    assert ends[1] > 0.01 - 1e-3


def test_the_centre_of_mass_stays_above_its_support(body):
    q = body.neutral()
    corners = np.array([[-0.02, -0.05], [0.02, -0.05], [0.02, 0.05], [-0.02, 0.05]])
    tasks = [FrameTask(FEET[0]), FrameTask(FEET[1]), CenterOfMassTask()]
    targets = targets_at(body, q, FEET) | {"center_of_mass": body.center_of_mass(q) + [0.06, 0.0, 0.0]}
    solver = ik.DifferentialIK(body, tasks, DT, support=corners)
    step = None
    for _ in range(60):
        step = solver(q, targets, previous=step)
        assert step.solved
        q = step.q
    c = body.center_of_mass(q)
    assert c[0] == pytest.approx(0.02, abs=1e-4)
    assert (step.active_rows != 0).any()
    with pytest.raises(zveno.ZvenoError, match="counter-clockwise"):
        solver(q, targets, support=corners[::-1])


# --- priorities


def test_strict_tasks_are_not_disturbed(body):
    q = bent(body, 5)
    targets = targets_at(body, q, FEET + HANDS)
    targets[HANDS[0]] = targets[HANDS[0]].copy()
    targets[HANDS[0]][:3, 3] += [1.0, 0.5, 1.0]  # out of reach
    hands = [FrameTask(f, 10.0) for f in HANDS]
    weighted = ik.DifferentialIK(body, [*(FrameTask(f) for f in FEET), *hands], DT, velocity=1.0)
    strict = ik.DifferentialIK(body, [*(FrameTask(f, math.inf) for f in FEET), *hands], DT, velocity=1.0)
    moved = []
    for solver in (weighted, strict):
        x, step = q, None
        for _ in range(100):
            step = solver(x, targets, previous=step)
            assert step.solved
            x = step.q
        moved.append(step.errors)
    assert moved[0][:2].max() > 1e-2
    assert moved[1][:2].max() < 1e-3
    assert moved[1][2] < np.linalg.norm([1.0, 0.5, 1.0])  # the hand still does what it can


def test_strict_tasks_that_contradict_each_other_share_the_error():
    """Two feet asked farther apart than legs reach: no contradiction of the program, the least squares of both."""
    body = humanoid("fixed")
    q = bent(body, 1)
    targets = {f: np.array([0.0, y, -5.0]) for f, y in zip(FEET, (3.0, -3.0), strict=True)}
    solver = ik.DifferentialIK(body, [FrameTask(f, math.inf, kind="position") for f in FEET], DT)
    step = solver(q, targets)
    assert step.solved
    assert np.isfinite(step.v).all()


# --- bases and followers


@pytest.mark.parametrize("base", ["fixed", "free", "trunk"])
def test_any_base(base):
    body = humanoid(base)
    q = bent(body, 2)
    goal = body.mechanism.integrate(q, 0.05 * np.random.default_rng(1).normal(size=body.n_v))
    targets = targets_at(body, goal, FEET)
    solver = ik.DifferentialIK(body, [FrameTask(f) for f in FEET], DT, velocity=False)
    for _ in range(30):
        q = solver(q, targets).q
    assert solver(q, targets).errors.max() < 1e-5


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_random_mechanisms_with_followers_reach_what_is_near(seed):
    mechanism = random_mechanism(seed, 6, mimic=0.5)
    robot = zveno.Robot(mechanism)
    frame = mechanism.link_names[-1]
    q = robot.random((), seed)
    goal = mechanism.integrate(q, 0.02 * np.random.default_rng(seed).normal(size=robot.n_v))
    target = {frame: robot.forward_kinematics(goal, frame=frame)}
    solver = ik.DifferentialIK(robot, [FrameTask(frame)], DT, velocity=False, limits=False)
    for _ in range(60):
        q = solver(q, target).q
    assert solver(q, target).errors.max() < 1e-4


# --- bad input


def test_bad_input_is_refused_with_one_clear_error(body):
    one = [FrameTask(HANDS[0])]
    massless = zveno.load("Rz(q1) Tx(1) Rz(q2) Tx(1)")
    cases = [
        (lambda: ik.DifferentialIK(body, [], DT), "nothing to do"),
        (lambda: ik.DifferentialIK(body, [FrameTask(HANDS[0]), FrameTask(HANDS[0])], DT), "asked for twice"),
        (lambda: ik.DifferentialIK(body, [FrameTask("tail")], DT), "tail"),
        (lambda: ik.DifferentialIK(body, [FrameTask(HANDS[0], relative_to=HANDS[0])], DT), "relative to itself"),
        (lambda: ik.DifferentialIK(body, [FrameTask(HANDS[0], kind="twist")], DT), "twist"),
        (lambda: ik.DifferentialIK(body, [FrameTask(HANDS[0], -1.0)], DT), "weight"),
        (lambda: ik.DifferentialIK(body, [FrameTask(HANDS[0], gain=2.0)], DT), "gain"),
        (lambda: ik.DifferentialIK(body, ["hand"], DT), "not a task"),
        (lambda: ik.DifferentialIK(body, one, 0.0), "dt"),
        (lambda: ik.DifferentialIK(body, one, -1e-3), "dt"),
        (lambda: ik.DifferentialIK(body, one, np.nan), "dt"),
        (lambda: ik.DifferentialIK(body, one, DT, limits={"arm0": (1.0, -1.0)}), "limits are empty"),
        (lambda: ik.DifferentialIK(body, one, DT, velocity=-1.0), "velocity"),
        (lambda: ik.DifferentialIK(body, one, DT, acceleration=[1.0, 2.0]), "acceleration"),
        (lambda: ik.DifferentialIK(massless, [CenterOfMassTask()], DT), "no mass"),
        (lambda: ik.DifferentialIK(body, one, DT, margin=np.nan), "margin"),
        (lambda: ik.DifferentialIK(body, one, DT, support="wide"), "support"),
        (lambda: ik.DifferentialIK(body, one, DT, clearance=0.1), "clearance"),
    ]
    for call, says in cases:
        with pytest.raises(zveno.ZvenoError, match=says):
            call()


def test_bad_targets_are_refused_with_one_clear_error(body):
    solver = ik.DifferentialIK(body, [FrameTask(HANDS[0])], DT)
    q, good = body.neutral(), np.eye(4)
    with_nan, skewed = good.copy(), good.copy()
    with_nan[0, 3], skewed[0, 0] = np.nan, 1.1
    mirrored, scaled = np.diag([1.0, 1.0, -1.0, 1.0]), np.diag([1.0, 1.0, 1.0, 2.0])
    for targets, says in (
        ({HANDS[0]: with_nan}, "NaN"),
        ({HANDS[0]: skewed}, "rigid"),
        ({HANDS[0]: mirrored}, "rigid"),
        ({HANDS[0]: scaled}, "rigid"),
        ([good], "by name"),
        ({HANDS[0]: np.zeros(3)}, "shape"),
        ({}, "missing"),
        ({HANDS[0]: good, "tail": good}, "tail"),
    ):
        with pytest.raises(zveno.ZvenoError, match=says):
            solver(q, targets)
    with pytest.raises(zveno.ZvenoError, match="q"):
        solver(q[:-1], {HANDS[0]: good})
    with pytest.raises(zveno.ZvenoError, match="NaN"):
        solver(np.full(body.n_q, np.nan), {HANDS[0]: good})
    with pytest.raises(zveno.ZvenoError, match="quaternion"):
        solver(np.where(np.arange(body.n_q) == 3, 2.0, q), {HANDS[0]: good})
    with pytest.raises(zveno.ZvenoError, match="previous"):
        solver(q, {HANDS[0]: good}, previous=np.zeros(body.n_v))
    with pytest.raises(zveno.ZvenoError, match="support"):
        solver(q, {HANDS[0]: good}, support=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
