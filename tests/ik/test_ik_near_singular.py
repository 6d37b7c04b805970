"""No status claims more than is so near singularities: the configuration behind a pose is among its answers."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import ARC_ROUNDING, PI, beside_singular, nearest, robot_of, told, told_to_rounding, wrapped
from ik_arms import Arm, dh_arm, industrial_arms, known_arms, turns

import zveno
from tiers import few
from zveno.ik.closed_form import forms
from zveno.ik.ik_problem import problem_of
from zveno.ik.solve import solve_ik
from zveno.mechanism import Limits

WRIST = (
    [0.1, -0.08, 0, 0, 0, -0.14],
    np.radians([-60, 0, 90, 90, 90, 90]),
    [0.4, 0, -0.43, 0.28, 0, 0.15],
    [2.4386193298129744, -1.7224131796170092, -2.3589923559454644, -1.3299570775518141, 2e-7, 0.33986064851304176],
)
"""An arm with a spherical wrist, a, α, d, and a configuration with its fourth and sixth axes nearly in line."""


def test_nothing_is_dropped_near_an_aligned_wrist():
    a, alpha, d, q = WRIST
    robot = robot_of(dh_arm("wrist", a, alpha, d))
    found = solve_ik(robot, robot.forward_kinematics(np.array(q)))
    assert (found.status, found.count) == ("complete", 4)
    assert nearest(q, found.q) < 1e-6


@pytest.mark.parametrize("name", few(["ur5", "jaco", "puma", "kuka", "industrial2", "industrial4"]))
def test_the_configuration_behind_a_singular_pose_is_among_the_answers(name):
    """One joint is 1e-12 to 1 away from where axes align or links stretch. Where it is lost, nothing is claimed.

    Where second orders are below rounding, the pose fits a whole arc: one of it is listed, or nothing claimed.
    """
    arms = known_arms() | {arm.name: arm for arm in industrial_arms(6, seed=0)}
    arm, rng, n = arms[name], np.random.default_rng(7), 80
    q = rng.uniform(-PI, PI, (n, 6))
    off = 10 ** rng.uniform(-12, 0, n) * rng.choice([-1, 1], n)
    q[np.arange(n), rng.integers(0, 6, n)] = rng.choice([0, PI], n) + off
    found = solve_ik(robot_of(arm), arm.forward(q))
    lost = [k for k in range(n) if not told(found, k, q[k])]
    assert [str(found.status[k]) for k in lost if found.status[k] != "undecided"] == []
    # Within 1e-8 of a double root the digits of the pose do not tell: a third of the poses beside one.
    assert np.mean(found.status == "undecided") < 0.2
    assert sum(not told_to_rounding(found, k, arm, q[k]) for k in lost) < 0.02 * n
    for k, self_motions in found.self_motions.items():
        for family in self_motions:
            assert np.abs(arm.forward(family.q) - arm.forward(q[k])).max() < 2e-9


def test_elbow_and_wrist_singular_at_once():
    """The sixth angle follows from a sine of 3e-10, so the margin of the elbow is off by 1e-6: it is still real."""
    arm, rng, n = known_arms()["ur10"], np.random.default_rng(2), 100
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 2], q[:, 4] = 10 ** rng.uniform(-11, -9, n), 10 ** rng.uniform(-9.9, -9.2, n)
    found = solve_ik(robot_of(arm), arm.forward(q))
    lost = [k for k in range(n) if not told(found, k, q[k])]
    assert len(lost) <= 2
    assert set(found.status[lost]) <= {"undecided"}
    assert np.abs(arm.forward(found.q[lost, 0]) - arm.forward(q[lost])).max(initial=0.0) < ARC_ROUNDING


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("industrial14", [-1.7463, 2.6394, -0.20114, 2.6681, -2.2323e-10, -2.0616]),
        (
            "kuka",
            [-1.025131124995439, -2.8161514955235556, 0.2322985539707716, 2.9645192136340066, 1.5709e-12, 1.75],
        ),
        ("kuka", [0.56445, 1.197, -0.38947, 2.4074, 7.3326e-9, -2.6694]),
    ],
)
def test_where_continua_cross_nothing_is_claimed(name, q):
    """The wrist centre on the first axis and the wrist aligned: two continua meet, and only one was followed."""
    arm = ({arm.name: arm for arm in industrial_arms(20, seed=1)} | known_arms())[name]
    q = np.array(q)
    if name == "industrial14" or q[4] > 1e-10:
        q[2] = on_first_axis(arm, q)
    found = solve_ik(robot_of(arm), arm.forward(q)[None])
    assert found.status[0] in ("sampled", "undecided")
    assert np.abs(arm.forward(found.of(0)) - arm.forward(q)).max() < ARC_ROUNDING


def on_first_axis(arm: Arm, q) -> float:
    """The third angle near q[2] that brings the wrist centre onto the first axis."""

    def off(angle):
        T = np.eye(4)
        for F, x in zip(arm.F[:5], [q[0], q[1], angle, q[3], q[4]], strict=True):
            T = T @ F @ turns(x)
        p = np.linalg.inv(turns(q[0])) @ T[:, 3]
        return p[0]

    low, high = q[2] - 1e-3, q[2] + 1e-3
    assert off(low) * off(high) < 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if off(middle) * off(low) > 0 else (low, middle)
    return 0.5 * (low + high)


UR_LIKE = (
    [0.0, 0.34375135235168847, 0.24501197227912633, 0.0, 0.0, -0.44193304428700536],
    [PI / 2, 0, 0, PI / 2, -PI / 2, PI / 4],
    [0, 0, 0, 0, -0.42158433634734804, -0.3480413557635582],
)
UR_LIKE_Q = [
    -0.40364179058959554,
    -0.8113511753529763,
    -0.7177716712730041,
    -2.2381107911095723,
    1.2100188172709347,
    -3.4162926647290024,
]


def test_a_continuum_is_not_unreachable():
    """The fifth axis' point on the first axis: the equation of the first angle is 0 = 0, up to rounding."""
    arm = dh_arm("ur_like", *UR_LIKE)
    found = solve_ik(robot_of(arm), arm.forward(UR_LIKE_Q))
    assert found.status == "undecided"
    assert found.count
    assert np.abs(arm.forward(found.q) - arm.forward(UR_LIKE_Q)).max() < 1e-9


