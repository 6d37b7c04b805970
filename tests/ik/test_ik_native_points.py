"""Points by three joints, and wrists behind them, in one compiled program: the same answers as the careful way."""

from __future__ import annotations

import numpy as np
import pytest
from arm_classes import arm_classes
from ik_answers import in_batches, same

import zveno
from tiers import every
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import native_solver
from zveno.ik.native.points import program as points
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate
from zveno.mechanism.edit import fix_joints

PREFIXES = "point by", "spherical wrist behind"
CLASSES = {name: of_class for name, of_class in arm_classes().items() if name.startswith(PREFIXES)}


def program_of(name: str):
    """The program of an arm without limits."""
    of_class = CLASSES[name]
    return structured_program(points.all_solutions, of_class.solver(of_class.endless).arm)[0]


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("name", every(CLASSES))
def test_every_class_answers_as_the_careful_way(name):
    """In NumPy, so that nothing is built."""
    robot, task = CLASSES[name].endless, CLASSES[name].task
    T = robot.forward_kinematics(np.random.default_rng(1).uniform(-1.5, 1.5, (40, robot.n_q)))
    limits = problem_of(robot, task=task).limits
    table, careful = evaluate(program_of(name), T, limits), robot.ik(T, task=task, method="closed_form")
    sure, n = table[:, -1, 1] == 1, robot.n_q
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(table[sure, -1, 0], careful.count[sure])
    assert set(careful.codes[sure]) == {0}
    solutions = table[sure, : careful.q.shape[1]]
    np.testing.assert_allclose(solutions[..., :n], careful.q[sure], atol=1e-9)


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
    assert (in_batches(solver, T)[:, -1, 1] == 1).mean() > 0.95  # the careful way is not what answers
    broken = p.copy()
    broken[3, 1] = np.nan
    with pytest.raises(zveno.errors.ShapeError, match="pose 3 holds NaN"):
        robot.ik(broken, task="position")


def test_a_zero_less_is_not_sure(monkeypatch):
    """Without limits signs of det J tell; a list that is too short for all zeros says so itself."""
    robot = CLASSES["point by RRR"].endless
    T = robot.forward_kinematics(np.random.default_rng(1).uniform(-1.5, 1.5, (20, 3)))
    whole = evaluate(program_of("point by RRR"), T, problem_of(robot, task="position").limits)
    assert (whole[:, -1, 1] == 1).mean() > 0.9
    monkeypatch.setattr(points, "MOST_ZEROS", 1)
    table = evaluate(program_of("point by RRR"), T, problem_of(robot, task="position").limits)
    assert not (table[whole[:, -1, 0] > 1, -1, 1] == 1).any()


def test_a_point_at_the_edge_is_not_sure_and_one_beyond_is_not_reached():
    robot = CLASSES["point by RRR, special"].endless
    problem = problem_of(robot, task="position")
    q = np.array([0.4, 0.3, 0.2])
    assert evaluate(program_of("point by RRR, special"), robot.forward_kinematics(q), problem.limits)[-1, 1] == 1
    far = robot.forward_kinematics(q)
    far[:3, 3] += 10.0 * problem.length
    answer = robot.ik(far[:3, 3].copy(), task="position")
    assert (answer.count, answer.status) == (0, "unreachable")


def test_a_slide_far_away_is_neither_taken_for_infinity_nor_listed_in_doubt():
    """A zero at infinity is not a solution and no doubt; one that nearly is there is left to the careful way."""
    of_class = CLASSES["point by PPP"]
    problem = problem_of(of_class.endless, task="position")
    program, T = program_of("point by PPP"), of_class.endless.forward_kinematics(np.array([0.3, 0.2, 0.1]))
    assert evaluate(program, T, problem.limits)[-1, 1] == 1
    far = T.copy()
    far[:3, 3] *= 1e9 * problem.length
    assert evaluate(program, far, problem.limits)[-1, 1] == 0


def test_a_pose_in_doubt_has_the_same_bits_alone_and_in_a_batch():
    of_class = arm_classes()["point by RPP"]
    robot = of_class.limited
    T = of_class.poses(robot, 50, 3)[:12]
    together = robot.ik(T, task="position")
    for k, pose in enumerate(T):
        alone = robot.ik(pose, task="position")
        assert alone.status == together.status[k]
        np.testing.assert_array_equal(alone.q, together.of(k))
