"""Simulated walks: laws of every walk, falls that are told, machines and ground that are refused."""

from dataclasses import replace

import numpy as np
import pytest

import zveno
from zveno import simulation, walking
from zveno.errors import ModelError, ShapeError, ZvenoError

WITHIN = 1e-9
"""rad and N·m beyond limits: rounding."""
STOPS = 1e-3
"""rad, by which time stepping lets a joint into its stop."""
SLIPS = 0.01
"""m, by which a standing foot may creep until it is lifted again."""


@pytest.fixture(scope="module")
def dog():
    robot = zveno.load("quadruped")
    return robot, walking.default_stance(robot)


@pytest.fixture(scope="module")
def steps(dog):
    robot, stance = dog
    return walking.simulate_walk(robot, *stance, walking.StaticGait(steps=3))


def obeys_the_laws(robot, walk, count):
    """What must hold of every walk, computed again from the motion."""
    assert walk.status == "walked", walk.reason
    assert len(walk.steps) == count
    assert walk.unsolved == 0
    q, tau = walk.trajectory.q, walk.trajectory.tau
    assert (q[:, 7:] >= robot.lower[7:] - STOPS).all()
    assert (q[:, 7:] <= robot.upper[7:] + STOPS).all()
    effort = np.array([robot.mechanism.joint(name).limits.effort for name in robot.joint_names[1:]]).ravel()
    assert (abs(tau[:, 6:]) <= effort + WITHIN).all()
    assert not tau[:, :6].any(), "nothing but the feet moves the base"
    feet = robot.frame_poses(q, frames=list(walk.feet))[..., :3, 3]
    np.testing.assert_allclose(feet, walk.positions, atol=1e-12)
    for k in range(len(walk.feet)):  # a foot that stands stays
        stands = walk.contacts[:, k]
        for run in np.split(np.arange(len(q)), np.flatnonzero(np.diff(stands)) + 1):
            if stands[run[0]] and len(run) > 30:
                assert np.ptp(feet[run[20:-5], k, :2], axis=0).max() < SLIPS
    for t, foot, place in zip(walk.step_times, walk.steps, walk.footholds, strict=True):
        after = np.searchsorted(walk.trajectory.t, t + 0.1)
        assert np.linalg.norm(feet[min(after, len(q) - 1), foot] - place) < 0.02 + SLIPS
    normal = walk.trajectory.reactions[:, : 3 * sum(np.size(s) for s in walk.feet) : 3]
    assert normal.min() >= 0.0, "the ground does not pull"
    return True


@pytest.mark.laws
def test_a_walk_obeys_the_laws(dog, steps):
    robot, _ = dog
    assert obeys_the_laws(robot, steps, 3)
    assert steps.margin_percentiles[0] > 0.0, "a static walk keeps its pressure inside"
    assert steps.center_of_mass[-1, 0] > steps.center_of_mass[0, 0] + 0.01


def test_the_estimate_is_near_the_truth(steps):
    height, tilt, speed = abs(steps.estimate_error).max(axis=0)
    assert height < 5e-3
    assert tilt < 5e-3
    assert speed < 0.05


def test_the_same_seed_gives_the_same_walk(dog, steps):
    robot, stance = dog
    again = walking.simulate_walk(robot, *stance, walking.StaticGait(steps=3), duration=1.0)
    n = len(again.trajectory.t)
    np.testing.assert_array_equal(again.trajectory.q, steps.trajectory.q[:n])
    other = walking.simulate_walk(
        robot, *stance, walking.StaticGait(steps=3), duration=0.2, sensors=walking.Sensors(seed=1)
    )
    assert abs(other.trajectory.q - steps.trajectory.q[: len(other.trajectory.t)]).max() > 1e-9


def test_a_walk_that_has_no_time_says_so(dog):
    robot, stance = dog
    walk = walking.simulate_walk(robot, *stance, walking.StaticGait(steps=3), duration=0.3)
    assert (walk.status, walk.reason) == ("unfinished", "is still on its way: 0 of 3 steps after 0.3 s")