@pytest.mark.parametrize("name", ["puma560", "ur5"])
@pytest.mark.parametrize("limits", [False, True])
def test_an_aligned_wrist_is_a_family_in_closed_form(name, limits):
    """The whole continuum is inside: q4 + q6 of the one, all that planar links can follow of the other."""
    robot = zveno.load(name)
    problem = problem_of(robot, limits=limits)
    assert forms.solver.applies(problem)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(np.maximum(robot.lower, -PI), np.minimum(robot.upper, PI)) * 0.7
        q[4] = 0.0
        T = robot.forward_kinematics(q)
        found = solve_ik(robot, T[None], limits=limits)
        assert found.status[0] == "self-motion"
        assert np.abs(robot.forward_kinematics(found.of(0)) - T).max() < 1e-9
        assert told(found, 0, q)
        for family in found.self_motions[0]:
            assert family.dimension == 1
            if name == "puma560":
                assert np.ptp(wrapped(family.q[:, 3] + family.q[:, 5] - family.q[0, 3] - family.q[0, 5])) < 1e-9
            if limits:
                assert np.all((family.q >= robot.lower - 1e-9) & (family.q <= robot.upper + 1e-9))


def test_limits_cut_a_continuum_exactly():
    """A window of 1e-4 rad about one point of the family is met; one where there is none is excluded."""
    robot = zveno.load("puma560")
    q = np.array([0.4, -0.7, 0.3, 0.5, 0.0, -0.8])
    T = robot.forward_kinematics(q)
    for width in (1e-1, 1e-4, 0.0):
        window = {"joint4": (1.1 - width, 1.1 + width), "joint1": (0.3, 0.5), "joint2": (-0.8, -0.6)}
        found = solve_ik(robot, T, limits=window)
        assert found.status == "self-motion"
        assert np.abs(found.q[:, 3] - 1.1).max() <= width + 1e-9
        assert np.abs(wrapped(found.q[:, 3] + found.q[:, 5] + 0.3)).max() < 1e-9
    beside = {"joint4": (1.0, 1.1), "joint6": (0.0, 1.0), "joint1": (0.3, 0.5), "joint2": (-0.8, -0.6)}
    assert solve_ik(robot, T, limits=beside).status == "excluded by limits"


