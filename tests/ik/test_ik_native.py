"""The compiled closed forms: the same answers as the careful way, in NumPy, in lanes and in C."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import replace

import numpy as np
import pytest
from ik_answers import ROUNDING, in_batches, robot_of, same, wrapped
from ik_arms import industrial_arms, known_arms
from ik_edges import edge_poses

import zveno
from zveno import ik
from zveno.ik import _judge
from zveno.ik._judge import jacobians
from zveno.ik.closed_form import forms
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import native_solver
from zveno.ik.native.arm_tables import ArmClass
from zveno.ik.native.program import all_solutions
from zveno.ik.newton import lanes_of
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate


def solver_of(robot):
    solver = native_solver(problem_of(robot))
    assert solver is not None
    return solver


def both(robot, T) -> tuple[ik.Solutions, ik.Solutions]:
    return robot.ik(T), robot.ik(T, method="closed_form")


@pytest.mark.parametrize("name", ["puma560", "ur5"])
def test_answers_are_those_of_the_careful_way(name):
    robot = zveno.load(name)
    T = robot.forward_kinematics(robot.random(300, 1))
    native, careful = both(robot, T)
    same(native, careful)
    same(*both(robot, T.reshape(10, 30, 4, 4)))
    for pose in T[:5]:
        same(*both(robot, pose))
    table = in_batches(solver_of(robot), T)
    assert (table[:, -1, 1] == 1).mean() > 0.98  # the careful way is not what answers


@pytest.mark.parametrize("name", ["puma560", "ur5"])
def test_what_is_sure_is_certified(name):
    """Wrists from 1e-8 to 1e-2 rad bent: where a pose is sure, Kantorovich's condition holds for every row."""
    robot = zveno.load(name)
    problem = problem_of(robot, limits=False)
    q = robot.random(300, 5)
    q[:, 4] = 10.0 ** np.linspace(-8, -2, 300)
    T = robot.forward_kinematics(q)
    table = solver_of(robot)._batches(T, problem.limits)
    sure = table[:, -1, 1] == 1
    assert not sure[:40].any()
    assert sure[150:].mean() > 0.95
    pose, row = np.nonzero(sure[:, None] & np.isfinite(table[:, :-1, 0]))
    J = jacobians(problem, table[pose, row, :6], lanes_of(problem, T), pose)
    K, reach = _judge.certificate_numbers(problem, problem.length)
    assert (4.0 * K * _judge.ROUNDING * reach <= np.linalg.svd(J, compute_uv=False)[:, -1] ** 2).all()
    same(robot.ik(T, limits=False), robot.ik(T, limits=False, method="closed_form"))


@pytest.mark.laws
@pytest.mark.parametrize("name", ["puma560", "ur5", *[f"industrial {k}" for k in range(4)]])
def test_answers_at_singularities_limits_and_edges(name):
    arms = [arm for arm in industrial_arms(12) if forms.solver.applies(problem_of(robot_of(arm)))]
    robot = zveno.load(name) if " " not in name else robot_of(arms[int(name.split()[1])])
    for limits in (True, False):
        T = edge_poses(robot, 40, seed=len(name))
        native = robot.ik(T, limits=limits)
        same(native, robot.ik(T, limits=limits, method="closed_form"))


@pytest.mark.laws
def test_every_class_of_arms_agrees():
    """All regional structures, walked forwards and backwards, without limits: signs of det J count there."""
    seen = set()
    for arm in (*known_arms().values(), *industrial_arms(30)):
        robot = robot_of(arm)
        if not forms.solver.applies(problem_of(robot)):
            continue
        solver = native_solver(problem_of(robot))
        if solver is None or solver.arm.of_class in seen:
            continue
        seen.add(solver.arm.of_class)
        program, _ = structured_program(all_solutions, solver.arm)
        T = robot.forward_kinematics(robot.random(30, 2))
        table, careful = evaluate(program, T, solver.chain.limits), robot.ik(T, method="closed_form")
        sure = table[:, -1, 1] == 1
        assert sure.mean() > 0.8
        np.testing.assert_array_equal(table[sure, -1, 0], careful.count[sure])
        assert set(careful.codes[sure]) == {0}
        q = table[sure, : careful.q.shape[1], :6]
        assert np.nanmax(abs(wrapped(q - careful.q[sure]))) < ROUNDING
    assert len(seen) >= 5


def test_numpy_and_lanes_give_the_same_numbers():
    robot = zveno.load("ur5")
    solver, T = solver_of(robot), edge_poses(robot, 4)
    program, _ = structured_program(all_solutions, solver.arm)
    expected, table = evaluate(program, T, solver.chain.limits), in_batches(solver, T)
    one = np.stack([solver._single(pose, solver.chain.limits) for pose in T])
    certain = (expected[:, -1, 1] == 1) & (table[:, -1, 1] == 1)
    assert certain.mean() > 0.4
    for other in (table, one):
        assert (other[:, -1, 1] != expected[:, -1, 1]).mean() < 0.02  # where a bound is met to rounding
        np.testing.assert_allclose(other[certain, :, :6], expected[certain, :, :6], atol=ROUNDING)


