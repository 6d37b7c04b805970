"""Redundant robots: slices, curves through them, sampled continua, and single solutions for batches."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno import ik
from zveno.errors import UnknownNameError, ZvenoError
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant.sliced_joint import sliced_joint
from zveno.ik.redundant.slices import Sliced, linked
from zveno.ik.solve import solve_ik
from zveno.mechanism import Frame, Joint, Limits, Link, Revolute, assemble
from zveno.robots import generators
from zveno.spatial.transforms import transform


@pytest.mark.parametrize("method", ["auto", "scan"])
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_slices_are_complete_and_ordered(name, method):
    robot = zveno.load(name)
    q = robot.random(3, 0)
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, samples=24, redundant_joint="joint3" if name == "iiwa14" else None, method=method)
    for k in range(3):
        own = found.of(k)
        assert found.status[k] == "sampled"
        assert np.abs(robot.forward_kinematics(own) - T[k]).max() < 1e-9
        assert np.all((own >= robot.lower) & (own <= robot.upper))
        self_motions = found.self_motions[k]
        assert all(family.dimension == 1 for family in self_motions)
        assert sum(len(family.q) for family in self_motions) == len(own)
        # The generating configuration lies between neighbours of some curve, or just beyond the end of one.
        assert min(np.abs(family.q - q[k]).max(axis=1).min() for family in self_motions) < 0.6


@pytest.mark.parametrize("around", [True, False])
def test_points_continue_in_each_others_nearest_alone_and_in_batches(around):
    robot, rng, n_slices = zveno.load("panda"), np.random.default_rng(8), 5
    problem = problem_of(robot)
    pose, cut = np.repeat(np.arange(4), 40), np.tile(np.repeat(np.arange(n_slices), 8), 4)
    kept = rng.random(160) < 0.4  # some slices are empty
    pose, cut = pose[kept], cut[kept]
    sliced = Sliced(pose, cut, rng.uniform(-1.0, 1.0, (len(pose), 7)))
    curves = linked(problem, sliced, n_slices, around)
    for i, found in curves.items():
        own = np.flatnonzero(pose == i)
        alone = linked(problem, Sliced(0 * own, cut[own], sliced.x[own]), n_slices, around)[0]
        assert [(own[rows].tolist(), closed) for rows, closed in alone] == [(r.tolist(), c) for r, c in found]
        assert sorted(np.concatenate([rows for rows, _ in found])) == own.tolist()
        steps = {
            (int(a), int(b)) for rows, closed in found for a, b in zip(rows, [*rows[1:], rows[0]], strict=True)
        }
        steps -= {(int(rows[-1]), int(rows[0])) for rows, closed in found if not closed}
        gap = abs(sliced.x[:, None] - sliced.x).max(axis=2)
        for a in own:
            there = own[cut[own] == (cut[a] + 1) % n_slices] if around or cut[a] + 1 < n_slices else own[:0]
            b = int(there[np.argmin(gap[a, there])]) if len(there) else -1
            here = own[cut[own] == cut[a]]
            mutual = b >= 0 and gap[a, b] < 1.0 and here[np.argmin(gap[here, b])] == a
            assert mutual == ((int(a), b) in steps)


def test_scanned_slices_are_those_of_the_polynomial():
    """Two methods that share nothing but forward kinematics find the same solutions in every slice."""
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(6, 4))
    scanned, exact = (solve_ik(robot, T, samples=12, method=method) for method in ("scan", "auto"))
    assert scanned.method != exact.method
    for k in range(6):
        for one, other in ((scanned.of(k), exact.of(k)), (exact.of(k), scanned.of(k))):
            missing = [x for x in one if np.abs(other - x).max(axis=1).min() > 1e-5] if len(other) else list(one)
            assert missing == []


def test_a_slice_holds_the_generating_configuration():
    """With one slice exactly at its redundant joint, a random configuration must come back."""
    robot = zveno.load("panda")
    hit = 0
    for seed in range(12):
        q = robot.random((), seed)
        name = robot.joint_names[4]
        limits = {name: (q[4], q[4] + 1e-6)}
        found = solve_ik(
            robot, robot.forward_kinematics(q), limits=limits, samples=1, redundant_joint=name, method="scan"
        )
        hit += found.count > 0 and bool(np.abs(found.q - q).max(axis=1).min() < 1e-6)
    assert hit == 12


def test_many_joints_are_sampled():
    robot = zveno.Robot(generators["chain"](12))
    T = robot.forward_kinematics(robot.random(2, 0) * 0.5)
    found = solve_ik(robot, T, samples=8)
    for k in range(2):
        assert found.count[k] == 8
        assert found.self_motions[k][0].dimension >= robot.n_q - 6
        assert np.abs(robot.forward_kinematics(found.of(k)) - T[k]).max() < 1e-9


def general_arm(n, seed):
    rng = np.random.default_rng(seed)
    links, joints = [Link("l0")], []
    for i in range(n):
        links.append(Link(f"l{i + 1}"))
        T = transform(None, rng.uniform(-0.4, 0.4, 3))
        limits = Limits(-np.pi, np.pi)
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", Revolute(rng.normal(size=3)), T, limits=limits))
    return zveno.Robot(
        assemble("general", links, joints, [Frame("tool", links[-1].name, transform(None, [0.2, 0, 0]))])
    )


def test_positions_of_six_joints_are_sampled():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(2, 0))
    found = solve_ik(robot, T, task="position", samples=27)
    for k in range(2):
        own = found.of(k)
        assert found.status[k] == "sampled"
        assert 9 <= len(own) <= 27
        assert {family.dimension for family in found.self_motions[k]} == {3}
        assert np.abs(robot.forward_kinematics(own)[:, :3, 3] - T[k, :3, 3]).max() < 1e-9
        assert np.all((own >= robot.lower) & (own <= robot.upper))


def test_a_redundant_joint_is_for_one_joint_too_many():
    robot = general_arm(8, 1)
    T = robot.forward_kinematics(robot.neutral())
    with pytest.raises(ZvenoError, match="one joint too many, and this chain has 2"):
        solve_ik(robot, T, redundant_joint="j1")


@pytest.mark.parametrize("name", ["panda", "iiwa14", "puma560"])
def test_local_solutions_from_random_starts(name):
    robot = zveno.load(name)
    q = robot.random(300, 0)
    T = robot.forward_kinematics(q)
    found = ik.local(robot, T)
    assert np.mean(found.converged) > 0.99
    assert set(found.status) <= {"converged", "not converged"}
    own = found.q[found.converged]
    assert np.all((own >= robot.lower) & (own <= robot.upper))
    assert np.abs(robot.forward_kinematics(own) - T[found.converged]).max() < 1e-9


def test_local_from_a_seed_stays_near_it():
    robot = zveno.load("panda")
    q = 0.8 * robot.random(50, 1) + 0.1 * (robot.lower + robot.upper)
    T = robot.forward_kinematics(q)
    seed = np.clip(q + np.random.default_rng(0).normal(size=q.shape) * 0.02, robot.lower, robot.upper)
    found = ik.local(robot, T, seed)
    assert np.mean(np.abs(found.q - seed).max(axis=1) < 0.3) > 0.95
    assert np.array_equal(ik.local(robot, T[3], seed[3]).q, found.q[3])


def test_bad_requests():
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.neutral())
    with pytest.raises(UnknownNameError, match="joint"):
        solve_ik(robot, T, redundant_joint="elbow")
    with pytest.raises(ZvenoError, match="samples"):
        solve_ik(robot, T, samples=0)
    with pytest.raises(ZvenoError, match="7 coordinates"):
        solve_ik(robot, T, method="six_revolute")


@pytest.mark.parametrize(
    ("name", "chosen"), [("panda", (6, 48)), ("xarm7", (2, 16)), ("iiwa14", (2, 16)), ("gen3", (2, 16))]
)
def test_closed_slices_are_taken_where_a_few_more_sample_as_finely(name, chosen):
    """Of an xArm7, 48 slices of joint 7 leave more of self-motions unsampled than 16 of joint 3; 80 would do."""
    problem = problem_of(zveno.load(name))
    assert sliced_joint(problem) == chosen
