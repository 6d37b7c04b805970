"""Short tours, distances of capsules, and what an instrument sees."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno.design.candidates import Admissible, Visibility
from zveno.design.capsules import Capsules, Clearance, link_bars, segment_distance
from zveno.design.tour import short_tour, tour_length, travel_times


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", [None, 3])
def test_small_tours_are_shortest(seed, start):
    points = np.random.default_rng(seed).uniform(size=(7, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=-1)
    ways = [w for w in permutations(range(7)) if start is None or w[0] == start]
    best = min(tour_length(D, w) for w in ways)
    order = short_tour(D, start)
    assert sorted(order) == list(range(7))
    assert start is None or order[0] == start
    assert tour_length(D, order) <= 1.05 * best


def test_long_tours_are_short():
    points = np.random.default_rng(0).uniform(size=(80, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=-1)
    # A random uniform tour of n places in the unit square is about 0.71 √n long at best, and 0.52 n as they come.
    assert tour_length(D, short_tour(D)) < 1.15 * 0.7124 * np.sqrt(80)
    assert len(short_tour(np.zeros((1, 1)))) == 1
    assert len(short_tour(np.zeros((2, 2)), 1)) == 2


def test_travel_is_that_of_the_slowest_joint():
    robot = zveno.load("ur5")
    q = robot.random(3, 0)
    D = travel_times(robot, q)
    speed = [float(np.ravel(robot.mechanism.joint(name).limits.velocity)[0]) for name in robot.joint_names]
    speed = np.where(np.isfinite(speed), speed, 1.0)
    assert D[0, 1] == pytest.approx(np.max(abs(q[0] - q[1]) / speed))
    assert np.allclose(D, D.T)


def test_distances_of_segments_against_sampling():
    rng = np.random.default_rng(1)
    a0, a1, b0, b1 = rng.normal(size=(4, 200, 3))
    b1[:40] = b0[:40] + (a1 - a0)[:40] * rng.uniform(-1, 1, (40, 1))  # parallel ones
    b1[40:50] = b0[40:50]  # points
    found = segment_distance(a0, a1, b0, b1)
    s, t = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101), indexing="ij")
    for k in range(200):
        p = a0[k] + s[..., None] * (a1[k] - a0[k])
        r = b0[k] + t[..., None] * (b1[k] - b0[k])
        sampled = np.linalg.norm(p - r, axis=-1).min()
        assert found[k] <= sampled + 1e-12
        assert found[k] >= sampled - 0.08


def test_a_folded_arm_is_not_clear_and_a_straight_one_is():
    robot = zveno.load("Rz(q1) Tx(0.5) Rz(q2) Tx(0.5) Rz(q3) Tx(0.5)")
    sample = robot.random(200, 0)
    capsules = Capsules(robot, Clearance(radius=0.05), sample)
    straight, folded = np.zeros(3), np.array([0.0, 2.6, 2.6])
    assert capsules.clear(np.stack([straight, folded])).tolist() == [True, False]
    low = Capsules(robot, Clearance(radius=0.05, ground=-0.04, links=False), sample)
    assert low.clear(np.zeros((1, 3))).tolist() == [
        True
    ]  # it never leaves the floor's plane, so that is not looked at


def test_the_ground_is_kept_clear_of():
    robot = zveno.load("puma560")
    rules = Admissible(robot, clearance=Clearance(radius=0.05, ground=-0.3, links=False))
    q, _ = rules.candidates(300, np.random.default_rng(0))
    points = rules.capsules.points(q)[:, rules.capsules.floor]
    assert points[..., 2].min() >= -0.3 + 0.05 - 1e-12
    free, _ = Admissible(robot).candidates(300, np.random.default_rng(0))
    assert rules.capsules.points(free)[..., 2].min() < -0.3


def test_bars_move_with_their_links():
    mechanism = random_mechanism(3, 6)
    bars = link_bars(mechanism)
    assert bars
    robot = zveno.Robot(mechanism)
    capsules = Capsules(robot, Clearance(radius=0.01), np.zeros((0, robot.n_q)))
    q = robot.random(4, 1)
    poses = robot.link_poses(q)
    for number, (i, start, end) in enumerate(bars):
        for side, point in enumerate((start, end)):
            expected = poses[:, i, :3, :3] @ point + poses[:, i, :3, 3]
            assert np.allclose(capsules.points(q)[:, number, side], expected)


def test_an_instrument_sees_what_faces_it():
    T = np.tile(np.eye(4), (3, 1, 1))
    T[1, :3, :3] = np.diag([1.0, -1.0, -1.0])  # turned away
    T[2, 2, 3] = -5.0  # too far
    above = Visibility(viewer=(0, 0, 2), half_angle=0.5, farthest=3.0)
    assert above.sees(T).tolist() == [True, False, False]
    aside = Visibility(viewer=(0, 0, 2), half_angle=0.5, direction=(1, 0, 0), field=0.3)
    assert not aside.sees(T).any()


def test_candidates_use_the_ends_of_the_ranges():
    robot = zveno.load("puma560")
    q, shares = Admissible(robot, limits={"joint2": (-0.5, 0.25)}).candidates(500, np.random.default_rng(0))
    assert shares == {"limits": 1.0}
    assert 0.1 < np.mean(np.isin(q[:, 1], (-0.5, 0.25))) < 0.5
    assert q[:, 1].min() == -0.5
    assert q[:, 1].max() == 0.25


def test_rules_that_nothing_satisfies_are_named():
    robot = zveno.load("puma560")
    with pytest.raises(zveno.ZvenoError, match="Loosen box"):
        Admissible(robot, box=((5, 5, 5), (6, 6, 6))).candidates(100, np.random.default_rng(0))
