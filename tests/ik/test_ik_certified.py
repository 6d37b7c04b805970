"""`method="certified"`: all solutions with a proof; what is exactly singular is never proved."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest, robot_of
from ik_arms import general_arms, industrial_arms, known_arms

import zveno
from tiers import few
from zveno.spatial import exact_numbers

pytest.importorskip("flint")

ARMS = {**known_arms(), **{arm.name: arm for arm in (*general_arms(2), *industrial_arms(4))}}
KNOWN_TO = 1e-15
"""Radii: solutions are enclosed far below the rounding of the floats that stand for them."""
PUMA = (
    "Tz(0.6) Rz({}) Rx(-90deg) Rz({}) Tx(0.4318) Rz({}) Tx(0.0203) Tz(0.15) Rx(-90deg) "
    "Tz(0.4318) Rz({}) Rx(90deg) Rz({}) Rx(-90deg) Rz({}) Tz(0.05)"
)


def puma(*angles: str) -> str:
    """An arm like a PUMA with joints q1 … q6, or its tool's exact pose at angles."""
    return PUMA.format(*(angles or [f"q{i}" for i in range(1, 7)]))


@pytest.mark.parametrize("name", few(["ur5", "jaco", "puma", "general1", "industrial0", "industrial1"]))
def test_every_solution_is_proved_and_the_floating_solver_agrees(name):
    arm = ARMS[name]
    robot = robot_of(arm)
    q, T = arm.poses(3, seed=11)
    proved, floating = robot.ik(T, method="certified"), robot.ik(T)
    assert list(proved.status) == ["proved"] * 3
    assert np.array_equal(proved.count, floating.count)
    for k in range(3):
        solutions = proved.of(k)
        assert nearest(q[k], solutions) < 1e-12
        assert max(nearest(each, floating.of(k)) for each in solutions) < 1e-9
        assert np.all(proved.residual[k, : len(solutions)] < 1e-12)
        assert np.all(proved.radius[k, : len(solutions)] < KNOWN_TO)
        apart = [nearest(each, np.delete(solutions, i, axis=0)) for i, each in enumerate(solutions)]
        assert np.all(proved.unique[k, : len(solutions)] > KNOWN_TO)
        assert np.all(proved.unique[k, : len(solutions)] < apart), "a box with exactly one holds two"
    assert np.isnan(proved.radius[~(np.arange(proved.q.shape[1]) < proved.count[:, None])]).all()


@pytest.mark.parametrize("name", few(["kuka", "general0", "manseur_doty", "industrial2", "industrial3"]))
def test_any_two_proofs_of_a_pose_agree(name):
    from zveno.ik.certified.exact_chain import exact_chain
    from zveno.ik.certified.exact_readings import transform_meant
    from zveno.ik.certified.six_revolute.arm import SixRevolute
    from zveno.ik.certified.six_revolute.choice import chosen_templates
    from zveno.ik.ik_problem import problem_of

    arm = ARMS[name]
    chain = exact_chain(problem_of(robot_of(arm)))
    templates = chosen_templates(chain.constants, chain.floats)
    assert len(templates) >= 2
    target = transform_meant(arm.poses(1, seed=4)[1][0]).balls
    answers = []
    for template in templates[:3]:
        solutions = SixRevolute(chain.constants, [template]).solve(target).solutions
        if solutions is not None:
            answers.append(np.array([[float(x.mid()) for x in s.enclosure] for s in solutions]))
    assert len(answers) >= 2
    for other in answers[1:]:
        assert len(other) == len(answers[0])
        assert max(nearest(q, answers[0]) for q in other) < 1e-14


def test_near_singular_poses_are_proved_where_pairs_are_closer_than_floats_tell():
    robot = robot_of(ARMS["puma"])
    q = np.array([0.3, -0.8, 0.5, 0.2, 1e-6, 0.4])
    answer = robot.ik(ARMS["puma"].forward(q), method="certified")
    assert answer.status == "proved"
    assert nearest(q, answer.q) < 1e-9
    twins = [each for each in answer.q if abs(each[4]) < 1e-5]
    assert len(twins) == 2, "the wrist flipped over, 2e-6 rad away in q5"


