"""The compiled closed forms of arms with sliding joints: the same answers as the careful way."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import in_batches, same
from sliding_arms import placed, sliding_chains, sliding_robot

import zveno
from tiers import every
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import native_solver
from zveno.ik.native.program import all_solutions
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate

CHAINS = sliding_chains()


def robot_named(name: str):
    kinds, placements = CHAINS[name]
    return sliding_robot(kinds, placements, placed(np.random.default_rng(3)))


@pytest.mark.parametrize("name", every(CHAINS))
def test_every_class_answers_as_the_careful_way(name):
    """In NumPy, so that nothing is built."""
    robot = robot_named(name)
    solver = native_solver(problem_of(robot))
    assert solver is not None
    program, _ = structured_program(all_solutions, solver.arm)
    q = np.random.default_rng(1).uniform(-1.5, 1.5, (40, robot.n_q))
    T = robot.forward_kinematics(q)
    table, careful = evaluate(program, T, solver.chain.limits), robot.ik(T, method="closed_form")
    sure, n = table[:, -1, 1] == 1, robot.n_q
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(table[sure, -1, 0], careful.count[sure])
    assert set(careful.codes[sure]) == {0}
    solutions = table[sure, : careful.q.shape[1]]
    np.testing.assert_allclose(solutions[..., :n], careful.q[sure], atol=1e-9)
    np.testing.assert_allclose(solutions[..., n + 1], careful.condition[sure], rtol=1e-5)


@pytest.mark.parametrize("name", ["stanford", "scara"])
def test_answers_are_those_of_the_careful_way(name):
    robot = zveno.load(name)
    T = robot.forward_kinematics(robot.random(200, 1))
    same(robot.ik(T), robot.ik(T, method="closed_form"))
    for pose in T[:3]:
        same(robot.ik(pose.copy()), robot.ik(pose, method="closed_form"))
    solver = native_solver(problem_of(robot))
    assert solver is not None
    assert (in_batches(solver, T)[:, -1, 1] == 1).mean() > 0.98  # the careful way is not what answers


def test_a_pose_that_the_arm_cannot_reach_is_left_to_the_careful_way():
    robot = zveno.load("scara")
    tilted = robot.forward_kinematics(robot.random(5, 2))
    c, s = np.cos(0.2), np.sin(0.2)
    tilted[:, :3, :3] = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ tilted[:, :3, :3]
    answer = robot.ik(tilted)
    same(answer, robot.ik(tilted, method="closed_form"))
    assert not answer.count.any()


@pytest.mark.parametrize(("joint", "value"), [(1, 0.0), (2, 0.25)])
def test_what_is_near_a_bound_is_not_sure(joint, value):
    """A stretched elbow, and a slide at its limit."""
    robot = zveno.load("scara")
    solver = native_solver(problem_of(robot))
    assert solver is not None
    q = np.array([0.3, 0.7, 0.1, 0.2])
    program, _ = structured_program(all_solutions, solver.arm)
    limits = solver.chain.limits.copy()
    assert evaluate(program, robot.forward_kinematics(q), limits)[-1, 1] == 1
    limits[1, 2] = 0.25 / solver.chain.length
    q[joint] = value
    assert evaluate(program, robot.forward_kinematics(q), limits)[-1, 1] == 0
