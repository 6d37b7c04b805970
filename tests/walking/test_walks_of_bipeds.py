"""The biped walks: on tiles it does not know, on slopes, after pushes. A reduced `python -m benchmarks.walks`."""

import numpy as np
import pytest

import zveno
from zveno import walking

pytestmark = pytest.mark.laws


@pytest.fixture(scope="module")
def biped():
    robot = zveno.load("biped")
    return robot, walking.default_stance(robot)


def kept_within_limits(robot, walk):
    effort = np.array([robot.mechanism.joint(name).limits.effort for name in robot.joint_names[1:]]).ravel()
    assert (abs(walk.trajectory.tau[:, 6:]) <= effort + 1e-9).all()
    assert (walk.trajectory.q[:, 7:] >= robot.lower[7:] - 1e-3).all()
    assert (walk.trajectory.q[:, 7:] <= robot.upper[7:] + 1e-3).all()
    assert walk.unsolved == 0


@pytest.mark.parametrize("seed", [0, 8])  # of 8, a sole comes to lie between two walls of tiles
def test_it_walks_dynamically_on_tiles_within_20_mm(biped, seed):
    robot, stance = biped
    rng = np.random.default_rng([seed, 1])
    ground = walking.uneven_ground(0.02, tile=float(rng.uniform(0.2, 0.4)), rng=rng)
    sensors = walking.Sensors(seed=seed)
    walk = walking.simulate_walk(
        robot, *stance, walking.DynamicGait((0.24, 0.0), steps=8), ground=ground, sensors=sensors
    )
    assert walk.status == "walked"
    kept_within_limits(robot, walk)
    assert np.ptp(walk.footholds[:, 2]) > 0.01, "the ground is not level"
    assert abs(walk.estimate_error[:, 1]).max() < 0.01


def test_it_survives_a_push_by_moving_its_footholds(biped):
    robot, stance = biped
    gait = walking.DynamicGait((0.24, 0.0), steps=7)
    level = walking.uneven_ground(0.0)
    calm = walking.simulate_walk(robot, *stance, gait, ground=level)
    pushed = walking.simulate_walk(
        robot, *stance, gait, ground=level, pushes=[walking.Push(3.0, (0.0, -10.0, 0.0))]
    )
    assert (calm.status, pushed.status) == ("walked", "walked")
    moved = abs(pushed.footholds - calm.footholds)[:, 1]
    before = pushed.step_times < 3.0
    assert moved[before].max() < 1e-9
    assert moved[~before].max() > 0.02


@pytest.mark.parametrize("seed", [8, 12])  # of the benchmark: pushed over the standing foot, 2 of 40 fell before
def test_a_push_towards_the_standing_foot_is_caught(biped, seed):
    """The other foot comes near, and stays down while a step would lose the balance."""
    robot, stance = biped
    gait, angle = walking.DynamicGait((0.24, 0.0), steps=8), 2 * np.pi * seed / 50
    when = 3.0 + float(np.random.default_rng([seed, 2]).uniform(0.0, 1.2))
    push, sensors = (
        walking.Push(when, (10 * np.cos(angle), 10 * np.sin(angle), 0.0)),
        walking.Sensors(seed=seed),
    )
    walk = walking.simulate_walk(
        robot, *stance, gait, ground=walking.uneven_ground(0.0), sensors=sensors, pushes=[push]
    )
    assert walk.status == "walked"
    kept_within_limits(robot, walk)
    apart = np.diff(walk.footholds[:, 1]) * np.where(walk.steps[1:] == 0, 1.0, -1.0)
    assert apart.min() > 0.1 + 0.01, "soles of 0.1 m do not come to lie on each other"


def test_no_swing_takes_the_pressure_that_holds_the_balance(biped):
    """A push outwards over the standing foot: a foot in the air that outweighs the centre of mass lets it win."""
    robot, stance = biped
    gait, push = walking.DynamicGait((0.24, 0.0), steps=8), walking.Push(3.5, (5.4, 8.4, 0.0))
    walks = [
        walking.simulate_walk(
            robot, *stance, gait, ground=walking.uneven_ground(0.0), pushes=[push], weights=weights
        )
        for weights in (None, walking.Weights(center=20.0))
    ]
    assert walks[0].status == "walked"
    kept_within_limits(robot, walks[0])
    assert walks[1].status == "fell"


def test_it_walks_statically_down_a_slope(biped):
    robot, stance = biped
    ground = walking.uneven_ground(0.0, slope=-0.08)
    walk = walking.simulate_walk(robot, *stance, walking.StaticGait((0.2, 0.0), steps=4), ground=ground)
    assert walk.status == "walked"
    kept_within_limits(robot, walk)
    # Feet as they lie, not as estimated: estimated heights drift while soles settle onto the slope.
    x, z = walk.positions[-1, :, 0], walk.positions[-1, :, 2]
    assert z == pytest.approx(np.tan(-0.08) * x, abs=1e-3)
    assert z.min() < -0.03