@pytest.mark.laws
def test_a_trot_and_a_fall_that_is_told(dog):
    robot, stance = dog
    walk = walking.simulate_walk(robot, *stance, walking.DynamicGait(steps=4))
    assert obeys_the_laws(robot, walk, 8)  # two feet a step
    swinging = ~walk.contacts
    diagonal = {frozenset(np.flatnonzero(row).tolist()) for row in swinging if row.sum() == 2}
    assert diagonal <= {frozenset({0, 3}), frozenset({1, 2})}, "diagonals swing together"
    assert len(diagonal) == 2
    hit = walking.simulate_walk(
        robot, *stance, walking.DynamicGait(steps=4), pushes=[walking.Push(1.2, (0.0, 80.0, 0.0))]
    )
    assert hit.status == "fell"
    assert hit.reason.startswith("fell at step ")
    assert not hit.walked
    assert np.isfinite(hit.trajectory.q).all()


def test_gaits_choose_by_the_height_of_the_machine():
    small, large = walking.DynamicGait().sized(0.1), walking.DynamicGait().sized(0.4)
    assert large.step_time == pytest.approx(2 * small.step_time)  # as a pendulum
    assert large.stride[0] == pytest.approx(4 * small.stride[0])
    given = walking.DynamicGait(stride=(0.3, 0.0), step_time=1.0).sized(0.1)
    assert (given.stride, given.step_time) == ((0.3, 0.0), 1.0)


# --- refusals


def heavy_at_the_front(robot):
    return robot.with_payload(30.0, (1.0, 0.0, 0.0), frame="body")


def weak(robot):
    joints = [
        joint if joint.type.kind == "free" else replace(joint, limits=replace(joint.limits, effort=1.0))
        for joint in robot.mechanism.joints
    ]
    return zveno.Robot(replace(robot.mechanism, joints=tuple(joints)))


