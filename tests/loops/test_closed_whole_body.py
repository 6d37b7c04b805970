"""Steps and postures of mechanisms with closed loops: loops are constraints, and every answer closes them."""

import numpy as np
import pytest
from closed_machines import ankle, five_bar, palletiser

import zveno
from zveno import ZvenoError, ik
from zveno.loops import ClosedRobot
from zveno.loops.branch import closure_kernel
from zveno.loops.selection import selection

MACHINES = {
    "ankle": (ankle, "tool", "rotation"),
    "five-bar": (five_bar, "tool", "position"),
    "palletiser": (palletiser, "flange", "pose"),
}


def target_of(T: np.ndarray, kind: str) -> np.ndarray:
    return {"rotation": T[..., :3, :3], "position": T[..., :3, 3], "pose": T}[kind]


def left(robot: zveno.Robot, q: np.ndarray) -> float:
    return float(abs(closure_kernel(robot.mechanism)(q)[0]).max())


@pytest.mark.parametrize("name", MACHINES)
def test_steps_lead_to_the_target_and_keep_the_loops_closed(name):
    make, frame, kind = MACHINES[name]
    robot = make()
    closed = ClosedRobot(robot)
    q, goal = closed.q, closed.integrate(closed.q, 0.2 * np.ones(closed.n_v))
    target = {frame: target_of(robot.forward_kinematics(goal, frame), kind)}
    solver = ik.DifferentialIK(robot, [ik.FrameTask(frame, kind=kind)], 0.1, limits=False, velocity=1.0)
    step = None
    for _ in range(40):
        step = solver(q, target, previous=step)
        assert step.status == "solved"
        assert left(robot, step.q) < 1e-12
        assert np.allclose(robot.mechanism.integrate(q, 0.1 * step.v), step.q, atol=1e-12)
        assert abs(step.v).max() < 1.0 + 0.05  # joints that follow keep it to first order
        q = step.q
    assert step.errors.max() < 1e-9
    assert abs(robot.mechanism.difference(q, goal)).max() < 1e-6


@pytest.mark.parametrize("name", MACHINES)
def test_a_step_is_the_least_squares_among_motions_of_the_loops(name):
    make, frame, _ = MACHINES[name]
    robot = make()
    q, damping = ClosedRobot(robot).random(rng=1), 1e-3
    T = robot.forward_kinematics(q, frame)
    T[:3, 3] += 1e-6 * np.array([1.0, -2.0, 0.5])
    task = ik.FrameTask(frame, kind="position")
    solver = ik.DifferentialIK(robot, [task], 1.0, limits=False, velocity=False, damping=damping)
    step = solver(q, {frame: T[:3, 3]})
    J = robot.opened().jacobian(q, frame)[:3]
    rows = selection(robot.mechanism).rows
    K = closure_kernel(robot.mechanism)(q)[1][rows]
    n, m = robot.n_v, len(rows)
    whole = np.block([[J.T @ J + damping * np.eye(n), K.T], [K, np.zeros((m, m))]])
    e = T[:3, 3] - robot.forward_kinematics(q, frame)[:3, 3]
    expected = np.linalg.solve(whole, np.concatenate([J.T @ e, np.zeros(m)]))[:n]
    assert np.allclose(step.v, expected, atol=1e-9)


def test_batches_and_limits_of_motors():
    robot = ankle()
    closed = ClosedRobot(robot)
    q = closed.random(5, rng=2)
    T = robot.forward_kinematics(closed.random(5, rng=3), "tool")
    motor = robot.mechanism.v_slices["motor0"].start
    speeds = np.where(np.arange(robot.n_v) == motor, 0.2, 10.0)
    solver = ik.DifferentialIK(robot, [ik.FrameTask("tool", kind="rotation")], 0.01, limits=False, velocity=speeds)
    many = solver(q, {"tool": T[:, :3, :3]})
    assert set(many.status) == {"solved"}
    assert left(robot, many.q) < 1e-12
    assert abs(many.v[:, motor]).max() == pytest.approx(0.2, rel=1e-3)
    for k in range(5):
        one = solver(q[k], {"tool": T[k, :3, :3]})
        assert np.allclose(one.v, many.v[k], atol=1e-9)
    assert many.active_rows.shape == (5, 0)


def test_long_steps_are_shortened_and_stay_on_the_branch():
    """A tool that is asked far away in one step without a limit of velocity."""
    robot = five_bar()
    closed = ClosedRobot(robot)
    solver = ik.DifferentialIK(robot, [ik.FrameTask("tool", kind="position")], 1.0, limits=False, velocity=False)
    point, branch = robot.forward_kinematics(closed.q, "tool")[:3, 3], closed._sound(closed.q)[2]
    statuses = []
    for far in (0.1, 0.6, 2.0, 10.0):
        step = solver(closed.q, {"tool": point + [far, 0, 0]})
        statuses.append(step.status)
        assert left(robot, step.q) < 1e-12
        assert closed._sound(step.q)[2] == branch
        assert step.status == "solved" or "loops" in step.reason
    assert statuses[0] == "solved"
    assert "undecided" in statuses


@pytest.mark.parametrize("name", MACHINES)
def test_postures_close_the_loops(name):
    make, frame, kind = MACHINES[name]
    robot = make()
    goal = ClosedRobot(robot).random(rng=4)
    T = robot.forward_kinematics(goal, frame)
    found = ik.whole_body(robot, {frame: target_of(T, kind)}, limits=False, n=2)
    assert found.status == "solved"
    assert found.mechanism is robot.mechanism
    assert left(robot, found.q) < 1e-12
    for q in found.q:
        assert np.allclose(target_of(robot.forward_kinematics(q, frame), kind), target_of(T, kind), atol=1e-5)
    near = ik.whole_body(robot, {frame: target_of(T, kind)}, limits=False, q0=goal + 1e-3)
    assert abs(robot.mechanism.difference(near.q[0], goal)).max() < 1e-5


def test_postures_out_of_reach_are_not_solved():
    """The chain of the tree reaches the point; with the loop closed, the five-bar does not."""
    robot = five_bar()
    point = np.array([-0.7, 0.0, 0.1])
    assert ik.whole_body(robot.opened(), {"tool": point}).status == "solved"
    found = ik.whole_body(robot, {"tool": point})
    assert (found.status, found.count) == ("undecided", 0)


def test_targets_by_name():
    robot = five_bar()
    q = ClosedRobot(robot).q
    found = zveno.ik.whole_body(robot, {"tool": robot.forward_kinematics(q, "tool")[:3, 3]}, limits=False)
    assert found.status == "solved"
    assert left(robot, found.q) < 1e-12
    with pytest.raises(ZvenoError):
        zveno.ik.whole_body(robot, {"tol": np.zeros(3)})
