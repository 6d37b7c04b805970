"""Inverse kinematics in C: what it claims is what Python says, with sanitizers on, in double and float."""

from __future__ import annotations

import numpy as np
import pytest
from arm_classes import arm_classes
from ik_answers import robot_of, wrapped
from ik_arms import dh_arm, general_arms
from ik_edges import edge_poses
from ik_in_c import NO_POSE, run
from sliding_arms import sliding_edges

import zveno
from tiers import few
from zveno.ik.ik_problem import problem_of
from zveno.ik.native import controller_six
from zveno.ik.native.controller import controller_ik
from zveno.ik.solutions import COMPLETE, EXCLUDED, UNDECIDED, UNREACHABLE
from zveno.kernels.evaluate import evaluate
from zveno.mechanism import Frame, Free, Joint, Limits, Link, Revolute, assemble
from zveno.mechanism.edit import fix_joints


@pytest.mark.laws
@pytest.mark.parametrize("name", few(["puma560", "ur5", "scara", "stanford"], 1))
def test_claims_in_c_are_those_of_python(name, tmp_path):
    robot = zveno.load(name)
    T = (edge_poses if name in ("puma560", "ur5") else sliding_edges)(robot, 12, seed=5)
    q, count, status = run(robot, tmp_path, [T])
    careful = robot.ik(T, method="closed_form")
    assert set(status) <= {COMPLETE, UNREACHABLE, EXCLUDED, UNDECIDED}
    assert (status == COMPLETE).mean() > 0.3
    sure = status != UNDECIDED
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    for i in np.flatnonzero(status == COMPLETE):
        n = int(count[i])
        assert abs(wrapped(q[i, :n] - careful.q[i, :n])).max() < 1e-9
    listed = np.arange(q.shape[1]) < count[:, None]
    np.testing.assert_array_equal(np.isnan(q).any(axis=2), ~listed)
    assert abs(robot.forward_kinematics(q[listed]) - T[np.nonzero(listed)[0]]).max() < 1e-8
    assert ((q[listed] >= robot.lower) & (q[listed] <= robot.upper)).all()


@pytest.mark.laws
def test_general_arms_have_a_program_too():
    robot = robot_of(general_arms(1, seed=500)[0])
    T = robot.forward_kinematics(robot.random(6, 1))
    q, count, status = evaluate(controller_ik(robot, None, False).program, T)
    careful = robot.ik(T, method="six_revolute")
    assert (status == COMPLETE).all()
    np.testing.assert_array_equal(count, careful.count)
    most = careful.q.shape[1]
    np.testing.assert_allclose(q[:, :most], careful.q, atol=1e-9)
    assert np.isnan(q[:, most:]).all()


@pytest.mark.laws
def test_poses_in_doubt_are_solved_once_more_by_another_angle(monkeypatch):
    # An offset wrist: roots of one angle nearly meet more often than solutions do.
    twists = [np.pi / 2, 0, np.pi / 2, -np.pi / 2, np.pi / 2, 0]
    robot = robot_of(dh_arm("offset", [0, 0.4, 0.05, 0, 0, 0], twists, [0.3, 0, 0.1, 0.4, 0.1, 0.1]))
    T = robot.forward_kinematics(robot.random(400, 0))
    twice = evaluate(controller_ik(robot, None, False).program, T)
    monkeypatch.setattr(controller_six, "second_template", lambda arm: None)
    once = evaluate(controller_ik(robot, None, False).program, T)
    doubted, left = once[2] == UNDECIDED, twice[2] == UNDECIDED
    assert doubted.sum() > 5
    assert left.sum() < doubted.sum() / 2
    assert not (left & ~doubted).any()
    for first, second in zip(once, twice, strict=True):
        np.testing.assert_array_equal(first[~doubted], second[~doubted])
    careful = robot.ik(T[~left], method="six_revolute")
    np.testing.assert_array_equal(twice[1][~left], careful.count)
    np.testing.assert_array_equal(twice[2][~left], careful.codes)
    most = careful.q.shape[1]
    assert np.nanmax(abs(wrapped(twice[0][~left, :most] - careful.q))) < 1e-9


