"""Redundant robots: slices, curves through them, sampled continua, and single solutions for batches."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.errors import UnknownNameError, ZvenoError
from zveno.ik import solve_ik
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant.sliced_joint import sliced_joint
from zveno.mechanism import Frame, Joint, Limits, Link, Revolute, assemble
from zveno.robots import generators
from zveno.spatial.transforms import transform


@pytest.mark.parametrize("method", ["auto", "scan"])
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_slices_are_complete_and_ordered(name, method):
    robot = zveno.load(name)
    q = robot.random(3, 0)
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, slices=24, redundant="joint3" if name == "iiwa14" else None, method=method)
    for k in range(3):
        own = found.of(k)
        assert found.status[k] == "sampled"
        assert np.abs(robot.forward_kinematics(own) - T[k]).max() < 1e-9
        assert np.all((own >= robot.lower) & (own <= robot.upper))
        families = found.families[k]
        assert all(family.dimension == 1 for family in families)
        assert sum(len(family.q) for family in families) == len(own)
        # The generating configuration lies between neighbours of some curve, or just beyond the end of one.
        assert min(np.abs(family.q - q[k]).max(axis=1).min() for family in families) < 0.6


def test_scanned_slices_are_those_of_the_polynomial():
    """Two methods that share nothing but forward kinematics find the same solutions in every slice."""
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(6, 4))
    scanned, exact = (solve_ik(robot, T, slices=12, method=method) for method in ("scan", "auto"))
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
        found = solve_ik(robot, robot.forward_kinematics(q), limits=limits, slices=1, redundant=name, method="scan")
        hit += found.count > 0 and bool(np.abs(found.q - q).max(axis=1).min() < 1e-6)
    assert hit == 12


def test_many_joints_are_sampled():
    robot = zveno.Robot(generators["chain"](12))
    T = robot.forward_kinematics(robot.random(2, 0) * 0.5)
    found = solve_ik(robot, T, slices=8)
    for k in range(2):
        assert found.count[k] == 8
        assert found.families[k][0].dimension >= robot.n_q - 6
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


def test_two_joints_too_many_are_a_grid_of_complete_slices():
    """Eight joints: what a slice holds is what the six other joints have, held joints narrowed by limits."""
    robot = general_arm(8, 1)
    T = robot.forward_kinematics(robot.random((), 3))
    found = solve_ik(robot, T, slices=10, redundant=("j2", "j5"))
    assert found.method == "scan, 3 × 3 slices of j2, j5"
    assert found.status == "sampled"
    assert all(family.dimension == 2 for family in found.families[0])
    assert np.abs(robot.forward_kinematics(found.q) - T).max() < 1e-9
    assert sum(len(family.q) for family in found.families[0]) == found.count
    assert found.density > 9 * 64
    values = np.pi * np.array([-2 / 3, 0, 2 / 3])
    assert np.abs(found.q[:, [2, 5], None] - values).min(axis=2).max() < 1e-12
    for a, b in [(values[0], values[1]), (values[2], values[2])]:
        held = {"j2": (a - 1e-12, a + 1e-12), "j5": (b - 1e-12, b + 1e-12)}
        here = found.q[(np.abs(found.q[:, [2, 5]] - [a, b]) < 1e-9).all(axis=1)]
        truth = multistart(robot, T, held, 400)
        assert len(here) >= len(truth) > 0
        for one in truth:
            assert np.abs((here - one + np.pi) % (2 * np.pi) - np.pi).max(axis=1).min() < 1e-5


def multistart(robot, T, held, starts):
    """Distinct solutions of damped Gauss–Newton on NumPy matrices, some joints held."""
    q = robot.random(starts, 7)
    free = np.array([name not in held for name in robot.joint_names])
    for name, (low, high) in held.items():
        q[:, robot.joint_names.index(name)] = (low + high) / 2
    for _ in range(40):
        F, J = robot.forward_kinematics(q), robot.jacobian(q)[..., free]
        E = F[:, :3, :3] @ T[:3, :3].T
        turn = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], 1)
        e = np.concatenate([F[:, :3, 3] - T[:3, 3], turn], axis=1)
        size = np.sum(e**2, axis=1) + (3 - np.trace(E, axis1=1, axis2=2))
        A = np.swapaxes(J, 1, 2) @ J + (0.05 * size + 1e-13)[:, None, None] * np.eye(J.shape[2])
        q[:, free] -= np.linalg.solve(A, np.swapaxes(J, 1, 2) @ e[..., None])[..., 0]
    q = q[np.abs(robot.forward_kinematics(q) - T).max(axis=(1, 2)) < 1e-9]
    kept = []
    for one in q:
        if all(np.abs((one - other + np.pi) % (2 * np.pi) - np.pi).max() > 1e-4 for other in kept):
            kept.append(one)
    return kept


def test_positions_of_six_joints_are_sheets_in_order():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(2, 0))
    found = solve_ik(robot, T, task="position", slices=27, redundant=("joint4", "joint5", "joint6"))
    for k in range(2):
        own = found.of(k)
        assert found.status[k] == "sampled"
        assert {family.dimension for family in found.families[k]} == {3}
        assert np.abs(robot.forward_kinematics(own)[:, :3, 3] - T[k, :3, 3]).max() < 1e-9
        assert np.all((own >= robot.lower) & (own <= robot.upper))
        for family in found.families[k]:
            last = np.lexsort(np.round(family.q[:, 3:], 6).T)
            assert np.array_equal(last, np.arange(len(family.q)))


def test_grids_of_slices_are_checked():
    robot = general_arm(8, 1)
    T = robot.forward_kinematics(robot.neutral())
    with pytest.raises(ZvenoError, match="2 coordinates are redundant"):
        solve_ik(robot, T, redundant="j1")
    with pytest.raises(UnknownNameError, match="j7"):
        solve_ik(robot, T, redundant=("j1", "elbow"))


@pytest.mark.parametrize("name", ["panda", "iiwa14", "puma560"])
def test_local_solutions_from_random_starts(name):
    robot = zveno.load(name)
    q = robot.random(300, 0)
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, method="local")
    assert np.mean(found.count == 1) > 0.99
    own = found.q[found.count == 1, 0]
    assert np.all((own >= robot.lower) & (own <= robot.upper))
    assert np.abs(robot.forward_kinematics(own) - T[found.count == 1]).max() < 1e-9


def test_local_from_a_seed_stays_near_it():
    robot = zveno.load("panda")
    q = 0.8 * robot.random(50, 1) + 0.1 * (robot.lower + robot.upper)
    T = robot.forward_kinematics(q)
    seed = np.clip(q + np.random.default_rng(0).normal(size=q.shape) * 0.02, robot.lower, robot.upper)
    found = solve_ik(robot, T, method="local", start=seed)
    assert np.mean(np.abs(found.q[:, 0] - seed).max(axis=1) < 0.3) > 0.95
    assert np.array_equal(solve_ik(robot, T[3], method="local", start=seed[3]).q[0], found.q[3, 0])


def test_bad_requests():
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.neutral())
    with pytest.raises(UnknownNameError, match="joint"):
        solve_ik(robot, T, redundant="elbow")
    with pytest.raises(ZvenoError, match="slices"):
        solve_ik(robot, T, slices=0)
    with pytest.raises(ZvenoError, match="7 coordinates"):
        solve_ik(robot, T, method="six_revolute")


@pytest.mark.parametrize(
    ("name", "chosen"), [("panda", (6, 48)), ("xarm7", (2, 16)), ("iiwa14", (2, 16)), ("gen3", (2, 16))]
)
def test_closed_slices_are_taken_where_a_few_more_sample_as_finely(name, chosen):
    """Of an xArm7, 48 slices of joint 7 leave more of self-motions unsampled than 16 of joint 3; 80 would do."""
    problem = problem_of(zveno.load(name))
    assert sliced_joint(problem) == chosen
