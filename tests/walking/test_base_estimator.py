"""The base-state estimator: consistent with its own model, biases found again, no claim of what is not seen."""

import numpy as np
import pytest
from scipy.stats import chi2

import zveno
from zveno import walking
from zveno.kernels.compile import compiled
from zveno.spatial.rotations import exp, from_quaternion, log, to_quaternion
from zveno.walking._base_estimator import N_MOTION, BaseEstimator, corrected, foot_places, predicted
from zveno.walking.sensing import Sensing

H = 0.002
NOISE = np.array([1e-3, 1e-2, 1e-4, 1e-3, 2e-3]) ** 2
"""Variances a second: gyro, accelerometer, their drifts, creep of the feet."""
VARIANCE = 1e-3**2
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def kernels():
    n = N_MOTION + 6
    state = {"x": (22,), "P": (n, n)}
    forward = compiled(
        predicted,
        state | {"gyro": (3,), "force": (3,), "gravity": (3,), "noise": (5,), "standing": (2,), "h": ()},
    )
    back = compiled(corrected, state | {"places": (2, 3), "variance": (), "standing": (2,)})
    return forward, back


def campaign(kernels, seed, steps=600):
    """A body that sways and turns on two feet: (NEES of every tenth step, NIS of every step, errors, their σ)."""
    forward, back = kernels
    rng = np.random.default_rng(seed)
    n = N_MOTION + 6
    sigma = np.concatenate([np.full(9, 1e-2), np.full(3, 0.05), np.full(3, 5e-3), np.full(6, 1e-2)])
    true = np.zeros(22)
    true[2], true[6] = 0.8, 1.0
    true[16:] = [0.0, 0.1, 0.0, 0.0, -0.1, 0.0]
    true[10:16] = sigma[9:15] * rng.normal(size=6)
    error = sigma * rng.normal(size=n)
    x = moved(true, -error)
    x[10:16] = 0.0
    P = np.diag(sigma**2)
    ones = np.ones(2)
    nees, nis = [], []
    for k in range(steps):
        t = k * H
        rate = np.array([0.4 * np.sin(3 * t), 0.5 * np.cos(2 * t), 0.3 * np.sin(t)])
        R = from_quaternion(true[6:10])
        acceleration = np.array([1.0 * np.sin(2 * t), 1.5 * np.cos(3 * t), 0.5 * np.sin(5 * t)])
        gyro = rate + true[13:16] + np.sqrt(NOISE[0] / H) * rng.normal(size=3)
        force = R.T @ (acceleration - GRAVITY) + true[10:13] + np.sqrt(NOISE[1] / H) * rng.normal(size=3)
        true = true.copy()
        true[:3] += H * true[3:6] + 0.5 * H * H * acceleration
        true[3:6] += H * acceleration
        true[6:10] = to_quaternion(R @ exp(H * rate))
        true[10:13] += np.sqrt(H * NOISE[3]) * rng.normal(size=3)
        true[13:16] += np.sqrt(H * NOISE[2]) * rng.normal(size=3)
        true[16:] += np.sqrt(H * NOISE[4]) * rng.normal(size=6)
        R = from_quaternion(true[6:10])
        places = (true[16:].reshape(2, 3) - true[:3]) @ R + np.sqrt(VARIANCE) * rng.normal(size=(2, 3))
        x, P = forward(x, P, gyro, force, GRAVITY, NOISE, ones, np.array(H))
        x, P, total = back(x, P, places, np.array(VARIANCE), ones)
        nis.append(float(total[0]))
        if k % 10 == 9:
            e = difference(true, x)
            nees.append(e @ np.linalg.solve(P, e))
    return np.array(nees), np.array(nis), difference(true, x), np.sqrt(np.diag(P))


def moved(x, error):
    """A state with an error added."""
    new = x.copy()
    new[:6] += error[:6]
    new[6:10] = to_quaternion(from_quaternion(x[6:10]) @ exp(error[6:9]))
    new[10:] += error[9:]
    return new


def difference(true, x):
    """Errors of a state."""
    turn = log(from_quaternion(x[6:10]).T @ from_quaternion(true[6:10]))
    return np.concatenate([true[:6] - x[:6], turn, true[10:] - x[10:]])


@pytest.mark.laws
def test_the_filter_knows_how_much_it_knows(kernels):
    runs = [campaign(kernels, seed) for seed in range(12)]
    # Innovations are white: their sums have exactly as many degrees of freedom as numbers that were measured.
    nis = np.concatenate([run[1] for run in runs])
    low, high = chi2.ppf([1e-4, 1 - 1e-4], 6 * len(nis)) / len(nis)
    assert low < nis.mean() < high
    # Errors of one run are correlated in time, so runs are what counts: 21 numbers each, 12 runs, at the end.
    last = np.array([run[0][-1] for run in runs])
    low, high = chi2.ppf([1e-4, 1 - 1e-4], 21 * len(runs))
    assert low < last.sum() < high


@pytest.mark.laws
def test_biases_are_found(kernels):
    _, _, error, sigma = campaign(kernels, 3, steps=2500)
    assert (abs(error[9:15]) < 4 * sigma[9:15]).all()
    assert sigma[12:14].max() < 0.2 * 5e-3, "rates about horizontal axes are seen by gravity"
    assert sigma[11] < 0.2 * 0.05, "the vertical accelerometer is seen by feet that stand"


def test_place_and_heading_in_the_world_are_not_claimed(kernels):
    _, _, _, sigma = campaign(kernels, 4, steps=2500)
    assert sigma[:2].min() > 0.9e-2 / np.sqrt(2), "feet are as uncertain as they were at first"


def test_places_of_the_feet_are_those_of_forward_kinematics():
    robot = zveno.load("biped")
    frames = ("left_foot", "right_foot")
    q = robot.random(rng=1)
    base = robot.forward_kinematics(q, "pelvis")
    feet = robot.frame_poses(q, frames=list(frames))[:, :3, 3]
    np.testing.assert_allclose(
        foot_places(robot.mechanism, frames, q[7:]), (feet - base[:3, 3]) @ base[:3, :3], atol=1e-12
    )


def test_a_machine_at_rest_is_seen_at_rest_and_a_foot_that_comes_down_is_taken_up():
    robot = zveno.load("quadruped")
    stance = walking.default_stance(robot)
    sensors = walking.Sensors(seed=5)
    estimator = BaseEstimator(robot.mechanism, stance.feet, sensors, stance.start, 1e-3)
    sensing = Sensing(sensors, robot.mechanism, stance.feet, 1e-3)
    v = np.zeros(robot.n_v)
    for k in range(3000):
        reading = sensing.read(stance.start, v, np.full(4, 30.0))
        standing = np.array([True, True, True, not 500 < k < 1000])
        q, rates = estimator.update(reading, standing)
    assert abs(q[:3] - stance.start[:3]).max() < 5e-3
    assert abs(rates[:3]).max() < 0.02
    tilt = from_quaternion(q[3:7]) @ from_quaternion(stance.start[3:7]).T
    assert np.arccos(np.clip(tilt[2, 2], -1, 1)) < 2e-3
    assert abs(estimator.x[13:15] - sensing.biases[:2]).max() < 5e-4, "of a bias of 2e-3 rad/s"
