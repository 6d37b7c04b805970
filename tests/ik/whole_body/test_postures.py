"""Postures of whole bodies: reached targets, limits, and what is not claimed."""

from __future__ import annotations

import numpy as np
import pytest
from body_model import FEET, HANDS, humanoid, targets_at

import zveno
from zveno import ik
from zveno.ik._whole_body.posture_program import PostureProblem, stepped
from zveno.ik._whole_body.posture_targets import tasks_and_numbers
from zveno.ik._whole_body.postures import _within_limits

REACHED = 1e-6


@pytest.fixture(scope="module")
def body():
    return humanoid()


def asked_at(robot, q):
    return targets_at(robot, q, FEET + HANDS), robot.center_of_mass(q)


def test_postures_reach_poses_and_the_centre_of_mass(body):
    solved = 0
    for q in body.random(20, 3):
        targets, center = asked_at(body, q)
        answer = ik.whole_body(body, targets, center_of_mass=center)
        if answer.status != "solved":
            continue
        solved += 1
        for posture in answer.q:
            assert (
                abs(body.frame_poses(posture, frames=list(targets)) - np.stack(list(targets.values()))).max() < 1e-5
            )
            assert abs(body.center_of_mass(posture) - center).max() < REACHED * 1.01
            assert (posture[7:] >= body.lower[7:]).all()
            assert (posture[7:] <= body.upper[7:]).all()
        assert (answer.residual <= REACHED).all()
    assert solved == 20


def test_steps_with_limits_reach_postures_on_them(body):
    """From near a posture that stands on limits, to rounding; steps that are cut there take far longer."""
    rng = np.random.default_rng(2)
    q = body.random(6, rng)
    on_limit = rng.uniform(size=(6, body.n_q - 7)) < 1 / 3
    q[:, 7:] = np.where(on_limit, body.upper[7:], q[:, 7:])
    for posture in q:
        tasks, numbers = tasks_and_numbers(body.mechanism, *asked_at(body, posture))
        near = body.integrate(posture, 0.03 * rng.normal(size=body.n_v))
        near[7:] = np.clip(near[7:], body.lower[7:], body.upper[7:])
        end = _within_limits(body, tasks, near[None], np.concatenate(numbers), True, steps=40)[0]
        targets, center = asked_at(body, posture)
        assert abs(body.frame_poses(end, frames=list(targets)) - np.stack(list(targets.values()))).max() < 1e-9
        assert abs(body.center_of_mass(end) - center).max() < 1e-9
        assert (end[7:] <= body.upper[7:] + 1e-12).all()


def test_a_tolerance_for_one_target(body):
    q = body.random((), 4)
    targets = targets_at(body, q, FEET + HANDS)
    far = {**targets, HANDS[0]: targets[HANDS[0]].copy()}
    far[HANDS[0]][:3, 3] += 0.002  # both feet and the other hand stay as they are
    loose = ik.whole_body(body, far, tolerance={HANDS[0]: (0.5, 4.0)})
    assert loose.status == "solved"
    assert all(max(loose.misses[name]) <= REACHED for name in far if name != HANDS[0])
    with pytest.raises(zveno.ZvenoError, match="tail"):
        ik.whole_body(body, targets, tolerance={"tail": (1.0, 1.0)})


def test_several_distinct_postures(body):
    q = body.random((), 8)
    targets = {name: T[:3, 3] for name, T in targets_at(body, q, FEET + HANDS).items()}
    answer = ik.whole_body(body, targets, n=6)
    assert answer.count >= 6
    for k, posture in enumerate(answer.q):
        for other in answer.q[:k]:
            assert abs(body.difference(posture, other)).max() > 1e-3


def test_every_kind_of_target(body):
    q = body.random((), 5)
    T = body.frame_poses(q, frames=[*FEET, *HANDS])
    targets = {FEET[0]: T[0], FEET[1]: (T[1][:3, 3], T[1][:3, 2]), HANDS[0]: T[2][:3, :3]}
    answer = ik.whole_body(body, targets)
    assert answer.status == "solved"
    left, right, hand = body.frame_poses(answer.q[0], frames=[*FEET, *HANDS])
    assert abs(left - T[0]).max() < 1e-5
    assert abs(right[:3, 3] - T[1][:3, 3]).max() < 1e-5
    assert right[:3, 2] @ T[1][:3, 2] > 1 - 1e-9
    assert abs(hand[:3, :3] - T[2][:3, :3]).max() < 1e-5


def test_following_takes_a_few_steps_from_the_last_posture(body):
    q = body.random((), 2)
    targets, center = asked_at(body, q)
    near = body.mechanism.integrate(q, 0.01 * np.ones(body.n_v))
    answer = ik.whole_body(body, targets, center_of_mass=center, q0=near)
    assert answer.starts == 1
    assert abs(body.difference(near, answer.q[0])).max() < 0.1