@pytest.mark.parametrize("joint", few(range(1, 6)))
def test_an_arm_that_is_singular_everywhere_is_never_complete(joint):
    """Two joints about one axis: all solutions are continua, and the polynomial's roots count nothing."""
    rng = np.random.default_rng(joint)
    arm = dh_arm("coaxial", *np.transpose(rng.uniform([0.1, 0.4, -0.4], [0.4, 1.2, 0.4], (6, 3))))
    arm.F[joint] = turns(rng.uniform(-1, 1))
    q = rng.uniform(-PI, PI, (6, 6))
    found = solve_ik(robot_of(arm), arm.forward(q), limits={"j3": (-3.0, 3.0)} if joint == 4 else True)
    for k in range(6):
        assert found.status[k] in ("undecided", "sampled", "self-motion")
        assert found.status[k] != "self-motion" or told(found, k, q[k])


@pytest.mark.parametrize("name", few(["ur5", "ur10"], 0))
def test_shoulder_and_wrist_singular_at_once(name):
    """First angles that nearly meet are known to fewer digits: whether the sixth axis is parallel is then rounding.

    The second joint is 1e-7 to 1e-4 from where they meet, q5 is 1e-13 to 1e-9 from π, where q6 is free. Where only
    an arc of what is free meets the pose to rounding, one of it is listed.
    """
    arm, rng, n = known_arms()[name], np.random.default_rng(4), 60
    robot = robot_of(arm)
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 4] = 1.0  # where the first angles meet does not depend on the wrist
    q = np.stack([beside_singular(robot, each, 1, 10 ** rng.uniform(-7, -4)) for each in q])
    q[:, 4] = PI + 10 ** rng.uniform(-13, -9, n)
    found = solve_ik(robot, arm.forward(q))
    lost = [k for k in range(n) if not told(found, k, q[k])]
    assert [str(found.status[k]) for k in lost if found.status[k] not in ("undecided", "sampled")] == []
    assert sum(not told_to_rounding(found, k, arm, q[k]) for k in lost) < 0.05 * n
    listed_without_end = found.count > 8 + 16 * 8  # more than the isolated ones and 16 points of eight continua
    assert set(np.array(found.status)[listed_without_end]) <= {"undecided", "sampled"}


def test_shoulder_and_elbow_singular_at_once():
    """Two singular values vanish, and solutions nearly meet in fours: no claim with one or two listed for four."""
    arm, rng, n = known_arms()["puma"], np.random.default_rng(6), 40
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 1] = PI / 2 + 10 ** rng.uniform(-9, -3, n) * rng.choice([-1, 1], n)
    q[:, 2] = -np.arctan2(0.4318, 0.0203) + 10 ** rng.uniform(-9, -3, n) * rng.choice([-1, 1], n)
    found = solve_ik(robot_of(arm), arm.forward(q))
    complete = np.flatnonzero(found.status == "complete")
    assert len(complete) > 5
    assert (found.count[complete] == 8).all()


@pytest.mark.parametrize("name", ["puma", "industrial0", "industrial2"])
def test_self_motions_of_aligned_wrists_are_found_beside_open_rows(name):
    """Rows lie beside the self-motion by the root of rounding, and one method of several knows the curve."""
    arm = (known_arms() | {arm.name: arm for arm in industrial_arms(3)})[name]
    robot, rng = robot_of(arm, Limits(-2.0, 2.0)), np.random.default_rng(0)
    known = 0
    for _ in range(20):
        q = np.array([rng.uniform(-2, 2), 0.0, 0.0, rng.uniform(-1, 1), 0.0, rng.uniform(-1, 1)])
        found = robot.ik(robot.forward_kinematics(q))
        known += bool(found.self_motions.get(0))
        assert found.self_motions.get(0) or found.status == "undecided"
    assert known >= (17 if name == "industrial2" else 20)  # there, two singular values vanish at once