def test_exactly_singular_poses_are_never_proved():
    robot = zveno.Robot(zveno.load(puma()).mechanism)
    singular = [
        puma("0.3", "-45deg", "0.7", "0.2", "0", "0.4"),  # aligned wrist
        puma("30deg", "-45deg", "0.5", "15deg", "180deg", "0.4"),
    ]
    answer = robot.ik(singular, method="certified")
    assert list(answer.status) == ["not proved"] * 2
    assert answer.q.shape == (2, 0, 6)
    assert "Not proved" in answer.reason(0)
    assert "meet" in answer.reason(0)


def test_exact_poses_are_proved_and_the_text_means_what_it_says():
    robot = zveno.load(puma())
    answer = robot.ik(puma("0.3", "-45deg", "0.7", "0.2", "60deg", "0.4"), method="certified")
    assert answer.status == "proved"
    expected = np.array([0.3, -np.pi / 4, 0.7, 0.2, np.pi / 3, 0.4])
    best = answer.q[np.argmin(np.abs(answer.q - expected).max(axis=1))]
    assert np.all(np.abs(best - expected) < KNOWN_TO)
    assert "elementary transforms" in answer.exact_problem
    assert "decimals" in answer.exact_problem
    assert "15°" in answer.exact_problem
    same = robot.ik(puma("0.3", "-45deg", "0.7", "0.2", "60deg", "0.4"))
    assert same.count == answer.count, "other methods take the same text"


def test_negatives_are_proved_and_say_so():
    robot = robot_of(ARMS["ur5"])
    T = ARMS["ur5"].poses(1)[1][0]
    far = T.copy()
    far[:3, 3] *= 20
    assert robot.ik(far, method="certified").status == "proved unreachable"
    narrow = robot.ik(T, method="certified", limits={"j1": (-1.3, -1.29)})
    assert narrow.status == "proved: limits exclude all"
    assert narrow.limit_excess[0] > 0
    assert not narrow.limit_excess[1:].any()
    every = robot.ik(T, method="certified")
    low = every.q.min(axis=0) - 0.1
    some = robot.ik(T, method="certified", limits={"j2": (low[1], np.median(every.q[:, 1]))})
    assert 0 < some.count < every.count


def test_a_solution_exactly_at_a_limit_is_neither_inside_nor_outside():
    robot = zveno.load(puma())
    pose = puma("30deg", "-45deg", "0.7", "0.2", "60deg", "0.4")
    at = robot.ik(pose, method="certified", limits={"q1": (-1.0, np.pi / 6)})
    assert at.status == "proved"
    assert "at a limit of q1" in at.summary
    inside = robot.ik(pose, method="certified", limits={"q1": (-1.0, np.pi / 6 + 1e-12)})
    assert inside.count == at.count
    assert "at a limit" not in inside.summary
    outside = robot.ik(pose, method="certified", limits={"q1": (-1.0, np.pi / 6 - 1e-12)})
    assert outside.count < at.count


def test_whole_turns_inside_limits_are_listed_on_request():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(2, 1))
    one = robot.ik(T, method="certified")
    every = one.windings()
    assert set(every.status) == {"proved"}
    assert np.array_equal(one.count, robot.ik(T).count)
    assert np.array_equal(every.count, robot.ik(T).windings().count)
    assert np.all(every.count > one.count)


def test_seven_joints_with_one_held():
    robot = zveno.load("panda")
    q = robot.random((), 3)
    T = robot.forward_kinematics(q)
    hold = {"joint3": (q[2], q[2])}
    proved, floating = robot.ik(T, method="certified", limits=hold), robot.ik(T, limits=hold)
    assert proved.status == "proved"
    assert proved.count == floating.count
    assert nearest(q, proved.q) < 1e-12


def test_five_joints_place_a_point_and_an_axis():
    arm = "Tz(0.3) Rz(q1) Rx(-90deg) Rz(q2) Tx(0.3) Rz(q3) Tx(0.25) Ry(90deg) Rz(q4) Rx(60deg) Tz(0.1) Rz(q5)"
    robot = zveno.load(f"{arm} Tx(0.05) Ry(30deg) Tz(0.08)")
    q = robot.random(2, 3)
    T = robot.forward_kinematics(q)
    proved = robot.ik(T, method="certified", task="position+axis", limits=False)
    floating = robot.ik(T, task="position+axis", limits=False)
    assert list(proved.status) == ["proved"] * 2
    for k in range(2):
        assert nearest(q[k], proved.of(k)) < 1e-12
        assert all(nearest(each, proved.of(k)) < 1e-8 for each in floating.of(k))


