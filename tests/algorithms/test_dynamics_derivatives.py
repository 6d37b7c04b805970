"""Derivatives of dynamics: composite bodies against the tape, complex steps and laws, for every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from mechanisms import KINDS, random_mechanism, random_state, relative_error
from tiers import few
from zveno.algorithms import drives
from zveno.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from zveno.functions import FRICTION_SMOOTHING
from zveno.kernels import derivatives
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import count_operations
from zveno.programs import program

TIGHT = 1e-10
"""Two ways to the same numbers, each a few thousand roundings of 1e-16 with some cancellation."""


def by_tape(mechanism, q, v, a):
    """The same derivatives by differentiating the program of inverse dynamics, operation by operation."""
    slopes = derivatives.jacobian(program(mechanism, "inverse_dynamics"), of="tau", wrt=("q", "v", "a"))
    by_q, by_v, by_a = evaluate(slopes, q, v, a)
    return by_q @ mechanism.tangent(q), by_v, by_a


def same_as_the_tape(mechanism, seed: int) -> bool:
    q, v, a = random_state(mechanism, seed)
    pairs = zip(inverse_dynamics_derivatives(mechanism, q, v, a), by_tape(mechanism, q, v, a), strict=True)
    return all(relative_error(ours, theirs) < TIGHT for ours, theirs in pairs)


@pytest.mark.laws(after=7)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
@pytest.mark.parametrize("seed", range(2))
def test_same_as_the_tape_for_every_joint(kind, seed):
    assert same_as_the_tape(random_mechanism(seed, n=5, kinds=(kind, "revolute"), mimic=0.2, drives=True), seed)


@pytest.mark.parametrize("seed", few(range(5)))
def test_same_as_the_tape_for_mixed_trees(seed):
    assert same_as_the_tape(random_mechanism(seed, n=9, mimic=0.3, drives=True), seed)


@pytest.mark.parametrize("seed", range(3))
def test_velocities_enter_as_a_quadratic_form(seed):
    """τ(v) − τ(0) is quadratic in v: ∂τ/∂v · v is twice it (Euler), and ∂τ/∂v is odd in v."""
    mechanism = random_mechanism(seed, n=7, mimic=0.2)
    q, v, a = random_state(mechanism, seed)
    robot = zveno.Robot(mechanism)
    rest = np.zeros_like(v)
    _, by_v, _ = inverse_dynamics_derivatives(mechanism, q, v, a)
    _, back, _ = inverse_dynamics_derivatives(mechanism, q, -v, a)
    quadratic = robot.inverse_dynamics(q, v, rest) - robot.inverse_dynamics(q, rest, rest)
    assert relative_error(by_v @ v, 2.0 * quadratic) < TIGHT
    assert relative_error(by_v, -back) < TIGHT


@pytest.mark.parametrize("seed", range(3))
def test_chain_of_one_coordinate_joints_changes_its_mass_matrix(seed):
    """∂τ/∂v + (∂τ/∂v)ᵀ = 2 Ṁ where velocities are the rates of coordinates."""
    mechanism = random_mechanism(seed, n=6, kinds=("revolute", "prismatic", "helical", "universal", "planar"))
    robot = zveno.Robot(mechanism)
    q, v, a = random_state(mechanism, seed)
    _, by_v, _ = inverse_dynamics_derivatives(mechanism, q, v, a)
    h = 1e-6
    change = (robot.mass_matrix(q + h * v) - robot.mass_matrix(q - h * v)) / (2 * h)
    assert relative_error(by_v + by_v.T, 2.0 * change) < 1e-7


def test_friction_has_a_slope():
    mechanism = random_mechanism(4, n=7, mimic=0.3, drives=True)
    assert sum(joint.drive is not None for joint in mechanism.joints) > 2
    robot = zveno.Robot(mechanism)
    q, v, a = random_state(mechanism, 4)
    v = FRICTION_SMOOTHING * v  # where the smoothed jump bends
    h = 1e-3 * FRICTION_SMOOTHING
    for smoothing in (0.0, FRICTION_SMOOTHING):
        slope = drives.friction_slope(mechanism, v, smoothing)
        for k, unit in enumerate(np.eye(robot.n_v)):
            ahead = drives.friction_torque(mechanism, v + h * unit, smoothing)
            behind = drives.friction_torque(mechanism, v - h * unit, smoothing)
            assert relative_error(slope * unit, (ahead - behind) / (2 * h)) < 1e-5, k
    without, with_friction = (
        robot.inverse_dynamics_derivatives(q, v, a, joint_friction=f)[1] for f in (False, True)
    )
    assert relative_error(with_friction - without, np.diag(drives.friction_slope(mechanism, v))) < 1e-9
    tau = robot.inverse_dynamics(q, v, a)
    by_v = robot.forward_dynamics_derivatives(q, v, tau, joint_friction=True)[1]
    for k, unit in enumerate(np.eye(robot.n_v)):
        ahead = robot.forward_dynamics(q, v + h * unit, tau, joint_friction=True)
        behind = robot.forward_dynamics(q, v - h * unit, tau, joint_friction=True)
        assert relative_error(by_v[:, k], (ahead - behind) / (2 * h)) < 1e-4, k


def test_compiled_is_plain():
    mechanism = random_mechanism(2, n=8)
    q, v, a = random_state(mechanism, 2)
    for ours, plain in zip(
        zveno.Robot(mechanism).inverse_dynamics_derivatives(q, v, a),
        inverse_dynamics_derivatives(mechanism, q, v, a),
        strict=True,
    ):
        assert relative_error(ours, plain) < TIGHT


def test_fewer_operations_than_the_tape():
    """What composite bodies are for: fewer operations for a walking machine, the mass matrix included."""
    mechanism = zveno.load("biped").mechanism
    tape = derivatives.jacobian(program(mechanism, "inverse_dynamics"), of="tau", wrt=("q", "v"))
    ours = program(mechanism, "inverse_dynamics_derivatives")
    assert count_operations(ours).total < 0.8 * count_operations(tape).total
