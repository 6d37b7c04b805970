"""Redundant robots: slices, curves through them, sampled continua, and single solutions for batches."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.errors import UnknownNameError, ZvenoError
from zveno.ik import solve_ik
from zveno.robots import generators


@pytest.mark.parametrize("method", ["auto", "scan"])
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_slices_are_complete_and_ordered(name, method):
    robot = zveno.load(name)
    q = robot.random(3, 0)
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, slices=24, redundant="joint3" if name == "iiwa14" else None, method=method)
    for k in range(3):
        own = found.of(k)
        assert found.status[k] == "family"
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
        limits = {name: (q[4], q[4])}
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
    found = solve_ik(robot, T, method="local", seed=seed)
    assert np.mean(np.abs(found.q[:, 0] - seed).max(axis=1) < 0.3) > 0.95
    assert np.array_equal(solve_ik(robot, T[3], method="local", seed=seed[3]).q[0], found.q[3, 0])


def test_bad_requests():
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.neutral())
    with pytest.raises(UnknownNameError, match="joint"):
        solve_ik(robot, T, redundant="elbow")
    with pytest.raises(ZvenoError, match="slices"):
        solve_ik(robot, T, slices=0)
    with pytest.raises(ZvenoError, match="7 coordinates"):
        solve_ik(robot, T, method="six_revolute")
