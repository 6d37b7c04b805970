"""Short tours, distances of capsules, and what an instrument sees."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno.calibration.planning._tour import short_tour, tour_length, travel_times
from zveno.calibration.planning.candidates import Admissible, Visibility
from zveno.clearance import Capsules, Clearance
from zveno.geometry.bounding import link_bars
from zveno.geometry.distances import segment_distance


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
    bar, end = rules.capsules.floor.T
    points = rules.capsules.points(q)[:, bar, end]
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


def along_bars(capsules, q, n=41):
    """Points on every bar, (postures, bars, n, 3)."""
    ends = capsules.points(q)
    share = np.linspace(0.0, 1.0, n)[:, None]
    return ends[:, :, None, 0] * (1.0 - share) + ends[:, :, None, 1] * share


def test_the_ground_excludes_exactly_what_comes_too_low():
    robot = zveno.load("puma560")
    radii = {"link2": 0.12, "link3": 0.02}
    rules = Admissible(robot, clearance=Clearance(radius=radii, ground=-0.2, links=False))
    q = robot.random(400, 1)
    z = rules.capsules.points(q)[..., 2]
    names = [robot.link_names[i] for i in rules.capsules.links]
    allowed = np.ones(400, dtype=bool)
    for bar, end in rules.capsules.floor:
        allowed &= z[:, bar, end] > -0.2 + radii.get(names[bar], rules.capsules.radii[bar])
    assert 0.05 < allowed.mean() < 0.95
    assert np.array_equal(rules.rules(q)["clearance"], allowed)


def test_links_are_kept_exactly_as_far_apart_as_their_radii_say():
    robot = zveno.load("Rz(q1) Tx(0.5) Ry(q2) Tx(0.4) Rz(q3) Tx(0.5) Ry(q4) Tx(0.3)")
    thick = dict(zip(robot.link_names[1:], (0.05, 0.02, 0.08, 0.03), strict=False))
    rules = Admissible(robot, clearance=Clearance(radius=thick))
    q = robot.random(300, 2)
    points = along_bars(rules.capsules, q)
    names = [robot.link_names[i] for i in rules.capsules.links]
    allowed, close = np.ones(300, dtype=bool), np.zeros(300, dtype=bool)
    for a, b in rules.capsules.pairs:
        gap = np.linalg.norm(points[:, a, :, None] - points[:, b, None], axis=-1).min(axis=(1, 2))
        gap -= thick.get(names[a], 0.0) + thick.get(names[b], 0.0)
        allowed &= gap > 0
        close |= abs(gap) < 0.01  # sampling cannot tell these
    assert len(rules.capsules.pairs) >= 2
    assert 0.05 < allowed.mean() < 0.95
    assert np.array_equal(rules.rules(q)["clearance"][~close], allowed[~close])


def test_a_named_link_without_length_is_a_sphere():
    robot = zveno.load("puma560")
    plain = link_bars(robot.mechanism)
    empty = next(name for i, name in enumerate(robot.link_names) if i not in {bar[0] for bar in plain})
    bars = link_bars(robot.mechanism, (empty,))
    assert len(bars) == len(plain) + 1
    with pytest.raises(zveno.ZvenoError, match="link2"):
        link_bars(robot.mechanism, ("elbow",))
    with pytest.raises(zveno.ZvenoError, match="radius must be at least 0, got -1"):
        Admissible(robot, clearance=Clearance(radius=-1))


def test_the_box_excludes_exactly_what_is_outside():
    robot = zveno.load("ur5")
    low, high = (-0.4, -0.3, 0.1), (0.5, 0.6, 0.8)
    q = robot.random(400, 3)
    p = robot.forward_kinematics(q)[:, :3, 3]
    inside = np.array([all(a <= x <= b for a, x, b in zip(low, point, high, strict=True)) for point in p])
    assert 0.05 < inside.mean() < 0.95
    assert np.array_equal(Admissible(robot, box=(low, high)).rules(q)["box"], inside)


def test_the_cones_exclude_exactly_what_is_not_seen():
    """Angles by arctangents, where the rule compares cosines: both cones, and both ends of the range."""
    robot = zveno.load("ur5")
    viewer, gaze, axis = np.array([1.5, 0.2, 0.9]), np.array([-1.0, 0.0, -0.3]), np.array([1.0, 0.0, 1.0])
    one = Visibility(viewer, 1.0, axis, direction=gaze, field=0.5, nearest=0.8, farthest=1.9)
    q = robot.random(2000, 4)
    T = robot.forward_kinematics(q)
    seen = []
    for pose in T:
        line = viewer - pose[:3, 3]
        angles = [
            np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)
            for a, b in ((pose[:3, :3] @ axis, line), (gaze, -line))
        ]
        seen.append(angles[0] <= 1.0 and angles[1] <= 0.5 and 0.8 <= np.linalg.norm(line) <= 1.9)
    assert 0.02 < np.mean(seen) < 0.9
    assert np.array_equal(Admissible(robot, visibility=one).rules(q)["visibility"], seen)


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
