"""What may be asked for: tasks, frames, limits, windings, and what is said where limits or reach leave nothing."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.ik.ik_problem import problem_of
from zveno.ik.pose_error import walk
from zveno.ik.solve import solve_ik
from zveno.io.load import load_mechanism
from zveno.mechanism.edit import fix_joints


@pytest.mark.parametrize("task", ["position", "position+axis", (1, 1, 0, 0, 0, 0), (1, 1, 1, 0, 0, 1), "rotation"])
def test_tasks_with_fewer_equations_are_met(task):
    robot = zveno.Robot(
        fix_joints(load_mechanism("puma560"), ["joint4"] if task != "position" else ["joint4", "joint5", "joint6"])
    )
    T = robot.forward_kinematics(robot.random(5, 3))
    found = solve_ik(robot, T, task=task)
    for k in range(5):
        own = robot.forward_kinematics(found.of(k))
        assert len(own), found.reason(k)
        R = np.swapaxes(T[k, None, :3, :3], 1, 2)
        away = (R @ (own[:, :3, 3] - T[k, :3, 3])[..., None])[..., 0]
        E = R @ own[:, :3, :3]
        if task == "position+axis":
            assert np.abs(away).max() < 1e-9
            assert np.abs(E[:, :, 2] - [0, 0, 1]).max() < 1e-9
        elif task == "rotation":
            assert np.abs(E - np.eye(3)).max() < 1e-9
        else:
            rows = 3 if task == "position" else int(np.sum(task[:3]))
            assert np.abs(away[:, :rows]).max() < 1e-9
            if rows == 3 and task != "position":
                assert np.abs(E[:, 1, 0] - E[:, 0, 1]).max() < 2e-9


def test_a_position_may_be_given_as_a_point():
    robot = zveno.load("planar2")
    T = robot.forward_kinematics([0.4, 0.9])
    assert np.allclose(solve_ik(robot, T[:3, 3], task="position").q, solve_ik(robot, T, task="position").q)


def test_windings_are_all_the_turns_that_limits_allow():
    robot = zveno.load("ur5")  # ±360° in every joint
    T = robot.forward_kinematics(robot.random(3, 2))
    plain, wound = solve_ik(robot, T, method="scan"), solve_ik(robot, T, method="scan").windings()
    span = (robot.upper - robot.lower) / (2 * np.pi)
    assert np.all(wound.count == plain.count * np.prod(np.floor(span + 1e-9)))
    for k in range(3):
        own = wound.of(k)
        assert np.abs(robot.forward_kinematics(own) - T[k]).max() < 1e-9
        assert np.all((own >= robot.lower) & (own <= robot.upper))
        assert len(np.unique(np.round(own, 6), axis=0)) == len(own)


def test_expert_limits_narrow_the_scan():
    robot = zveno.load("puma560")
    q = np.array([0.3, -0.5, 0.4, 0.2, 0.9, -0.3])
    T = robot.forward_kinematics(q)
    narrow = {name: (value - 0.2, value + 0.2) for name, value in zip(robot.joint_names, q, strict=True)}
    found = solve_ik(robot, T, limits=narrow, method="scan")
    assert found.count == 1
    assert np.abs(found.q[0] - q).max() < 1e-9
    assert np.array_equal(solve_ik(robot, T, limits=(q - 0.2, q + 0.2), method="scan").q, found.q)


def test_excluded_by_limits_says_which_and_by_how_much():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics([0.3, -0.5, 0.4, 0.2, 0.9, -0.3])
    found = solve_ik(robot, T, limits={"joint5": (-0.1, 0.1)})
    assert found.status == "excluded by limits"
    # A scan samples: it says the same numbers, and proves nothing.
    scanned = solve_ik(robot, T, limits={"joint5": (-0.1, 0.1)}, method="scan")
    assert scanned.status == "undecided"
    assert scanned.limit_excess == pytest.approx(found.limit_excess, abs=1e-6)
    free = solve_ik(robot, T, method="scan")
    least = np.abs(np.abs(free.q[:, 4]) - 0.1).min()
    assert found.limit_excess[4] == pytest.approx(least, abs=1e-6)
    assert np.count_nonzero(found.limit_excess) == 1
    assert "joint5" in found.summary


def test_unreachable_gives_the_nearest_pose():
    robot = zveno.load("planar2")
    reach = np.linalg.norm(robot.forward_kinematics(np.zeros(2))[:3, 3])
    found = solve_ik(robot, [reach + 0.3, 0.0, 0.0], task="position")
    assert found.status == "unreachable"
    assert found.distance[0] == pytest.approx(0.3, abs=1e-6)
    assert np.abs(wrapped(found.nearest)).max() < 1e-3
    close = solve_ik(robot, [reach + 0.3, 0.0, 0.0], task="position").within(0.31, 0.0)
    assert close.status == "within tolerance"
    assert close.count == 1


def test_relative_to_another_frame():
    robot = zveno.load("puma560")
    q = robot.random(4, 9)
    frame = robot.link_names[3]
    T = np.linalg.inv(robot.forward_kinematics(q, frame=frame)) @ robot.forward_kinematics(q)
    found = solve_ik(robot, T, relative_to=frame)
    for k in range(4):
        own = found.of(k)
        back = np.linalg.inv(robot.forward_kinematics(own, frame=frame)) @ robot.forward_kinematics(own)
        assert np.abs(back - T[k]).max() < 1e-9
        assert np.abs(wrapped(own - q[k])[:, 3:]).max(axis=1).min() < 1e-6


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_a_problem_is_the_mechanism(seed):
    """The chain of any two frames, with every joint type, mimics and both directions, is the mechanism's."""
    mechanism = _between_mark_and_tool(seed)
    robot, rng = zveno.Robot(mechanism), np.random.default_rng(seed)
    reference, frame = "mark", "tool"
    problem = problem_of(mechanism, frame, reference, limits=False, held=mechanism.random(rng))
    x = rng.uniform(-1.0, 1.0, (5, problem.n))
    q = problem.to_q(x)
    T = np.linalg.inv(robot.forward_kinematics(q, frame=reference)) @ robot.forward_kinematics(q, frame=frame)
    for k in range(5):
        assert np.abs(problem.forward(x[k]) - T[k]).max() < 1e-12
        moved = walk(problem, x[k] / problem.units, problem.tool)  # in solvers' units, followers of other kinds too
        seen = problem.end_transforms[0] @ T[k]
        assert np.abs(moved.p * problem.length - seen[:3, 3]).max() < 1e-11
        assert np.abs(moved.R - seen[:3, :3]).max() < 1e-12
    back = problem_of(mechanism, reference, frame, limits=False, held=q[0])
    y = rng.uniform(-1.0, 1.0, back.n)
    p = back.to_q(y)
    T = np.linalg.inv(robot.forward_kinematics(p, frame=frame)) @ robot.forward_kinematics(p, frame=reference)
    assert np.abs(back.forward(y) - T).max() < 1e-12


