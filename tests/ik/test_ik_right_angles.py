"""Poses of right angles, whose solutions are singular to the last digit: continua, never a list called complete."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest, robot_of
from ik_arms import dh_arm

import zveno
from tiers import every, few
from zveno.ik._judge import jacobians, judged
from zveno.ik.ik_problem import problem_of
from zveno.ik.newton import lanes_of

ELEMENTARY = "Rz(q1) Tz(0.1) Ry(q2) Tx(0.3) Ry(q3) Tx(0.2) Tz(-0.2) Ry(q4) Rx(q5) Rz(q6)"


def rounded(T: np.ndarray) -> np.ndarray:
    """Exact decimals."""
    return np.round(T, 12)


def on_answer(answer: zveno.ik.Solutions, k: int, q: np.ndarray) -> bool:
    """Whether a configuration is listed, or on a listed continuum as far as its samples tell."""
    if nearest(q, answer.of(k)) < 1e-6:
        return True
    for family in answer.self_motions.get(k, ()):
        moving = np.ptp(family.q, axis=0) > 1e-6
        still = np.abs((family.q - q + np.pi) % (2 * np.pi) - np.pi)[:, ~moving]
        if (still < 1e-6).all(axis=1).any():
            return True
    return False


@pytest.mark.parametrize("name", ["puma560", "tx40"])
def test_aligned_wrists_are_no_list(name):
    """Cases with the truth: two axes of the wrist are parallel, so both turn against each other."""
    robot = zveno.load(name)
    T = {
        "puma560": [[0, 0, 1, 0.9349], [0, 1, 0, 0.15], [-1, 0, 0, 0.0203], [0, 0, 0, 1]],
        "tx40": [[0, 0, -1, -0.29], [0, 1, 0, -0.035], [1, 0, 0, 0.545], [0, 0, 0, 1]],
    }[name]
    answer = robot.ik(np.array(T, dtype=float))
    assert answer.status in ("self-motion", "sampled", "undecided")
    assert answer.self_motions
    assert (answer.condition >= 1.0).all()


def test_an_arm_of_elementary_transforms_lists_where_its_pose_comes_from():
    robot = zveno.load(ELEMENTARY)
    q = np.array([-1.0, 2, 1, 2, 1, -1]) * np.pi / 2
    answer = robot.ik(rounded(robot.forward_kinematics(q))[None])
    assert answer.status[0] != "complete" or on_answer(answer, 0, q)
    assert (answer.condition[np.isfinite(answer.q[..., 0])] >= 1.0).all()


@pytest.mark.laws
@pytest.mark.parametrize("name", every(["tx40", "puma560", "ur5", "ur10"]))
def test_what_made_a_pose_of_right_angles_is_told(name):
    robot = zveno.load(name)
    rng = np.random.default_rng(8)
    q = rng.integers(-1, 3, (60, 6)) * (np.pi / 2)
    answer = robot.ik(rounded(robot.forward_kinematics(q)), limits=False)
    claimed = np.isin(answer.status, ["complete", "self-motion"])
    for k in np.flatnonzero(claimed).tolist():
        assert on_answer(answer, k, q[k]), (name, q[k], answer.reason(k))
    assert not np.isin(answer.status, ["unreachable", "excluded by limits"]).any()
    assert (answer.condition[np.isfinite(answer.condition)] >= 1.0).all()


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_a_stretched_arm_whose_wrist_is_aligned_is_not_unreachable(seed):
    """The circle on which the fourth axis may move touches the reach of two links: rounding lost the only point."""
    rng = np.random.default_rng(seed)
    upper, fore, *offsets = rng.uniform(0.1, 0.6, 6)
    twists = [np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0]
    arm = dh_arm("stretched", [0, -upper, -fore, 0, 0, 0], twists, [offsets[0], 0, 0, *offsets[1:]])
    q = rng.uniform(-3, 3, (8, 6))
    q[:4, :2], q[:4, 5] = rng.integers(-2, 3, (2, 4)).T * (np.pi / 2), np.pi / 2
    q[:, 2], q[:, 3], q[:, 4] = 0.0, np.resize([np.pi / 2, -np.pi / 2], 8), np.repeat([0.0, np.pi], 4)
    answer = robot_of(arm).ik(arm.forward(q))
    for k in range(8):
        assert answer.status[k] not in ("unreachable", "excluded by limits"), (q[k], answer.reason(k))
        assert answer.status[k] == "undecided" or on_answer(answer, k, q[k]), (q[k], answer.reason(k))
        for motion in answer.self_motions.get(k, ()):
            assert np.ptp(motion.q, axis=0).max() > 1e-4, "a point is called a continuum"


def test_a_stretched_ur10_is_not_unreachable():
    """Missed by 0 m; it was called unreachable, missed by 0.114 m."""
    robot = zveno.load("ur10")
    q = np.array([2.0, 0, 0, -1, 0, 1]) * (np.pi / 2)
    answer = robot.ik(robot.forward_kinematics(q), limits=False)
    assert answer.status == "undecided"
    assert nearest(q, answer.of()) < 1e-6


@pytest.mark.parametrize("name", ["puma560", "ur5", "scara", "panda"])
def test_singular_values_are_those_of_the_jacobian(name):
    """‖J⁻¹‖ from a factorisation of J, not of JᵀJ, at regular, nearly singular and singular configurations."""
    robot = zveno.load(name)
    problem = problem_of(robot)
    q = robot.random(60, 4)
    q[:20, -2] = 10.0 ** -np.arange(20.0)  # a wrist that is less and less bent
    x = problem.in_units(q)
    lanes, pose = lanes_of(problem, robot.forward_kinematics(q)), np.arange(60)
    rows = judged(problem, x, lanes, pose)
    sigma = np.linalg.svd(jacobians(problem, x, lanes, pose), compute_uv=False)
    expected = 1.0 / np.sqrt((sigma**-2.0).sum(axis=1))
    np.testing.assert_allclose(rows.least, expected, rtol=1e-9, atol=2e-15)
    assert (rows.condition >= 1.0).all()
