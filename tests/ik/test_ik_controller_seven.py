"""Seven joints in C with the angle of one as an argument: claims are those of the slice that Python cuts there."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped
from ik_in_c import NO_POSE, run

import zveno
from zveno.ik._judge import certificate_numbers
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.bounds import SINGLE
from zveno.ik.native.controller import controller_ik
from zveno.ik.native.held_joint import usable_joints, without_joint
from zveno.ik.redundant import seven_revolute
from zveno.ik.solutions import COMPLETE, UNDECIDED
from zveno.kernels.evaluate import evaluate


def compared_with_slices(robot, coordinate, T, angles, q, count, status):
    """Claims of C for one angle against the slice that Python cuts there."""
    problem = problem_of(robot)
    not_listed = ~(np.arange(q.shape[1]) < count[:, None])
    np.testing.assert_array_equal(np.isnan(q), np.broadcast_to(not_listed[..., None], q.shape))
    assert (status == COMPLETE).mean() > 0.5
    for i in range(len(T)):
        slices = seven_revolute.solve_slices(problem, T[i : i + 1], coordinate, angles[i : i + 1])
        own = q[i, : int(count[i])]
        if status[i] != UNDECIDED:
            assert len(slices.x) == count[i]
        if status[i] == COMPLETE:
            assert abs(wrapped(own[:, None] - slices.x)).max(2).min(1).max() < 1e-8
        assert (own[:, coordinate] == angles[i]).all()
        assert len(own) == 0 or abs(robot.forward_kinematics(own) - T[i]).max() < 1e-8


@pytest.mark.parametrize("name", ["panda", pytest.param("iiwa14", marks=pytest.mark.laws)])
def test_seven_joints_with_the_redundant_one_as_an_argument(name, tmp_path):
    robot = zveno.load(name)
    truth = robot.random(30, 3)
    T, angles = robot.forward_kinematics(truth), truth[:, 6].copy()
    q, count, status = run(robot, tmp_path, [T, angles])
    compared_with_slices(robot, 6, T, angles, q, count, status)
    _, nothing, outside = run(robot, tmp_path, [T[:2], np.array([9.0, np.nan])])
    assert (outside == NO_POSE).all()
    assert (nothing == 0).all()
    page = (tmp_path / f"README_{name}.md").read_text()
    assert "Joint `joint7` is the redundant one" in page
    assert "`joint6`, `joint7`" in page


MIDDLE = [("panda", "joint6"), ("panda", "joint4"), ("iiwa14", "joint3")]
"""With a meeting point that moves along the axes, with axes that turn, and walked forwards."""


@pytest.mark.parametrize(("name", "joint"), MIDDLE)
def test_a_joint_in_the_middle_can_be_the_argument(name, joint):
    robot = zveno.load(name)
    coordinate = robot.joint_names.index(joint)
    truth = robot.random(12, 4)
    T, angles = robot.forward_kinematics(truth), truth[:, coordinate].copy()
    q, count, status = evaluate(controller_ik(robot, None, False, joint).program, T, angles)
    compared_with_slices(robot, coordinate, T, angles, q, count, status)
    found = abs(wrapped(q - truth[:, None])).max(2)
    assert np.nanmin(found[status == COMPLETE], axis=1).max() < 1e-8


@pytest.mark.laws
def test_a_joint_in_the_middle_in_c(tmp_path):
    robot = zveno.load("panda")
    truth = robot.random(200, 4)
    T, angles = robot.forward_kinematics(truth), truth[:, 3].copy()
    q, count, status = run(robot, tmp_path, [T, angles], redundant="joint4")
    compared_with_slices(robot, 3, T, angles, q, count, status)
    found = np.nanmin(abs(wrapped(q - truth[:, None])).max(2)[status == COMPLETE], axis=1)
    assert len(found) > 190
    assert found.max() < 1e-8


def margins_of(robot, coordinate, x):
    """1/‖J⁻¹‖ of the other joints, lengths over the arm's, and by how much the pose is missed at the next limit."""
    others = np.delete(np.arange(7), coordinate)
    J = robot.jacobian(x)[..., others]
    J[:, :3] /= problem_of(robot).length
    least = 1.0 / np.linalg.norm(np.linalg.inv(J), axis=(1, 2))
    over = np.maximum(robot.lower - x, x - robot.upper)[:, others].max(axis=1)
    return least.min(initial=np.inf), (abs(over) * np.minimum(1.0, least)).min(initial=np.inf)