@pytest.mark.laws  # sanitizers take long over a megabyte of C
@pytest.mark.parametrize("limits", [None, Limits(-2.5, 2.0)], ids=["endless", "limited"])
def test_claims_in_c_of_general_arms_are_those_of_python(limits, tmp_path):
    robot = robot_of(general_arms(1, seed=500)[0], limits)
    T = edge_poses(robot, 4, seed=5)
    q, count, status = run(robot, tmp_path, [T])
    careful = robot.ik(T, method="six_revolute")
    assert q.shape[1:] == (16, 6)
    sure = status != UNDECIDED
    assert (status == COMPLETE).mean() > 0.2
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    for i in np.flatnonzero(status == COMPLETE):
        assert abs(wrapped(q[i, : int(count[i])] - careful.of(int(i)))).max() < 1e-9
    assert "at most 24 roots narrowed down" in next(tmp_path.glob("README_*.md")).read_text()


@pytest.mark.laws
def test_what_was_found_is_listed_where_there_may_be_more(monkeypatch):
    """Two regular poses at which roots of the polynomial nearly meet: by the polynomial of one angle they are
    undecided, yet the list is not empty; those of two decide them.
    """
    robot = zveno.load(
        "Rz(q1) Tz(0.41) Tx(0.075) Rx(-90deg) Rz(-90deg) Rz(q2) Tx(0.48) Rz(q3) Tx(0.11) Rx(-90deg) "
        "Rz(q4) Tz(0.5) Rx(90deg) Rz(q5) Tz(0.045) Rx(-90deg) Rz(q6) Tz(0.095)"
    )
    truth = [
        [2.56667879, -0.0980997, -2.47641908, 2.55408198, -1.85594901, -1.92302564],
        [0.28288475, -1.38641026, -1.57311981, 1.20655444, 1.4091021, 0.20124385],
    ]
    T = robot.forward_kinematics(np.array(truth))
    careful = robot.ik(T)
    assert set(careful.status) == {"complete"}
    q, count, status = evaluate(controller_ik(robot, None, False).program, T)
    assert (status == COMPLETE).all()
    np.testing.assert_array_equal(count, careful.count)
    np.testing.assert_allclose(q[:, : careful.q.shape[1]], careful.q, atol=1e-8)
    monkeypatch.setattr(controller_six, "second_template", lambda arm: None)
    q, count, status = evaluate(controller_ik(robot, None, False).program, T)
    assert (status == UNDECIDED).all()
    for i in range(2):
        n = int(count[i])
        assert 0 < n <= careful.count[i]
        assert abs(wrapped(q[i, :n, None] - careful.of(i))).max(axis=2).min(axis=1).max() < 1e-8


@pytest.mark.laws
def test_wrists_behind_any_three_joints_have_a_program_too():
    of_class = arm_classes()["spherical wrist behind any RRP"]
    robot = of_class.limited
    T = of_class.poses(robot, 60, 1)
    written = controller_ik(robot, None, False)
    q, count, status = evaluate(written.program, T)
    careful = robot.ik(T, method="closed_form")
    sure = status != UNDECIDED
    assert sure.mean() > 0.7
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    complete = status == COMPLETE
    most = careful.q.shape[1]
    np.testing.assert_allclose(q[complete, :most], careful.q[complete], atol=1e-9)
    assert "at most 4 roots narrowed down" in " ".join(written.page.split())


def test_float_solves_general_arms_from_a_seed(tmp_path):
    program = controller_ik(robot_of(general_arms(1, seed=500)[0]), None, single=True).program
    assert [argument.name for argument in program.inputs] == ["T", "q0"]


@pytest.mark.laws
def test_c_and_numpy_give_the_same_numbers(tmp_path):
    robot = zveno.load("ur5")
    T = robot.forward_kinematics(robot.random(60, 1))
    q, count, status = run(robot, tmp_path, [T])
    expected = evaluate(controller_ik(robot, None, False).program, T)
    sure = (status == COMPLETE) & (expected[2] == COMPLETE)
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(count[sure], expected[1][sure])
    np.testing.assert_allclose(q[sure], expected[0][sure], atol=1e-9)


