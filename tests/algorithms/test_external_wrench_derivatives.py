"""Derivatives of dynamics with external wrenches: complex steps on trees of every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from mechanisms import KINDS, random_mechanism, random_state, relative_error
from tiers import few
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives

TIGHT = 1e-10
"""Complex steps have no truncation: a few thousand roundings of 1e-16 with some cancellation."""
H = 1e-30


def pushed(mechanism, seed: int):
    """A state, and a wrench on every link, ten times as large as forces of inertia."""
    rng = np.random.default_rng([seed, 7])
    return *random_state(mechanism, seed), 10.0 * rng.normal(size=(mechanism.n_links, 6))


def by_complex_steps(mechanism, q, v, a, external):
    """∂τ by q in its tangent, by v and by a, column by column, the wrenches held in their links' axes."""

    def slopes(change):
        columns = []
        for unit in np.eye(mechanism.n_v):
            moved = inverse_dynamics(mechanism, *change(1j * H * unit), external.astype(complex))
            columns.append(np.imag(moved) / H)
        return np.stack(columns, axis=1)

    qc, vc, ac = (x.astype(complex) for x in (q, v, a))
    return (
        slopes(lambda step: (mechanism.integrate(qc, step), vc, ac)),
        slopes(lambda step: (qc, vc + step, ac)),
        slopes(lambda step: (qc, vc, ac + step)),
    )


def same_as_complex_steps(mechanism, seed: int) -> bool:
    given = pushed(mechanism, seed)
    pairs = zip(inverse_dynamics_derivatives(mechanism, *given), by_complex_steps(mechanism, *given), strict=True)
    return all(relative_error(ours, theirs) < TIGHT for ours, theirs in pairs)


@pytest.mark.laws(after=13)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
@pytest.mark.parametrize("seed", range(3))
def test_every_joint(kind, seed):
    assert same_as_complex_steps(random_mechanism(seed, n=5, kinds=(kind, "revolute"), drives=True), seed)


@pytest.mark.parametrize("seed", few(range(8)))
def test_mixed_trees(seed):
    assert same_as_complex_steps(random_mechanism(seed, n=9, branching=0.6, mimic=0.3, drives=True), seed)


@pytest.mark.parametrize("seed", few(range(4)))
def test_floating_bases(seed):
    mechanism = zveno.Robot(random_mechanism(seed, n=6, mimic=0.3)).with_base("free").mechanism
    assert mechanism.joints[0].type.kind == "free"
    assert same_as_complex_steps(mechanism, seed)


@pytest.mark.parametrize("name", ["biped", "quadruped"])
def test_walking_machines(name):
    assert same_as_complex_steps(zveno.load(name).mechanism, 1)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_of_inverse_and_forward_dynamics(seed):
    """∂a = −M⁻¹ ∂τ at the accelerations that forward dynamics finds, and the compiled functions say the same."""
    mechanism = random_mechanism(seed, n=6, drives=True)
    robot = zveno.Robot(mechanism)
    q, v, a, external = pushed(mechanism, seed)
    plain = by_complex_steps(mechanism, q, v, a, external)
    for ours, theirs in zip(robot.inverse_dynamics_derivatives(q, v, a, external=external), plain, strict=True):
        assert relative_error(ours, theirs) < TIGHT
    tau = robot.inverse_dynamics(q, v, a, external=external)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau, external=external)
    M = robot.mass_matrix(q)
    scale = np.linalg.cond(M)
    assert relative_error(M @ by_q, -plain[0]) < TIGHT * scale
    assert relative_error(M @ by_v, -plain[1]) < TIGHT * scale
    assert relative_error(M @ by_tau, np.eye(robot.n_v)) < TIGHT * scale


def test_wrenches_do_change_the_derivatives():
    """They turn with their links: without them another slope by q is found, and the same by v and a."""
    mechanism = random_mechanism(3, n=6)
    q, v, a, external = pushed(mechanism, 3)
    with_them, without = (inverse_dynamics_derivatives(mechanism, q, v, a, given) for given in (external, None))
    assert relative_error(with_them[0], without[0]) > 1e-3
    assert relative_error(with_them[1], without[1]) < TIGHT
    assert relative_error(with_them[2], without[2]) < TIGHT
