"""Self-motions of seven joints: every curve, its ends and turns, and claims that fall when something is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ik_answers import robot_of
from ik_arms import general_arms

import zveno
from tiers import few
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant.self_motion.answer import TOLD_EVERY
from zveno.ik.redundant.self_motion.choice import other_joints, self_motion_joint
from zveno.ik.redundant.self_motion.completeness import unknown_turns
from zveno.ik.redundant.self_motion.motions import motions_of, range_of, without_limits
from zveno.ik.redundant.self_motion.plane_curves import common_zero, plane_curve, sample_angles, turning_points
from zveno.ik.redundant.self_motion.projections import projections_of
from zveno.ik.redundant.seven_revolute import closed_form
from zveno.ik.solve import solve_ik
from zveno.io.results import load_result
from zveno.mechanism import Limits
from zveno.report.json import values

NAMED = ("panda", "iiwa14", "xarm7")
CIRCLE = np.array([[-np.pi, np.pi]])


def short(d):
    return d - 2 * np.pi * np.round(d / (2 * np.pi))


def sliding_rate(robot, q, joint):
    """How fast a joint moves in the self-motion at q: its part of the Jacobian's kernel."""
    return abs(np.linalg.svd(robot.jacobian(q))[2][-1][joint])


@pytest.mark.parametrize("name", few(NAMED, 1))
def test_curves_run_from_limit_to_limit_and_turn_where_they_say(name):
    robot = zveno.load(name)
    for T in robot.forward_kinematics(robot.random(4, 3)):
        found = robot.ik(T)
        assert found.status == "self-motion"
        assert np.abs(robot.forward_kinematics(found.q) - T).max() < 1e-9
        assert np.all((found.q >= robot.lower - 1e-9) & (found.q <= robot.upper + 1e-9))
        for family in found.self_motions[0]:
            joint = robot.joint_names.index(family.joint)
            s = family.q[:, joint]
            low, high = family.interval
            whole = high - low > 2 * np.pi - 1e-9
            assert whole or np.all(np.abs(short(s - 0.5 * (low + high))) <= 0.5 * (high - low) + 1e-9)
            assert family.closed == (not family.ends)
            for q, end in zip(family.q[[0, -1]], family.ends, strict=False):
                which, side = end.split(" at its ")
                limit = (robot.lower if side == "lower limit" else robot.upper)[robot.joint_names.index(which)]
                assert abs(q[robot.joint_names.index(which)] - limit) < 1e-9
            for q in family.turns:
                assert sliding_rate(robot, q, joint) < 1e-6


@pytest.mark.parametrize("name", few(NAMED, 1))
def test_the_generating_configuration_lies_on_a_curve(name):
    """With the sliced joint held at its value, it is the solution that the curve through it has there."""
    robot = zveno.load(name)
    for q in robot.random(3, 11):
        T = robot.forward_kinematics(q)
        found = robot.ik(T)
        joint = robot.joint_names.index(found.self_motions[0][0].joint)
        over = [family for family in found.self_motions[0] if low_to_high(family, q[joint])]
        held = robot.ik(T, limits={robot.joint_names[joint]: (q[joint], q[joint])})
        assert np.abs(short(held.q - q)).max(axis=1).min() < 1e-6
        assert over


def low_to_high(family, value):
    middle, half = np.mean(family.interval), np.ptp(family.interval) / 2
    return abs(short(value - middle)) <= half + 1e-9