@pytest.mark.laws
def test_float_claims_less_and_nothing_wrong(tmp_path):
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(300, 2))
    q, count, status = run(robot, tmp_path, [T], single=True)
    careful = robot.ik(T)
    complete = status == COMPLETE
    assert 0.6 < complete.mean() < 1.0
    np.testing.assert_array_equal(count[complete], careful.count[complete])
    for i in np.flatnonzero(complete):
        n = int(count[i])
        assert abs(wrapped(q[i, :n] - careful.q[i, :n])).max() < 5e-3  # 4e-6 over the least singular value


@pytest.mark.laws
def test_what_is_no_pose_is_told(tmp_path):
    robot = zveno.load("puma560")
    T = np.repeat(robot.forward_kinematics(robot.random(1, 0)), 5, axis=0)
    T[1, 0, 3], T[2, :3, :3], T[3, 3, 0], T[4] = np.nan, 2 * T[2, :3, :3], 1e-3, -T[4]
    _, count, status = run(robot, tmp_path, [T])
    assert status[0] >= 0
    assert count[0] > 0
    assert (status[1:] == NO_POSE).all()
    assert (count[1:] == 0).all(), "branches of a mirrored pose are no solutions"


def five_joints():
    return zveno.Robot(fix_joints(zveno.load("puma560").mechanism, ["joint4"]))


def eight_joints():
    arm = zveno.load("iiwa14").mechanism
    wrist = [Joint("joint8", "link7", "link8", Revolute(), limits=Limits(-2.0, 2.0))]
    frames = [Frame("tool", "link8", np.eye(4))]
    joints = [joint for joint in arm.joints if joint.child in arm.link_names]
    return zveno.Robot(assemble("eight", [*arm.links, Link("link8")], [*joints, *wrist], frames))


def test_other_chains_are_solved_from_a_seed(tmp_path):
    robot = five_joints()
    truth = robot.random(200, 3)
    T = robot.forward_kinematics(truth)
    seed = truth + np.random.default_rng(0).normal(0, 0.15, truth.shape)
    q, status = run(robot, tmp_path, [T, seed])
    reached = status == 0
    assert reached.mean() > 0.8
    assert abs(robot.forward_kinematics(q[reached]) - T[reached]).max() < 1e-8
    assert ((q >= robot.lower - 1e-12) & (q <= robot.upper + 1e-12)).all()
    missed = robot.forward_kinematics(q[~reached])
    assert len(missed) == 0 or abs(missed - T[~reached]).max(axis=(1, 2)).min() > 1e-10


@pytest.mark.parametrize("kinds", ["five", "eight"])
def test_chains_without_a_list_have_a_bounded_iteration(kinds):
    """Fewer joints than a pose has numbers, and more than seven."""
    robot = five_joints() if kinds == "five" else eight_joints()
    truth = robot.random(20, 3)
    T, seed = robot.forward_kinematics(truth), truth + 0.05
    written = controller_ik(robot, None, False)
    q, status = evaluate(written.program, T, seed)
    assert (status == 0).mean() > 0.7
    assert abs(robot.forward_kinematics(q[status == 0]) - T[status == 0]).max() < 1e-8
    assert "at most 60 steps" in written.page


def test_page_says_worst_case_and_meaning(tmp_path):
    robot = zveno.load("ur5")
    done = robot.export_c(["inverse_kinematics", "jacobian"], tmp_path, timed=False)
    page = (tmp_path / "README_ur5.md").read_text()
    assert "at most 32 steps" in page
    assert "undecided" in page
    assert len(done.functions) == 2
    example = (tmp_path / "example_ur5.c").read_text()
    assert "ur5_inverse_kinematics" in example
    assert all(f'puts("{name}:")' in example for name in ("q", "count", "status"))


def test_a_chain_that_cannot_be_exported_says_why(tmp_path):
    floating = zveno.Robot(
        assemble("floating", [Link("base"), Link("body")], [Joint("free", "base", "body", Free())])
    )
    with pytest.raises(zveno.ZvenoError, match="ball and free joints"):
        floating.export_c(["inverse_kinematics"], tmp_path)
    assert problem_of(floating).has_balls
