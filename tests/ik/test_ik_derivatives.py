"""dq/dT of solutions against differences of ik itself; tangents of self-motions and nearest points on them."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import robot_of
from ik_arms import general_arms

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.spatial.transforms import exp as exp_twist

H = 1e-6
TASKS = ("pose", "position", "position+axis", "rotation", (1, 1, 0, 0, 0, 1))


def moved(T: np.ndarray, twist: np.ndarray, t: float) -> np.ndarray:
    """The pose after a time t with a twist at its origin, in world axes."""
    out = T.copy()
    out[:3, :3] = exp_twist(np.concatenate([np.zeros(3), t * twist[3:]]))[:3, :3] @ T[:3, :3]
    out[:3, 3] += t * twist[:3]
    return out


def check_against_differences(robot, T, rng, **options):
    """dq/dT times a twist is the central difference of the solutions nearest to each one."""
    solutions = robot.ik(T, **options)
    if not len(solutions) or solutions.self_motions:
        return 0
    regular = solutions.where(solutions.condition < 50.0)
    if not len(regular):
        return 0
    D, twist = regular.derivatives(), rng.normal(size=6)
    ahead, behind = (robot.ik(moved(T, twist, t), **options) for t in (H, -H))
    for q, matrix in zip(regular.q, D, strict=True):
        v = robot.difference(behind.nearest_to(q), ahead.nearest_to(q)) / (2 * H)
        assert np.abs(matrix @ twist - v).max() < 1e-4 * (1 + np.abs(v).max())
    return len(regular)


@pytest.mark.parametrize("name", few(["ur5", "puma560", "stanford", "scara"], 2))
def test_derivatives_are_differences_of_ik(name):
    robot, rng = zveno.load(name), np.random.default_rng(1)
    options = {"task": (1, 1, 1, 0, 0, 1)} if name == "scara" else {}
    T = robot.forward_kinematics(robot.random(4, rng))
    assert sum(check_against_differences(robot, pose, rng, **options) for pose in T) >= 4


@pytest.mark.laws
@pytest.mark.parametrize("k", range(6))
def test_derivatives_of_general_arms(k):
    robot, rng = robot_of(general_arms(6)[k]), np.random.default_rng(k)
    assert check_against_differences(robot, robot.forward_kinematics(robot.random((), rng)), rng) >= 1


@pytest.mark.parametrize("seed", few(range(12), 2))
def test_derivatives_of_tasks_on_random_chains(seed):
    """Chains with as many joints as equations, with slides, screws, followers, other frames as reference."""
    rng = np.random.default_rng(seed)
    checked = 0
    for task in TASKS[1:]:
        rows = {"position": 3, "position+axis": 5, "rotation": 3}.get(task if isinstance(task, str) else "", 3)
        mechanism = random_mechanism(seed, rows, ("revolute", "prismatic", "helical"), branching=0.0, mimic=0.0)
        if task == "rotation":
            mechanism = random_mechanism(seed, rows, ("revolute",), branching=0.0, mimic=0.0)
        robot = zveno.Robot(mechanism)
        T = robot.forward_kinematics(robot.random((), rng), frame=mechanism.link_names[-1])
        checked += check_against_differences(robot, T, rng, task=task, frame=mechanism.link_names[-1])
    assert checked >= 1


def test_derivatives_follow_a_line_as_a_path_does():
    """A batch of poses: one Euler step of dq/dT stays on a line to second order."""
    robot = zveno.load("ur5")
    T = robot.forward_kinematics(np.array([[0.3, -1.0, 1.2, 0.4, 0.9, 0.1], [0.1, -1.2, 1.4, 0.2, 1.1, 0.5]]))
    solutions = robot.ik(T)
    twist = np.array([0.1, 0.2, -0.1, 0.3, 0.1, 0.2])
    v = solutions.derivatives() @ twist
    for pose in range(2):
        n = int(solutions.count[pose])
        after = robot.forward_kinematics(solutions.of(pose) + 1e-4 * v[pose, :n])
        assert np.abs(after - moved(T[pose], twist, 1e-4)).max() < 1e-6
        assert np.isnan(v[pose, n:]).all()


def test_no_derivative_where_there_is_none():
    ur5, panda = zveno.load("ur5"), zveno.load("panda")
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.9, 0.1])
    aligned, stretched = q.copy(), q.copy()
    aligned[4], stretched[2] = 0.0, 1e-7
    cases = [
        (lambda: ur5.ik(ur5.forward_kinematics(aligned)).derivatives(), "singular"),
        (lambda: ur5.ik(ur5.forward_kinematics(stretched)).derivatives(), "singular"),
        (
            lambda: panda.ik(panda.forward_kinematics([0.3, -0.4, 0.2, -1.8, 0.5, 1.9, 0.7])).derivatives(),
            "many ways",
        ),
    ]
    far = ur5.forward_kinematics(q)
    far[:3, 3] *= 3.0
    cases.append((lambda: ur5.ik(far).within(9.0, 9.0).derivatives(), "off its pose|singular"))
    for call, says in cases:
        with pytest.raises(zveno.ZvenoError, match=says):
            call()
    good = ur5.ik(ur5.forward_kinematics(q))
    assert np.allclose(ur5.jacobian(good.q) @ good.derivatives(), np.eye(6), atol=1e-12)


# --- self-motions


@pytest.mark.parametrize("name", few(["panda", "iiwa14", "xarm7"], 1))
def test_tangents_of_self_motions(name):
    robot, rng = zveno.load(name), np.random.default_rng(3)
    solutions = robot.ik(robot.forward_kinematics(robot.random(3, rng)))
    for pose in range(3):
        curves = solutions.self_motions[pose]
        assert curves
        for curve, tangent in zip(curves, solutions.tangents(pose), strict=True):
            assert np.abs(np.linalg.norm(tangent, axis=1) - 1.0).max() < 1e-12
            assert np.abs(np.einsum("sij,sj->si", robot.jacobian(curve.q), tangent)).max() < 1e-12
            step = (np.diff(curve.q, axis=0) + np.pi) % (2 * np.pi) - np.pi
            assert ((tangent[:-1] * step).sum(axis=1) > 0).mean() > 0.8


@pytest.mark.parametrize("name", few(["panda", "iiwa14", "xarm7"], 1))
def test_the_nearest_point_of_whole_self_motions(name):
    """It meets pose and limits, is as near as any known solution, and no small motion comes nearer."""
    robot, rng = zveno.load(name), np.random.default_rng(4)
    for _ in range(4):
        q, weights = robot.random((), rng), rng.uniform(0.2, 3.0, robot.n_q)
        T = robot.forward_kinematics(q)
        solutions = robot.ik(T)
        if not solutions.self_motions or solutions.status == "undecided":
            continue
        assert np.abs(solutions.nearest_to(q) - q).max() < 1e-7  # q itself is on a curve
        goal = q + rng.normal(size=robot.n_q)
        best = solutions.nearest_to(goal, weights=weights)
        assert np.abs(robot.forward_kinematics(best) - T).max() < 1e-8
        assert ((best >= robot.lower - 1e-9) & (best <= robot.upper + 1e-9)).all()
        known = np.concatenate([solutions.q, q[None], *(curve.q for curve in solutions.self_motions[0])])
        assert (weights * (best - goal) ** 2).sum() <= (weights * (known - goal) ** 2).sum(axis=1).min() + 1e-12
        tangent = np.linalg.svd(robot.jacobian(best))[2][-1]
        slope = (weights * (best - goal)) @ tangent
        room = np.minimum(best - robot.lower, robot.upper - best).min()
        assert abs(slope) < 1e-5 or room < 1e-6


def test_the_nearest_point_of_an_aligned_wrist():
    """q4 and q6 share what q says about their sum."""
    robot = zveno.load("ur5")
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.0, 0.1])
    solutions = robot.ik(robot.forward_kinematics(q))
    assert solutions.status == "self-motion"
    assert np.abs(solutions.nearest_to(q) - q).max() < 1e-7


def test_filtered_self_motions_are_known_at_their_points_only():
    robot = zveno.load("panda")
    whole = robot.ik(robot.forward_kinematics((robot.lower + robot.upper) / 2))
    middle = float(np.median(whole.self_motions[0][0].q[:, 6]))
    some = whole.where(lambda q: q[:, 6] > middle + 1e-9)
    goal = np.where(np.arange(7) == 6, middle - 0.5, robot.neutral())
    assert some.nearest_to(goal)[6] > middle
