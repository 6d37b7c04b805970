"""The tracker: limits and speeds for any input, true statuses, no jumps, rest out of reach, C = Python."""

from __future__ import annotations

import numpy as np
import pytest
from ik_in_c import run_exported

import zveno
from mechanisms import SINGLE, random_mechanism
from tiers import few
from zveno import ik
from zveno.ik._tracker.controller import controller_tracker
from zveno.ik._tracker.program import errors
from zveno.ik.ik_problem import IkProblem, problem_of
from zveno.ik.targets import placed

NAMED = ("ur5", "panda", "puma560", "scara", "stanford", "iiwa14", "xarm7")
DT = 0.004
SPEED = 2.0
REACHED = 1.1e-9


def robot_of(name: str) -> zveno.Robot:
    """A shipped robot, or a random chain with followers, slides and screws: "random3"."""
    if name.startswith("random"):
        return zveno.Robot(random_mechanism(int(name[6:]), 7, SINGLE, branching=0.2, mimic=0.3))
    return zveno.load(name)


def wanderings(robot: zveno.Robot, n: int, k: int, rng: np.random.Generator, share: float = 0.5) -> np.ndarray:
    """Smooth motions (n, k, n_q) inside limits, of all joints at up to a share of SPEED."""
    low, high = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    size = 0.45 * (high - low) * rng.uniform(0.2, 1.0, (n, robot.n_q))
    rate = share * SPEED / np.maximum(size, 0.05)
    t = DT * np.arange(k)
    phase = rng.uniform(0.0, 6.0, (n, 1, robot.n_q))
    return 0.5 * (low + high) + size[:, None] * np.sin(rate[:, None] * t[:, None] + phase)


def odd_poses(robot: zveno.Robot, n: int, rng: np.random.Generator) -> np.ndarray:
    """Poses anywhere, out of reach, half a turn off, exactly singular, reflected, scaled, NaN, infinite, zero."""
    T = robot.forward_kinematics(robot.random(n, rng))
    kind = rng.integers(10, size=n)
    T[kind == 1, :3, 3] *= 5.0
    T[kind == 2, :3, 3] *= 1e6
    T[kind == 3, :3, :3] = T[kind == 3, :3, :3] @ np.diag([1.0, -1.0, -1.0])
    T[kind == 4] = robot.forward_kinematics(np.clip(np.zeros(robot.n_q), robot.lower, robot.upper))
    T[kind == 5, :3, :3] *= -1.0
    T[kind == 6, :3, :3] *= 1.1
    T[kind == 7, 0, 3] = np.nan
    T[kind == 8, 1, 1] = np.inf
    T[kind == 9] = 0.0
    return T


@pytest.mark.parametrize("name", few([*NAMED, *(f"random{k}" for k in range(20))], 3))
def test_limits_speeds_and_statuses_are_true_for_any_input(name):
    """In a stream that jumps from pose to pose, most of which make no sense, with pauses of several periods."""
    robot, rng = robot_of(name), np.random.default_rng(1)
    frame = robot.mechanism.frame(None).name
    if not problem_of(robot).n:
        pytest.skip("nothing moves the frame")
    tracker = ik.Tracker(robot, DT, velocity=SPEED)
    problem = problem_of(robot)
    q = robot.random(20, rng)
    for k in range(40):
        if k % 5 == 0:
            T = odd_poses(robot, len(q), rng)
        step = tracker(q, T)
        assert (abs(step.q - q) <= SPEED * DT * (1.0 + 1e-12)).all()
        assert ((step.q >= robot.lower - 1e-12) & (step.q <= robot.upper + 1e-12)).all()
        assert (step.q == q)[step.status == "held"].all()
        R = np.where(np.isfinite(T).all(axis=(1, 2), keepdims=True), T, 0.0)[:, :3, :3]
        fine = (abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)) < 1e-9).all(axis=(1, 2)) & (np.linalg.det(R) > 0)
        assert (step.status[~fine] == "held").all()
        before, after = (miss(problem, x, T, fine) for x in (q, step.q))
        tracked = step.status[fine] == "tracked"
        assert (abs(step.q[fine] - q[fine]).max(axis=1) > 0)[step.status[fine] == "limited"].all()
        reached = robot.forward_kinematics(step.q[fine], frame=frame)
        gap = abs(reached - T[fine]).max(axis=(1, 2))
        assert (gap[tracked] < 3 * REACHED).all()
        assert (gap[~tracked] > 1e-10).all()
        assert (after <= np.maximum(before, 1e-9) * (1 + 1e-9)).all()
        q = step.q