@pytest.mark.laws
@pytest.mark.parametrize("seed", [0, 1])
def test_random_arms_have_all_that_slices_of_another_joint_find(seed):
    """Slices of a joint that was not sliced: each of their solutions solves a slice of some curve too."""
    robot = robot_of(general_arms(2, 909, joints=7)[seed], Limits(-2.6, 2.6) if seed else None)
    T = robot.forward_kinematics(robot.random((), 5))
    found = robot.ik(T)
    assert found.status == "self-motion"
    other = "j6" if found.self_motions[0][0].joint != "j6" else "j2"
    sliced = solve_ik(robot, T, samples=12, redundant_joint=other)
    joint = robot.joint_names.index(found.self_motions[0][0].joint)
    for q in sliced.q[:: max(1, len(sliced.q) // 4)]:
        limits = {robot.joint_names[joint]: (q[joint], q[joint])}
        assert any(low_to_high(family, q[joint]) for family in found.self_motions[0])
        assert np.abs(short(solve_ik(robot, T, limits=limits).q - q)).max(axis=1).min() < 1e-6


def test_a_curve_left_out_is_noticed_and_its_slice_named():
    """The claim falls where one curve is taken away: its turns are not accounted for."""
    robot = zveno.load("xarm7")
    problem = problem_of(robot)
    joint = self_motion_joint(problem)
    assert joint is not None
    T = robot.forward_kinematics(robot.random((), 8))
    motions = motions_of(problem, T, *joint)
    assert not motions.doubt
    turning = [component for component in motions.components if len(component.turns)]
    assert turning
    known = [component.turns for component in motions.components if component is not turning[0]]
    projections = projections_of(without_limits(problem), joint.coordinate)
    span = range_of(problem, joint.coordinate)
    unknown = unknown_turns(projections, T, np.concatenate([np.zeros((0, 7)), *known]), span[:2])
    missing = turning[0].turns[:, joint.coordinate]
    assert len(unknown.intervals)
    assert all(np.any(np.abs(short(unknown.intervals.mean(axis=1) - s)) < 1e-3) for s in missing)


def test_few_slices_find_what_lies_between_them():
    """With three slices curves between them are found by their turns: the answer is that of many slices."""
    robot = robot_of(general_arms(1, 31, joints=7)[0])
    problem = problem_of(robot)
    joint = self_motion_joint(problem)
    assert joint is not None
    for T in robot.forward_kinematics(robot.random(3, 2)):
        many = motions_of(problem, T, *joint)
        few = motions_of(problem, T, joint.coordinate, 3)
        assert not many.doubt
        assert not few.doubt
        assert len(few.components) == len(many.components)


def test_joints_that_decide_where_one_leaves_doubt_come_with_the_quick_ones_first():
    problem = problem_of(zveno.load("panda"))
    others = [joint.coordinate for joint in other_joints(problem, self_motion_joint(problem).coordinate)]
    quick = [closed_form(problem, k) is not None for k in others]
    assert any(quick)
    assert not all(quick)
    assert quick == sorted(quick, reverse=True)


def test_a_stretched_arm_has_the_self_motion_inside_limits_and_a_surface_of_them_without():
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.neutral())
    inside = robot.ik(T)
    assert inside.status == "self-motion"
    assert inside.residual.max() < 1e-12
    elbow = inside.q[:, 3]
    assert (elbow >= robot.lower[3]).all()
    assert (elbow <= robot.upper[3]).all()
    every = robot.ik(T, limits=False)  # joints 1, 3 and 5 turn about one axis: lines are a sample
    assert every.status == "sampled"
    assert np.nanmax(every.residual) < 1e-9
    direct = every.q[abs(every.q[:, [1, 3, 5]]).max(axis=1) < 1e-9]
    assert len(direct) > 100
    lines = [tuple(np.round(motion.q[0], 4)) for motion in every.self_motions[0]]
    assert len(set(lines)) == len(lines)


def test_limits_that_exclude_all_are_decided():
    robot = zveno.load("iiwa14")
    T = robot.forward_kinematics(robot.random((), 4))
    least = min(abs(family.q[:, 5]).min() for family in robot.ik(T).self_motions[0])
    none = robot.ik(T, limits={"joint6": (-0.1, 0.1)})
    assert none.status == "excluded by limits"
    assert 0.0 < none.limit_excess[5] < least - 0.1 + 1e-3
    beyond = T.copy()
    beyond[:3, 3] = [0.0, 0.0, 9.0]
    assert robot.ik(beyond).status == "unreachable"


def test_a_short_part_between_two_limits_is_listed():
    """One joint comes inside its limits 0.01 rad before another leaves its own: the curve between them is there."""
    robot = zveno.load("panda")
    q = np.array([0.88669742, -0.23024938, 2.88971052, -2.51189825, 2.89323236, 0.52548705, 2.26227534])
    found = robot.ik(robot.forward_kinematics(q))
    assert found.status == "self-motion"
    short_parts = [family for family in found.self_motions[0] if np.abs(family.q - q).max() < 0.1]
    assert len(short_parts) == 1
    assert {end.split()[0] for end in short_parts[0].ends} == {"joint3", "joint5"}


def test_batches_files_and_texts(tmp_path):
    robot = zveno.load("iiwa14")
    T = robot.forward_kinematics(robot.random(3, 6))
    batch = robot.ik(T)
    one = robot.ik(T[1])
    assert batch.status[1] == one.status
    assert np.abs(batch.of(1) - one.q).max() < 1e-9
    loaded = load_result(batch.save(tmp_path / "ik.json"))
    mine, theirs = batch.self_motions[1][0], loaded.self_motions[1][0]
    assert (mine.interval, mine.ends, mine.joint) == (theirs.interval, theirs.ends, theirs.joint)
    assert np.array_equal(mine.turns, theirs.turns)
    entry = json.loads(json.dumps(values(one.describe())))["poses"][0]["self_motions"][0]
    assert entry["joint"] == "joint3"
    assert entry["interval"] == list(one.self_motions[0][0].interval)
    assert "slices of joint3" in one.summary


def test_progress_of_batches_is_told():
    robot, told = zveno.load("iiwa14"), []
    T = robot.forward_kinematics(robot.random(TOLD_EVERY + 1, 6))
    solve_ik(robot, T, progress=lambda *step: told.append(step))
    assert told == [(TOLD_EVERY, len(T)), (len(T), len(T))]


def test_a_number_of_slices_gives_a_sample():
    robot = zveno.load("panda")
    found = solve_ik(robot, robot.forward_kinematics(robot.random((), 1)), samples=16)
    assert found.status == "sampled"
    assert not found.self_motions[0][0].joint


def test_turning_points_of_a_plane_curve():
    """cos s + cos u = 1 turns at u = 0 and u = π: only s = ±π/2 is real."""
    angles = sample_angles(16)
    curve = plane_curve(np.cos(angles)[:, None] + np.cos(angles) - 1.0, 2)
    found = turning_points(curve, CIRCLE)
    assert np.allclose(np.sort(found.points[:, 0]), [-np.pi / 2, np.pi / 2], atol=1e-9)
    assert np.allclose(found.points[:, 1], 0.0, atol=1e-7)
    assert not len(found.doubtful)
    crossing = plane_curve(np.cos(angles)[:, None] - np.cos(angles), 2)
    assert len(turning_points(crossing, CIRCLE).doubtful)
    apart = plane_curve(np.cos(angles)[:, None] + np.cos(angles) + 2.5, 2)
    assert not len(turning_points(apart, CIRCLE).points)
    assert not common_zero([curve, apart])
    assert common_zero([curve, crossing])
