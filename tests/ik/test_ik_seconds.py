"""`seconds`: the time of a call ends between its steps, and what is not finished is not claimed.

The clock here ticks once whenever it is read, so that a call can be stopped at each of the places where it looks.
"""

import itertools
from functools import partial

import numpy as np
import pytest

import zveno
from zveno import ik
from zveno.ik import clock
from zveno.ik.solve import solve_ik, solve_near

PUMA, UR5, PANDA = zveno.load("puma560"), zveno.load("ur5"), zveno.load("panda")
ALIGNED = np.array([0.3, -0.8, 0.9, 0.4, 0.0, 0.7])
REGULAR = ALIGNED + 0.1
MIDDLE = (PANDA.lower + PANDA.upper) / 2
OPEN = {"undecided", "sampled", "within tolerance", "not proved"}
"""Statuses that do not say that something is missing nowhere."""


def beyond(T: np.ndarray, metres: float) -> np.ndarray:
    """A pose moved along the world's x axis."""
    moved = T.copy()
    moved[0, 3] += metres
    return moved


CALLS = {
    "closed form, aligned wrist": (PUMA, PUMA.forward_kinematics(ALIGNED), {}),
    "six revolute, aligned wrist": (UR5, UR5.forward_kinematics(ALIGNED), {"method": "six_revolute"}),
    "scan": (PUMA, PUMA.forward_kinematics(REGULAR), {"method": "scan"}),
    "scan, aligned wrist": (PUMA, PUMA.forward_kinematics(ALIGNED), {"method": "scan"}),
    "slices": (PANDA, PANDA.forward_kinematics(MIDDLE), {"method": "scan", "samples": 4}),
    "slices of seven revolute joints": (PANDA, PANDA.forward_kinematics(MIDDLE), {"samples": 4}),
    "grid of slices": (PUMA, PUMA.forward_kinematics(REGULAR)[:3, 3], {"task": "position", "samples": 8}),
    "certified": (PUMA, PUMA.forward_kinematics(REGULAR), {"method": "certified"}),
    "tolerance": (PUMA, PUMA.forward_kinematics(REGULAR), {"tolerance": zveno.ik.Tolerance(rotation=0.1)}),
    "unreachable": (PUMA, beyond(PUMA.forward_kinematics(REGULAR), 3.0), {"method": "scan"}),
    "no solution from a start": (PUMA, beyond(PUMA.forward_kinematics(REGULAR), 3.0), {"local": True}),
}


@pytest.fixture
def ticks(monkeypatch) -> itertools.count:
    """A clock that moves on by a second each time it is read."""
    count = itertools.count()
    monkeypatch.setattr(clock.time, "monotonic", lambda: float(next(count)))
    return count


SLOW = {"six revolute, aligned wrist"}


@pytest.mark.parametrize(
    "call", [pytest.param(call, marks=pytest.mark.laws) if call in SLOW else call for call in CALLS]
)
def test_a_call_that_is_stopped_anywhere_claims_nothing_and_says_so(call, ticks):
    if call == "certified":
        pytest.importorskip("flint")
    robot, pose, options = CALLS[call]
    options = dict(options)
    solve = partial(solve_near if options.pop("local", False) else solve_ik, robot, pose, **options)
    whole = solve(timeout=1e6)
    looks = next(ticks)
    assert looks >= 2, "a call that never looks at the clock cannot be stopped"
    stops = np.unique([1, max(1, looks // 3), max(1, looks - 1)])
    stopped = 0
    for seconds in stops.tolist():
        before = next(ticks)
        answer = solve(timeout=seconds - 0.5)
        late = next(ticks) - before - 1 - seconds
        assert late <= 60, f"goes on for {late} looks at the clock after the time is over"
        if answer.status == whole.status and answer.count == whole.count and "time was over" not in answer.summary:
            continue
        stopped += 1
        assert answer.status in OPEN
        assert "the time was over" in answer.summary
    assert stopped


def test_solutions_of_a_call_that_was_stopped_are_solutions(ticks):
    for robot, pose, options in CALLS.values():
        if "method" in options and options["method"] != "certified" and pose.shape == (4, 4):
            answer = robot.ik(pose, timeout=4, **options)
            np.testing.assert_allclose(
                robot.forward_kinematics(answer.of()), np.broadcast_to(pose, (len(answer), 4, 4)), atol=2e-9
            )


def test_without_seconds_the_clock_is_not_read(ticks):
    for robot, pose, options in CALLS.values():
        if options.get("method") != "certified" and "local" not in options:
            robot.ik(pose, **options)
    assert next(ticks) == 0


def test_threads_of_a_scan_see_the_clock(ticks):
    poses = PUMA.forward_kinematics(PUMA.random((160,), 1))
    threads = zveno.kernels.threads.get_threads()
    zveno.set_threads(2)
    try:
        answer = PUMA.ik(poses, method="scan", timeout=9)
    finally:
        zveno.set_threads(threads)
    assert answer.status[0] == "sampled"
    assert (answer.status[1:] == "undecided").any()
    assert any("time was over" in note for note in answer.notes.values())


@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_starts_belong_to_their_poses_with_a_timeout_too(shape):
    robot = zveno.load("puma560")
    q = robot.random(shape, 3)
    T, start = robot.forward_kinematics(q), q + 0.1
    without = ik.local(robot, T, start).solutions
    answer = ik.local(robot, T, start, timeout=60.0).solutions
    np.testing.assert_array_equal(answer.q, without.q)
    assert answer.status.tolist() == without.status.tolist()