def miss(problem: IkProblem, q: np.ndarray, T: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Norm of the error, lengths over the arm's."""
    targets, _ = placed(problem, T[which])
    x = q[which][:, problem.places] / problem.units
    return np.array([np.linalg.norm(errors(problem, *pair)[0]) for pair in zip(x, targets, strict=True)])


@pytest.mark.parametrize("name", few([*NAMED, *(f"random{k}" for k in range(12))], 3))
def test_a_motion_of_the_robot_is_tracked(name):
    """Every pose of it, once away from singularities; six joints come back to the motion itself."""
    robot, rng = robot_of(name), np.random.default_rng(2)
    motion = wanderings(robot, 6, 200, rng)
    T = robot.forward_kinematics(motion)
    tracker, q = ik.Tracker(robot, DT, velocity=SPEED), motion[:, 0]
    regular = np.ones(6, bool)
    for k in range(1, 200):
        step = tracker(q, T[:, k])
        regular &= least_singular(robot, motion[:, k]) > 0.08
        assert (step.status[regular] == "tracked").all()
        if not problem_of(robot).redundancy and robot.n_q == problem_of(robot).n:
            assert abs(step.q - motion[:, k])[regular].max(initial=0.0) < 1e-6
        q = step.q


def least_singular(robot: zveno.Robot, q: np.ndarray) -> np.ndarray:
    J = robot.jacobian(q)
    return np.linalg.svd(J, compute_uv=False)[:, min(J.shape[1:]) - 1]


@pytest.mark.parametrize("name", few(["puma560", "ur5", "panda", "iiwa14"], 2))
def test_a_wrist_singularity_is_passed_without_a_jump(name):
    """The tool is led straight through the singular pose: speeds hold, and behind it the pose is tracked again."""
    robot = zveno.load(name)
    rng, wrist = np.random.default_rng(3), {"panda": 5, "iiwa14": 5}.get(name, 4)
    for _ in range(5):
        middle = np.clip(robot.random((), rng), -1.5, 1.5)
        middle = np.clip(middle, robot.lower + 0.6, robot.upper - 0.6)
        a, b = middle.copy(), middle.copy()
        centre = np.clip(0.0, robot.lower[wrist] + 0.45, robot.upper[wrist] - 0.45)
        a[wrist], b[wrist] = centre - 0.4, centre + 0.4
        path = ik.PosePath.line(robot.forward_kinematics(a), robot.forward_kinematics(b), 400).poses
        q, tracker = a, ik.Tracker(robot, DT, velocity=SPEED)
        for T in [*path, *np.repeat(path[-1:], 1500, axis=0)]:
            step = tracker(q, T)
            assert (abs(step.q - q) <= SPEED * DT * (1.0 + 1e-12)).all()
            q = step.q
        assert step.status == "tracked" or at_a_limit(robot, q)


def at_a_limit(robot: zveno.Robot, q: np.ndarray) -> bool:
    return bool((np.minimum(q - robot.lower, robot.upper - q) < 1e-9).any())


@pytest.mark.parametrize("name", few([*NAMED, *(f"random{k}" for k in range(12))], 3))
def test_out_of_reach_the_arm_comes_to_rest_where_no_small_motion_helps(name):
    """No chatter: joints stop or creep. Where they stop, the gradient vanishes but for joints at their limits."""
    robot, rng = robot_of(name), np.random.default_rng(4)
    problem, tracker = problem_of(robot), ik.Tracker(robot, 1e-3, velocity=SPEED)
    q, T = robot.random(12, rng), robot.forward_kinematics(robot.random(12, rng))
    T[:, :3, 3] += np.array([0.0, 0.0, 3.0 * problem.length])
    last = np.zeros_like(q)
    for k in range(8000):
        step = tracker(q, T)
        if k > 7000:
            assert abs(step.v).max() < 0.1 * SPEED
            assert abs(step.v - last).max() < 1e-2 * SPEED
        q, last = step.q, step.v
    assert (step.status != "tracked").all()
    for k in np.flatnonzero(step.status == "held"):
        x = q[k, problem.places] / problem.units
        e, J = errors(problem, x, placed(problem, T[k])[0])
        pull = np.array([column @ e for column in J])
        low, high = problem.box
        free = ~((x >= high - 1e-9) & (pull > 0)) & ~((x <= low + 1e-9) & (pull < 0))
        assert abs(pull * free).max() < 1e-4 * np.linalg.norm(e)


@pytest.mark.parametrize("name", few(["panda", "iiwa14", "xarm7"], 1))
def test_a_redundant_arm_keeps_the_pose_and_approaches_its_posture(name):
    robot, rng = zveno.load(name), np.random.default_rng(5)
    for posture in (None, robot.random((), rng), np.where(np.arange(robot.n_q) == 2, 0.3, np.nan)):
        q = np.clip(robot.random(10, rng), robot.lower + 0.3, robot.upper - 0.3)
        T = robot.forward_kinematics(q)
        goal = 0.5 * (robot.lower + robot.upper) if posture is None else posture
        tracker = ik.Tracker(robot, DT, velocity=SPEED, posture=posture)
        first = last = np.nansum((q - goal) ** 2, axis=1)
        for _ in range(2500):
            step = tracker(q, T)
            assert (step.status == "tracked").all()
            q = step.q
            now = np.nansum((q - goal) ** 2, axis=1)
            assert (now <= last + 1e-9).all()
            last = now
        assert (last < first - 1e-3).sum() >= 8


def test_the_arm_returns_within_its_limits_no_faster_than_its_speed():
    robot = zveno.load("ur5")
    q, tracker = robot.neutral() + 0.3, ik.Tracker(robot, DT, limits={"shoulder_pan": (-0.1, 0.1)}, velocity=SPEED)
    T = robot.forward_kinematics(q)
    for _ in range(40):
        step = tracker(q, T)
        assert (abs(step.v) <= SPEED * (1 + 1e-12)).all()
        q = step.q
    assert abs(q[0]) <= 0.1


@pytest.mark.parametrize("name", few(["panda", "iiwa14", "ur5"], 1))
def test_statuses_are_true_beyond_limits(name):
    """A redundant arm can keep its pose while a joint returns: that is not tracked; what moves is not held."""
    robot, rng = zveno.load(name), np.random.default_rng(8)
    seen = set()
    for _ in range(20):
        q = np.clip(robot.random((), rng), robot.lower + 0.4, robot.upper - 0.4)
        upper = np.where(rng.random(robot.n_q) < 0.3, q - 0.05, robot.upper)
        tracker, T = ik.Tracker(robot, DT, limits=(robot.lower, upper), velocity=SPEED), robot.forward_kinematics(q)
        for _ in range(60):
            step = tracker(q, T)
            beyond = (step.q > upper + 1e-12).any()
            assert (step.status == "tracked") <= (not beyond)
            assert (step.status == "held") == bool((step.q == q).all() and step.error.max() > REACHED)
            seen.add((step.status, bool(beyond)))
            q = step.q
    assert ("limited", True) in seen


@pytest.mark.parametrize("task", ["position", "rotation", "position+axis", (1, 1, 0, 0, 0, 1)])
def test_tasks_that_leave_components_free(task):
    robot, rng = zveno.load("ur5"), np.random.default_rng(6)
    q = np.clip(robot.random(20, rng), -2.0, 2.0)
    goal = robot.forward_kinematics(q + rng.uniform(-0.002, 0.002, q.shape))
    step = ik.Tracker(robot, DT, task=task, velocity=SPEED)(q, goal)
    assert (step.status == "tracked").mean() > 0.8
    T = robot.forward_kinematics(step.q)[step.status == "tracked"]
    E = np.linalg.inv(goal[step.status == "tracked"]) @ T
    wanted = {
        "position": E[:, :3, 3],
        "rotation": E[:, :3, :3] - np.eye(3),
        "position+axis": E[:, :3, 2:] - np.eye(4)[:3, 2:],
    }.get(task if isinstance(task, str) else "", E[:, :2, 3])
    assert abs(wanted).max() < 1e-8


@pytest.mark.laws
@pytest.mark.parametrize("name", [*NAMED, "random0", "random1", "random2"])
@pytest.mark.parametrize("single", [False, True])
def test_c_does_what_python_does(name, single, tmp_path):
    """On 10⁴ streamed states, strange poses among them; in `float` as far as its digits go."""
    robot, rng = robot_of(name), np.random.default_rng(7)
    problem = problem_of(robot)
    tracker = ik.Tracker(with_speeds(robot), DT)
    q, T = robot.random(10_000, rng), odd_poses(robot, 10_000, rng)
    near = rng.random(10_000) < 0.5
    T[near] = robot.forward_kinematics(q[near] + rng.uniform(-1e-3, 1e-3, q[near].shape))
    step = tracker(q, T)
    posture = np.broadcast_to(tracker._posture, (len(q), problem.n))
    program = controller_tracker(with_speeds(robot), None, single).program
    given = [T, q[:, problem.places], posture, np.full(len(q), DT)]
    out, _, status = run_exported(with_speeds(robot), program, tmp_path, given, single)
    if single:
        assert (abs(out - step.q[:, problem.places])[step.codes < 2] < 0.02).mean() > 0.99
        assert ((status == 2) | np.isfinite(out).all(axis=1)).all()
        return
    held = np.isnan(out) & np.isnan(step.q[:, problem.places])
    assert (held | (abs(out - step.q[:, problem.places]) < 1e-9)).all()
    assert (status == step.codes).mean() > 0.9999


def with_speeds(robot: zveno.Robot) -> zveno.Robot:
    """The robot with a velocity limit of SPEED for every joint."""
    from dataclasses import replace

    mechanism = robot.mechanism
    joints = [
        replace(joint, limits=replace(joint.limits, velocity=SPEED)) if joint.type.n_v == 1 else joint
        for joint in mechanism.joints
    ]
    return zveno.Robot(replace(mechanism, joints=tuple(joints)))


def test_bad_input_is_refused_or_held():
    robot = zveno.load("ur5")
    tracker = ik.Tracker(robot, DT)
    q, T = robot.neutral() + 0.3, robot.forward_kinematics(robot.neutral())
    for bad in (np.full((4, 4), np.nan), np.zeros((4, 4)), 2 * T, -T):
        step = tracker(q, bad)
        assert step.status == "held"
        assert np.array_equal(step.q, q)
        assert not step.v.any()
    assert tracker(np.full(6, np.nan), T).status == "held"
    cases = [
        (lambda: ik.Tracker(robot, 0.0), "dt"),
        (lambda: ik.Tracker(robot, np.nan), "dt"),
        (lambda: ik.Tracker(robot, DT, velocity=np.inf), "velocity limit"),
        (lambda: ik.Tracker(robot, DT, velocity=-1.0), "velocity"),
        (lambda: ik.Tracker(zveno.load("doc004_arm"), DT), "velocity"),
        (lambda: ik.Tracker(robot, DT, "tail"), "tail"),
        (lambda: ik.Tracker(robot, DT, task="twist"), "twist"),
        (lambda: ik.Tracker(robot, DT, posture=[0.0]), "posture"),
        (lambda: ik.Tracker(robot.with_base("free"), DT), "quaternion"),
        (lambda: tracker(q[:5], T), "q"),
        (lambda: tracker(q, np.eye(3)), "target"),
        (lambda: tracker(q, "here"), "target"),
    ]
    for call, says in cases:
        with pytest.raises(zveno.ZvenoError, match=says):
            call()
