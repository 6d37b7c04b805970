"""Samples prove nothing: what scans and slices say of poses that were made inside limits, and out of reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ik_answers import PI, nearest, robot_of
from ik_arms import dh_arm

import zveno
from tiers import few
from zveno.ik import _nothing_found
from zveno.ik._nothing_found import out_of_reach
from zveno.ik.ik_problem import problem_of
from zveno.ik.solve import solve_ik
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Mimic, Prismatic, Revolute, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

NEGATIVE = ("unreachable", "excluded by limits")


def test_a_scan_without_result_is_undecided_and_reach_is_a_proof():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(np.zeros(6))
    T[:3, 3] = (0.0, 0.0, 0.05)  # inside the arm, where only the elbow's geometry forbids it
    exact, scanned = solve_ik(robot, T, limits=False), solve_ik(robot, T, limits=False, method="scan")
    assert exact.status == "unreachable"
    assert "no branch is real" in exact.summary
    assert scanned.status == "undecided"
    T[:3, 3] = (5.0, 0.0, 0.0)
    far = solve_ik(robot, T, limits=False, method="scan")
    assert far.status == "unreachable"
    assert "out of the arm's reach" in far.summary


@pytest.mark.parametrize("seed", few(range(4)))
def test_what_is_out_of_reach_is_never_reached(seed):
    rng = np.random.default_rng(seed)
    links, joints = [Link("l0")], []
    for i in range(4):
        links.append(Link(f"l{i + 1}"))
        kind = Prismatic() if rng.random() < 0.3 else Revolute()
        T = transform(exp(rng.normal(size=3)), rng.uniform(-1, 1, 3) * rng.choice([0.1, 1.0]))
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, T, limits=Limits(-0.5, 0.8)))
    robot = zveno.Robot(assemble("random", links, joints, [Frame("tool", "l4", transform(None, [1.0, 0, 0]))]))
    problem = problem_of(robot, task="position")
    assert out_of_reach(problem, robot.forward_kinematics(robot.random(400, seed))).max() == 0
    away = np.tile(np.eye(4), (2, 1, 1))
    away[:, 0, 3] = (1e3, -1e3)
    assert out_of_reach(problem, away).min() > 0


@pytest.mark.parametrize(("name", "joint"), few([("panda", 0), ("iiwa14", 6), ("panda", 4)], 1))
def test_a_locked_joint_leaves_an_exact_arm(name, joint):
    """Poses made inside the limits are found: what is left is an arm of six, with nothing to slice."""
    robot = zveno.load(name)
    q = robot.random(12, 1)
    locked = float(q[0, joint])
    q[:, joint] = locked
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, limits={robot.joint_names[joint]: (locked, locked)})
    for k in range(len(q)):
        assert nearest(q[k], found.of(k)) < 1e-5
        assert np.all(found.of(k)[:, joint] == locked)
    assert set(found.status) <= {"complete", "undecided"}


@pytest.mark.laws
@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize(
    ("file", "base", "tip"),
    [
        ("tiago_description/robots/tiago.urdf", "torso_lift_link", "arm_7_link"),
        ("talos_data/robots/talos_full_v2.urdf", "torso_2_link", "arm_left_7_link"),
    ],
)
def test_arms_of_humanoids_reach_what_they_came_from(file, base, tip):
    """Seven joints with narrow and one-sided limits, poses made inside them: all are reached."""
    pin = pytest.importorskip("pinocchio")
    robot = zveno.load(Path(pin.__file__).parents[4] / "share/example-robot-data/robots" / file, snap=True)
    chain = list(problem_of(robot, frame=tip, relative_to=base).chain)
    q = np.tile(robot.neutral(), (24, 1))
    low, high = np.maximum(robot.lower[chain], -PI), np.minimum(robot.upper[chain], PI)
    q[:, chain] = np.random.default_rng(0).uniform(low, high, (24, len(chain)))
    T = np.linalg.inv(robot.forward_kinematics(q, frame=base)) @ robot.forward_kinematics(q, frame=tip)
    found = solve_ik(robot, T, frame=tip, relative_to=base)
    assert set(found.status) <= {"self-motion", "sampled", "undecided"}
    assert (found.count > 0).all()


@pytest.mark.parametrize("width", few([1e-3, 1e-6, 0.1], 1))
def test_a_narrow_joint_is_the_one_that_is_sliced(width):
    robot = zveno.load("iiwa14")
    q = robot.random(6, 2)
    narrow = {"joint3": (float(q[0, 2]) - width, float(q[0, 2]) + width)}
    q[:, 2] = q[0, 2]
    found = solve_ik(robot, robot.forward_kinematics(q), limits=narrow)
    assert "joint3" in found.method
    assert set(found.status) == {"self-motion"}
    assert max(nearest(q[k], found.of(k)) for k in range(6)) < 0.05


def rail(rng) -> zveno.Robot:
    """A slide of 6 m with six joints of ±1.5 rad on it, no geometry special."""
    links, joints = [Link("l0")], []
    for i in range(7):
        links.append(Link(f"l{i + 1}"))
        T = transform(exp(rng.normal(size=3)), rng.uniform(-0.3, 0.3, 3)) if i else np.eye(4)
        kind, limits = (Prismatic(), Limits(-3, 3)) if i == 0 else (Revolute(), Limits(-1.5, 1.5))
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, T, limits=limits))
    return zveno.Robot(assemble("rail", links, joints, [Frame("tool", "l7", transform(None, [0.2, 0, 0.1]))]))


def test_slices_never_say_that_there_is_nothing():
    robot = rail(np.random.default_rng(5))
    found = solve_ik(robot, robot.forward_kinematics(robot.random(20, 5)))
    assert not set(found.status) & set(NEGATIVE)
    assert all("between the slices" in note for note in found.notes.values())
    assert np.mean(found.count > 0) > 0.8


def test_mimic_joints_with_many_solutions():
    """A joint that turns eight times as fast: signs cancel, and random starts of another iteration find no more."""
    rng = np.random.default_rng(2)
    links, joints = [Link("l0")], []
    for i in range(4):
        links.append(Link(f"l{i + 1}"))
        T = transform(exp(rng.normal(size=3)), rng.uniform(-0.4, 0.4, 3))
        joints.append(
            Joint(f"j{i}", f"l{i}", f"l{i + 1}", Continuous(), T, mimic=Mimic("j1", 8.0) if i == 3 else None)
        )
    robot = zveno.Robot(assemble("fast", links, joints, [Frame("tool", "l4", transform(None, [0.3, 0.1, 0.2]))]))
    points = robot.forward_kinematics(rng.uniform(-PI, PI, (6, 3)))[:, :3, 3]
    found = solve_ik(robot, points, task="position")
    assert np.mean(found.status == "sampled") > 0.5
    for k in range(6):
        own = found.of(k)
        truth = multistart(robot, points[k], 400)
        missing = [q for q in truth if nearest(q, own) > 1e-4]
        assert found.status[k] != "sampled" or not missing
        if found.status[k] == "sampled":
            assert np.sign(np.linalg.det(robot.jacobian(own)[:, :3])).sum() == 0


def multistart(robot, point, starts: int) -> np.ndarray:
    """Solutions for a point by damped least squares on NumPy matrices, from random starts."""
    q = np.random.default_rng(0).uniform(-PI, PI, (starts, robot.n_q))
    for _ in range(60):
        e, J = point - robot.forward_kinematics(q)[:, :3, 3], robot.jacobian(q)[:, :3]
        A = J @ np.swapaxes(J, 1, 2) + (0.02 * np.sum(e * e, axis=1) + 1e-14)[:, None, None] * np.eye(3)
        step = (np.swapaxes(J, 1, 2) @ np.linalg.solve(A, e[..., None]))[..., 0]
        q = q + step * np.minimum(1, 0.3 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
    return q[np.linalg.norm(point - robot.forward_kinematics(q)[:, :3, 3], axis=1) < 1e-10]


def coaxial_arm():
    """Second and third joint turn about one axis, so every configuration is singular; a spherical wrist."""
    twist = np.radians([60.0, 0.0, -60.0, 90.0, -90.0, 60.0])
    arm = dh_arm("coaxial", [-0.42, 0, -0.29, 0, 0, 0.28], twist, [-0.2, 0.27, 0.026, -0.35, 0, -0.1])
    return robot_of(arm)


def beside_reachable(robot):
    """Poses that the five axes that count miss by a millimetre, as nearly all poses are."""
    T = robot.forward_kinematics(np.random.default_rng(2).uniform(-PI, PI, (12, 6)))
    T[:, :3, 3] += 1e-3 * np.array([0.6, -0.48, 0.64])
    return T


def test_arms_that_are_singular_everywhere_claim_nothing(monkeypatch):
    robot = coaxial_arm()
    T = beside_reachable(robot)
    statuses = solve_ik(robot, T, method="closed_form").status
    assert not set(statuses) & {*NEGATIVE, "complete"}
    monkeypatch.setattr(_nothing_found, "has_regular_configuration", lambda problem: True)
    assert set(solve_ik(robot, T, method="closed_form").status) & {*NEGATIVE, "complete"}, (
        "the check is what does it"
    )
