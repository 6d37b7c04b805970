"""Points by three joints in one compiled program: the same answers as the careful way."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ik_answers import same
from sliding_arms import placed, sliding_edges, sliding_robot

import zveno
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import native_solver
from zveno.ik.native.points import program as points
from zveno.kernels.structured.build import structured_program
from zveno.kernels.structured.evaluate import evaluate
from zveno.mechanism.edit import fix_joints

CLASSES = [(f"{a}{b}R", special) for a, b in product("RP", repeat=2) for special in (False, True)]


def robot_of(kinds: str, special: bool, turns: float | None = None):
    """Three joints; in special ones the second axis is along the first, or across it where one of them slides."""
    rng = np.random.default_rng(3)
    placements = [placed(rng) for _ in kinds]
    if special:
        rotation = np.eye(3) if kinds[:2] == "RR" else np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
        placements[1] = placed(rng, rotation=rotation)
    return sliding_robot(kinds, placements, placed(rng), turns)


def program_of(robot, limits=True):
    solver = native_solver(problem_of(robot, limits=limits, task="position"))
    assert solver is not None
    return structured_program(points.all_solutions, solver.arm)[0]


@pytest.mark.parametrize(("kinds", "special"), CLASSES)
def test_every_class_answers_as_the_careful_way(kinds, special):
    """In NumPy, so that nothing is built."""
    robot = robot_of(kinds, special)
    T = robot.forward_kinematics(np.random.default_rng(1).uniform(-1.5, 1.5, (40, 3)))
    table, careful = evaluate(program_of(robot), T), robot.ik(T, task="position", method="closed_form")
    sure = table[:, -1, 1] == 1
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(table[sure, -1, 0], careful.count[sure])
    assert set(careful.codes[sure]) == {0}
    solutions = table[sure, : careful.q.shape[1]]
    np.testing.assert_allclose(solutions[..., :3], careful.q[sure], atol=1e-9)


def test_points_and_poses_alone_and_in_batches():
    robot = zveno.Robot(fix_joints(zveno.load("puma560").mechanism, ["joint4", "joint5", "joint6"]))
    T = robot.forward_kinematics(robot.random(100, 1))
    careful = robot.ik(T, task="position", method="closed_form")
    same(robot.ik(T, task="position"), careful)
    p = T[:, :3, 3].copy()
    by_points = robot.ik(p, task="position", method="closed_form")
    same(robot.ik(p, task="position"), by_points)
    same(robot.ik(p[0].copy(), task="position"), robot.ik(p[0], task="position", method="closed_form"))
    same(robot.ik(T[0].copy(), task="position"), robot.ik(T[0], task="position", method="closed_form"))
    solver = native_solver(problem_of(robot, task="position"))
    assert solver is not None
    assert (solver._batches(T)[:, -1, 1] == 1).mean() > 0.95  # the careful way is not what answers
    broken = p.copy()
    broken[3, 1] = np.nan
    with pytest.raises(zveno.ShapeError, match="pose 3 holds NaN"):
        robot.ik(broken, task="position")


def test_a_zero_less_is_not_sure(monkeypatch):
    """Without limits signs of det J tell; a list that is too short for all zeros says so itself."""
    robot = robot_of("RRR", False)
    T = robot.forward_kinematics(np.random.default_rng(1).uniform(-1.5, 1.5, (20, 3)))
    whole = evaluate(program_of(robot), T)
    assert (whole[:, -1, 1] == 1).mean() > 0.9
    monkeypatch.setattr(points, "MOST_ZEROS", 1)
    table = evaluate(program_of(robot), T)
    assert not (table[whole[:, -1, 0] > 1, -1, 1] == 1).any()


def test_a_point_at_the_edge_is_not_sure_and_one_beyond_is_not_reached():
    robot = robot_of("RRR", True)
    problem = problem_of(robot, task="position")
    q = np.array([0.4, 0.3, 0.2])
    assert evaluate(program_of(robot), robot.forward_kinematics(q))[-1, 1] == 1
    far = robot.forward_kinematics(q)
    far[:3, 3] += 10.0 * problem.length
    answer = robot.ik(far[:3, 3].copy(), task="position")
    assert (answer.count, answer.status) == (0, "unreachable")


@pytest.mark.slow
@pytest.mark.parametrize("turns", [None, 2.5])
@pytest.mark.parametrize(("kinds", "special"), CLASSES)
def test_answers_at_singularities_limits_and_edges(kinds, special, turns):
    robot = robot_of(kinds, special, turns)
    T = sliding_edges(robot, 60, seed=4)
    same(robot.ik(T, task="position"), robot.ik(T, task="position", method="closed_form"))
