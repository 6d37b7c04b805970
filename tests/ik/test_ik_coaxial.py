"""Seven joints where two axes coincide: the line on which their joints turn against each other is listed."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant.self_motion.coaxial import coaxial_pairs

CLAIMS = ("complete", "self-motion", "unreachable", "excluded by limits")
ROBOTS = {name: zveno.load(name) for name in ("xarm7", "panda", "iiwa14")}


def on_listed_curve(answer, q, pair) -> bool:
    """Whether a listed curve has several points at which all joints but two stand as in q."""
    rest = [k for k in range(7) if k not in pair]
    for family in answer.self_motions.get(0, ()):
        away = (family.q - q + np.pi) % (2 * np.pi) - np.pi
        if (np.abs(away[:, rest]).max(axis=1) < 1e-6).sum() > 2:
            return True
    return False


def coaxial_posture(robot, rng) -> tuple[np.ndarray, tuple[int, int]]:
    """A configuration inside the limits with two axes coaxial, and which."""
    pairs = [
        pair
        for pair in coaxial_pairs(problem_of(robot))
        if robot.lower[pair.first + 1] < 0 < robot.upper[pair.first + 1]
    ]
    pair = next(pair for pair in rng.permutation(len(pairs)) if abs(np.sin(pairs[pair].value)) < 1e-9)
    first = pairs[pair].first
    q = robot.random((), rng)
    q[first + 1] = 0.0
    return q, (first, first + 2)


@pytest.mark.parametrize("name", few(ROBOTS, 1))
@pytest.mark.parametrize("seed", few(range(20), 1))
def test_the_line_of_two_coaxial_joints_is_listed_or_nothing_is_claimed(name, seed):
    robot, rng = ROBOTS[name], np.random.default_rng(seed)
    q, pair = coaxial_posture(robot, rng)
    T = robot.forward_kinematics(q)
    room = rng.uniform(0.1, 0.6, 7)
    narrow = {
        joint: (max(low, at - width), min(high, at + width))
        for joint, low, high, at, width in zip(robot.joint_names, robot.lower, robot.upper, q, room, strict=True)
        if rng.random() < 0.6
    }
    for limits in (True, narrow):
        answer = robot.ik(T, limits=limits)
        assert answer.status != "excluded by limits"
        if answer.status in CLAIMS:
            assert on_listed_curve(answer, q, pair)
        for family in answer.self_motions.get(0, ()):
            assert np.abs(robot.forward_kinematics(family.q) - T).max() < 1e-8
            assert (family.q >= robot.lower - 1e-9).all()
            assert (family.q <= robot.upper + 1e-9).all()


SHOULDER = {"joint1": (-3.1, -2.1), "joint2": (-0.2, 0.2), "joint3": (2.7, 3.5)}
WRIST = {"joint2": (-0.1, 0.3), "joint5": (1.6, 2.2), "joint7": (-2.4, -1.8)}
INSIDE = [
    ("iiwa14", [0.7, 0.1, -2.6, -1.7, 1.9, 0.0, -2.1], WRIST),
    (
        "xarm7",
        [-2.6, 0.0, 3.1, 3.1, 2.5, -0.4, -1.9],
        SHOULDER | {"joint4": (3.0, 3.2), "joint6": (-0.7, -0.1)},
    ),
    (
        "iiwa14",
        [0.8, 0.3, -0.6, -1.4, -2.1, 0.0, 0.0],
        {"joint1": (0.5, 1.1), "joint2": (0.2, 0.4), "joint4": (-1.7, -1.1), "joint7": (-0.4, 0.4)},
    ),
    (
        "xarm7",
        [-3.0, 0.0, 3.0, 3.1, 2.6, -0.2, -3.0],
        {"joint1": (-3.6, -2.4), "joint3": (2.6, 3.4), "joint4": (2.9, 3.3), "joint6": (-0.7, 0.3)},
    ),
    (
        "xarm7",
        [-2.7, 0.0, 3.1, 3.1, 2.1, 0.1, -2.6],
        {
            "joint1": (-2.8, -2.6),
            "joint2": (-0.3, 0.3),
            "joint3": (2.6, 3.6),
            "joint4": (2.9, 3.3),
            "joint6": (-0.4, 0.6),
            "joint7": (-3.1, -2.1),
        },
    ),
]


@pytest.mark.parametrize(("name", "q", "limits"), few(INSIDE, 2))
def test_a_configuration_inside_the_limits_is_never_excluded(name, q, limits):
    robot = ROBOTS[name]
    answer = robot.ik(robot.forward_kinematics(np.array(q)), limits=limits)
    assert answer.status not in ("excluded by limits", "unreachable")
    assert answer.count > 0


def test_the_line_of_the_wrist_is_among_seventeen_curves():
    """All 17 curves listed were 0.1 to 1.4 rad away from it."""
    robot, q = ROBOTS["iiwa14"], np.array([0.3, 0.5, -0.4, -1.2, 0.7, 0.0, 0.6])
    answer = robot.ik(robot.forward_kinematics(q))
    assert answer.status == "self-motion"
    assert on_listed_curve(answer, q, (4, 6))


def test_axes_that_can_coincide():
    """By hand: the shoulder, elbow and wrist of an iiwa at zero and at half a turn."""
    assert {(pair.first, round(pair.value / np.pi)) for pair in coaxial_pairs(problem_of(ROBOTS["iiwa14"]))} == {
        (first, half) for first in (0, 2, 4) for half in (0, 1)
    }
