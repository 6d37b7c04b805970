"""The compiled program of general arms with six revolute joints: the same answers as the careful way."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from ik_answers import ROUNDING, in_batches, robot_of, same
from ik_arms import Arm, general_arms, industrial_arms, known_arms
from ik_edges import edge_poses

import zveno
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import NativeSolver, native_solver
from zveno.ik.native.six_revolute import search
from zveno.ik.native.six_revolute.program import all_solutions
from zveno.ik.native.six_revolute.tables import general_arm
from zveno.ik.request import IkRequest
from zveno.ik.six_revolute import roots
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate

LIMITED = (np.full(6, -2.5), np.full(6, 2.0))


@cache
def arms() -> dict[str, Arm]:
    """By name: of general ones the target enters both among the first links and among the last."""
    named = {"jaco": known_arms()["jaco"], "manseur_doty": known_arms()["manseur_doty"]}
    chosen = (*general_arms(3, seed=500), industrial_arms(8, seed=600)[7])
    return named | {arm.name: arm for arm in chosen}


def solver_of(arm: Arm, limits=True) -> NativeSolver:
    solver = native_solver(problem_of(robot_of(arm), limits=limits))
    assert solver is not None
    assert solver.method == "six_revolute"
    return solver


def sure(table: np.ndarray) -> np.ndarray:
    return table[..., -1, 1] == 1


@pytest.mark.parametrize("name", ["general0", "general2"])
def test_answers_are_those_of_the_careful_way(name):
    arm = arms()[name]
    robot = robot_of(arm)
    _, T = arm.poses(200)
    for limits in (True, LIMITED) if name == "general0" else (True,):
        careful = robot.ik(T, limits=limits, method="six_revolute")
        same(robot.ik(T, limits=limits), careful)
        answer = robot.ik(T.reshape(10, 20, 4, 4), limits=limits)
        np.testing.assert_array_equal(answer.count.ravel(), careful.count)
        for pose in T[:3]:
            same(robot.ik(pose, limits=limits), robot.ik(pose, limits=limits, method="six_revolute"))
    table = in_batches(solver_of(arm), T)
    assert sure(table).mean() > 0.98  # the careful way is not what answers


@cache
def by_another_joint(name: str) -> np.ndarray:
    """Poses that the polynomial of one joint leaves in doubt and that of another does not."""
    arm = arms()[name]
    solver, (_, T) = solver_of(arm), arm.poses(20_000, seed=9)
    T = T[~sure(in_batches(solver, T))]
    return T[sure(solver._batches_again(T, solver.chain.limits))]


@pytest.mark.parametrize("name", ["general0", "general2"])
def test_a_second_polynomial_decides_where_the_first_does_not(name):
    robot, solver, T = robot_of(arms()[name]), solver_of(arms()[name]), by_another_joint(name)
    assert len(T) > 5

    def careful(poses):
        raise AssertionError("the careful way was asked")

    request = IkRequest(solver.chain, solver.chain.limits, solver.chain.held)
    answer = solver.many(T, request, careful)
    assert answer is not None
    same(answer, robot.ik(T, method="six_revolute"))
    for pose in T[:3]:
        one = solver.one(pose, request, careful)
        assert one is not None
        same(one, robot.ik(pose, method="six_revolute"))


def test_a_second_polynomial_makes_the_same_program():
    for name, arm in arms().items():
        solver = solver_of(arm)
        assert solver._again is not None, name
        assert solver._again.fingerprint == solver.arm.fingerprint
        assert not np.array_equal(solver._again.row, solver.arm.row)


def test_both_sides_of_the_loop_have_a_program():
    assert {solver_of(arms()[name]).arm.of_class.left for name in ("general0", "general2")} == {False, True}


@pytest.mark.laws
@pytest.mark.parametrize("name", ["jaco", "manseur_doty", "general0", "general2", "industrial7"])
def test_answers_at_singularities_limits_and_edges(name):
    robot = robot_of(arms()[name])
    T = edge_poses(robot, 12, seed=len(name))
    for limits in (True, LIMITED):
        same(robot.ik(T, limits=limits), robot.ik(T, limits=limits, method="six_revolute"))


@pytest.mark.laws
@pytest.mark.parametrize("name", ["jaco", "general1", "general2", "industrial7"])
def test_counts_and_statuses_over_many_poses(name):
    robot = robot_of(arms()[name])
    for seed in range(4):
        _, T = arms()[name].poses(2500, seed)
        native, careful = robot.ik(T), robot.ik(T, method="six_revolute")
        np.testing.assert_array_equal(native.count, careful.count)
        np.testing.assert_array_equal(native.codes, careful.codes)


@pytest.mark.laws
def test_numpy_and_lanes_give_the_same_numbers():
    arm = arms()["general2"]
    solver, (_, T) = solver_of(arm), arm.poses(12, seed=3)
    program, _ = structured_program(all_solutions, solver.arm)
    expected, table = evaluate(program, T, solver.chain.limits), in_batches(solver, T)
    one = np.stack([solver._single(pose, solver.chain.limits) for pose in T])
    assert sure(expected).mean() > 0.9
    for other in (table, one):
        np.testing.assert_array_equal(sure(other), sure(expected))
        np.testing.assert_allclose(other[..., :6], expected[..., :6], atol=ROUNDING)


def test_other_arms_have_no_program():
    """Fewer joints, and tasks that are not a pose."""
    arm = arms()["general0"]
    assert general_arm(problem_of(robot_of(arm))) is not None
    assert general_arm(problem_of(robot_of(arm), task="position")) is None
    shorter = Arm("five joints", arm.F[:5], arm.tool, arm.lower[:5], arm.upper[:5])
    assert general_arm(problem_of(robot_of(shorter))) is None


def test_an_arm_of_a_known_class_builds_nothing():
    first, second = (solver_of(arms()[name]).arm for name in ("general0", "general1"))
    assert first.fingerprint == second.fingerprint
    assert not np.array_equal(first.row, second.row)


@cache
def whole() -> tuple[np.ndarray, np.ndarray]:
    """Poses of an arm with up to sixteen solutions, and their answers."""
    _, T = arms()["manseur_doty"].poses(4, seed=2)
    solver = solver_of(arms()["manseur_doty"])
    return T, evaluate(structured_program(all_solutions, solver.arm)[0], T, solver.chain.limits)


def _empty_below(bound: float):
    classified = roots.classified

    def wrong(c, y, r, derivatives):
        kind, at = classified(c, y, r, derivatives)
        return search.where(search.less(y, bound), roots.EMPTY, kind), at

    return wrong


@pytest.mark.laws
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(search, "MOST_ROOTS", 3), (search, "MOST_WAITING", 1), (roots, "classified", _empty_below(-1.9))],
    ids=["too many roots", "too many cells to split", "a root is overlooked"],
)
def test_what_is_lost_on_the_way_is_not_claimed(module, name, value, monkeypatch):
    """Signs of det J tell that one solution is missing."""
    T, expected = whole()
    assert sure(expected).all()
    monkeypatch.setattr(module, name, value)
    solver = solver_of(arms()["manseur_doty"])
    table = evaluate(structured_program(all_solutions, solver.arm)[0], T, solver.chain.limits)
    missing = expected[:, -1, 0] - table[:, -1, 0]
    told = missing % 2 == 1 if name == "classified" else missing > 0
    assert told.any()
    assert not sure(table)[told].any()


def test_what_is_near_a_bound_is_not_sure():
    arm = arms()["general0"]
    robot, solver = robot_of(arm), solver_of(arm)
    q, (lower, upper, middle) = np.array([0.3, -1.0, 1.2, 0.4, 0.9, 0.2]), solver.chain.limits

    def claimed(q, lower=lower, upper=upper, middle=middle) -> bool:
        return bool(sure(solver._single(robot.forward_kinematics(np.array(q)), np.array([lower, upper, middle]))))

    assert claimed(q)
    turned = q.copy()
    turned[5] = np.pi
    assert not claimed(turned)
    assert not claimed(q, upper=q.copy())
    assert not claimed(q, lower=q + 1.0, upper=q + 1.001, middle=q + 1.0005)


def test_what_is_not_a_pose_is_refused_as_before():
    arm = arms()["general0"]
    robot = robot_of(arm)
    _, T = arm.poses(4)
    broken = T.copy()
    broken[2, 0, 3] = np.nan
    with pytest.raises(zveno.errors.ShapeError, match="pose 2 holds NaN"):
        robot.ik(broken)
    with pytest.raises(zveno.errors.ShapeError, match="pose 0 holds NaN"):
        robot.ik(broken[2])
    assert len(robot.ik(T[:0])) == 0
