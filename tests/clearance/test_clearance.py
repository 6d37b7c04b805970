"""Distances of capsules: laws over random mechanisms, coal as oracle, and what uses them."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.clearance import Capsules, Clearance
from zveno.geometry.distances import PARALLEL, closest_points, segment_distance

STEP = 1e-6
SLOPE_TOLERANCE = 1e-6
"""Of central differences with that step, where the closest points do not pass an end in between."""
RADIUS = 0.01


def capsules_of(seed: int, **options) -> Capsules:
    robot = zveno.Robot(random_mechanism(seed, 7))
    return Capsules(robot, Clearance(radius=RADIUS, **options))


@pytest.mark.parametrize("seed", few(range(8)))
def test_distances_are_those_of_the_bars(seed):
    capsules = capsules_of(seed, ground=-3.0)
    q = capsules.robot.random(20, seed)
    points, layout = capsules.points(q), capsules.layout
    assert layout.n
    expected = []
    for a, b in layout.pairs:
        gap = segment_distance(points[:, a, 0], points[:, a, 1], points[:, b, 0], points[:, b, 1])
        expected.append(gap - 2 * RADIUS)
    expected += [points[:, a, end, 2] + 3.0 - RADIUS for a, end in layout.floor]
    distances = capsules.distances(q)
    assert np.allclose(distances, np.stack(expected, axis=1), atol=1e-12)
    assert np.array_equal(capsules.clear(q), (distances > 0).all(axis=1))
    assert len(capsules.names) == layout.n
    # One state is a batch of shape ().
    assert np.array_equal(capsules.distances(q[3]), distances[3])


@pytest.mark.parametrize("seed", few(range(8)))
def test_slopes_are_derivatives(seed):
    capsules = capsules_of(seed, ground=-3.0)
    robot, n_v = capsules.robot, capsules.robot.n_v
    q = robot.random(20, seed + 100)
    distances, slopes = capsules.distances_and_slopes(q)
    assert np.allclose(distances, capsules.distances(q), atol=1e-14)
    differences = np.stack(
        [
            (capsules.distances(moved(robot, q, STEP * e)) - capsules.distances(moved(robot, q, -STEP * e)))
            / (2 * STEP)
            for e in np.eye(n_v)
        ],
        axis=-1,
    )
    off = abs(differences - slopes).max(axis=-1)
    # Where the closest point passes an end of a bar the slope has a kink, which a difference smears.
    assert np.mean(off < SLOPE_TOLERANCE) > 0.995
    assert abs(slopes).max() > 0.1


def moved(robot, q, v):
    return np.stack([robot.mechanism.integrate(one, v) for one in q])


def test_closest_points_of_parallel_crossing_and_pointlike_segments():
    x, y, z = np.eye(3)
    zero = np.zeros(3)
    # Parallel and side by side, one behind the other, crossing, a point beside a line, two points.
    cases = [
        ((zero, x, z, x + z), 1.0),
        ((zero, x, 3 * x, 5 * x), 2.0),
        ((zero, x, 3 * x + y, 2 * x + y), np.sqrt(2.0)),
        ((-x, x, -y + z, y + z), 1.0),
        ((-x, x, -y, y), 0.0),
        ((y, y, -x, x), 1.0),
        ((zero, zero, z, z), 1.0),
    ]
    for ends, expected in cases:
        assert segment_distance(*ends) == pytest.approx(expected, abs=1e-12)
        a0, a1, b0, b1 = ends
        assert segment_distance(b1, b0, a1, a0) == pytest.approx(expected, abs=1e-12)


def test_closest_points_satisfy_the_conditions_of_a_minimum():
    rng = np.random.default_rng(4)
    a0, a1, b0, b1 = rng.normal(size=(4, 500, 3))
    b1[:100] = b0[:100] + (a1 - a0)[:100] * rng.uniform(-1, 1, (100, 1)) + 1e-7 * rng.normal(size=(100, 3))
    p, r = closest_points(a0, a1, b0, b1)
    # Convex: no end of a segment is nearer to the other's closest point than the tangent allows.
    # Segments within the angle √PARALLEL count as parallel: one may be nearer by that share of what it extends.
    longest = max(np.linalg.norm(a1 - a0, axis=-1).max(), np.linalg.norm(b1 - b0, axis=-1).max())
    slack = np.sqrt(PARALLEL) * longest**2
    for end in (a0, a1):
        assert (((end - p) * (p - r)).sum(axis=-1) > -slack).all()
    for end in (b0, b1):
        assert (((end - r) * (r - p)).sum(axis=-1) > -slack).all()
    apart = slice(100, None)
    assert (((b0 - r) * (r - p)).sum(axis=-1)[apart] > -1e-12).all()


def test_distances_equal_those_of_coal():
    coal = pytest.importorskip("coal")
    capsules = Capsules(zveno.load("panda"), Clearance(radius=0.03))
    q = capsules.robot.random(10, 0)
    points, distances = capsules.points(q), capsules.distances(q)
    for posture, gaps in zip(points, distances, strict=True):
        for (a, b), gap in zip(capsules.layout.pairs, gaps, strict=True):
            if gap < 1e-3:
                continue
            shapes = [placed_capsule(coal, posture[bar], 0.03) for bar in (a, b)]
            result = coal.DistanceResult()
            (first, at_first), (second, at_second) = shapes
            coal.distance(first, at_first, second, at_second, coal.DistanceRequest(), result)
            assert result.min_distance == pytest.approx(gap, abs=1e-5)


def placed_capsule(coal, ends, radius):
    line = ends[1] - ends[0]
    length = np.linalg.norm(line)
    R = zveno.rotations.z_to(line / length)
    return coal.Capsule(radius, length), coal.Transform3s(R, (ends[0] + ends[1]) / 2)


def test_bodies_that_are_one_or_neighbours_are_not_looked_at():
    robot = zveno.load("panda")
    capsules = Capsules(robot, Clearance(radius=0.001))
    links = [robot.link_names[i] for i in capsules.links]
    looked_at = {frozenset((links[a], links[b])) for a, b in capsules.layout.pairs}
    parents = robot.mechanism.tree.parents
    for i in capsules.links:
        if i:
            assert frozenset((robot.link_names[i], robot.link_names[parents[i]])) not in looked_at
    assert looked_at


def test_pairs_by_name_and_what_always_touches():
    robot = zveno.load("Rz(q1) Tx(0.5) Ry(q2) Tx(0.4) Rz(q3) Tx(0.5) Ry(q4) Tx(0.3)")
    first, _, third, last = robot.link_names[1:5]
    named = Capsules(robot, Clearance(radius=0.01, pairs=[(first, last), (third, first)]))
    assert named.names == (f"{first} – {last}", f"{third} – {first}")
    thick = Capsules(robot, Clearance(radius=0.25))
    assert (first, third) in thick.left_out
    assert named.left_out == ()
    with pytest.raises(zveno.ZvenoError, match=r"radius of 600 m touch each other in every configuration"):
        Capsules(robot, Clearance(radius=600))
    for pairs, says in (
        ([(first, "arm")], "arm"),
        ([(first, first)], "a pair must be two link names"),
        ([first], "a pair must be two link names"),
    ):
        with pytest.raises(zveno.ZvenoError, match=says):
            Capsules(robot, Clearance(pairs=pairs))


def test_without_anything_to_look_at_all_is_clear():
    capsules = Capsules(zveno.load("Rz(q1) Tx(0.5)"), Clearance())
    assert capsules.layout.n == 0
    assert capsules.clear(np.zeros((3, 1))).tolist() == [True] * 3
    assert [part.shape for part in capsules.distances_and_slopes(np.zeros((3, 1)))] == [(3, 0), (3, 0, 1)]


def test_a_clearance_is_what_solutions_and_paths_may_be_asked_to_keep():
    robot = zveno.load("puma560")
    clearance = Clearance(radius=0.08, ground=-0.1)
    capsules = Capsules(robot, clearance)
    q = robot.random(60, 5)
    T = robot.forward_kinematics(q)
    every, kept = robot.ik(T), robot.ik(T).where(clearance)
    assert 0 < kept.count.sum() < every.count.sum()
    for k in range(60):
        assert capsules.clear(kept.of(k)).all()
        assert len(kept.of(k)) == capsules.clear(every.of(k)).sum()
    clear = next(k for k in range(60) if len(kept.of(k)))
    path = robot.ik_path(T[[clear, clear]], where=clearance)
    assert capsules.clear(path.q).all()
