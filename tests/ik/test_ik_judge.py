"""The judgement of configurations and the comparison of solutions, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.ik._judge import AT_ONCE, errors, jacobians, judged, spread_of_marks
from zveno.ik._rows import SAME, distinct, near
from zveno.ik.ik_problem import problem_of
from zveno.ik.newton import lanes_of
from zveno.ik.solve import solve_ik


@pytest.mark.parametrize("name", few(["puma560", "stanford", "ur5"], 1))
def test_a_judgement_is_what_matrices_say(name):
    robot = zveno.load(name)
    problem = problem_of(robot)
    rng = np.random.default_rng(3)
    q = robot.random(20, rng)
    T = robot.forward_kinematics(robot.random(20, rng))
    x = q + 2 * np.pi * np.where(problem.turning, rng.integers(-2, 3, q.shape), 0)
    found = judged(problem, x / problem.units, lanes_of(problem, T), np.arange(20))
    assert problem.inside(problem.wrapped(x)).tolist() == (found.over <= 1e-9).tolist()
    assert np.allclose(found.x * problem.units, problem.wrapped(x), atol=1e-9)
    F = robot.forward_kinematics(q)
    metres = np.linalg.norm(F[:, :3, 3] - T[:, :3, 3], axis=1)
    trace = np.trace(np.swapaxes(T[:, :3, :3], 1, 2) @ F[:, :3, :3], axis1=1, axis2=2)
    radians = np.arccos(np.clip((trace - 1) / 2, -1, 1))
    assert np.allclose(found.metres, metres, rtol=1e-9)
    assert np.allclose(found.radians, radians, atol=1e-6)
    assert np.array_equal(found.residual, np.maximum(found.metres, found.radians))
    J = jacobians(problem, x / problem.units, lanes_of(problem, T), np.arange(20))
    inverse = np.linalg.inv(J)
    assert np.allclose(found.least, 1 / np.linalg.norm(inverse, axis=(1, 2)), rtol=1e-6)
    both = np.linalg.norm(J, axis=(1, 2)) * np.linalg.norm(inverse, axis=(1, 2)) / problem.n
    assert np.allclose(found.condition, both, rtol=1e-6)


def test_many_are_judged_as_few_are():
    robot = zveno.load("puma560")
    problem, T = problem_of(robot), robot.forward_kinematics(robot.random(3, 0))
    x = robot.random(AT_ONCE + 5, 1)
    pose = np.arange(len(x)) % 3
    lanes = lanes_of(problem, T)
    whole = judged(problem, x, lanes, pose).table
    assert np.array_equal(whole[-5:], judged(problem, x[-5:], lanes, pose[-5:]).table)
    assert np.abs(errors(problem, x[:7], lanes, pose[:7])).max() > 0.1


def test_equal_solutions_cannot_have_marks_far_apart():
    """The bound behind the quick test: points within t in every coordinate have marks within t · spread."""
    robot = zveno.load("stanford")
    problem = problem_of(robot, limits=False)
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (2000, 6))
    step = rng.choice([-1e-4, 1e-4], x.shape)
    lanes, pose = lanes_of(problem, np.eye(4)[None]), np.zeros(2000, int)
    apart = np.abs(judged(problem, x + step, lanes, pose).mark - judged(problem, x, lanes, pose).mark)
    assert apart.max() <= 1e-4 * spread_of_marks(6)
    assert apart.max() > 0.5e-4 * spread_of_marks(6)


def test_repeated_solutions_are_one_and_close_ones_are_two():
    robot = zveno.load("puma560")
    problem = problem_of(robot, limits=False)
    rng = np.random.default_rng(1)
    x = rng.uniform(-np.pi, np.pi, (40, 6))
    pose = np.sort(rng.integers(0, 5, 40))
    assert len(distinct(problem, pose, x)) == 40
    twice = np.repeat(np.arange(40), 2)
    again = x[twice] + 2 * np.pi * rng.integers(-1, 2, (80, 6)) + 0.3 * SAME * rng.uniform(-1, 1, (80, 6))
    keep = distinct(problem, pose[twice], again)
    assert len(keep) == 40
    assert near(problem, again[np.sort(keep)], x).all()
    other = x[twice].copy()
    other[1::2, 2] += 1.5 * SAME
    assert len(distinct(problem, pose[twice], other)) == 80
    mixed = rng.permutation(80)
    assert len(distinct(problem, pose[twice][mixed], again[mixed])) == 40


def test_inputs_tell_poses_apart():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(20, 0))
    other = T.copy()
    other[-1, 0, 3] += 1e-3
    one, two = (solve_ik(robot, poses).inputs_hash for poses in (T, other))
    assert one != two
    assert one == solve_ik(robot, T).inputs_hash
    assert one != solve_ik(robot, T, limits=False).inputs_hash
