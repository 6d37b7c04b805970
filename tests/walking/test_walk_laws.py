"""Laws of walks: the same whichever way the machine faces, and in a mirror; feet touch; starts stand on slopes."""

import warnings
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

import zveno
from tiers import few
from zveno import simulation, walking
from zveno.errors import ZvenoError
from zveno.spatial.rotations import elementary, from_quaternion, to_quaternion
from zveno.walking._simulate_walk import standing_start
from zveno.walking.dynamic_gait import SOLES_APART, allowed
from zveno.walking.feet import contact_points, heading
from zveno.walking.support import overlapping, torque_share
from zveno.walking.terrain import heights

IDEAL = walking.Sensors(0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0)


def turned(start, yaw):
    """The start, and what turned it."""
    R, q = elementary("z", yaw), np.array(start)
    q[:3], q[3:7] = R @ q[:3], to_quaternion(R @ from_quaternion(q[3:7]))
    return q, R


@pytest.mark.parametrize("seed", range(4))
def test_a_foothold_is_cut_in_axes_of_the_machine(seed):
    rng = np.random.default_rng(seed)
    ahead, limits, width = np.eye(2), tuple(rng.uniform(0.05, 0.2, 3)), 0.1
    mirror = np.diag([1.0, -1.0])
    for _ in range(20):
        by, way = (
            rng.normal(size=2) * 0.3,
            np.array([rng.normal() * 0.2, rng.choice([-1, 1]) * rng.uniform(0.1, 0.5)]),
        )
        cut = allowed(by, way, ahead, limits, width)
        R = elementary("z", rng.uniform(-np.pi, np.pi))[:2, :2]
        np.testing.assert_allclose(allowed(R @ by, R @ way, R @ ahead, limits, width), R @ cut, atol=1e-12)
        np.testing.assert_allclose(
            allowed(mirror @ by, mirror @ way, ahead, limits, width), mirror @ cut, atol=1e-12
        )
        assert abs((way + cut)[1]) >= width + SOLES_APART - 1e-12 or abs((way + cut)[1]) >= abs(way[1])


def test_a_heading_turns_with_its_attitude():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tilted = elementary("x", rng.uniform(-1, 1)) @ elementary("y", rng.uniform(-1, 1))
        R = elementary("z", rng.uniform(-np.pi, np.pi))
        np.testing.assert_allclose(heading(R @ tilted), R[:2, :2] @ heading(tilted), atol=1e-12)
    np.testing.assert_allclose(heading(np.diag([1.0, -1.0, -1.0])), np.eye(2))  # turned over: none


@pytest.mark.laws
@pytest.mark.parametrize(
    ("name", "gait", "yaw"),
    [
        ("biped", walking.DynamicGait(steps=4), 0.7),
        ("biped", walking.DynamicGait(steps=4), np.pi / 2),
        ("biped", walking.DynamicGait(steps=4), -2.5),
        ("quadruped", walking.DynamicGait(steps=4), 1.9),
        ("quadruped", walking.StaticGait(steps=2), -1.2),
    ],
)
def test_a_walk_turns_with_its_start(name, gait, yaw):
    """Facing across, footholds were cut at other limits, and soles overlapped after a push."""
    robot = zveno.load(name)
    feet, start = walking.default_stance(robot)
    walks = []
    for angle in (0.0, yaw):
        q, R = turned(start, angle)
        pushes = [walking.Push(1.2, tuple(R @ [4.0, 6.0, 0.0]))] if name == "biped" else []
        walks.append(walking.simulate_walk(robot, feet, q, gait, pushes=pushes))
    one, other = walks
    assert one.status == other.status == "walked"
    np.testing.assert_allclose(other.footholds, one.footholds @ R.T, atol=1e-4)


def soles_overlap(robot, q) -> bool:
    """Whether soles of 24 by 10 cm, at one height, are inside each other: on an axis of neither are they apart."""
    T = robot.frame_poses(q, frames=["left_foot", "right_foot"])
    if abs(T[0, 2, 3] - T[1, 2, 3]) > 0.03:
        return False
    corners = np.array([(x * 0.12, y * 0.05, 0.0) for x in (1, -1) for y in (1, -1)])
    soles = (corners @ np.swapaxes(T[:, :3, :3], 1, 2) + T[:, None, :3, 3])[..., :2]
    for axis in T[:, :2, :2].swapaxes(1, 2).reshape(-1, 2):
        left, right = soles @ axis
        if left.max() < right.min() or right.max() < left.min():
            return False
    return True


