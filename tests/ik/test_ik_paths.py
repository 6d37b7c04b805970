"""Paths: branches are followed to their end, nothing jumps in silence, the best sequence is chosen."""

from __future__ import annotations

import itertools

import numpy as np

import zveno
from zveno.ik import problem_of
from zveno.ik.paths import solve_path
from zveno.ik.paths.sequence import best_sequence

ROBOT = zveno.load("puma560")


def joint_path(q0, q1, n):
    return q0 + (q1 - q0) * np.linspace(0.0, 1.0, n)[:, None]


def test_a_path_of_the_robot_comes_back():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([0.9, -0.6, 0.2, 0.7, 1.1, 0.3]), 40)
    T = ROBOT.forward_kinematics(q)
    path = solve_path(ROBOT, T, start=q[0], method="scan")
    assert path.status == "continuous"
    assert np.abs(path.q - q).max() < 1e-6
    whole = [branch for branch in path.branches if branch.ended is None]
    assert any(np.abs(branch.q - q).max() < 1e-6 for branch in whole)
    for branch in whole:
        assert np.abs(ROBOT.forward_kinematics(branch.q) - T).max() < 1e-9
        assert np.abs(np.diff(branch.q, axis=0)).max() < 0.5


def test_a_function_of_time():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([0.4, -0.8, 0.5, 0.4, 0.9, -0.2]), 10)
    times = np.linspace(0.0, 1.0, 10)
    path = solve_path(
        ROBOT, lambda t: ROBOT.forward_kinematics(q[0] + t * (q[-1] - q[0])), times, start=q[0], method="scan"
    )
    assert np.abs(path.q - q).max() < 1e-6


def test_branches_end_where_limits_or_reach_end_them():
    T0 = ROBOT.forward_kinematics([0.3, -0.8, 0.5, 0.4, 0.9, -0.2])
    T = np.repeat(T0[None], 60, axis=0)
    T[:, 0, 3] += np.linspace(0.0, 0.9, 60)
    path = solve_path(ROBOT, T, method="scan")
    assert path.status == "incomplete"
    first = path.unsolved[0]
    assert np.all(np.isnan(path.q[first]))
    for branch in path.branches:
        assert branch.ended is not None
        assert branch.ended <= first
        assert len(branch.q) == branch.ended
        assert branch.reason
        assert np.abs(np.diff(branch.q, axis=0)).max() < 0.5
    assert str(first) in path.summary


def test_a_jump_is_said_and_not_made_in_silence():
    """Two halves that no posture can do without leaving the path: joint 1 has to turn round in between."""
    narrow = {"joint1": (-1.0, 1.0), "joint3": (-0.5, 1.0)}
    q = joint_path(np.array([0.9, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([-0.9, -0.9, 0.6, 0.3, 0.8, -0.4]), 30)
    T = ROBOT.forward_kinematics(q)
    T = np.concatenate([T[:10], T[20:]])
    path = solve_path(ROBOT, T, limits=narrow, largest_step=0.3, method="scan")
    assert path.jumps == (9,)
    assert path.status == "with jumps"
    assert "after poses 9" in path.summary


def test_the_dynamic_program_is_the_best_of_all_sequences():
    problem = problem_of(ROBOT, limits=False)
    rng = np.random.default_rng(0)
    layers = [rng.uniform(-1.0, 1.0, (rng.integers(2, 5), 6)) for _ in range(5)]
    found = best_sequence(problem, layers, 1.2)

    def cost(rows):
        steps = [layers[k + 1][rows[k + 1]] - layers[k][rows[k]] for k in range(4)]
        jumps = sum(np.abs(d).max() > 1.2 for d in steps)
        return jumps, sum(d @ d for d in steps if np.abs(d).max() <= 1.2)

    best = min(cost(rows) for rows in itertools.product(*(range(len(layer)) for layer in layers)))
    assert cost(found.rows) == best
    assert len(found.jumps) == best[0]


def test_endless_joints_go_on_turning():
    robot = zveno.load("doc004_arm")  # no limits
    q = np.array([0.0, 0.7, 0.4, 0.3, 0.9, 0.2]) + np.linspace(0.0, 8.0, 60)[:, None] * np.eye(6)[0]
    path = solve_path(robot, robot.forward_kinematics(q), start=q[0], method="scan", track=False)
    assert path.status == "continuous"
    assert np.abs(path.q - q).max() < 1e-6


def test_singular_poses_are_flagged():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, -0.2, -0.4]), np.array([0.2, -0.9, 0.6, 0.3, 0.2, -0.4]), 41)
    T = ROBOT.forward_kinematics(q)
    path = solve_path(ROBOT, T, start=q[0], method="scan")
    assert 20 in path.singular or 20 in path.jumps or 19 in path.jumps
    crossing = [branch.crossings for branch in path.branches if branch.crossings]
    ended = [branch.ended for branch in path.branches if branch.ended is not None]
    assert crossing or ended
