"""The tracker where its chain moves closed loops: closed answers, true statuses, speeds of motors kept."""

import numpy as np
import pytest
from closed_machines import ankle, five_bar, palletiser

import zveno
from zveno import ZvenoError, ik
from zveno.loops import ClosedRobot
from zveno.loops.branch import closure_kernel

MACHINES = {
    "ankle": (ankle, "tool", "rotation"),
    "five-bar": (five_bar, "tool", "position"),
    "palletiser": (palletiser, "flange", "pose"),
}
DT, SPEED = 0.004, 2.0


def left(robot: zveno.Robot, q: np.ndarray) -> float:
    return float(abs(closure_kernel(robot.mechanism)(q)[0]).max())


def tracker_of(name: str) -> tuple[zveno.Robot, str, ik.Tracker]:
    make, frame, task = MACHINES[name]
    robot = make()
    return robot, frame, ik.Tracker(robot, DT, frame, task=task, velocity=SPEED, limits=False)


@pytest.mark.parametrize("name", MACHINES)
def test_a_stream_of_poses_is_tracked(name):
    robot, frame, tracker = tracker_of(name)
    closed = ClosedRobot(robot)
    q = goal = closed.q
    for k in range(100):
        goal = closed.integrate(goal, 0.003 * np.sin(k / 20 + np.arange(closed.n_v)))
        step = tracker(q, robot.forward_kinematics(goal, frame))
        assert step.status == "tracked"
        assert left(robot, step.q) < 1e-12
        assert np.allclose(robot.integrate(q, DT * step.v), step.q, atol=1e-12)
        q = step.q
    assert abs(robot.difference(q, goal)).max() < 1e-9


@pytest.mark.parametrize("name", MACHINES)
def test_far_poses_are_approached_at_the_speed_of_the_motors(name):
    robot, frame, tracker = tracker_of(name)
    closed = ClosedRobot(robot)
    motors = list(robot.mechanism.driven_velocities)
    q, T, statuses = closed.q, robot.forward_kinematics(closed.random(rng=1), frame), []
    for _ in range(600):
        step = tracker(q, T)
        assert left(robot, step.q) < 1e-12
        assert abs(step.v[motors]).max() < SPEED * (1.0 + 1e-9)
        assert abs(step.v).max() < SPEED * 1.01
        statuses.append(step.status)
        q = step.q
        if step.status == "tracked":
            break
    assert statuses[0] == "limited"
    assert statuses[-1] == "tracked"


def test_poses_that_cannot_be_reached_or_make_no_sense():
    robot, frame, tracker = tracker_of("five-bar")
    q = ClosedRobot(robot).q
    T = robot.forward_kinematics(q, frame)
    far = T.copy()
    far[0, 3] += 5.0
    for _ in range(300):
        step = tracker(q, far)
        assert step.status in ("limited", "held")
        assert left(robot, step.q) < 1e-12
        q = step.q
    for wrong in (T * np.nan, 2.0 * T, np.zeros((4, 4))):
        step = tracker(q, wrong)
        assert step.status == "held"
        assert np.array_equal(step.q, q)
    both = tracker(q, np.stack([far, T * np.nan]))
    assert np.array_equal(both.q[1], q)
    with pytest.raises(ZvenoError, match="has shape"):
        tracker(q, np.zeros(3))


def test_what_it_does_not_take():
    robot = palletiser()
    with pytest.raises(ZvenoError, match="parts of a pose"):
        ik.Tracker(robot, DT, "flange", task=[1, 1, 1, 0, 0, 1], velocity=SPEED)
    with pytest.raises(ZvenoError, match="velocity limit of a motor"):
        ik.Tracker(robot, DT, "flange")
    with pytest.raises(ZvenoError, match="closed loops"):
        ik.Tracker(robot, DT, "flange", velocity=SPEED, posture=robot.neutral())
