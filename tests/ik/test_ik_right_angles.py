"""Poses of right angles, whose solutions are singular to the last digit: continua, never a list called complete."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest

import zveno
from tiers import every
from zveno.ik.checks.judgement import jacobians, judged
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
