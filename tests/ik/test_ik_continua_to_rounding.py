"""A continuum is one to rounding of the pose: beside singular poses solutions are isolated, and listed as such."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import ARC_ROUNDING, PI, beside_singular, robot_of, told, told_to_rounding
from ik_arms import industrial_arms, known_arms

from tiers import few
from zveno.ik._judge import ROUNDING
from zveno.ik._open_rows import arm_numbers
from zveno.ik.ik_problem import problem_of
from zveno.ik.solutions import UNDECIDED
from zveno.mechanism import Frame, Joint, Link, assemble
from zveno.robot import Robot

ARMS = {
    **{name: known_arms()[name] for name in ("puma", "ur5", "kuka", "jaco")},
    **{f"{arm.name} of 0": arm for arm in industrial_arms(6, seed=0)},
    **{f"{arm.name} of 202": arm for arm in industrial_arms(6)},
}
FIRST = ("puma", "ur5", "industrial4 of 0", "industrial2 of 202")
NEARLY = [
    [-0.4743865469622035, -3.102893973320912, -1.5758508550614274, 0.5136556002068269, 1e-06, 0.22206537312312236],
    [
        2.3575577703101365,
        -0.05537134598162874,
        1.4952881523277233,
        0.9708647534134043,
        PI - 1e-7,
        0.04331315707856609,
    ],
    [2.179371878532616, 3.128443152304918, -1.44475724836248, -0.568798617653111, 1e-07, -1.8172929671338998],
    [3.038971350849235, 2.082292456869795, 1.5705496893705932, -2.9791769332555145, 1e-07, -1.2188957537644038],
    [2.5292297051927575, -2.439718931789106, 1.5640132422793611, -0.8340812711509469, 1e-07, 2.7209334736411677],
]
"""Configurations of `industrial2 of 202` on curves that miss their poses by 6e-14 to 5e-12 only.

Proofs of their poses find eight isolated solutions each.
"""
OPEN_ROUNDINGS = 100
"""Rounding errors of a pose by which rows of an undecided answer may miss it.

Newton's method has stopped at ten, and rows up to ten times further off than the best are listed with it. Beside
`industrial4 of 0` the error along the last singular vector stays 2e-14 to 4e-14 for 1e-4 rad to both sides.
"""


@pytest.mark.parametrize("q", NEARLY)
def test_what_misses_by_more_than_rounding_is_no_continuum(q):
    arm = ARMS["industrial2 of 202"]
    T = arm.forward(np.array(q))
    found = robot_of(arm).ik(T[None])
    assert (found.self_motions, len(found.of(0))) == ({}, 8)
    assert np.abs(arm.forward(found.of(0)) - T).max() < ARC_ROUNDING
    assert told_to_rounding(found, 0, arm, q)


@pytest.mark.parametrize("off", few([1e-5, 1e-8, 1e-6, 1e-7]))
@pytest.mark.parametrize("name", few([*FIRST, *(name for name in ARMS if name not in FIRST)], 2))
def test_what_is_listed_beside_a_singular_pose_meets_it_to_rounding(name, off):
    arm, rng, n = ARMS[name], np.random.default_rng(11), 8
    robot, q = robot_of(arm), rng.uniform(-PI, PI, (n, 6))
    for k, joint in enumerate(rng.choice([1, 2, 4], n)):
        q[k] = _beside(robot, q[k], joint, off)
    T = arm.forward(q)
    found = robot.ik(T)
    for k in range(n):
        listed = np.concatenate([found.of(k), *(family.q for family in found.self_motions.get(k, ()))])
        is_open = found.codes[k] == UNDECIDED
        off = OPEN_ROUNDINGS * arm_numbers(problem_of(robot))[1][2] if is_open else 0.0
        assert np.abs(arm.forward(listed) - T[k]).max(initial=0.0) < ARC_ROUNDING + off
        assert told_to_rounding(found, k, arm, q[k])


def _beside(robot, q: np.ndarray, joint: int, off: float) -> np.ndarray:
    """q with a joint beside where the arm is singular, by its geometry if det J never changes its sign."""
    try:
        return beside_singular(robot, q, int(joint), off)
    except IndexError:
        moved = q.copy()
        moved[joint] = off
        return moved


@pytest.mark.parametrize(
    ("name", "angle"),
    few([("puma", 0.0), ("kuka", 0.0), ("ur5", 0.0), ("industrial2 of 202", 0.0), ("industrial2 of 202", PI)], 3),
)
def test_straight_continua_of_singular_poses_are_kept(name, angle):
    """Of an aligned wrist, and one in closed form: the pose is singular as far as known."""
    arm, rng, n = ARMS[name], np.random.default_rng(3), 4
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 4] = angle
    T = arm.forward(q)
    found = robot_of(arm).ik(T)
    for k in range(n):
        assert found.self_motions.get(k), found.reason(k)
        assert told(found, k, q[k])
        assert max(np.abs(arm.forward(family.q) - T[k]).max() for family in found.self_motions[k]) < ARC_ROUNDING


@pytest.mark.parametrize(
    ("name", "angle"),
    few([("industrial3 of 0", 0.0), ("industrial2 of 202", PI / 2), ("industrial3 of 0", PI)], 1),
)
def test_other_continua_of_singular_poses_are_undecided(name, angle):
    """Points of such a curve are listed; no list is complete."""
    arm, rng, n = ARMS[name], np.random.default_rng(3), 4
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 2] = angle
    T = arm.forward(q)
    found = robot_of(arm).ik(T)
    for k in range(n):
        assert found.codes[k] == UNDECIDED
        assert "near to singular" in found.reason(k)
        assert told_to_rounding(found, k, arm, q[k])
        assert np.abs(arm.forward(found.of(k)) - T[k]).max() < ARC_ROUNDING


@pytest.mark.laws
@pytest.mark.parametrize("metres", [0.0, 100.0])
def test_rounding_is_that_of_the_poses_own_digits(metres):
    """An arm whose base is far from the world's origin has poses that are known to fewer digits."""
    arm = ARMS["industrial3 of 0"]
    links = [Link(f"l{i}") for i in range(7)]
    F = arm.F.copy()
    F[0, :3, 3] += metres
    kind = robot_of(arm).mechanism.joints[0].type
    joints = [Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, F[i]) for i in range(6)]
    robot = Robot(assemble("far", links, joints, [Frame("tool", "l6", arm.tool)]))
    problem = problem_of(robot)
    assert arm_numbers(problem)[1][2] >= ROUNDING * max(1.0, metres / problem.length)
    q = np.random.default_rng(3).uniform(-PI, PI, (4, 6))
    q[:, 2] = 0.0
    found = robot.ik(robot.forward_kinematics(q))
    assert (found.codes == UNDECIDED).all()  # a curve of solutions that is not straight
    for k, T in enumerate(robot.forward_kinematics(q)):
        assert np.abs(robot.forward_kinematics(found.of(k)) - T).max() < ARC_ROUNDING * max(1.0, metres)