def test_an_arm_of_a_known_class_builds_nothing():
    robot = zveno.load("puma560")
    longer = robot.with_tool(np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.3], [0, 0, 0, 1]]))
    first, second = solver_of(robot), solver_of(longer)
    assert first.arm.fingerprint == second.arm.fingerprint
    assert not np.array_equal(first.arm.row, second.arm.row)
    T = longer.forward_kinematics(longer.random(20, 0))
    same(*both(longer, T))


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("lost", [0, 3, 7])
def test_a_branch_less_is_not_sure(lost, monkeypatch):
    """Of an arm without limits the signs of det J tell; one that repeats another is told by being the same."""
    robot = zveno.load("puma560")
    solver = native_solver(problem_of(robot, limits=False))
    assert solver is not None
    arm = solver.arm
    T = robot.forward_kinematics(robot.random(20, 3))
    program, _ = structured_program(all_solutions, arm)
    assert (evaluate(program, T, solver.chain.limits)[:, -1, 1] == 1).mean() > 0.9
    whole = arm.of_class.signs
    repeated = whole.copy()
    repeated[lost] = whole[(lost + 1) % 8]
    monkeypatch.setattr(ArmClass, "signs", repeated)
    program, _ = structured_program(all_solutions, arm)
    table = evaluate(program, T, solver.chain.limits)
    real = table[:, -1, 0] + table[:, -1, 2] > 0
    assert not (table[real, -1, 1] == 1).all()


@pytest.mark.laws
def test_what_is_near_a_bound_is_not_sure():
    robot = zveno.load("ur5")
    solver = solver_of(robot)
    program, _ = structured_program(all_solutions, solver.arm)
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.9, 0.2])

    def sure(q, limits=solver.chain.limits) -> bool:
        return bool(evaluate(program, robot.forward_kinematics(np.array(q)), limits)[-1, 1])

    assert sure(q)
    singular, stretched, turned = q.copy(), q.copy(), q.copy()
    singular[4], stretched[2], turned[5] = 1e-8, 1e-8, np.pi
    assert not sure(singular)
    assert not sure(stretched)
    assert not sure(turned)
    lower, _, middle = solver.chain.limits
    assert not sure(q, np.array([lower, q, middle]))
    assert not sure(q, np.array([q + 1.0, q + 2.0, q + 1.5]))


def test_an_order_that_rounding_decides_is_the_same_alone_and_in_a_batch():
    """Solutions of a PUMA share their first coordinate, which is compared in steps of 1e-6."""
    robot = zveno.load("puma560")
    q = np.tile([0.0, -1.0, 0.9, 0.4, 0.9, 0.2], (100, 1))
    q[:, 0] = (np.arange(100) + 0.5) * 1e-6
    T = robot.forward_kinematics(q)
    answer = robot.ik(T)
    assert (answer.status == "complete").all()
    for pose, rows in zip(T, answer.q, strict=True):
        np.testing.assert_array_equal(robot.ik(pose).q, rows[np.isfinite(rows[:, 0])])


def test_what_is_not_a_pose_is_refused_as_before():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(4, 0))
    broken = T.copy()
    broken[2, 0, 3] = np.nan
    with pytest.raises(zveno.errors.ShapeError, match="pose 2 holds NaN"):
        robot.ik(broken)
    stretched = T.copy()
    stretched[1, :3, :3] *= 2.0
    with pytest.raises(zveno.errors.ShapeError, match="pose 1 is not one"):
        robot.ik(stretched)
    loose = T.copy()
    loose[1, :3, :3] *= 1.0 + 1e-6
    with pytest.warns(zveno.ZvenoWarning, match="made orthonormal"):
        native = robot.ik(loose)
    assert native.count[1] == robot.ik(T).count[1]
    empty = robot.ik(T[:0])
    assert empty.q.shape[0] == 0
    assert len(empty) == 0


def test_fields_are_made_when_they_are_asked_for():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(3, 0))
    given = T[0].copy()
    answer, careful = robot.ik(given), robot.ik(given, method="closed_form")
    given[:] = 0.0  # the caller's own
    assert "condition" not in vars(answer)
    same(answer, careful)
    for made in (
        pickle.loads(pickle.dumps(robot.ik(T))),
        copy.copy(robot.ik(T)),
        replace(robot.ik(T), frame="tool"),
    ):
        np.testing.assert_array_equal(made.q, robot.ik(T).q)
    assert robot.ik(T).to_dict() == robot.ik(T).to_dict()
    assert {field.name for field in dataclasses.fields(answer)} == vars(answer).keys() - {"_make"}
    with pytest.raises(AttributeError, match="nothing"):
        _ = robot.ik(T).nothing
