"""Poses at which solutions meet, vanish or form continua."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped

import zveno
from tiers import few
from zveno.ik.solve import solve_ik
from zveno.mechanism import Continuous, Joint, Limits, Link, Revolute, assemble
from zveno.spatial.transforms import transform


def family_through(robot, found, q):
    """The family whose ordered sample comes nearest to q."""
    distances = [np.abs(wrapped(family.q - q)).max(axis=1).min() for family in found.self_motions.get(0, ())]
    return found.self_motions[0][int(np.argmin(distances))], min(distances)


def planar(n, lengths=None, limits=None):
    """A plane arm with n revolute joints about z."""
    lengths = lengths or [1.0] * n
    links, joints = [Link("l0")], []
    for i in range(n):
        links.append(Link(f"l{i + 1}"))
        kind = Revolute() if limits else Continuous()
        after = transform(None, [lengths[i], 0, 0])
        own = Limits(*limits) if limits else Limits()
        joints.append(Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", kind, T_joint_child=after, limits=own))
    return zveno.Robot(assemble("planar", links, joints))


def test_wrist_aligned_is_a_family():
    robot = zveno.load("puma560")
    q = np.array([0.4, -0.7, 0.3, 0.5, 0.0, -0.8])
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, limits=False, method="scan")
    assert found.status == "sampled"
    assert np.abs(robot.forward_kinematics(found.q) - T).max() < 1e-9
    family, distance = family_through(robot, found, q)
    assert family.dimension == 1
    assert family.closed
    assert distance < 0.5  # the sample is 16 points around a full turn
    # Only axes 4 and 6 move, against each other, and the sample goes round in order.
    assert np.abs(wrapped(family.q[:, [0, 1, 2, 4]] - q[[0, 1, 2, 4]])).max() < 1e-6
    assert np.abs(wrapped(family.q[:, 3] + family.q[:, 5] - q[3] - q[5])).max() < 1e-6
    steps = wrapped(np.diff(family.q[:, 3]))
    assert np.all(steps > 0) or np.all(steps < 0)
    # The other arm postures, with a bent wrist, are isolated: two each.
    isolated = [x for x in found.q if np.abs(wrapped(family.q - x)).max(axis=1).min() > 1e-9]
    assert 2 <= len(isolated) <= 6


@pytest.mark.parametrize("off", few([1e-3, 1e-2, 1e-4], 1))
def test_near_an_aligned_wrist_solutions_are_isolated(off):
    robot = zveno.load("puma560")
    q = np.array([0.4, -0.7, 0.3, 0.5, off, -0.8])
    found = solve_ik(robot, robot.forward_kinematics(q), limits=False, method="scan")
    assert found.status == "sampled"
    assert found.count == 8
    assert np.abs(wrapped(found.q - q)).max(axis=1).min() < 1e-5


def test_the_boundary_is_one_double_root():
    robot = planar(2)
    for bend in (0.0, 1e-3, 0.5):
        point = robot.forward_kinematics([0.3, bend])[:3, 3]
        found = solve_ik(robot, point, task="position")
        assert found.status == ("sampled" if bend else "undecided")
        assert found.count == 2 or (not bend and found.count == 1)
        assert np.abs(wrapped(found.q - [0.3, bend])).max(axis=1).min() < 2e-5
        assert np.nanmax(found.residual) < 1e-9
    beyond = robot.forward_kinematics([0.3, 0.0])[:3, 3] * (1 + 1e-6)
    assert solve_ik(robot, beyond, task="position").status == "unreachable"


def test_elbow_straight():
    robot = zveno.load("puma560")
    a3, d4 = -0.0203, 0.4331
    straight = np.arctan2(d4, a3)  # where forearm and upper arm are in line
    for q3 in (straight, straight - np.pi):
        q = np.array([0.4, -0.7, q3, 0.5, 0.6, -0.8])
        T = robot.forward_kinematics(q)
        least = np.linalg.svd(robot.jacobian(q), compute_uv=False)[-1]
        found = solve_ik(robot, T, limits=False, method="scan")
        assert np.abs(robot.forward_kinematics(found.q) - T).max() < 1e-9
        if least < 1e-3:
            assert np.abs(wrapped(found.q - q)).max(axis=1).min() < 1e-4
            assert found.count <= 8  # elbow up and down may be one


def test_shoulder_over_the_axis():
    """The wrist centre on the first axis: the first joint is free, if nothing keeps the arm off the axis."""
    links = [Link(f"l{i}") for i in range(4)]
    placements = [transform(), transform([[1, 0, 0], [0, 0, -1], [0, 1, 0]]), transform(None, [1.0, 0, 0])]
    joints = [Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", Continuous(), T) for i, T in enumerate(placements)]
    from zveno.mechanism import Frame

    robot = zveno.Robot(assemble("arm", links, joints, [Frame("tool", "l3", transform(None, [0.8, 0, 0]))]))
    elbow = np.arccos((1.0 + 1.2**2 - 0.8**2) / (2 * 1.2))
    found = solve_ik(robot, [0.0, 0.0, 1.2], task="position")
    assert found.status == "self-motion"
    assert {family.dimension for family in found.self_motions[0]} == {1}
    assert np.abs(np.abs(wrapped(found.q[:, 1] - np.pi / 2)) - elbow).max() < 1e-6
    assert np.ptp(found.q[:, 0]) > 4


def test_a_three_joint_arm_has_four_postures():
    links = [Link(f"l{i}") for i in range(4)]
    placements = [transform(), transform([[1, 0, 0], [0, 0, -1], [0, 1, 0]]), transform(None, [1.0, 0, 0])]
    joints = [Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", Continuous(), T) for i, T in enumerate(placements)]
    from zveno.mechanism import Frame

    robot = zveno.Robot(assemble("arm", links, joints, [Frame("tool", "l3", transform(None, [0.8, 0, 0]))]))
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (50, 3))
    points = robot.forward_kinematics(q)[:, :3, 3]
    found = solve_ik(robot, points, task="position")
    assert np.all(found.count == 4)
    for k in range(50):
        assert np.abs(wrapped(found.of(k) - q[k])).max(axis=1).min() < 1e-6


def test_a_limit_reached_exactly_is_inside():
    robot = planar(2, limits=(-1.0, 1.0))
    q = np.array([1.0, -1.0])
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T)
    assert found.count == 1
    assert np.all((found.q >= robot.lower) & (found.q <= robot.upper))


def test_the_documents_arm_has_its_solution():
    robot = zveno.load("doc004_arm")
    q = np.array([4.7663, 3.3411, 1.5177, 2.3376, 5.4647, 1.4027])
    T = robot.forward_kinematics(q)
    assert np.allclose(T[:3, 3] * 1000, [916.55511079, 113.02762547, 1386.31369647], atol=1e-7)
    found = solve_ik(robot, T, method="scan")
    assert np.abs(wrapped(found.q - q)).max(axis=1).min() < 1e-9
    assert found.status == "sampled"


def test_the_twin_of_a_nearly_singular_solution_is_found():
    """Of two solutions that nearly meet, one is enough to find the other."""
    from zveno.ik import scan
    from zveno.ik.ik_problem import problem_of
    from zveno.ik.newton import lanes_of

    robot = planar(2)
    problem = problem_of(robot, task="position")
    q = np.array([[0.3, 0.005]])
    lanes = lanes_of(problem, robot.forward_kinematics(q))
    found = scan._with_twins(problem, lanes, scan._Points(np.zeros(1, int), q))
    assert len(found.x) == 2
    assert np.abs(wrapped(found.x[:, 1]) ** 2 - 25e-6).max() < 1e-9