def _between_mark_and_tool(seed: int):
    """The first random mechanism from a seed on in which a joint moves one frame relative to the other."""
    for draw in range(seed, seed + 900, 30):
        mechanism = random_mechanism(draw, n=9)
        robot = zveno.Robot(mechanism)
        q = mechanism.random(np.random.default_rng(draw))
        T = [robot.forward_kinematics(at, frame="mark") for at in (mechanism.neutral(), q)]
        S = [robot.forward_kinematics(at, frame="tool") for at in (mechanism.neutral(), q)]
        if np.abs(np.linalg.solve(T[0], S[0]) - np.linalg.solve(T[1], S[1])).max() > 1e-6:
            return mechanism
    raise AssertionError("no mechanism has a joint between its frames")


@pytest.mark.parametrize(("name", "joint"), [("ur5", 2), ("puma560", 4)])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_what_rounding_moves_across_a_limit_is_not_claimed(name, joint, side):
    """Beside a singular pose coordinates are known to rounding over the least singular value only."""
    robot, q = zveno.load(name), np.array([0.3, -0.9, 1.1, 0.7, 0.8, 0.4])
    for value, gap in ((1e-5, 1e-8), (1e-7, 1e-10), (1e-9, 1e-9)):
        q[joint] = value
        lower = np.full(6, -7.0)
        lower[joint] = value + side * gap
        T = robot.forward_kinematics(q)
        told = robot.ik(T, limits=(lower, np.full(6, 7.0)))
        assert (told.status == "complete") == (value == 1e-5), told.reason()
        if value == 1e-5:
            listed = np.abs(wrapped(told.q - q)).max(axis=1) < 1e-9
            assert listed.any() == (side < 0)