@pytest.mark.laws
def test_float_is_sure_where_seven_digits_allow_it(tmp_path):
    """All solutions of a slice, in double and limits disregarded, say where `float` may claim: there only.

    Certificates need a singular value that depends on the rounding left in a row: between these two.
    """
    robot = zveno.load("panda")
    truth = robot.random(200, 4)
    T, angles = robot.forward_kinematics(truth), truth[:, 3].copy()
    q, count, status = run(robot, tmp_path, [T, angles], True, "joint4")
    problem = problem_of(robot)
    free, middle = problem.without_limits(), 0.5 * (robot.lower + robot.upper)
    K, reach = certificate_numbers(problem, problem.length)
    singular = np.sqrt(4.0 * K * (SINGLE.rounding * reach + np.array([0.0, 2.0 * SINGLE.closed])))
    margin = np.empty((len(T), 2))
    for i in range(len(T)):
        every = seven_revolute.solve_slices(free, T[i : i + 1], 3, angles[i : i + 1]).x
        every = middle + wrapped(every - middle)
        least, to_limit = margins_of(robot, 3, every)
        margin[i] = np.minimum(least / singular, to_limit / SINGLE.slack)
        own = every[((every >= robot.lower) & (every <= robot.upper)).all(axis=1)]
        if status[i] == COMPLETE:
            assert len(own) == count[i]
            off = abs(wrapped(q[i, : len(own), None] - own)).max(2).min(1)
            assert off.max() < 4.0 * SINGLE.closed / least
    sure, never = margin[:, 1] > 1.1, margin[:, 0] < 0.9
    assert (status[sure] == COMPLETE).all()
    assert (status[never] == UNDECIDED).all()
    assert min(sure.sum(), never.sum()) > 20  # neither side of the law is empty


@pytest.mark.laws
@pytest.mark.parametrize(("name", "joint"), [("gen3", "joint7"), ("panda", "joint3")])
def test_seven_joints_without_a_closed_form(name, joint):
    """In NumPy: sanitizers take long over a megabyte of C. A link that turns is eliminated at run time."""
    robot = zveno.load(name)
    truth = robot.random(4, 3)
    coordinate = int(joint[-1]) - 1
    T, angles = robot.forward_kinematics(truth), truth[:, coordinate].copy()
    written = controller_ik(robot, None, False, joint)
    q, count, status = evaluate(written.program, T, angles)
    compared_with_slices(robot, coordinate, T, angles, q, count, status)
    assert "roots of a polynomial" in written.page


@pytest.mark.parametrize("coordinate", [0, 2, 6])
def test_six_joints_are_what_is_left_of_seven(coordinate):
    problem = problem_of(zveno.load("iiwa14"))
    assert coordinate in usable_joints(problem)
    q = np.random.default_rng(2).uniform(-1, 1, 7)
    six = without_joint(problem, coordinate, q[coordinate])
    np.testing.assert_allclose(six.forward(np.delete(q, coordinate)), problem.forward(q), atol=1e-12)


def test_a_joint_that_cannot_be_the_argument_is_refused(tmp_path):
    export = zveno.load("iiwa14").export_c
    with pytest.raises(zveno.ZvenoError, match="Name one of joint1, joint2, joint3, joint5"):
        export(
            ["inverse_kinematics"], tmp_path, redundant_joint="joint4", timed=False
        )  # the elbow alone sets the reach
    with pytest.raises(zveno.ZvenoError, match="joint9"):
        export(["inverse_kinematics"], tmp_path, redundant_joint="joint9", timed=False)
    with pytest.raises(zveno.ZvenoError, match="Leave it out"):
        zveno.load("ur5").export_c(["inverse_kinematics"], tmp_path, redundant_joint="joint1", timed=False)
    with pytest.raises(zveno.ZvenoError, match="Export `double`"):
        zveno.load("gen3").export_c(
            ["inverse_kinematics"], tmp_path, single=True, redundant_joint="joint7", timed=False
        )
    with pytest.raises(zveno.ZvenoError, match="applies only to inverse_kinematics"):
        export(["jacobian"], tmp_path, redundant_joint="joint4", timed=False)
