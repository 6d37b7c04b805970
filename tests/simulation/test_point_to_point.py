"""From rest to rest in the shortest time: limits, ends, and that something is always at its limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

import zveno
from mechanisms import random_mechanism
from zveno import MotionLimits, simulation
from zveno.errors import ZvenoError
from zveno.simulation import DOP853, RK4, TimeStepping
from zveno.simulation.quickest_motion import point_to_point, quickest

ROUNDING = 1e-9
"""Relative: what is left of limits that are met exactly."""
LIMITS = [(1.0, 2.0, None), (0.5, 0.4, 3.0), (3.0, 9.0, 5.0), (0.3, 8.0, 100.0), (50.0, 1.0, None)]
"""Velocity, acceleration, jerk: trapezoids and triangles, with ramps and without."""


@pytest.fixture(scope="module")
def robot():
    return zveno.load("puma560")


def ends(robot, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, robot.n_q), rng.uniform(-1, 1, robot.n_q)


@pytest.mark.laws(after=7)
@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize(("velocity", "acceleration", "jerk"), LIMITS)
def test_limits_rest_and_ends(robot, velocity, acceleration, jerk, straight):
    q0, q1 = ends(robot, 1)
    motion = simulation.point_to_point(
        robot,
        q0,
        q1,
        MotionLimits(velocity, acceleration, jerk),
        straight=straight,
        rate=2000.0,
    )
    assert np.array_equal(motion.q[0], q0)
    assert np.array_equal(motion.q[-1], q1)
    assert not np.any(motion.v[0])
    assert abs(motion.v[-1]).max() <= ROUNDING * velocity
    assert abs(motion.v).max() <= velocity * (1 + ROUNDING)
    assert abs(motion.a).max() <= acceleration * (1 + ROUNDING)
    if jerk is not None:
        assert abs(np.diff(motion.a, axis=0)).max() <= jerk * np.diff(motion.t).max() * (1 + 1e-6)
    h = np.diff(motion.t)[0]
    assert h <= 1 / 2000.0 + ROUNDING
    # v is the derivative of q, and a that of v, but for the rule's error where acceleration jumps.
    assert np.allclose(
        q0 + cumulative_trapezoid(motion.v, motion.t, axis=0, initial=0), motion.q, atol=acceleration * h
    )
    assert np.allclose(
        cumulative_trapezoid(motion.a, motion.t, axis=0, initial=0), motion.v, atol=2 * acceleration * h
    )
    if straight:
        shares = (motion.q - q0) / (q1 - q0)
        assert np.ptp(shares, axis=1).max() < ROUNDING


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize(("velocity", "acceleration", "jerk"), LIMITS)
def test_something_is_at_its_limit_at_all_times(robot, velocity, acceleration, jerk, straight):
    q0, q1 = ends(robot, 2)
    motion = simulation.point_to_point(robot, q0, q1, MotionLimits(velocity, acceleration, jerk), straight=straight)
    inner = slice(1, -1)
    near = 1e-6
    at = (abs(motion.v[inner]) > velocity * (1 - near)) | (abs(motion.a[inner]) > acceleration * (1 - near))
    if jerk is not None:
        rates = np.diff(motion.a, axis=0) / np.diff(motion.t)[:, None]
        at |= (abs(rates[1:]) > jerk * (1 - near)) | (abs(rates[:-1]) > jerk * (1 - near))
    free = ~at.any(axis=1)
    # A sample may lie beside the one at which jerk changes.
    assert np.count_nonzero(free) <= (0 if jerk is None else 7)


@pytest.mark.parametrize(("velocity", "acceleration", "jerk"), LIMITS)
def test_the_slowest_joint_decides(robot, velocity, acceleration, jerk):
    """The duration is the largest of the joints alone; straight lines do not take less."""
    q0, q1 = ends(robot, 3)
    limits = MotionLimits(velocity, acceleration, jerk)
    duration = simulation.point_to_point(robot, q0, q1, limits).t[-1]
    alone = [
        simulation.point_to_point(robot, q0, np.where(np.arange(6) == k, q1, q0), limits).t[-1] for k in range(6)
    ]
    assert duration == pytest.approx(max(alone), rel=ROUNDING)
    assert simulation.point_to_point(robot, q0, q1, limits, straight=True).t[-1] >= duration * (1 - ROUNDING)


def test_known_durations():
    """Triangle 2 √(d/a), trapezoid d/v + v/a, cubic ramps 4 ∛(d/2j)."""
    assert quickest(100.0, 4.0, np.inf).duration == pytest.approx(2 * np.sqrt(1 / 4.0))
    assert quickest(0.5, 4.0, np.inf).duration == pytest.approx(1 / 0.5 + 0.5 / 4.0)
    assert quickest(100.0, 100.0, 16.0).duration == pytest.approx(4 * np.cbrt(1 / 32.0))
    assert quickest(0.5, 4.0, 1e9).duration == pytest.approx(quickest(0.5, 4.0, np.inf).duration, rel=1e-6)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("seed", range(4))
def test_every_joint_type(seed):
    """Free, ball and planar joints too: velocities of the samples are those of q."""
    mechanism = random_mechanism(seed)
    robot = zveno.Robot(mechanism)
    q0, q1 = robot.random((2,), seed)
    motion = simulation.point_to_point(robot, q0, q1, MotionLimits(velocity=1.0, acceleration=2.0), rate=500.0)
    assert abs(motion.v).max() <= 1.0 + ROUNDING
    assert abs(motion.a).max() <= 2.0 + ROUNDING
    h = np.diff(motion.t)[0]
    steps = np.array([mechanism.difference(a, b) for a, b in zip(motion.q[:-1], motion.q[1:], strict=True)])
    assert np.allclose(steps / h, (motion.v[1:] + motion.v[:-1]) / 2, atol=2 * 2.0 * h)
    assert abs(mechanism.difference(motion.q[-1], mechanism.normalized(q1))).max() < ROUNDING


def test_no_way_takes_no_time(robot):
    q0, _ = ends(robot, 4)
    motion = simulation.point_to_point(robot, q0, q0, MotionLimits(1.0, 1.0))
    assert motion.t[-1] == 0.0
    assert np.array_equal(motion.q, np.stack([q0, q0]))
    assert not motion.v.any()
    still = simulation.point_to_point(robot, q0, q0, MotionLimits())  # nothing moves, so nothing needs a limit
    assert still.t[-1] == 0.0


def test_torques_are_those_of_the_motion(robot):
    q0, q1 = ends(robot, 5)
    motion = simulation.point_to_point(robot, q0, q1, MotionLimits(velocity=1.0, acceleration=2.0))
    assert np.allclose(motion.tau, robot.inverse_dynamics(motion.q, motion.v, motion.a))
    assert motion.energy_drift < 1e-2 * np.ptp(motion.energy)
    assert "quickest motion" in motion.summary


def test_limits_by_name_and_of_the_model():
    robot = zveno.load("ur5")
    q0, q1 = np.zeros(6), np.full(6, 0.5)
    slow = simulation.point_to_point(robot, q0, q1, MotionLimits(acceleration=5.0, velocity={"elbow": 0.1}))
    assert slow.t[-1] == pytest.approx(0.5 / 0.1 + 0.1 / 5.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"velocity": 1.0}, "no limit of acceleration for joint1, joint2"),
        ({"acceleration": 1.0}, "no limit of velocity for joint1"),
        ({"velocity": 1.0, "acceleration": 0.0}, "not positive"),
        ({"velocity": {"elbow": 1.0}, "acceleration": 1.0}, "no joint named 'elbow'"),
        ({"velocity": (1.0, 2.0), "acceleration": 1.0}, "does not fit 6 joints"),
        ({"velocity": 1.0, "acceleration": 1.0, "rate": 0.0}, "rate: is 0"),
        ({"acceleration": 1.0, "torque": 9.0}, "motion.torque cannot be limited"),
        ({"velocity": 1e-9, "acceleration": 1.0}, "more than 1000000 samples"),
    ],
)
def test_what_is_missing_or_wrong_is_named(robot, options, message):
    q0, q1 = ends(robot, 6)
    limits = MotionLimits(**{name: value for name, value in options.items() if name != "rate"})
    with pytest.raises(zveno.ZvenoError, match=message):
        simulation.point_to_point(robot, q0, q1, limits, rate=options.get("rate", 1000.0))


def test_ends_that_cannot_be(robot):
    with pytest.raises(zveno.errors.ShapeError, match="q0"):
        simulation.point_to_point(robot, np.full(6, np.nan), np.zeros(6), MotionLimits(1.0, 1.0))
    with pytest.raises(zveno.errors.ShapeError, match="q1"):
        simulation.point_to_point(robot, np.zeros(6), np.zeros((2, 6)), MotionLimits(1.0, 1.0))


def test_ends_outside_the_ranges_are_named():
    robot = zveno.load("ur5")
    motion = point_to_point(robot, np.zeros(6), [9.0, 0, 0, 0, 0, 0], zveno.MotionLimits(acceleration=4.0))
    assert motion.notes == ("q1 is outside the range of shoulder_pan",)
    assert point_to_point(robot, np.zeros(6), np.ones(6), zveno.MotionLimits(acceleration=4.0)).notes == ()


@pytest.mark.parametrize("motion", [None, 4.0, {"acceleration": 4.0}, zveno.MotionLimits])
def test_what_is_no_motion_limits_is_one_error(motion):
    robot = zveno.load("ur5")
    with pytest.raises(ZvenoError, match=r"motion: is .*MotionLimits\(acceleration"):
        point_to_point(robot, np.zeros(6), np.ones(6), motion)
    with pytest.raises(ZvenoError, match="motion: is"):
        zveno.identification.plan_excitation(robot, motion=motion)


@pytest.mark.parametrize(
    "made", [RK4, TimeStepping, DOP853, lambda x: DOP853(max_step=x), lambda x: DOP853(1e-6, x)]
)
@pytest.mark.parametrize("setting", ["1", 1j, np.ones(2), -1.0, np.nan])
def test_settings_of_integrators_that_are_no_numbers_are_one_error(made, setting):
    with pytest.raises(ZvenoError, match="integrator: "):
        made(setting)


def test_masked_limits_are_refused():
    limits = zveno.MotionLimits(acceleration=np.ma.masked_array(np.ones(6), [1, 0, 0, 0, 0, 0]))
    with pytest.raises(ZvenoError, match="acceleration: does not fit"):
        point_to_point(zveno.load("ur5"), np.zeros(6), np.ones(6), limits)