def test_wide_balls_prove_nothing():
    from flint import arb

    from zveno.ik.certified.balls import around_zero
    from zveno.ik.certified.exact_chain import exact_chain
    from zveno.ik.certified.exact_readings import transform_meant
    from zveno.ik.certified.routes import route_of
    from zveno.ik.ik_problem import problem_of

    arm = ARMS["general0"]
    route = route_of(exact_chain(problem_of(robot_of(arm))))
    exact = transform_meant(arm.poses(1)[1][0])

    def within(bound):
        return lambda: [[x + around_zero(bound) for x in row] for row in exact.balls()]

    assert isinstance(exact.balls()[0][0], arb)
    assert route.solve(within(1e-30)).solutions is not None
    wide = route.solve(within(1e-5))
    assert wide.solutions is None
    assert wide.reasons


def test_what_elimination_leaves_over_counts(monkeypatch):
    from zveno.ik.certified.six_revolute import elimination

    robot = robot_of(ARMS["general1"])
    T = ARMS["general1"].poses(1)[1][0]
    monkeypatch.setattr(elimination, "PIVOT", 0.5)  # too low a rank is guessed: terms of y0, y1 stay
    assert robot.ik(T, method="certified").status == "not proved"


class TestBadInput:
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random((), 1))

    def test_redundant_chains_are_told_what_would_do(self):
        with pytest.raises(zveno.ZvenoError, match=r"continua\. Hold 1 of its joints"):
            self.robot.ik(self.T, method="certified")

    def test_chains_without_a_proof(self):
        with pytest.raises(zveno.ZvenoError, match=r"has equations, 6\. "):
            zveno.load("planar2").ik(np.eye(4), method="certified")
        screw = zveno.load("Rz(q1) Tz(0.01*q1) Rx(90deg) Rz(q2) Tx(1) Rz(q3)")
        with pytest.raises(zveno.ZvenoError, match="not proved"):
            screw.ik(np.zeros(3), task="position", method="certified")

    def test_arguments_that_it_does_not_use(self):
        with pytest.raises(zveno.ZvenoError, match="samples: is not for"):
            self.robot.ik(self.T, method="certified", samples=3)

    def test_a_missing_extra_is_named(self, monkeypatch):
        monkeypatch.setattr(exact_numbers, "flint", lambda: None)
        with pytest.raises(zveno.errors.MissingExtraError, match=r"zveno\[exact\]"):
            self.robot.ik(self.T, method="certified")
        with pytest.raises(zveno.errors.MissingExtraError, match=r"zveno\[exact\]"):
            self.robot.ik(self.T, limits={"joint1": (0.0, 0.0)}).prove()

    def test_poses_that_are_none(self):
        arm = zveno.load("puma560")
        with pytest.raises(zveno.errors.ShapeError, match="is not one"):
            arm.ik(np.diag([1.0, 2.0, 1.0, 1.0]), method="certified")
        with pytest.raises(zveno.errors.ModelError, match="'q9' is not a number"):
            arm.ik("Tx(0.4) Rz(q9)", method="certified")
        with pytest.raises(zveno.ZvenoError, match="limits are empty"):
            arm.ik(np.eye(4), method="certified", limits={"joint1": (1.0, -1.0)})

    @pytest.mark.parametrize("limits", [{"joint1": 1}, {"joint1": ("a", "b")}, {"joint1": (1, 2, 3)}, 5, "x", None])
    def test_limits_that_are_none(self, limits):
        robot = zveno.load("puma560")
        with pytest.raises(zveno.errors.ShapeError, match=r"limits: .*\{joint: \(lower, upper\)\}"):
            robot.ik(robot.forward_kinematics(robot.neutral()), limits=limits, method="certified")

    @pytest.mark.parametrize("text", ["", "  "])
    def test_the_text_of_a_pose_is_not_empty(self, text):
        with pytest.raises(zveno.errors.ShapeError, match="the text of a pose is empty"):
            zveno.load("puma560").ik(text, method="certified")

    def test_the_remedy_for_few_joints_works(self):
        robot = zveno.load("scara")
        T = robot.forward_kinematics(robot.random(1, 0)[0])
        with pytest.raises(zveno.ZvenoError, match='task="position" and hold one joint'):
            robot.ik(T, method="certified")
        last = robot.joint_names[-1]
        assert robot.ik(T, task="position", limits={last: (0.1, 0.1)}, method="certified").status == "proved"