HOLE = np.zeros((4, 4))
HOLE[1, 2] = np.nan
REFUSED = {
    "mass outside every polygon": (heavy_at_the_front, {}, {}, r"cannot stand.*outside the support polygon"),
    "torque too small": (weak, {}, {}, r"cannot stand.*would need .* where its limit is 1"),
    "hole": (None, {"ground": simulation.HeightField(HOLE)}, {}, r"ground has a hole: nan at \(1, 2\)"),
    "no ground": (None, {"ground": "gravel"}, {}, r"Give a GroundPlane"),
    "wall": (None, {"ground": simulation.GroundPlane((1.0, 0.0, 0.0))}, {}, r"is a wall"),
    "no friction": (None, {"friction": None}, {}, r"friction.*coefficient"),
    "ice": (None, {"friction": 0.0}, {}, r"friction.*above 0"),
    "expected hole": (None, {"expected": simulation.HeightField(HOLE)}, {}, r"hole"),
    "no time": (None, {"step": 0.0}, {}, r"step.*seconds"),
    "push": (None, {"pushes": [walking.Push(1.0, (1.0, 2.0))]}, {}, r"impulse \(3,\)"),
    "push of numbers": (None, {"pushes": [(1.0, 2.0, 3.0)]}, {}, r"push.*zveno.walking.Push"),
    "a push alone": (
        None,
        {"pushes": walking.Push(1.0, (1.0, 2.0, 0.0))},
        {},
        r"pushes.*list of zveno.walking.Push",
    ),
    "push of letters": (None, {"pushes": [walking.Push(1.0, "abc")]}, {}, r"impulse \(3,\)"),
    "friction of letters": (None, {"friction": "low"}, {}, r"friction: is 'low'"),
    "sensors of letters": (None, {"sensors": "noisy"}, {}, r"sensors.*Sensors"),
    "half a delay": (None, {"sensors": walking.Sensors(delay=0.5)}, {}, r"delay.*whole number"),  # pyright: ignore[reportArgumentType]  (on purpose)
    "weights": (None, {"weights": {"stance": 1.0}}, {}, r"weights.*Weights"),
    "drive": (None, {"drive": "oil"}, {}, r"drive.*HydraulicDrive"),
    "no shift": (None, {}, {"shift_time": 0.0}, r"shift_time.*above 0"),
    "above the ground": (None, {}, {"below": -0.1}, r"below.*0 or more"),
    "stride of letters": (None, {}, {"stride": "ab"}, r"x and y in metres"),
    "sensors": (None, {"sensors": walking.Sensors(gyro=-1.0)}, {}, r"gyro: is -1"),
    "stride": (None, {}, {"stride": (0.1,)}, r"x and y in metres"),
    "too long": (
        None,
        {},
        {"stride": (2.0, 0.0)},
        r"a stride of 2 m is a step too long to reach: .*_foot.*no stride above 0\.\d+ m can be reached",
    ),
    "steps": (None, {}, {"steps": 0}, r"whole number"),
    "order": (None, {}, {"order": ["front_left_foot"]}, r"Name each once"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_walk_is_told_why(dog, case):
    robot, stance = dog
    change, options, gait, message = REFUSED[case]
    machine = robot if change is None else change(robot)
    with pytest.raises(ZvenoError, match=f"(?s){message}"):
        walking.simulate_walk(machine, *stance, walking.StaticGait(**gait), duration=0.01, **options)


def test_feet_without_a_shape_and_gaits_without_groups_are_refused(dog):
    robot, stance = dog
    with pytest.raises(ModelError, match="no shape"):
        walking.simulate_walk(
            robot,
            [walking.Foot("front_left_foot", ()), *stance.feet[1:]],
            stance.start,
            walking.StaticGait(),
        )
    with pytest.raises(ZvenoError, match="step together"):
        walking.simulate_walk(robot, *stance, walking.DynamicGait(groups=(["front_left_foot"], ["paw"])))
    with pytest.raises(ModelError, match="feet are not known"):
        walking.default_stance(zveno.load("puma560"))
    with pytest.raises(ShapeError):
        walking.simulate_walk(robot, stance.feet, stance.start[:-1], walking.StaticGait())
    with pytest.raises(ShapeError, match="q0: is not one finite"):
        walking.simulate_walk(robot, stance.feet, np.full(robot.n_q, np.nan), walking.StaticGait())
    with pytest.raises(ZvenoError, match=r"gait.*StaticGait"):
        walking.simulate_walk(robot, *stance, "trot")  # pyright: ignore[reportArgumentType]  (on purpose)


def test_feet_in_the_air_do_not_count_as_support(dog):
    """Where the ground is too deep for two legs, the mass is outside what the others support."""
    robot, stance = dog
    cliff = simulation.GroundSteps([0.0], [0.0, -1.0])
    with pytest.raises(ZvenoError, match=r"cannot stand.*outside the support polygon of rear_left_foot, rear"):
        walking.simulate_walk(robot, *stance, walking.StaticGait(), ground=cliff, duration=0.01)


def test_legs_drawn_up_are_put_down_before_the_first_step(dog):
    robot, stance = dog
    q = stance.start.copy()
    for k, name in enumerate(robot.joint_names[1:]):
        if name in ("front_left_knee", "front_right_knee"):
            q[7 + k] -= 1.2
    walk = walking.simulate_walk(robot, stance.feet, q, walking.StaticGait(), duration=0.01)
    assert abs(walk.positions[0, :, 2]).max() < 1e-4


def test_a_walk_shorter_than_a_sample_is_a_walk(dog):
    robot, stance = dog
    walk = walking.simulate_walk(robot, *stance, walking.StaticGait(), duration=1e-3)
    assert walk.status == "unfinished"
    assert len(walk.trajectory.t) == 1


@pytest.mark.laws
def test_every_argument_is_part_of_the_hash(dog):
    """Two walks that differ in anything have other `inputs`; the same walk has the same."""
    robot, stance = dog
    others = [
        {"ground": walking.uneven_ground(0.02, rng=1)},
        {"ground": walking.uneven_ground(0.02, rng=2)},  # the same grid, other heights
        {"expected": simulation.GroundPlane(height=0.01)},
        {"friction": 0.6},
        {"sensors": walking.Sensors(seed=5)},
        {"pushes": [walking.Push(1.0, (0.0, 1.0, 0.0))]},
        {"sample_time": 0.02},
    ]
    short = {"duration": 0.02}
    hashes = [
        walking.simulate_walk(robot, *stance, walking.DynamicGait(steps=4), **short | other).inputs_hash
        for other in ({}, *others, {"duration": 0.03})
    ]
    assert len(set(hashes)) == len(hashes)
    assert walking.simulate_walk(robot, *stance, walking.DynamicGait(steps=4), **short).inputs_hash == hashes[0]
