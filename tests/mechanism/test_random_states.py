"""Random states: within limits, in any batch shape, the same for the same seed, and quickly."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno.errors import ShapeError
from zveno.mechanism import Joint, Limits, Link, Spherical, assemble
from zveno.mechanism.unit_quaternions import ball_angle


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(), 3, np.int64(3), (0,), [2, 3], (np.int8(2), 1), np.array([2])])
def test_any_shape(seed, shape):
    robot = zveno.Robot(random_mechanism(seed, n=9))
    q = robot.random(shape, rng=seed)
    sizes = tuple(np.atleast_1d(np.array(shape, dtype=int)).tolist())
    assert q.shape == (*sizes, robot.n_q)
    assert np.all((q >= robot.lower) & (q <= robot.upper))
    assert np.array_equal(q, robot.random(shape, rng=seed))
    for joint in robot.mechanism.joints:
        if joint.mimic is None:
            assert np.all(joint.type.quaternion_error(q[..., robot.mechanism.q_slices[joint.name]]) < 1e-12)


@pytest.mark.parametrize("shape", [-1, (2, -3), 2.0, "3", (1.5,), None])
def test_shapes_that_make_no_sense(shape):
    with pytest.raises(ShapeError, match="shape"):
        zveno.load("planar2").random(shape)


def test_a_batch_is_the_states_one_after_the_other():
    mechanism = random_mechanism(4, n=6, kinds=("revolute", "prismatic", "universal", "planar", "helical"))
    rng = np.random.default_rng(1)
    assert np.array_equal(mechanism.random(1, (5,)), [mechanism.random(rng) for _ in range(5)])


def test_states_fill_the_limits():
    mechanism = random_mechanism(0, n=9)
    q = mechanism.random(0, (4000,))
    low, high = q.min(axis=0), q.max(axis=0)
    finite = np.isfinite(mechanism.lower)
    assert np.all(low[finite] - mechanism.lower[finite] < 0.02)
    assert np.all(mechanism.upper[finite] - high[finite] < 0.02)
    assert np.all(abs(q.mean(axis=0) - (low + high) / 2) < 0.15)


@pytest.mark.parametrize("angle", [1e-4, 0.3, 1.2, 3.0, np.pi, 5.0])
def test_balls_turn_within_their_angle_and_fill_it(angle):
    """The share of uniform rotations within θ is θ − sin θ over that of the limit."""
    ball = Joint("ball", "a", "b", Spherical(), limits=Limits(angle=angle))
    robot = zveno.Robot(assemble("ball", [Link("a"), Link("b")], [ball]))
    q = robot.random(4000, 0)
    turned, most = ball_angle(q), min(angle, np.pi)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-12)
    assert turned.max() <= most + 1e-12
    share = (turned - np.sin(turned)) / (most - np.sin(most))
    assert abs(np.sort(share) - np.linspace(0, 1, 4000)).max() < 0.03  # Kolmogorov–Smirnov, one in a thousand
    assert abs(q[:, 1:].mean(axis=0)).max() < 0.03