@pytest.mark.laws
def test_soles_stay_apart_after_a_push_of_a_walk_along_y():
    """They were inside each other in 33 samples of a walk that was said to have walked; along x in none."""
    robot = zveno.load("biped")
    feet, start = walking.default_stance(robot)
    height = robot.center_of_mass(start)[2] - robot.forward_kinematics(start, frame="left_foot")[2, 3]
    q, _ = turned(start, np.pi / 2)
    direction = np.radians(135)
    push = walking.Push(2.411, (10 * np.cos(direction), 10 * np.sin(direction), 0.0))
    gait = walking.DynamicGait((0.0, 0.28 * height), steps=8)
    walk = walking.simulate_walk(robot, feet, q, gait, pushes=[push])
    assert walk.status == "walked"
    assert sum(soles_overlap(robot, q) for q in walk.trajectory.q) == 0
    together = walk.trajectory.q[0].copy()
    together[robot.mechanism.q_slices["left_hip_roll"]] -= 0.15
    together[robot.mechanism.q_slices["right_hip_roll"]] += 0.15
    assert soles_overlap(robot, together), "the test sees overlapping soles"


@pytest.mark.laws
def test_feet_of_solo12_are_on_the_ground_when_they_are_put_down():
    """2.5 kg, and noise of 1 N: they were put down 11 to 73 mm above the ground."""
    path = next(file.locate() for file in files("example-robot-data") or () if file.name == "solo12.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)
        robot = zveno.load(Path(str(path))).with_base("free")
    legs = ("FL", "FR", "HL", "HR")
    hips = {f"{leg}_HFE": 0.8 if leg[0] == "F" else -0.8 for leg in legs}
    knees = {f"{leg}_KFE": -1.6 if leg[0] == "F" else 1.6 for leg in legs}
    walk = walking.simulate_walk(
        *(robot, [f"{leg}_FOOT" for leg in legs], robot.pack(hips | knees), walking.StaticGait(steps=8)),
        sample_time=1e-3,
    )
    at = np.minimum(np.searchsorted(walk.trajectory.t, walk.step_times), len(walk.positions) - 1)
    assert walk.status == "walked"
    assert abs(walk.positions[at, walk.steps, 2]).max() < 1e-3


@pytest.mark.laws
def test_a_walk_in_a_mirror_is_the_mirrored_walk():
    robot = zveno.load("biped")
    feet, start = walking.default_stance(robot)
    left, right = ("left_foot",), ("right_foot",)
    one, other = (
        walking.simulate_walk(
            *(robot, feet, start, walking.DynamicGait(steps=4, groups=groups)),
            pushes=[walking.Push(1.2, (4.0, 6.0 * side, 0.0))],
            sensors=IDEAL,
        )
        for side, groups in ((1, (left, right)), (-1, (right, left)))
    )
    assert one.status == other.status == "walked"
    np.testing.assert_allclose(other.footholds, one.footholds * [1, -1, 1], atol=1e-4)


@pytest.mark.laws
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_feet_touch_where_they_are_put_down(share):
    """A light machine: 8 % of the weight is less than two σ of the noise of its load sensors."""
    robot = zveno.load("quadruped")
    feet, start = walking.default_stance(robot)
    links = [replace(link, inertia=share * np.asarray(link.inertia)) for link in robot.mechanism.links]
    light = zveno.Robot(replace(robot.mechanism, links=tuple(links)))
    weight = 9.81 * sum(float(link.inertia[0]) for link in links)
    noise = walking.Sensors(load=0.06 * weight)
    walk = walking.simulate_walk(light, feet, start, walking.StaticGait(steps=4), sensors=noise, sample_time=1e-3)
    assert walk.status == "walked"
    at = np.minimum(np.searchsorted(walk.trajectory.t, walk.step_times), len(walk.positions) - 1)
    assert abs(walk.positions[at, walk.steps, 2]).max() < 1e-3


@pytest.mark.parametrize(
    ("name", "slope", "direction"),
    few([("quadruped", 5, 0.0), ("quadruped", 12, 2.0), ("quadruped", 8, -1.0), ("biped", 6, np.pi / 2)], 1),
)
def test_a_start_is_adapted_to_the_slope(name, slope, direction):
    robot = zveno.load(name)
    feet, start = walking.default_stance(robot)
    a = np.radians(slope)
    normal = (-np.sin(a) * np.cos(direction), -np.sin(a) * np.sin(direction), np.cos(a))
    ground = simulation.GroundPlane(normal=normal)
    q = standing_start(robot, feet, ground, start, 0.56)
    gaps = [(points[:, 2] - heights(ground, points)).min() for points in contact_points(robot, feet, q)]
    assert abs(np.array(gaps)).max() < 1e-5
    np.testing.assert_allclose(q[3:7], start[3:7], atol=1e-5)
    assert torque_share(robot, feet, q, 0.56) < 1.0


@pytest.mark.laws
@pytest.mark.parametrize("gait", [walking.StaticGait(steps=4), walking.DynamicGait(steps=4)])
def test_a_quadruped_walks_from_a_start_on_a_slope(gait):
    robot = zveno.load("quadruped")
    a = np.radians(5)
    ground = simulation.GroundPlane(normal=(-np.sin(a), 0.0, np.cos(a)))
    assert walking.simulate_walk(robot, *walking.default_stance(robot), gait, ground=ground).status == "walked"


def test_hulls_that_overlap():
    rng = np.random.default_rng(0)
    square = np.array([(x, y) for x in (1, -1) for y in (1, -1)], dtype=float)
    for _ in range(20):
        R, by = elementary("z", rng.uniform(-4, 4))[:2, :2], rng.normal(size=2)
        a = square @ R.T + by
        assert overlapping(a, a + R @ [1.9, 1.9])
        assert not overlapping(a, a + R @ [2.1, 0.5])
        assert not overlapping(a, (a - by) @ elementary("z", np.pi / 4)[:2, :2].T + by + R @ [2.5, 0.0])


def test_soles_inside_each_other_are_refused_before_the_first_step():
    robot = zveno.load("biped")
    stance = walking.default_stance(robot)
    corners = [(x * 0.12, y * 0.15, 0.0) for x in (1, -1) for y in (1, -1)]
    feet = [walking.Foot(foot.frame, corners) for foot in stance.feet]
    with pytest.raises(ZvenoError, match="the soles of left_foot and right_foot overlap at the start"):
        walking.simulate_walk(robot, feet, stance.start, walking.StaticGait(steps=1), duration=0.05)


@pytest.mark.parametrize(("along", "across"), few([(0.1, 0.0), (-0.2, 0.1), (0.0, -0.3), (0.3, 0.2)], kept=2))
def test_all_soles_are_flush_with_a_slope_at_the_start(along, across):
    robot = zveno.load("biped")
    feet, start = walking.default_stance(robot)
    ground = simulation.GroundPlane((along, across, 1.0), 0.03)
    q = standing_start(robot, feet, ground, start, 0.7)
    for points in contact_points(robot, feet, q):
        np.testing.assert_allclose(points[:, 2], heights(ground, points), atol=1e-4)
    # Straight legs cannot follow: a reason before the first step.
    straight = robot.pack({})
    with pytest.raises(ZvenoError, match="biped cannot stand: no contact forces"):
        standing_start(robot, feet, simulation.GroundPlane((1.4, 0.9, 1.0)), straight, 3.0)


def test_slopes_that_friction_does_not_hold_are_refused():
    """On a plane the limit is its slope: the pyramid of eight edges holds at least 92 % of the cone."""
    robot = zveno.load("quadruped")
    feet, start = walking.default_stance(robot)
    for turn in np.linspace(0.0, 6.0, 7):
        ground = simulation.GroundPlane((0.4 * np.cos(turn), 0.4 * np.sin(turn), 1.0))
        standing_start(robot, feet, ground, start, 0.4 / 0.92)
        with pytest.raises(ZvenoError, match=r"slope of 0\.40, and the friction counted on holds 0\.39"):
            standing_start(robot, feet, ground, start, 0.39)
