"""Solutions that nearly meet are both listed where double precision tells them apart; else the answer says so."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import beside_singular, nearest, robot_of, wrapped
from ik_arms import general_arms, industrial_arms, known_arms
from test_ik_singular import planar

import zveno
from tiers import few
from zveno.ik.checks import singular_solutions
from zveno.ik.checks.close_pairs import Pair
from zveno.ik.solve import solve_ik

PLANE = (1, 1, 0, 0, 0, 0)
PUMA = zveno.load("puma560")
STRAIGHT = np.arctan2(0.4331, -0.0203)
"""Angle of the third joint that puts upper arm and forearm in line."""
TOLD = 3e-7
"""Half the distance, rad, from which on twins of an arm with links 1 and s ≥ 0.5 m are told apart."""


@pytest.mark.parametrize("share", few([1.0, 0.8, 0.5], 1))
@pytest.mark.parametrize("method", ["auto", "scan"])
def test_a_nearly_stretched_arm_has_both_elbows(share, method):
    """The elbow is at ±t: from 1e-2 rad down to where the pose is the stretched one to the last digit."""
    robot, rng = planar(2, [1.0, share]), np.random.default_rng(3)
    t = 10 ** rng.uniform(-10, -2, 60)
    q = np.stack([rng.uniform(-3, 3, 60), t], axis=1)
    found = solve_ik(robot, robot.forward_kinematics(q), task=PLANE, limits=False, method=method)
    for k, half in enumerate(t):
        elbows = np.sort(wrapped(found.of(k)[:, 1]))
        assert found.status[k] == "sampled"
        if half > TOLD:
            assert len(elbows) == 2
            assert np.abs(elbows - [-half, half]).max() < 4e-15 / half
        elif len(elbows) == 1:
            assert "double root" in found.reason(k)
        if half < 1e-9:
            assert len(elbows) == 1


@pytest.mark.laws(after=3)
@pytest.mark.parametrize(
    "arm", [known_arms()["puma"], *general_arms(2), *industrial_arms(2)], ids=lambda arm: arm.name
)
def test_complete_near_singular_poses_is_proved(arm):
    """At 1e-5 and 1e-6 from where det J vanishes along a joint, twins are about as far apart."""
    robot, rng = robot_of(arm), np.random.default_rng(8)
    q = np.stack([beside_singular(robot, rng.uniform(-np.pi, np.pi, 6), 2, off) for off in (1e-5, 1e-6)])
    found = robot.ik(arm.forward(q))
    assert set(found.status) == {"complete"}
    assert set(found.prove().status) == {"proved"}
    for k in range(len(q)):
        assert nearest(q[k], found.of(k)) < 1e-7


def test_without_the_search_for_twins_one_is_missing(monkeypatch):
    arm = general_arms(1)[0]
    robot, rng = robot_of(arm), np.random.default_rng(8)
    T = arm.forward(beside_singular(robot, rng.uniform(-np.pi, np.pi, 6), 2, 1e-6))
    both = robot.ik(T)
    assert "apart" in both.reason()
    monkeypatch.setattr(singular_solutions, "close_pairs", lambda *_: [])
    one = robot.ik(T)
    assert one.count == both.count - 1
    assert one.prove().status == "refuted"


def test_a_twin_that_is_not_found_lowers_the_claim(monkeypatch):
    """Where a second solution should be and Newton's method does not get there, nothing is claimed."""
    robot = planar(2, [1.0, 1.0])
    T = robot.forward_kinematics(np.array([0.3, 1e-6]))
    found_pairs = singular_solutions.close_pairs

    def not_found(*problem) -> list[Pair]:
        return [pair._replace(apart=False) for pair in found_pairs(*problem)]

    assert solve_ik(robot, T, task=PLANE, limits=False).status == "sampled"
    monkeypatch.setattr(singular_solutions, "close_pairs", not_found)
    lowered = solve_ik(robot, T, task=PLANE, limits=False)
    assert lowered.status == "undecided"
    assert "nearly meet" in lowered.reason()


def test_a_limit_between_twins_leaves_one():
    robot = planar(2, [1.0, 0.8])
    T = robot.forward_kinematics(np.array([0.3, 2e-6]))
    elbow = robot.joint_names[1]
    found = solve_ik(robot, T, task=PLANE, limits={elbow: (0.0, 3.0)})
    assert (found.status, found.count) == ("sampled", 1)
    assert found.q[0, 1] == pytest.approx(2e-6, abs=1e-9)


def test_rounding_makes_no_pair_of_a_double_root():
    """A stretched arm: rounding of the pose moves its one solution to two or none, 1e-8 rad apart."""
    rng = np.random.default_rng(5)
    q = rng.uniform(-2.5, 2.5, (80, 6))
    q[:, 2], q[:, 4] = STRAIGHT, rng.uniform(0.4, 2.0, 80)
    found = solve_ik(PUMA, PUMA.forward_kinematics(q), limits=False)
    assert not [k for k in range(len(q)) if "apart" in found.reason(k)]


def test_three_that_nearly_meet_are_all_listed():
    """Two pairs share a solution: adding the second took the third one away."""
    arm = known_arms()["jaco"]
    q = np.array([2.449285285174443, -1.389901922533808, -1.90983240351575, 0.99742332247747, -2.9972424525684946])
    q = np.append(q, -3.0402432277645324)
    found = robot_of(arm).ik(arm.forward(q))
    assert np.sum(np.abs(wrapped(found.q - q)).max(axis=1) < 1e-3) == 3
    assert nearest(q, found.q) < 1e-6
    assert found.status == "undecided"
    assert "three may nearly meet" in found.reason()