def test_out_of_reach_is_undecided_and_says_what_misses(body):
    targets = targets_at(body, body.random((), 1), FEET)
    targets[FEET[1]] = targets[FEET[1]].copy()
    targets[FEET[1]][:3, 3] = targets[FEET[0]][:3, 3] + [0.0, 3.0, 0.0]
    answer = ik.whole_body(body, targets)
    assert answer.status == "undecided"
    assert answer.count == 0
    assert answer.worst in FEET
    # Legs of 0.6 m on hips 0.2 m apart: at least 3 − 1.4 m are missed between the two, so 0.8 by one of them.
    assert max(answer.misses[answer.worst]) > 0.5
    assert "does not prove" in answer.summary


def test_limits_and_clearance_are_kept(body):
    q = body.random((), 4)
    targets = {name: T[:3, 3] for name, T in targets_at(body, q, FEET).items()}
    low = ik.whole_body(body, targets, limits={"left_leg2": (0.2, 0.5)})
    assert low.status == "solved"
    assert (low.q[:, body.mechanism.q_slices["left_leg2"]] >= 0.2).all()
    assert (low.q[:, body.mechanism.q_slices["left_leg2"]] <= 0.5).all()
    nothing = ik.whole_body(body, targets, where=lambda q: np.zeros(len(q), dtype=bool))
    assert nothing.status == "rejected"
    assert nothing.count == 0


def test_joints_on_a_limit_are_not_pushed_on(body):
    """One step: a joint on its limit that the error pulls beyond it stays, and one that it pulls back moves."""
    q = body.neutral()
    place = body.mechanism.q_slices["left_leg1"].start
    low, high = np.full(body.n_q, -np.inf), np.full(body.n_q, np.inf)
    tasks, _ = tasks_and_numbers(body.mechanism, {FEET[0]: np.zeros(3)}, None)
    problem = PostureProblem(body.mechanism, tasks)
    for side in (-1.0, 1.0):
        moved = q.copy()
        moved[place] = 0.3 * side
        goal = np.zeros((3, 4))
        goal[:, :3], goal[:, 3] = np.eye(3), body.forward_kinematics(moved, frame=FEET[0])[:3, 3]
        held_low, held_high = low.copy(), high.copy()
        (held_high if side > 0 else held_low)[place] = 0.0
        after, _ = stepped(problem, q, goal.ravel(), np.zeros(2 * len(problem.tasks)), held_low, held_high)
        free, _ = stepped(problem, q, goal.ravel(), np.zeros(2 * len(problem.tasks)), low, high)
        assert after[place] == 0.0
        assert side * free[place] > 0.0


# --- bad input


def test_bad_input_is_refused_with_one_clear_error(body):
    T = np.eye(4)
    bad = T.copy()
    bad[0, 3] = np.nan
    massless = zveno.load("Rz(q1) Tx(1) Rz(q2) Tx(1)")
    cases = [
        (lambda: ik.whole_body(body, {}), "nothing to do"),
        (lambda: ik.whole_body(body, {"tail": T}), "tail"),
        (lambda: ik.whole_body(body, {FEET[0]: bad}), "NaN"),
        (lambda: ik.whole_body(body, {FEET[0]: np.zeros(5)}), "shape"),
        (lambda: ik.whole_body(body, {FEET[0]: 2 * T}), "rigid"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, limits={"arm0": (1.0, -1.0)}), "limits are empty"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, center_of_mass=[np.nan, 0, 0]), "NaN"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, tolerance=(0.0, 1.0)), "tolerance"),
        (lambda: ik.whole_body(body, {"trunk": T}, center_of_mass=[0, 0]), "numbers"),
        (lambda: body.ik({FEET[0]: T}), "whole_body"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, n=0), "n"),
        (lambda: ik.whole_body(body, T), "by|frame"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, q0=2 * body.neutral()), "quaternion"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, where=3), "where"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, where=lambda q: True), "where"),
        (lambda: ik.whole_body(body, {FEET[0]: T}, where=zveno.Clearance(ground=np.nan)), "ground"),
        (lambda: ik.whole_body(massless, {massless.link_names[-1]: T}, center_of_mass=[0, 0, 0]), "no mass"),
    ]
    for call, says in cases:
        with pytest.raises(zveno.ZvenoError, match=says):
            call()


def test_frames_of_one_body(body):
    """Targets of one rigid body that agree are reached; targets that contradict each other are not."""
    tool = body.with_tool(zveno.transforms.transform(None, [0.0, 0.0, 0.1]), HANDS[0])
    for pair in (("tool", HANDS[0]), ("arm2_link", HANDS[0])):
        a, b = pair
        T = targets_at(tool, tool.neutral(), pair)
        assert ik.whole_body(tool, T).status == "solved"
        assert ik.whole_body(tool, {a: T[a], b: T[b][:3, 3]}).status == "solved"
        assert ik.whole_body(tool, {a: T[a], b: T[a]}).status == "undecided"
    moved = {a: T[a], b: T[b] @ zveno.transforms.transform(None, [0.0, 0.002, 0.0])}
    assert ik.whole_body(tool, moved, tolerance={a: (0.003, 0.01), b: (0.003, 0.01)}).status == "solved"
