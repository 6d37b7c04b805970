"""The Coriolis matrix and the derivative of the Jacobian, on random trees of all joint types."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import zveno
from mechanisms import directional_derivative, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno.algorithms.coriolis import coriolis_matrix
from zveno.algorithms.inverse_dynamics import bias, gravity_torque
from zveno.algorithms.jacobian import jacobian, jacobian_derivative
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.algorithms.references import REFERENCES
from zveno.algorithms.velocities import frame_acceleration

ROUNDING = 1e-12
"""Ten links, and sums over all pairs of them."""
FRAMES = ("tool", "mark", "link3", "link0")

mechanisms = pytest.mark.parametrize("seed", few(range(12), 3))


def case(seed):
    mechanism = random_mechanism(seed, n=10)
    return mechanism, *random_state(mechanism, 100 + seed)


@mechanisms
def test_its_product_with_the_velocity_is_the_bias_without_gravity(seed):
    mechanism, q, v, _ = case(seed)
    expected = bias(mechanism, q, v) - gravity_torque(mechanism, q)
    assert relative_error(coriolis_matrix(mechanism, q, v) @ v, expected) < ROUNDING


@mechanisms
def test_the_rate_of_the_mass_matrix_less_twice_it_is_skew(seed):
    mechanism, q, v, _ = case(seed)
    M_rate = directional_derivative(mechanism, lambda x: mass_matrix(mechanism, x), q, v)
    C = coriolis_matrix(mechanism, q, v)
    difference = M_rate - 2.0 * C
    assert np.abs(difference + difference.T).max() < ROUNDING * max(1.0, np.abs(C).max())
    assert np.abs(difference).max() > 1e-6, "the law says something"


@mechanisms
def test_against_pinocchio(seed):
    mechanism = random_mechanism(seed, n=8, kinds=("revolute", "prismatic"), mimic=0.0)
    q, v, _ = random_state(mechanism, seed)
    oracle = Oracle(mechanism)
    G = oracle.G(q)
    C = G.T @ pin.computeCoriolisMatrix(oracle.model, oracle.data, oracle.q(q), G @ v) @ G @ v
    expected = bias(mechanism, q, v) - gravity_torque(mechanism, q)
    assert relative_error(C, expected) < 1e-9, "the oracle is of the same robot"
    assert relative_error(coriolis_matrix(mechanism, q, v) @ v, C) < 1e-9


@mechanisms
@pytest.mark.parametrize("frame", FRAMES)
def test_the_derivative_of_the_jacobian_is_one(seed, frame):
    mechanism, q, v, a = case(seed)
    for reference in REFERENCES:
        expected = directional_derivative(mechanism, lambda x, r=reference: jacobian(mechanism, x, frame, r), q, v)
        assert relative_error(jacobian_derivative(mechanism, q, v, frame, reference), expected) < ROUNDING
    J, J_rate = jacobian(mechanism, q, frame), jacobian_derivative(mechanism, q, v, frame)
    assert relative_error(J @ a + J_rate @ v, frame_acceleration(mechanism, q, v, a, frame)) < ROUNDING


def test_they_are_functions_of_a_robot():
    robot = zveno.load("puma560")
    rng = np.random.default_rng(0)
    q, v = robot.random((3,), rng), rng.normal(size=(3, 6))
    C = robot.coriolis_matrix(q, v)
    assert C.shape == (3, 6, 6)
    expected = robot.bias(q, v) - robot.gravity_torque(q)
    assert np.allclose(np.einsum("...ij,...j->...i", C, v), expected, rtol=1e-9, atol=1e-12)
    J, J_rate, a = robot.jacobian(q), robot.jacobian_derivative(q, v), rng.normal(size=(3, 6))
    acceleration = np.einsum("...ij,...j->...i", J, a) + np.einsum("...ij,...j->...i", J_rate, v)
    assert np.allclose(acceleration, robot.frame_acceleration(q, v, a), atol=1e-12)
    lighter = robot.kernel("coriolis_matrix", inputs=["payload"])(q, v, np.zeros(10))
    assert np.allclose(lighter, C, atol=1e-13)
